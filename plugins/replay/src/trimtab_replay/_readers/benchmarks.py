"""Benchmarks whose agents write actions as text: AgentBench, InterCode, SWE-agent, Who&When."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, ClassVar

import attrs

from trimtab_replay._assembler import Assembler
from trimtab_replay._readers.messages import MessageReader, Reader, action_call, flagged
from trimtab_replay._readers.openai import requested
from trimtab_replay._recording import Item, RecordedItem, Recording, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_float, as_list, as_text, dicts, has_list, named, said

_AGENT = {"agent", "assistant"}
_ROLES = {"user", "system", "tool", *_AGENT}
_ENDS = ("finish", "answer", "submit", "commit")


class AgentBench(MessageReader):
    """Reads runs of AgentBench."""

    name: ClassVar[str] = "agentbench"
    certainty: ClassVar[float] = 1.0
    parallel_calls: ClassVar[bool | None] = False

    def is_own(self, message: dict[str, Any]) -> bool:
        return isinstance(as_dict(message.get("output")).get("history"), list)

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("role")) in _ROLES and "content" in message

    def messages(self, document: Any) -> list[Any]:
        if isinstance(document, list):
            return document
        return as_list(as_dict(as_dict(document).get("output")).get("history"))

    def _sniffed(self, document: Any) -> list[Any]:
        return document[:20] if isinstance(document, list) else [document]

    def end(self, document: Any) -> Iterable[Item]:
        status = as_text(as_dict(as_dict(document).get("output")).get("status"))
        return (RunEnd(reason=status),) if status else ()

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


class InterCode(Reader):
    """Reads InterCode results."""

    name: ClassVar[str] = "intercode"
    profile: ClassVar[str] = "intercode"
    parallel_calls: ClassVar[bool | None] = False

    def sniff(self, source: Transcript) -> float:
        return float(any(map(_is_episode, list(as_dict(source.sample).values())[:3])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.documents_with("tasks", lambda value: isinstance(value, dict)):
            for key, episode in row.value.items():
                if _is_episode(episode):
                    reward = as_dict(episode.get("summary")).get("max_reward")
                    meta = {"max_reward": reward}
                    yield self.recording(source, _entries(episode), key, meta=meta)
                else:
                    source.skip(f"task {key[:80]!r} has no turn_history", row.line)


def _is_episode(value: Any) -> bool:
    return isinstance(as_dict(as_dict(value).get("turn_history")).get("actions"), list)


def _entries(episode: dict[str, Any]) -> Iterator[RecordedItem]:
    assembler, turns = Assembler(), episode["turn_history"]
    tool = named(episode.get("environment")).removeprefix("ic_") or "execute"
    assembler.user(as_text(episode.get("query")))
    observations, valid = as_list(turns.get("observations")), as_list(turns.get("valid_action"))
    answers = zip_longest(turns["actions"], observations, valid)
    for action, observation, is_valid in list(answers)[: len(turns["actions"])]:
        assembler.respond()
        call_id = assembler.call(tool, {"command": as_text(action)})
        failed = not is_valid if isinstance(is_valid, bool) else None
        assembler.answer(call_id, flagged(observation, failed))
        yield from assembler.take()
    yield from assembler.finish()


class SweAgent(Reader):
    """Reads SWE-agent trajectories."""

    name: ClassVar[str] = "swe-agent"
    profile: ClassVar[str] = "swe-agent"
    parallel_calls: ClassVar[bool | None] = False

    def sniff(self, source: Transcript) -> float:
        steps = as_list(as_dict(source.sample).get("trajectory"))
        return float(any("action" in step and "observation" in step for step in dicts(steps)))

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.documents_with("a trajectory", has_list("trajectory")):
            document = as_dict(row.value)
            status = as_text(as_dict(document.get("info")).get("exit_status"))
            entries = _steps(document, status, source)
            yield self.recording(source, entries, line=row.line, meta={"exit_status": status})


def _steps(document: dict[str, Any], status: str, source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for text in _task(document.get("history")):
        assembler.user(text)
    for number, step in enumerate(document["trajectory"]):
        if isinstance(step, dict):
            _read(assembler, step)
        else:
            source.skip(f"step {number} is not an object")
        yield from assembler.take()
    yield from assembler.finish([RunEnd(reason=status)])


def _task(history: Any) -> list[str]:
    """Return the user's messages before the first step: the task."""
    task: list[str] = []
    for message in dicts(history):
        if message.get("role") == "user" and message.get("is_demo") is not True:
            task.append(said(message.get("content")))
        elif message.get("role") == "assistant" and message.get("is_demo") is not True:
            break
    return task


def _read(assembler: Assembler, step: dict[str, Any]) -> None:
    action = as_text(step.get("action")).strip()
    if action.startswith("exit_"):  # no action of the agent's: the harness ended the run
        return
    assembler.respond(text=as_text(step.get("thought", step.get("response"))).strip())
    if not action:
        return
    call_id = assembler.call(action.split(None, 1)[0], {"command": action})
    duration = as_float(step.get("execution_time"))
    answer = attrs.evolve(flagged(step.get("observation")), duration=duration)
    assembler.answer(call_id, answer)


_REQUEST = re.compile(r"Orchestrator \(-> (?P<agent>[^)]{1,100})\)")
_THOUGHT = "Orchestrator (thought)"
_END = "Orchestrator (termination condition)"
_FACTS = ("mistake_agent", "mistake_step", "mistake_reason", "is_corrected")


class WhoAndWhen(Reader):
    """Reads Who&When's histories."""

    name: ClassVar[str] = "who-and-when"
    profile: ClassVar[str] = "magentic-one"
    parallel_calls: ClassVar[bool | None] = False

    def sniff(self, source: Transcript) -> float:
        history = as_list(as_dict(source.sample).get("history"))
        return float(any(named(turn.get("role")) == _THOUGHT for turn in dicts(history)[:20]))

    def read(self, source: Transcript) -> Iterator[Recording]:
        for row in source.documents_with("a history", has_list("history")):
            document = as_dict(row.value)
            meta = {key: document[key] for key in _FACTS if key in document}
            entries = _History(source).entries(document["history"])
            yield self.recording(source, entries, line=row.line, meta=meta)


@attrs.define
class _History:
    source: Transcript
    assembler: Assembler = attrs.field(factory=Assembler)
    thoughts: list[str] = attrs.field(factory=list)
    end: list[RunEnd] = attrs.field(factory=list)

    def entries(self, history: list[Any]) -> Iterator[RecordedItem]:
        for number, turn in enumerate(history):
            role, text = named(as_dict(turn).get("role")), as_text(as_dict(turn).get("content"))
            if role:
                self._read(role, text)
            else:
                self.source.skip(f"turn {number} has no role")
            yield from self.assembler.take()
        self._think()
        yield from self.assembler.finish(self.end)

    def _read(self, role: str, text: str) -> None:
        """Thoughts may stand between a request and its answer; they belong to the next request."""
        if (request := _REQUEST.fullmatch(role)) is not None:
            self._think()
            self.assembler.call(request["agent"], {"request": text})
            self.assembler.close_turn()
        elif role == _THOUGHT:
            self.thoughts.append(text)
        elif role == "human":
            self.assembler.user(text)
        elif role == _END:
            self.end.append(RunEnd(reason=text))
        else:
            self.assembler.answer(self.assembler.oldest(role), flagged(text))

    def _think(self) -> None:
        if self.thoughts:
            self.assembler.respond(reasoning="\n".join(self.thoughts))
            self.thoughts = []
