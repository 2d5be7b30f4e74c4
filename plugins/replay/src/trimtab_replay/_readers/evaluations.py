"""Evaluations: logs of Inspect, results of tau-bench and tau2-bench.

The agent talks with a simulated user; the environment marks a failed call by ``Error: ``.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import CallOrigin, Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader, flagged
from trimtab_replay._readers.openai import Chat, Message, Requested, usage
from trimtab_replay._recording import StopRequest
from trimtab_replay._transcript import Row, Transcript
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


class Inspect(MessageReader):
    """Reads Inspect's logs; the id of a sample is ``SAMPLE_epoch_N``."""

    name: ClassVar[str] = "inspect"
    profile: ClassVar[str] = "inspect"

    def sniff(self, source: Transcript) -> float:
        if source.head.startswith(_ZIP):
            return float(source.file.suffix == ".eval" or b"_journal/" in source.head)
        return float({"eval", "samples", "version"} <= set(as_dict(source.sample)))

    def documents(self, source: Transcript) -> Iterator[Row]:
        return _archived(source) if source.head.startswith(_ZIP) else source.documents()

    def runs(self, document: Any) -> list[Any]:
        samples = as_dict(document).get("samples")
        return samples if isinstance(samples, list) else [document]

    def messages(self, document: Any) -> list[Any] | None:
        """Return the messages, those of tools with the event that says more of the call."""
        events = dicts(as_dict(document).get("events"))
        tools = {named(each.get("id")): each for each in events if each.get("event") == "tool"}
        found = super().messages(document)
        return found and [
            {**each, "event": tools.get(named(each.get("tool_call_id")))}
            if isinstance(each, dict)
            else each
            for each in found
        ]

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        scores = as_dict(document.get("scores")).items()
        return {
            "name": f"{as_text(document.get('id'))}_epoch_{as_text(document.get('epoch', 1))}",
            "meta": {"scores": {name: as_dict(score).get("value") for name, score in scores}},
        }

    def reason(self, document: Any) -> str:
        return as_text(as_dict(as_dict(document).get("limit")).get("type"))

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        return _INSPECT.feed(assembler, message)


def _archived(source: Transcript) -> Iterator[Row]:
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


def _member(source: Transcript, archive: zipfile.ZipFile, name: str) -> Iterator[Row]:
    try:
        with archive.open(name) as stream:
            data = stream.read(source.max_document + 1)
        if len(data) > source.max_document:
            raise ValueError(f"larger than {source.max_document} bytes")
        yield Row(1, parse(data).value)
    except _BROKEN as error:
        source.skip(f"{name[:200]}: {error}")


def _calls(message: Message) -> Iterator[Requested]:
    for call in dicts(message.get("tool_calls")):
        params = arguments(call.get("arguments"))
        yield named(call.get("function")), params, named(call.get("id"))


def _answer(message: Message) -> CallResult:
    event, error = as_dict(message.get("event")), as_dict(message.get("error"))
    content = flattened(message.get("content"))
    failure = _OUTCOMES.get(as_text(error.get("type")), Outcome.ERROR)
    return CallResult(
        result=content or error.get("message", content),
        outcome=failure if error else Outcome.OK,
        at=as_time(event.get("completed")),
        started=as_time(event.get("timestamp")),
        duration=as_float(event.get("working_time")),
    )


_INSPECT = Chat(_answer, calls=_calls)


class TauBench(MessageReader):
    """Reads tau-bench results; the id of one is ``TASK.TRIAL``."""

    name: ClassVar[str] = "tau-bench"
    profile: ClassVar[str] = "tau-bench"
    parallel_calls: ClassVar[bool | None] = False
    keys: ClassVar[tuple[str, ...]] = ("traj",)
    what: ClassVar[str] = "traj"

    def sniff(self, source: Transcript) -> float:
        return float(self.is_told_by(source.sample))

    def runs(self, document: Any) -> list[Any]:
        return document if isinstance(document, list) else [document]

    def messages(self, document: Any) -> list[Any] | None:
        return super().messages(document) if "task_id" in as_dict(document) else None

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        trial = f"{as_text(document.get('task_id'))}.{as_text(document.get('trial', 0))}"
        return {"name": trial, "meta": {"reward": document.get("reward")}}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        return _TAU.feed(assembler, message)


def _tau_answer(message: Message) -> CallResult:
    text = said(message.get("content"))
    outcome = Outcome.ERROR if text.startswith("Error:") else Outcome.OK
    return CallResult(result=text, outcome=outcome, evidence=Evidence.DERIVED)


_TAU = Chat(_tau_answer, stop=StopRequest(awaiting_user=True))
_ONE_AT_A_TIME = "one tool call at a time"


class Tau2(MessageReader):
    """Reads tau2-bench results."""

    name: ClassVar[str] = "tau2"
    profile: ClassVar[str] = "tau2"

    def sniff(self, source: Transcript) -> float:
        simulations = as_list(as_dict(source.sample).get("simulations"))
        return float(any(map(has_list("messages"), simulations[:3])))

    def runs(self, document: Any) -> list[Any]:
        """Return the simulations, with the rules that the agent was given."""
        environment = as_dict(as_dict(as_dict(document).get("info")).get("environment_info"))
        simulations = as_dict(document).get("simulations")
        if not isinstance(simulations, list):
            return [document]
        return [{**as_dict(each), "policy": environment.get("policy")} for each in simulations]

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        reason = as_text(document.get("termination_reason"))
        reward = as_dict(document.get("reward_info")).get("reward")
        return {
            "name": named(document.get("id")),
            "parallel_calls": _ONE_AT_A_TIME not in named(document.get("policy")),
            "meta": {"reward": reward, "termination_reason": reason},
        }

    def reason(self, document: Any) -> str:
        return as_text(as_dict(document).get("termination_reason"))

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
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
