"""Benchmarks whose agents write actions as text: AgentBench, InterCode, SWE-agent, Who&When."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from typing import Any, ClassVar

import attrs

from trimtab_replay._assembler import Assembler
from trimtab_replay._readers.messages import (
    MessageReader,
    action_call,
    exit_status,
    flagged,
)
from trimtab_replay._readers.openai import requested
from trimtab_replay._recording import Item, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_float, as_list, as_text, dicts, named, said

_AGENT = {"agent", "assistant"}
_ROLES = {"user", "system", "tool", *_AGENT}
_TASK = "trimtab.task"
_ENDS = ("finish", "answer", "submit", "commit")


class AgentBench(MessageReader):
    """Reads runs of AgentBench."""

    name: ClassVar[str] = "agentbench"
    certainty: ClassVar[float] = 1.0
    parallel_calls: ClassVar[bool | None] = False
    keys: ClassVar[tuple[str, ...]] = ("history",)

    def is_own(self, message: dict[str, Any]) -> bool:
        return isinstance(as_dict(message.get("output")).get("history"), list)

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("role")) in _ROLES and "content" in message

    def messages(self, document: Any) -> list[Any] | None:
        return super().messages(as_dict(document).get("output", document))

    def _sniffed(self, document: Any) -> list[Any]:
        return document[:20] if isinstance(document, list) else [document]

    def reason(self, document: Any) -> str:
        return as_text(as_dict(as_dict(document).get("output")).get("status"))

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message of a history to `assembler`; an action is answered by the next."""
        role, text = named(message.get("role")), said(message.get("content"))
        if role in _AGENT:
            assembler.respond(text=text)
            asked = list(requested(message))
            action = None if asked else action_call(text)
            for call in asked:
                assembler.call(*call)
            if action is not None and not action[0].lower().startswith(_ENDS):
                assembler.call(*action)
        elif role in {"user", "tool"}:
            waiting = assembler.oldest()
            if waiting:
                assembler.answer(waiting, flagged(text))
            else:
                assembler.user(text)
        return role in _ROLES


class InterCode(MessageReader):
    """Reads InterCode results: a document of tasks, by their names."""

    name: ClassVar[str] = "intercode"
    profile: ClassVar[str] = "intercode"
    parallel_calls: ClassVar[bool | None] = False
    what: ClassVar[str] = "turn_history"

    def sniff(self, source: Transcript) -> float:
        return float(isinstance(source.sample, dict) and self.is_told_by(source.sample))

    def knows(self, message: dict[str, Any]) -> bool:
        return "query" in message or "action" in message

    def runs(self, document: Any) -> list[Any]:
        if not isinstance(document, dict):
            return [document]
        return [{**as_dict(run), _TASK: name} for name, run in document.items()]

    def messages(self, document: Any) -> list[Any] | None:
        """Return the task, and each action with its observation and whether it was valid."""
        run = as_dict(document)
        turns = as_dict(run.get("turn_history"))
        actions = turns.get("actions")
        if not isinstance(actions, list):
            return None
        tool = named(run.get("environment")).removeprefix("ic_") or "execute"
        lists = (as_list(turns.get(key)) for key in ("observations", "valid_action"))
        told = islice(zip_longest(actions, *lists), len(actions))
        keys = ("action", "observation", "valid")
        steps = ({**dict(zip(keys, each, strict=True)), "tool": tool} for each in told)
        return [{"query": run.get("query")}, *steps]

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        reward = as_dict(document.get("summary")).get("max_reward")
        return {"name": document[_TASK], "meta": {"max_reward": reward}}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        if "query" in message:
            assembler.user(as_text(message["query"]))
            return True
        assembler.respond()
        call_id = assembler.call(message["tool"], {"command": as_text(message["action"])})
        failed = not message["valid"] if isinstance(message["valid"], bool) else None
        assembler.answer(call_id, flagged(message["observation"], failed))
        return True


class SweAgent(MessageReader):
    """Reads SWE-agent trajectories."""

    name: ClassVar[str] = "swe-agent"
    certainty: ClassVar[float] = 1.0
    profile: ClassVar[str] = "swe-agent"
    parallel_calls: ClassVar[bool | None] = False
    keys: ClassVar[tuple[str, ...]] = ("trajectory",)
    what: ClassVar[str] = "a trajectory"
    unknown: ClassVar[str] = "step {} is not an object"

    def is_own(self, message: dict[str, Any]) -> bool:
        return "action" in message and "observation" in message

    def knows(self, message: dict[str, Any]) -> bool:
        is_step = any(key in message for key in ("action", "observation", "thought"))
        return is_step or message.get("role") == "user"

    def messages(self, document: Any) -> list[Any] | None:
        """Return the user's messages before the first step, which are the task, and the steps."""
        steps = super().messages(as_dict(document))
        return None if steps is None else [*_task(document.get("history")), *steps]

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {"meta": {"exit_status": exit_status(document)}}

    def end(self, document: Any) -> Iterable[Item]:
        return [RunEnd(reason=exit_status(document))]

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        action = as_text(message.get("action")).strip()
        if message.get("role") == "user":
            assembler.user(said(message.get("content")))
        elif not action.startswith("exit_"):  # no action of the agent's: the harness ended the run
            text = as_text(message.get("thought", message.get("response"))).strip()
            assembler.respond(text=text)
            if action:
                call_id = assembler.call(action.split(None, 1)[0], {"command": action})
                duration = as_float(message.get("execution_time"))
                answer = attrs.evolve(flagged(message.get("observation")), duration=duration)
                assembler.answer(call_id, answer)
        return True


def _task(history: Any) -> Iterator[dict[str, Any]]:
    for message in dicts(history):
        if message.get("is_demo") is not True:
            if message.get("role") == "assistant":
                return
            if message.get("role") == "user":
                yield message


_REQUEST = re.compile(r"Orchestrator \(-> (?P<agent>[^)]{1,100})\)")
_THOUGHT = "Orchestrator (thought)"
_END = "Orchestrator (termination condition)"
_FACTS = ("mistake_agent", "mistake_step", "mistake_reason", "is_corrected")


@attrs.define
class WhoAndWhen(MessageReader):
    """Reads Who&When's histories."""

    name: ClassVar[str] = "who-and-when"
    certainty: ClassVar[float] = 1.0
    profile: ClassVar[str] = "magentic-one"
    parallel_calls: ClassVar[bool | None] = False
    keys: ClassVar[tuple[str, ...]] = ("history",)
    what: ClassVar[str] = "a history"
    unknown: ClassVar[str] = "turn {} has no role"

    thoughts: list[str] = attrs.field(factory=list)
    ends: list[RunEnd] = attrs.field(factory=list)

    def is_own(self, message: dict[str, Any]) -> bool:
        return named(message.get("role")) == _THOUGHT

    def knows(self, message: dict[str, Any]) -> bool:
        return bool(named(message.get("role")))

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {"meta": {key: document[key] for key in _FACTS if key in document}}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Thoughts may stand between a request and its answer; they belong to the next request."""
        role, text = named(message.get("role")), as_text(message.get("content"))
        if (request := _REQUEST.fullmatch(role)) is not None:
            self.flush(assembler)
            assembler.call(request["agent"], {"request": text})
            assembler.close_turn()
        elif role == _THOUGHT:
            self.thoughts.append(text)
        elif role == "human":
            assembler.user(text)
        elif role == _END:
            self.ends.append(RunEnd(reason=text))
        elif role:
            assembler.answer(assembler.oldest(role), flagged(text))
        return bool(role)

    def flush(self, assembler: Assembler) -> Iterable[Item]:
        if self.thoughts:
            assembler.respond(reasoning="\n".join(self.thoughts))
            self.thoughts = []
        return self.ends
