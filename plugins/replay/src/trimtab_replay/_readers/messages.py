"""What formats share: arrays or lines of messages, and calls that a model wrote as text.

Everything here walks through the text once, by `str.find`; text that was cut off has no call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import Item, RecordedItem, Recording
from trimtab_replay._transcript import Row, Transcript
from trimtab_replay._values import arguments, as_dict, dicts, named
from trimtab_replay.outcomes import outcome_of

MAX_SNIFFED = 200
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


def assembled(
    source: Transcript,
    items: Iterable[Any],
    feed: Callable[[Assembler, dict[str, Any]], bool],
    unknown: str,
    end: Iterable[Item] = (),
) -> Iterator[RecordedItem]:
    """Yield what happened in messages, or rows, which `feed` gives to an assembler one by one.

    One that it returns False for is reported as `unknown`, in which ``{}`` is its number.
    """
    assembler = Assembler()
    for number, item in enumerate(items):
        value, line = (item.value, item.line) if isinstance(item, Row) else (item, None)
        if not isinstance(value, dict) or not feed(assembler, value):
            source.skip(unknown.format(number), line)
        yield from assembler.take()
    yield from assembler.finish(end)


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
        line: int = 1,
        **facts: Any,
    ) -> Recording:
        """Return a recording of this format."""
        return Recording(
            id=name or (source.stem if line == 1 else f"{source.stem}:{line}"),
            path=source.path,
            reader=self.name,
            entries=entries,
            **{"profile": self.profile, "parallel_calls": self.parallel_calls, **facts},
        )


class RowReader(Reader, ABC):
    """Reads files of rows, one of which is enough to tell the format."""

    certainty: ClassVar[float] = 1.0

    @abstractmethod
    def is_own(self, row: dict[str, Any]) -> bool:
        """Whether `row` shows that the file is in this format."""

    def sniff(self, source: Transcript) -> float:
        return self.certainty * any(map(self.is_own, source.first_rows))


class MessageReader(Reader, ABC):
    """Reads files of messages in one shape.

    A subclass says which messages are its own and what each of them means.
    """

    certainty: ClassVar[float] = 0.9
    keys: ClassVar[tuple[str, ...]] = ("messages",)

    @abstractmethod
    def knows(self, message: dict[str, Any]) -> bool:
        """Whether this reader understands `message`."""

    def is_own(self, message: dict[str, Any]) -> bool:
        """Whether `message` shows that the file is in this format."""
        return self.knows(message)

    def is_message(self, value: Any) -> bool:
        """Whether `value` is a message that this reader understands."""
        return isinstance(value, dict) and self.knows(value)

    @abstractmethod
    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`; return False if it has no known role."""

    def messages(self, document: Any) -> list[Any]:
        """Return the messages in a document; an empty list if it holds none."""
        if isinstance(document, list):
            return document
        head = as_dict(document)
        found = (head[key] for key in self.keys if isinstance(head.get(key), list))
        return next(found, [])

    def end(self, document: Any) -> Iterable[Item]:
        """Return what happens after the last message of a document."""
        del document
        return ()

    def tools(self, document: Any) -> frozenset[str] | None:
        """Return the names of the tools that a document offers; None if unknown."""
        del document
        return None

    def sniff(self, source: Transcript) -> float:
        if _is_by_line(source):
            rows = source.first_rows
            values = [*rows, *(each for row in rows for each in self._sniffed(row))]
        else:
            values = self._sniffed(source.document)
        return self.certainty * any(self.is_own(value) for value in dicts(values))

    def _sniffed(self, document: Any) -> list[Any]:
        return list(islice(self.messages(document), MAX_SNIFFED))

    def read(self, source: Transcript) -> Iterator[Recording]:
        by_line = _is_by_line(source)
        if by_line and any(map(self.is_message, source.first_rows)):
            head = next((row for row in source.first_rows if not self.is_message(row)), {})
            yield self._recording(source, head, source.stem, self._streamed(source))
            return
        for row in source.documents_with("messages", self._has_messages):
            default = f"{source.stem}:{row.line}" if by_line else source.stem
            yield self._recording(source, row.value, default, self._entries(source, row.value))

    def _recording(
        self, source: Transcript, document: Any, default: str, entries: Iterable[RecordedItem]
    ) -> Recording:
        head = as_dict(document)
        name = next(filter(None, (named(head.get(key)) for key in _IDS)), default)
        return self.recording(source, entries, name, tools=self.tools(document))

    def _has_messages(self, document: Any) -> bool:
        return any(self.is_message(message) for message in self.messages(document))

    def _entries(self, source: Transcript, document: Any) -> Iterator[RecordedItem]:
        unknown = "message {} has no known role or type"
        return assembled(source, self.messages(document), self.feed, unknown, self.end(document))

    def _streamed(self, source: Transcript) -> Iterator[RecordedItem]:
        rows = (row for row in source.rows() if not self._is_head(row))
        return assembled(source, rows, self.feed, "message without a known role or type")

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
