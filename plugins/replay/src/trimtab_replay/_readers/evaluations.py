"""Evaluations: logs of Inspect, results of tau-bench and tau2-bench.

The agent talks with a simulated user; the environment marks a failed call by ``Error: ``.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import CallOrigin, Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import Reader, assembled, flagged
from trimtab_replay._readers.openai import Chat, Message, Requested, usage
from trimtab_replay._recording import Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_float,
    as_list,
    as_text,
    as_time,
    dicts,
    flattened,
    has_list,
    named,
    parse,
    said,
)

_ZIP = b"PK\x03\x04"
_BROKEN = (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError)
_OUTCOMES = {"parsing": Outcome.INVALID, "approval": Outcome.DENIED}


class Inspect(Reader):
    """Reads Inspect's logs."""

    name: ClassVar[str] = "inspect"
    profile: ClassVar[str] = "inspect"

    def sniff(self, source: Transcript) -> float:
        if source.head.startswith(_ZIP):
            return float(source.file.suffix == ".eval" or b"_journal/" in source.head)
        return float({"eval", "samples", "version"} <= set(as_dict(source.sample)))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a sample and epoch; its id is ``SAMPLE_epoch_N``."""
        is_archive = source.head.startswith(_ZIP)
        for sample in _archived(source) if is_archive else _logged(source):
            if isinstance(as_dict(sample).get("messages"), list):
                yield self._recording(source, sample)
            else:
                source.skip("sample without messages")

    def _recording(self, source: Transcript, sample: dict[str, Any]) -> Recording:
        scores = as_dict(sample.get("scores")).items()
        chat = Chat(_Times.of(sample).answer, calls=_calls)
        limit = as_text(as_dict(sample.get("limit")).get("type"))
        return self.recording(
            source,
            chat.entries(source, sample["messages"], (RunEnd(reason=limit),) if limit else ()),
            f"{as_text(sample.get('id'))}_epoch_{as_text(sample.get('epoch', 1))}",
            meta={"scores": {name: as_dict(score).get("value") for name, score in scores}},
        )


def _logged(source: Transcript) -> Iterator[Any]:
    for row in source.documents_with("samples", has_list("samples")):
        yield from row.value["samples"]


def _archived(source: Transcript) -> Iterator[Any]:
    try:
        with zipfile.ZipFile(source.file) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            for name in sorted(names, key=_by_epoch):
                yield from _member(source, archive, name)
    except _BROKEN as error:
        source.skip(f"damaged archive: {error}")


def _by_epoch(name: str) -> tuple[str, int, str]:
    sample, _, epoch = name.removesuffix(".json").rpartition("_epoch_")
    return sample, int(epoch) if epoch.isdecimal() else 0, name


def _member(source: Transcript, archive: zipfile.ZipFile, name: str) -> Iterator[Any]:
    try:
        with archive.open(name) as stream:
            data = stream.read(source.max_document + 1)
        if len(data) > source.max_document:
            raise ValueError(f"larger than {source.max_document} bytes")
        yield parse(data).value
    except _BROKEN as error:
        source.skip(f"{name[:200]}: {error}")


def _calls(message: Message) -> Iterator[Requested]:
    for call in dicts(message.get("tool_calls")):
        params = arguments(call.get("arguments"))
        yield named(call.get("function")), params, named(call.get("id"))


@attrs.frozen
class _Times:
    """The tool events of a sample, by call."""

    events: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, sample: dict[str, Any]) -> _Times:
        tools = (event for event in dicts(sample.get("events")) if event.get("event") == "tool")
        return cls({named(event.get("id")): event for event in tools})

    def answer(self, message: Message) -> CallResult:
        event = self.events.get(named(message.get("tool_call_id")), {})
        error = as_dict(message.get("error"))
        content = flattened(message.get("content"))
        failure = _OUTCOMES.get(as_text(error.get("type")), Outcome.ERROR)
        return CallResult(
            result=content or error.get("message", content),
            outcome=failure if error else Outcome.OK,
            at=as_time(event.get("completed")),
            started=as_time(event.get("timestamp")),
            duration=as_float(event.get("working_time")),
        )


class TauBench(Reader):
    """Reads tau-bench results."""

    name: ClassVar[str] = "tau-bench"
    profile: ClassVar[str] = "tau-bench"
    parallel_calls: ClassVar[bool | None] = False

    def sniff(self, source: Transcript) -> float:
        return float(any(map(_is_result, [source.sample, *as_list(source.sample)[:3]])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a task and trial; its id is ``TASK.TRIAL``."""
        for row in source.documents():
            results = row.value if isinstance(row.value, list) else [row.value]
            for number, result in enumerate(results):
                if _is_result(result):
                    chat = Chat(_answer, stop=StopRequest(awaiting_user=True))
                    name = f"{as_text(result.get('task_id'))}.{as_text(result.get('trial', 0))}"
                    meta = {"reward": result.get("reward")}
                    yield self.recording(
                        source, chat.entries(source, result["traj"]), name, meta=meta
                    )
                else:
                    source.skip(f"result {number} has no traj", row.line)


def _is_result(value: Any) -> bool:
    result = as_dict(value)
    return "task_id" in result and isinstance(result.get("traj"), list)


def _answer(message: Message) -> CallResult:
    text = said(message.get("content"))
    outcome = Outcome.ERROR if text.startswith("Error:") else Outcome.OK
    return CallResult(result=text, outcome=outcome, evidence=Evidence.DERIVED)


_ONE_AT_A_TIME = "one tool call at a time"


class Tau2(Reader):
    """Reads tau2-bench results."""

    name: ClassVar[str] = "tau2"
    profile: ClassVar[str] = "tau2"

    def sniff(self, source: Transcript) -> float:
        simulations = as_list(as_dict(source.sample).get("simulations"))
        return float(any(map(_is_simulation, simulations[:3])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.documents_with("simulations", has_list("simulations")):
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
        return self.recording(
            source,
            assembled(
                source,
                simulation["messages"],
                _read,
                "message {} has no known role",
                [RunEnd(reason=reason)] if reason else (),
            ),
            named(simulation.get("id")) or default,
            parallel_calls=parallel,
            meta={"reward": reward, "termination_reason": reason},
        )


def _policy(document: dict[str, Any]) -> str:
    """Return the rules that the agent was given."""
    environment = as_dict(as_dict(document.get("info")).get("environment_info"))
    return named(environment.get("policy"))


def _is_simulation(value: Any) -> bool:
    return isinstance(as_dict(value).get("messages"), list)


def _read(assembler: Assembler, message: dict[str, Any]) -> bool:
    role = named(message.get("role"))
    if role == "tool":
        failed = message["error"] if isinstance(message.get("error"), bool) else None
        answer = flagged(message.get("content"), failed, as_time(message.get("timestamp")))
        assembler.answer(named(message.get("id")), answer)
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
