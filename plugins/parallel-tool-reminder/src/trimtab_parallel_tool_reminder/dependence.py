"""Whether one call could have been asked for together with earlier ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from trimtab import LazyPattern, ToolInvoked
from trimtab.trajectory import CallRecord, bounded, reads_only, text_of, waits, words_of

MOST_VALUES = 32
EDGE = 2_000
SHORTEST_PART = 4
_PART = LazyPattern(rf"\w{{{SHORTEST_PART},}}")
_DIGITS = LazyPattern(r"\d+")
_PAGING = LazyPattern(
    r"\b(?:page|offset|cursor|start|skip|lines?|from|index|position|limit|end|to|view_range)"
    r"\w*=(?:\[[^\]]*\]|[^,}]*)"
)
_ALONE = frozenset({"think", "thought"})


@attrs.frozen
class Link:
    """What is kept of one call of a streak.

    Args:
        tool: its name.
        call: fingerprint of tool and arguments.
        page: tool and arguments without what names a page; equal for calls that page through.
        values: the values of the arguments, and their longer parts.
        answer: head and tail of the answer.
    """

    tool: str
    call: str
    page: str
    values: tuple[str, ...]
    answer: str


def link_of(call: CallRecord, event: ToolInvoked) -> Link | None:
    """Return what to keep of a call; None where it can't be one of several at once.

    Only calls that went well, change nothing and don't wait can; or those of tools that are
    declared independent.
    """
    if call.failed or call.waits or call.profile.opaque or not _harmless(call):
        return None
    values = tuple(dict.fromkeys(_values(event.params)))
    return Link(call.tool, call.call, _page(call), values, bounded(text_of(event.result), EDGE))


def _harmless(call: CallRecord) -> bool:
    profile = call.profile
    if call.command is not None:
        return reads_only(call.command) and not waits(call.command)
    if profile.writes or not _ALONE.isdisjoint(words_of(call.tool)):
        return False
    return bool(profile.read_only or profile.independent)


def _page(call: CallRecord) -> str:
    if call.command is not None:
        return call.tool + _DIGITS.sub("#", call.command)
    return call.tool + _PAGING.sub("#", call.params_text)


def _values(params: Any) -> Iterator[str]:
    """Yield the values of arguments and their longer parts, at most 32 values."""
    for value in _leaves(params, [MOST_VALUES]):
        yield value
        yield from _PART.findall(value)


def _leaves(value: Any, left: list[int]) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, left)
    elif left[0] > 0 and isinstance(value, str | int | float) and not isinstance(value, bool):
        left[0] -= 1
        text = str(value).strip()
        if text:
            yield text[:EDGE]


def depends(link: Link, earlier: Iterable[Link]) -> bool:
    """Return whether `link` needed an answer of `earlier` calls, repeats one, or is its next page.

    An argument that appears in an earlier answer, and in no earlier argument, comes out of it.
    """
    before = tuple(earlier)
    known: set[str] = set()
    for other in before:
        if link.call == other.call or link.page == other.page:
            return True
        known.update(other.values)
    new = [value for value in link.values if value not in known]
    answers = "\0".join([other.answer for other in before]) if new else ""
    return any(value in answers and _stands(answers, value) for value in new)


def _stands(text: str, value: str) -> bool:
    # One character alone is in every text; as a value it stands behind its name.
    before = r"[=:#\"]\s?" if len(value) == 1 else r"(?<!\w)"
    return re.search(rf"{before}{re.escape(value)}(?!\w)", text) is not None
