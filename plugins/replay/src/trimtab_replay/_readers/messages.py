"""What formats share: arrays or lines of messages, and calls that a model wrote as text.

Everything here walks through the text once, by `str.find`; text that was cut off has no call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, ClassVar

from trimtab import Outcome, Usage
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import Item, RecordedItem, Recording, RunEnd
from trimtab_replay._transcript import Row, Transcript
from trimtab_replay._values import arguments, as_dict, as_float, as_int, as_text, dicts, named
from trimtab_replay.outcomes import outcome_of

_IDS = ("id", "session_id", "sessionId", "conversation_id", "thread_id", "chat_id")


def flagged(result: Any, failed: bool | None = None, at: datetime | None = None) -> CallResult:
    """Return the answer of a call by a flag that says whether it failed; None if there is none."""
    outcome = Outcome.ERROR if failed else Outcome.OK
    evidence = Evidence.UNKNOWN if failed is None else Evidence.FLAG
    return CallResult(result=result, outcome=outcome, evidence=evidence, at=at)


def worded(agent: str, text: str, at: datetime | None) -> CallResult:
    """Return the answer of a call whose text alone tells how it ended, as `outcome_of` reads it."""
    read = outcome_of(agent, text)
    return CallResult(result=text, outcome=read.outcome, evidence=read.evidence, at=at)


def exit_status(document: Any) -> str:
    """Return how a run ended, as agents that mend code write it."""
    return as_text(as_dict(as_dict(document).get("info")).get("exit_status"))


def used(told: Any, read: Iterable[str], written: str, cost: Any = None) -> Usage | None:
    """Return what a response used: tokens by the keys that a format tells them by, and cost."""
    if not isinstance(told, dict) or not told:
        return None
    tokens = sum(as_int(told.get(key)) for key in read)
    return Usage(tokens, as_int(told.get(written)), max(as_float(cost) or 0.0, 0.0))


Feed = Callable[[Assembler, dict[str, Any]], bool]
"""Gives one message, event or row to an assembler; returns False if it is of no known kind."""


def assembled(
    source: Transcript,
    items: Iterable[Any],
    feed: Feed,
    unknown: str,
    end: Callable[[Assembler], Iterable[Item]] = lambda _: (),
) -> Iterator[RecordedItem]:
    """Yield what happened in messages, or rows, which `feed` gives to an assembler one by one.

    What `end` returns happens after the last of them.

    One that it returns False for is reported as `unknown`, in which ``{0}`` is its number and
    ``{1}`` its type, or that of its payload.
    """
    assembler = Assembler()
    for number, item in enumerate(items):
        value, line = (item.value, item.line) if isinstance(item, Row) else (item, None)
        if not isinstance(value, dict) or not feed(assembler, value):
            told = as_dict(value)
            kind = as_text(as_dict(told.get("payload", told)).get("type"))[:40]
            source.skip(unknown.format(number, kind), line)
        yield from assembler.take()
    yield from assembler.finish(end(assembler))


class Reader:
    """What all recordings of one format have in common."""

    name: ClassVar[str]
    profile: ClassVar[str] = ""
    parallel_calls: ClassVar[bool | None] = True

    def recording(
        self,
        source: Transcript,
        entries: Iterable[RecordedItem],
        name: str = "",
        *,
        place: int = 0,
        **facts: Any,
    ) -> Recording:
        """Return a recording of this format.

        Args:
            place: its number in a file with several; they are called by it where they have no name.
        """
        return Recording(
            id=name or (f"{source.stem}:{place}" if place else source.stem),
            path=source.path,
            reader=self.name,
            entries=entries,
            **{"profile": self.profile, "parallel_calls": self.parallel_calls, **facts},
        )

    def flush(self, assembler: Assembler) -> Iterable[Item]:
        """Give what waits for another message to `assembler`; return what happens at the end."""
        del assembler
        return ()


class RowReader(Reader, ABC):
    """Reads files of rows, one of which is enough to tell the format.

    Each file is read by an instance of its own, which may remember what it has read.
    """

    certainty: ClassVar[float] = 1.0
    unknown: ClassVar[str]

    @abstractmethod
    def is_own(self, row: dict[str, Any]) -> bool:
        """Whether `row` shows that the file is in this format."""

    def sniff(self, source: Transcript) -> float:
        return self.certainty * any(map(self.is_own, source.first_rows))

    @abstractmethod
    def feed(self, assembler: Assembler, row: dict[str, Any]) -> bool:
        """Give one row to `assembler`; return False if it is of no known kind."""

    def id_in(self, row: dict[str, Any]) -> Any:
        """Return the id of the session, where `row` says it."""
        return row.get("session_id")

    def read(self, source: Transcript) -> Iterator[Recording]:
        ids = filter(None, (named(self.id_in(row)) for row in source.first_rows))
        run = type(self)()
        entries = assembled(source, source.rows(), run.feed, self.unknown, run.flush)
        yield self.recording(source, entries, next(ids, ""))


class MessageReader(Reader, ABC):
    """Reads files of messages in one shape.

    A subclass says which messages are its own, among how many of the first it looks for them, and
    what each of them means. Each run is read by an instance of its own, which may remember what
    it has read.
    """

    certainty: ClassVar[float] = 0.9
    keys: ClassVar[tuple[str, ...]] = ("messages",)
    sniffed: ClassVar[int] = 200
    what: ClassVar[str] = "messages"
    unknown: ClassVar[str] = "message {} has no known role or type"

    def knows(self, message: dict[str, Any]) -> bool:
        """Whether this reader understands `message`."""
        return "role" in message

    def is_own(self, message: dict[str, Any]) -> bool:
        """Whether `message` shows that the file is in this format."""
        return self.knows(message)

    def is_message(self, value: Any) -> bool:
        """Whether `value` is a message that this reader understands."""
        return isinstance(value, dict) and self.knows(value)

    @abstractmethod
    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`; return False if it has no known role."""

    def documents(self, source: Transcript) -> Iterator[Row]:
        """Yield the documents of a file."""
        return source.documents()

    def runs(self, document: Any) -> list[Any]:
        """Return the runs that a document holds, each with its messages."""
        return [document]

    def messages(self, document: Any) -> list[Any] | None:
        """Return the messages of a run; None if it holds none."""
        if isinstance(document, list):
            return document
        head = as_dict(document)
        alone = [document] if self.is_message(document) else None
        return next((head[key] for key in self.keys if isinstance(head.get(key), list)), alone)

    def end(self, document: Any) -> Iterable[Item]:
        """Return what happens after the last message of a run."""
        reason = self.reason(document)
        return (RunEnd(reason=reason),) if reason else ()

    def reason(self, document: Any) -> str:
        """Return how a run ended, in its own words; empty where it says nothing."""
        del document
        return ""

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return what a run says of itself, as arguments of `Reader.recording`."""
        return {"name": next(filter(None, (named(document.get(key)) for key in _IDS)), "")}

    def is_told_by(self, document: Any) -> bool:
        """Whether the first runs of a document have the form of those that this reader reads."""
        return any(self.messages(run) is not None for run in self.runs(document)[:3])

    def sniff(self, source: Transcript) -> float:
        if _is_by_line(source):
            rows = source.first_rows
            values = [*rows, *(each for row in rows for each in self._sniffed(row))]
        else:
            values = self._sniffed(source.document)
        return self.certainty * any(self.is_own(value) for value in dicts(values))

    def _sniffed(self, document: Any) -> list[Any]:
        runs = self.runs(document)[: self.sniffed]
        return [each for run in runs for each in (self.messages(run) or ())[: self.sniffed]]

    def read(self, source: Transcript) -> Iterator[Recording]:
        by_line = _is_by_line(source)
        if by_line and any(map(self.is_message, source.first_rows)):
            head = next((row for row in source.first_rows if not self.is_message(row)), {})
            rows = (row for row in source.rows() if not self._is_head(row))
            yield self._recording(source, head, rows)
            return
        for row in self.documents(source):
            runs = self.runs(row.value)
            for number, run in enumerate(runs):
                found = self.messages(run)
                if found is not None and (not found or any(map(self.is_message, found))):
                    place = row.line if by_line else number
                    yield self._recording(source, run, found, place)
                else:
                    where = "a document" if run is row.value else f"run {number}"
                    source.skip(f"{where} without {self.what}", row.line if by_line else None)

    def _recording(
        self, source: Transcript, document: Any, messages: Iterable[Any], place: int = 0
    ) -> Recording:
        run = type(self)()

        def end(assembler: Assembler) -> Iterable[Item]:
            return (*run.flush(assembler), *run.end(document))

        entries = assembled(source, messages, run.feed, self.unknown, end)
        return self.recording(source, entries, place=place, **self.facts(as_dict(document)))

    def _is_head(self, row: Row) -> bool:
        return row.line == 1 and isinstance(row.value, dict) and not self.is_message(row.value)


def _is_by_line(source: Transcript) -> bool:
    return len(source.first_rows) > 1


MAX_CALLS = 100
CALL_TAG, RESULT_TAG = "tool_call", "tool_response"
_ACTIONS = ("action:", "act:")
_FENCE = "```"


def between_tags(text: str, tag: str) -> Iterator[str]:
    """Yield what stands between ``<tag>`` and ``</tag>``, at most 100 times."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    at = 0
    for _ in range(MAX_CALLS):
        start = text.find(opening, at)
        end = text.find(closing, start + len(opening)) if start >= 0 else -1
        if end < 0:
            return
        yield text[start + len(opening) : end].strip()
        at = end + len(closing)


def without_tags(text: str, tag: str) -> str:
    """Return `text` up to the first ``<tag>``."""
    start = text.find(f"<{tag}>")
    return (text if start < 0 else text[:start]).strip()


def tagged_calls(text: str) -> Iterator[tuple[str, Any]]:
    """Yield tool and arguments of each ``<tool_call>`` that holds JSON, or the tags of a call."""
    for inner in between_tags(text, CALL_TAG):
        yield from json_calls(inner) if inner[:1] in {"{", "["} else _tag_call(inner)


def json_calls(text: str) -> Iterator[tuple[str, Any]]:
    """Yield tool and arguments of a JSON object, or of each in an array."""
    value = arguments(text)
    for call in [value] if isinstance(value, dict) else dicts(value):
        function = as_dict(call.get("function")) or call
        name = named(function.get("name"))
        if name:
            yield name, arguments(function.get("arguments", function.get("parameters", {})))


def _tag_call(inner: str) -> Iterator[tuple[str, Any]]:
    """Read ``<function=NAME><parameter=KEY>VALUE</parameter>…</function>``."""
    opening = "<function="
    if not inner.startswith(opening) or ">" not in inner:
        return
    name, _, rest = inner.removeprefix(opening).partition(">")
    params: dict[str, str] = {}
    for piece in rest.split("<parameter=")[1 : MAX_CALLS + 1]:
        key, _, value = piece.partition(">")
        params[key.strip()] = value.partition("</parameter>")[0].strip("\n")
    yield name.strip(), params


def action_call(text: str) -> tuple[str, Any] | None:
    """Return tool and arguments of the last line ``Action: NAME``, with its block or input."""
    lines = text.splitlines()
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number].strip().strip("*")
        if line.lower().startswith(_ACTIONS):
            name = line.partition(":")[2].strip()
            return _action(name, lines[number + 1 :]) if name else None
    return None


def _action(name: str, following: list[str]) -> tuple[str, Any]:
    rest = "\n".join(following)
    _, fence, fenced = rest.partition(_FENCE)
    if fence:
        body = fenced.partition("\n")[2].partition(_FENCE)[0]
        return name, {"command": body.strip()}
    label, _, value = rest.strip().partition(":")
    if label.strip().lower() == "action input":
        return name, arguments(value.strip())
    tool, opening, inside = name.partition("(")
    if opening and inside.endswith(")"):
        return tool.strip(), {"input": inside[:-1]}
    tool, _, words = name.partition(" ")
    return tool, {"input": words} if words else {}
