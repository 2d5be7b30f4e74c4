"""ATIF, the agent trajectory interchange format: a document, an array of them, or line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, Usage
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_float,
    as_int,
    as_list,
    as_time,
    dicts,
    flattened,
    named,
    said,
)

_HEADER = "__header__"
_IN_WORDS = re.compile(r"Tool result for (\S{1,200})$")


class Atif:
    """Reads ATIF 1.x."""

    name: ClassVar[str] = "atif"

    def sniff(self, source: Transcript) -> float:
        """Look for steps with a source beside a schema's version or an agent."""
        sample = source.sample
        return float(any(map(_is_trajectory, [sample, *as_list(sample)[:3]])) or _is_header(sample))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a trajectory."""
        if len(source.first_rows) > 1 and _is_header(source.first_rows[0]):
            header = as_dict(source.first_rows[0].get(_HEADER)) or source.first_rows[0]
            steps = (row.value for row in source.rows() if not _is_header(row.value))
            yield self._recording(source, header, steps, source.stem)
            return
        for row in source.documents():
            documents = row.value if isinstance(row.value, list) else [row.value]
            for number, document in enumerate(documents):
                if _is_trajectory(document):
                    default = source.stem if number == 0 else f"{source.stem}:{number}"
                    yield self._recording(source, document, iter(document["steps"]), default)
                else:
                    source.skip(f"document {number} has no steps", row.line)

    def _recording(
        self, source: Transcript, head: dict[str, Any], steps: Iterator[Any], default: str
    ) -> Recording:
        return Recording(
            id=named(head.get("session_id")) or default,
            path=source.path,
            reader=self.name,
            entries=_entries(steps, source),
            profile=named(as_dict(head.get("agent")).get("name")),
        )


def _is_header(value: Any) -> bool:
    head = as_dict(value)
    return _HEADER in head or head.get("type") == _HEADER


def _is_trajectory(value: Any) -> bool:
    document = as_dict(value)
    steps = document.get("steps")
    return isinstance(steps, list) and ("schema_version" in document or "agent" in document)


def _entries(steps: Iterator[Any], source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for number, step in enumerate(steps):
        if isinstance(step, dict) and isinstance(step.get("source"), str):
            _Step(assembler, step, as_time(step.get("timestamp"))).read()
        else:
            source.skip(f"step {number} has no source")
        yield from assembler.take()
    yield from assembler.finish()


@attrs.frozen
class _Step:
    assembler: Assembler
    step: dict[str, Any]
    at: datetime | None

    def read(self) -> None:
        if self.step["source"] == "user":
            self.assembler.user(said(self.step.get("message")), self.at)
        elif self.step["source"] == "agent" and not self._only_answers():
            self._respond()
        self._answers()

    def _only_answers(self) -> bool:
        """Some converters put each result into an agent's step of its own."""
        return bool(self._answered()) and not self.step.get("tool_calls")

    def _answered(self) -> str:
        answered = _IN_WORDS.match(said(self.step.get("message")))
        told = named(as_dict(self.step.get("extra")).get("tool_call_id"))
        return told or (answered[1] if answered else "")

    def _respond(self) -> None:
        self.assembler.respond(
            text=said(self.step.get("message")),
            reasoning=named(self.step.get("reasoning_content")),
            usage=_usage(as_dict(self.step.get("metrics"))),
            at=self.at,
            stop=StopRequest(),
            presumed=True,
        )
        for call in dicts(self.step.get("tool_calls")):
            name = named(call.get("function_name", call.get("name")))
            params = arguments(call.get("arguments"))
            self.assembler.call(name, params, named(call.get("tool_call_id", call.get("id"))))

    def _answers(self) -> None:
        observation = as_dict(self.step.get("observation"))
        results = dicts(observation.get("results"))
        if observation and "results" not in observation:
            results = [observation]
        elif not observation and self.step["source"] == "agent" and self._only_answers():
            results = [{"content": self.step.get("message")}]
        for result in results:
            call_id = named(result.get("source_call_id")) or self._answered()
            outcome = _outcome(result)
            answer = CallResult(
                result=flattened(result.get("content")),
                outcome=outcome or Outcome.OK,
                evidence=Evidence.UNKNOWN if outcome is None else Evidence.FLAG,
                at=self.at,
            )
            self.assembler.answer(call_id or self.assembler.oldest(), answer)


def _usage(metrics: dict[str, Any]) -> Usage | None:
    if not metrics:
        return None
    cost = as_float(metrics.get("cost_usd")) or 0.0
    read, written = metrics.get("prompt_tokens"), metrics.get("completion_tokens")
    return Usage(as_int(read), as_int(written), max(cost, 0.0))


def _outcome(result: Any) -> Outcome | None:
    """Return how a call ended where the writer says it, as exports of trimtab do."""
    told = as_dict(result.get("extra")).get("outcome")
    return Outcome(told) if isinstance(told, str) and told in set(Outcome) else None
