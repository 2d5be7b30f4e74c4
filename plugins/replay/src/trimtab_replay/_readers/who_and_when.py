"""Who&When: histories of Magentic-One runs; a call is a request in words to another agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_list, as_text, dicts, named

_REQUEST = re.compile(r"Orchestrator \(-> (?P<agent>[^)]{1,100})\)")
_THOUGHT = "Orchestrator (thought)"
_END = "Orchestrator (termination condition)"
_FACTS = ("mistake_agent", "mistake_step", "mistake_reason", "is_corrected")


class WhoAndWhen:
    """Reads Who&When's histories."""

    name: ClassVar[str] = "who-and-when"

    def sniff(self, source: Transcript) -> float:
        """Look for an orchestrator in the history."""
        history = as_list(as_dict(source.sample).get("history"))
        return float(any(named(turn.get("role")) == _THOUGHT for turn in dicts(history)[:20]))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document."""
        for row in source.documents_with("a history", _has_history):
            document = as_dict(row.value)
            yield Recording(
                id=source.stem if row.line == 1 else f"{source.stem}:{row.line}",
                path=source.path,
                reader=self.name,
                entries=_History(source).entries(document["history"]),
                profile="magentic-one",
                parallel_calls=False,
                meta={key: document[key] for key in _FACTS if key in document},
            )


def _has_history(document: Any) -> bool:
    return isinstance(as_dict(document).get("history"), list)


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
            answer = CallResult(result=text, evidence=Evidence.UNKNOWN)
            self.assembler.answer(self.assembler.oldest(role), answer)

    def _think(self) -> None:
        if self.thoughts:
            self.assembler.respond(reasoning="\n".join(self.thoughts))
            self.thoughts = []
