"""tau-bench and tau2-bench: results with chat messages; simulated users of tau2 call tools too.

The agent talks with a simulated user; the environment marks a failed call by ``Error: ``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import CallOrigin, Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.openai_chat import Chat, Message, usage
from trimtab_replay._recording import RecordedItem, Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_list,
    as_text,
    as_time,
    dicts,
    named,
    said,
)


class TauBench:
    """Reads tau-bench results."""

    name: ClassVar[str] = "tau-bench"

    def sniff(self, source: Transcript) -> float:
        """Look for tasks with messages and a reward."""
        return float(any(map(_is_result, [source.sample, *as_list(source.sample)[:3]])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a task and trial; its id is ``TASK.TRIAL``."""
        for row in source.documents():
            results = row.value if isinstance(row.value, list) else [row.value]
            for number, result in enumerate(results):
                if _is_result(result):
                    yield self._recording(source, result)
                else:
                    source.skip(f"result {number} has no traj", row.line)

    def _recording(self, source: Transcript, result: dict[str, Any]) -> Recording:
        chat = Chat(source.skip, _answer, stop=StopRequest(awaiting_user=True))
        return Recording(
            id=f"{as_text(result.get('task_id'))}.{as_text(result.get('trial', 0))}",
            path=source.path,
            reader=self.name,
            entries=chat.entries(result["traj"]),
            profile="tau-bench",
            parallel_calls=False,
            meta={"reward": result.get("reward")},
        )


def _is_result(value: Any) -> bool:
    result = as_dict(value)
    return "task_id" in result and isinstance(result.get("traj"), list)


def _answer(message: Message) -> CallResult:
    text = said(message.get("content"))
    outcome = Outcome.ERROR if text.startswith("Error:") else Outcome.OK
    return CallResult(result=text, outcome=outcome, evidence=Evidence.DERIVED)


_ONE_AT_A_TIME = "one tool call at a time"


class Tau2:
    """Reads tau2-bench results."""

    name: ClassVar[str] = "tau2"

    def sniff(self, source: Transcript) -> float:
        """Look for simulations."""
        simulations = as_list(as_dict(source.sample).get("simulations"))
        return float(any(map(_is_simulation, simulations[:3])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a simulation."""
        for row in source.documents_with("simulations", _has_simulations):
            parallel = _ONE_AT_A_TIME not in _policy(row.value)
            for number, simulation in enumerate(row.value["simulations"]):
                if _is_simulation(simulation):
                    default = f"{as_text(simulation.get('task_id'))}.{number}"
                    yield self._recording(source, simulation, default, parallel)
                else:
                    source.skip(f"simulation {number} has no messages", row.line)

    def _recording(
        self, source: Transcript, simulation: dict[str, Any], default: str, parallel: bool
    ) -> Recording:
        reason = as_text(simulation.get("termination_reason"))
        reward = as_dict(simulation.get("reward_info")).get("reward")
        return Recording(
            id=named(simulation.get("id")) or default,
            path=source.path,
            reader=self.name,
            entries=_entries(simulation["messages"], reason, source),
            profile="tau2",
            parallel_calls=parallel,
            meta={"reward": reward, "termination_reason": reason},
        )


def _policy(document: dict[str, Any]) -> str:
    """Return the rules that the agent was given."""
    environment = as_dict(as_dict(document.get("info")).get("environment_info"))
    return named(environment.get("policy"))


def _has_simulations(document: Any) -> bool:
    return isinstance(as_dict(document).get("simulations"), list)


def _is_simulation(value: Any) -> bool:
    return isinstance(as_dict(value).get("messages"), list)


def _entries(messages: list[Any], reason: str, source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for number, message in enumerate(messages):
        if not _read(assembler, as_dict(message)):
            source.skip(f"message {number} has no known role")
        yield from assembler.take()
    yield from assembler.finish([RunEnd(reason=reason)] if reason else [])


def _read(assembler: Assembler, message: dict[str, Any]) -> bool:
    role = named(message.get("role"))
    if role == "tool":
        assembler.answer(named(message.get("id")), _tau2_answer(message))
    elif role == "assistant":
        _respond(assembler, message)
    elif role == "user":
        _listen(assembler, message)
    else:
        return role == "system"
    return True


def _respond(assembler: Assembler, message: dict[str, Any]) -> None:
    assembler.respond(
        text=said(message.get("content")),
        reasoning=named(message.get("reasoning")),
        usage=usage(as_dict(message.get("usage"))),
        at=as_time(message.get("timestamp")),
        stop=StopRequest(awaiting_user=True),
    )
    _call(assembler, message)


def _listen(assembler: Assembler, message: dict[str, Any]) -> None:
    text, at = said(message.get("content")), as_time(message.get("timestamp"))
    if text:
        assembler.user(text, at)
    if message.get("tool_calls"):
        assembler.respond(at=at, caller=CallOrigin.USER)
        _call(assembler, message)


def _call(assembler: Assembler, message: dict[str, Any]) -> None:
    for call in dicts(message.get("tool_calls")):
        params = arguments(call.get("arguments"))
        assembler.call(named(call.get("name")), params, named(call.get("id")))


def _tau2_answer(message: dict[str, Any]) -> CallResult:
    error = message.get("error")
    return CallResult(
        result=message.get("content"),
        outcome=Outcome.ERROR if error is True else Outcome.OK,
        evidence=Evidence.FLAG if isinstance(error, bool) else Evidence.UNKNOWN,
        at=as_time(message.get("timestamp")),
    )
