"""What the messages of a request say, in one form for all APIs, and how calls in them ended.

Exit statuses and structured failures are found by core, from the answer and the tool's profile.
Here are the sentences that the programs themselves write for calls that never ran, or were cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Protocol

import attrs

from trimtab import Outcome, ToolCall, Usage
from trimtab.events import Evidence
from trimtab_proxy._json import Place

Json = Mapping[str, Any]


class Kind(Enum):
    """What an item of a conversation is."""

    USER = "user"
    TEXT = "text"
    CALL = "call"
    RESULT = "result"


@attrs.frozen(eq=False)
class Item:
    """One thing said or done; what programs change, move or leave out later is no item.

    Args:
        key: equal for the same item in a later request: an id, or a hash of the words.
        raw: the block or message that it was read from; of a text, its words.
    """

    kind: Kind
    key: str
    raw: Any


@attrs.frozen(eq=False)
class Numbering:
    """The calls before a message, where the API gives them no ids.

    Args:
        open: name, id and key of each call that has no answer yet.
    """

    seen: Mapping[str, int] = attrs.field(factory=dict)
    open: tuple[tuple[str, str, str], ...] = ()


@attrs.frozen
class Result:
    """What a tool answered.

    Args:
        outcome: how the call ended, as far as flag and words tell.
    """

    content: Any
    outcome: Outcome = Outcome.OK
    evidence: Evidence = Evidence.UNKNOWN

    @property
    def error(self) -> str | None:
        """The error's text; None where the call went well."""
        return None if self.outcome is Outcome.OK else str(self.content)


@attrs.frozen(kw_only=True)
class Answer:
    """What the model answered."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop_reason: str | None = None


class Events(Protocol):
    """Collects the events of a streamed answer."""

    def add(self, event: Json) -> None:
        """Take one decoded event."""
        ...

    def answer(self) -> Answer | None:
        """Return the answer; None where the stream broke off."""
        ...


class Wire(Protocol):
    """Reads requests and answers of one API.

    Attributes:
        name: e.g. ``"anthropic-messages"``.
        list_key: of the list that holds the messages.
        stored_keys: keys that name a history which the service keeps.
    """

    name: ClassVar[str]
    list_key: ClassVar[str]
    stored_keys: ClassVar[tuple[str, ...]] = ()

    def items(self, entry: Json, numbering: Numbering) -> tuple[list[Item], Numbering]:
        """Return what one message of a request holds, and the numbering behind it."""
        ...

    def call(self, item: Item) -> ToolCall:
        """Return the call that an item holds."""
        ...

    def result(self, item: Item) -> tuple[str, Result]:
        """Return the id of a call and what its tool answered."""
        ...

    def tools(self, body: Json) -> tuple[str, ...]:
        """Return the names of the tools that the model is offered."""
        ...

    def place(self, last: Json) -> Place | None:
        """Return where a text goes in the last message; None where there is no such place."""
        ...

    def is_side(self, body: Json) -> bool:
        """Tell whether a setting shows that the request is no part of a conversation."""
        ...

    def answer(self, body: Json) -> Answer | None:
        """Return what an answer in one piece says."""
        ...

    def events(self) -> Events:
        """Return a collector for a streamed answer."""
        ...


def items_of(wire: Wire, body: Json) -> list[Item]:
    """Return the conversation in a decoded request."""
    given, items, numbering = body.get(wire.list_key), list[Item](), Numbering()
    for entry in objects(user_entries(given) if isinstance(given, str) else given):
        read, numbering = wire.items(entry, numbering)
        items += read
    return items


def user_entries(words: str) -> list[Json]:
    """Return messages for a request that holds a text instead of them."""
    return [{"role": "user", "content": words}]


def text_key(text: str) -> str:
    """Return the key of words; white space at the ends does not count."""
    return f"t{hash(text.strip()):x}"


def user_items(words: str) -> list[Item]:
    """Return what the user said; nothing where the program reminds the model of something."""
    if not words.strip() or words.lstrip().startswith(REMINDERS):
        return []
    return [Item(Kind.USER, "u" + text_key(words), words)]


def text_items(words: Any) -> list[Item]:
    """Return what the model said, as an item where it said anything."""
    if not isinstance(words, str) or not words.strip():
        return []
    return [Item(Kind.TEXT, text_key(words), words)]


REMINDERS = (
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<session_context>",
)
"""How programs begin what they say in the user's name, and later change, move or leave out."""

NOTIFICATIONS = ("<task-notification", "<local-command-", "<command-", "<bash-", "[Request inter")
"""How programs begin a message of the user that is no request of hers."""


def objects(value: Any) -> Sequence[Json]:
    """Return the objects of a list; whatever else is there is left out."""
    if not isinstance(value, list | tuple):
        return ()
    return [item for item in value if isinstance(item, dict)]


def joined(value: Any) -> Any:
    """Return the texts of content blocks as one text; the value where it is none."""
    if isinstance(value, str) or value is None:
        return value or ""
    if not isinstance(value, list | tuple):
        return value
    texts = [block.get("text") for block in objects(value)]
    known = [text for text in texts if isinstance(text, str)]
    return "\n".join(known) if len(known) == len(value) else list(value)


def string(value: Any) -> str:
    """Return a text; empty where the value is none."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """Return a count of tokens; 0 where the value is none."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 < value < 1 << 62 else 0


def usage_of(told: Any, read: Sequence[str], written: Sequence[str]) -> Usage | None:
    """Return the tokens that a service has told under these keys; None where it told nothing."""
    if not isinstance(told, dict):
        return None
    return Usage(*(sum(count(told.get(key)) for key in keys) for keys in (read, written)))


_HEAD = 300
_INTERRUPTED = (
    "[Request interrupted by user",
    "aborted by user",
    "aborted",
    "Tool execution aborted",
    "Tool call cancelled",
    "[Operation Cancelled]",
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
)
_DENIED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "Permission to use ",
    "exec command rejected",
    "rejected by user",
    "patch rejected",
    "The user rejected permission",
    "Permission denied by user",
    "Tool execution denied",
    "[DENIED]",
    "User denied",
    "User cancelled",
)
_INVALID = (
    "<tool_use_error>InputValidationError",
    "<tool_use_error>Error: No such tool available",
    "InputValidationError",
    "Input validation error",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool",
    "Invalid tool parameters",
    "The arguments provided to the tool are invalid",
    "Model tried to call unavailable tool",
)
_SENTENCES = (
    (Outcome.INTERRUPTED, _INTERRUPTED),
    (Outcome.DENIED, _DENIED),
    (Outcome.INVALID, _INVALID),
)


def result_of(content: Any, failed: bool | None = None) -> Result:
    """Return what a tool answered together with how its call ended; `failed` is the API's flag."""
    head = content[:_HEAD].lstrip() if isinstance(content, str) else ""
    if failed is not False:
        for outcome, beginnings in _SENTENCES:
            if head.startswith(beginnings):
                return Result(content, outcome, Evidence.DERIVED)
    if failed is None:
        return Result(content)
    return Result(content, Outcome.ERROR if failed else Outcome.OK, Evidence.FLAG)
