"""Whether one call could have been asked for together with earlier ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from trimtab.text import LazyPattern
from trimtab_signals import (
    CallRecord,
    SavedCall,
    confirms,
    finds_nothing,
    leaves_running,
    name_words,
    operation,
    text_of,
)

MOST_VALUES = 64
LONGEST_VALUE = 2_000
LONGEST_ANSWER = 60_000
"""Values and characters that are compared of a call: more cost time, and what a call takes from
an answer stands among them."""
SHORTEST_PART = 3
SHORTEST_WORD = 4
"""A part or word that is shorter stands in any answer by chance."""
SHORTEST_STEM = 4
ENDING = 2
"""Letters of a name that its forms share, and of the ending that changes."""
_SPAN = LazyPattern(r"(?<![\w.:])(\d{1,4})(?: ?[-–—~〜] ?| [^\W\d]{1,9} )(\d{1,4})(?![\d:]|\.\d)")
_PART = LazyPattern(rf"\w{{{SHORTEST_PART},}}")
_WORD = LazyPattern(r"\b(?!(?:and|for|from|not|the|with)\b)[^\W\d_]{3,}")
_TOKEN = LazyPattern(r"\w+(?:[.-]\w+)*")
_DIGITS = LazyPattern(r"\d+")
# A place in a longer thing is a number, a cursor may be any text; ``index=["orders"]`` is a name.
_PAGING = LazyPattern(
    r"\b(?:page|cursor)\w*=(?:\[[^\]]{0,80}\]|[^,}]{0,80})"
    r"|\b(?:offset|start|skip|lines?|from|index|position|limit|end|to|view_range"
    r"|max_\w|count|size|depth)\w*=(?:\[[^\]\d]{0,80}\d[^\]]{0,80}\]|[^,}\d\[]{0,80}\d[^,}]{0,80})"
)
# A thought, and a search for tools: what it loads is there from the next turn on. Behind two other
# words it only says that the tool is one: ``IndexMappingTool``.
_ALONE = frozenset({"think", "thought", "tool", "tools"})
_SUFFIX = 2
"""Words at the beginning of a name in which such a word counts."""
# An address as a whole, or the path of a file.
_FILE = LazyPattern(r"\w{2,12}://[^\s\"'<>,}\]]+|(?<![\w./\\:-])[\w./\\:-]*\w\.[A-Za-z]\w{0,6}\b")
_SEARCHES = frozenset(
    {"ack", "ag", "fd", "find", "glob", "grep", "lookup", "query", "rg", "search"}
)


@attrs.define(eq=False, slots=False)
class Link:
    """One call of a streak, with what shows whether it depends on others.

    Args:
        call: its record.
        params: the arguments as they came.
        result: the answer as it came.
    """

    call: CallRecord
    params: Any
    result: Any

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values of the arguments, and their longer parts."""
        return tuple(dict.fromkeys(_values(self.params)))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values of the arguments, in order."""
        return tuple(_leaves(self.params, [MOST_VALUES]))

    @cached_property
    def answer(self) -> str:
        """The answer as text, bounded."""
        return text_of(self.result)[:LONGEST_ANSWER]

    @cached_property
    def page(self) -> str:
        """Tool and arguments without what names a page; equal for calls that page through."""
        if self.call.command is not None:
            return self.call.tool + _DIGITS.sub("#", self.call.command)
        return self.call.tool + _PAGING.sub("#", self.call.params_text)

    @property
    def text(self) -> str:
        """Its command, else its arguments as text."""
        return self.call.command or self.call.params_text

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the command or the arguments."""
        return frozenset(_TOKEN.findall(self.text))

    @cached_property
    def files(self) -> frozenset[str]:
        """The files that the arguments name."""
        return frozenset(_FILE.findall(self.text))

    @cached_property
    def searches(self) -> bool:
        """Whether it looks for something, rather than at something known."""
        command = self.call.command
        words = name_words(self.call.tool) if command is None else operation(command).split()[:1]
        return not _SEARCHES.isdisjoint(words)

    def state(self) -> SavedLink:
        """Return what a snapshot keeps; the answer is bounded, the arguments become values."""
        return SavedLink(self.call.state(), self.values, self.answer)


@attrs.frozen
class SavedLink:
    """A `Link` as a snapshot keeps it: the call, the values of its arguments, its answer."""

    call: SavedCall
    params: tuple[str, ...]
    result: str


def could_be_one_of_several(
    link: Link, others: Sequence[Link], request: str, named: Callable[[], str]
) -> bool:
    """Tell whether a call could be asked for together with others.

    It succeeded, changes nothing and doesn't wait, or its tool is declared independent. Where
    nothing is known of its tool, what it is about was named before, and it answers more than that
    something was done; by the user alone, where its name is that of a move on a screen.
    """
    call, profile = link.call, link.call.profile
    if call.command is not None and ("sleep" in call.command or not call.reads):
        return False
    if call.waits or leaves_running(call):  # what it answers is looked through
        return False
    if call.command is not None:
        return True
    joins = not profile.writes and _ALONE.isdisjoint(name_words(call.tool)[:_SUFFIX])
    if profile.independent or (joins and profile.read_only):
        return True
    if not joins or not link.leaves or confirms(call.output):
        return False
    return _was_asked_for(link, request) or (
        not profile.opaque and _was_named(link, others, named())
    )


def _was_asked_for(link: Link, request: str) -> bool:
    """Tell whether the user named all that a call is about; its number stands in the request, or
    between the first and the last of several: "flats 1 to 10".
    """
    spans = [(int(first), int(last)) for first, last in _SPAN.findall(request)]
    return all(
        _stands(request, one)
        or (one.isdecimal() and any(low <= int(one[:9]) <= high for low, high in spans))
        for one in link.leaves
    )


def _was_named(link: Link, others: Sequence[Link], named: str) -> bool:
    """Tell whether a text names all that a call is about, or what sets it apart from another call
    of its tool, as one entry of a list from the next.
    """
    if all(_stands(named, one) for one in link.leaves):
        return True
    return any(
        other is not link
        and other.call.tool == link.call.tool
        and _stand(link.words - other.words, named)
        and _stand(other.words - link.words, named)
        for other in others
    )


def _stand(words: frozenset[str], text: str) -> bool:
    """Tell whether there are words, and a text holds each, if with another ending."""
    return bool(words) and all(_stands(text, word) or _is_inflected(text, word) for word in words)


def _is_inflected(text: str, word: str) -> bool:
    """Tell whether a text holds a word with another ending: "Pécsre" for "Pécs"."""
    stem = word if len(word) < SHORTEST_STEM + ENDING else word[:-ENDING]
    if len(stem) < SHORTEST_STEM or not word.isalpha():
        return False
    return re.search(rf"\b{re.escape(stem)}[^\W\d_]{{0,{2 * ENDING + 1}}}\b", text) is not None


def _values(params: Any) -> Iterator[str]:
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
            yield text[:LONGEST_VALUE]


def depends(link: Link, earlier: Sequence[Link], request: str = "") -> bool:
    """Tell whether `link` needed an answer of `earlier` calls, repeats or rewords one, or is its
    next page.

    An argument that is part of an earlier answer, and of no earlier argument, is taken from that
    answer. A search that follows one without results depends on it, unless the user has named what
    each of them looks for.
    """
    for other in earlier:
        if link.call.fingerprint == other.call.fingerprint or link.page == other.page:
            return True
        search = link.searches and other.searches
        if search and _are_both_named(link, other, request):
            continue
        if other.searches and finds_nothing(other.answer):
            return True
        if (search and _rewords(link, other)) or link.files & other.files:
            return True
    known = {value for other in earlier for value in other.values}
    new = [value for value in link.values if value not in known]
    return any(_stands(other.answer, value) for value in new for other in earlier)


def _are_both_named(link: Link, other: Link, request: str) -> bool:
    """Tell whether the user has named something that only the one call is about, and something
    that only the other is.
    """
    if not request:
        return False
    asked = frozenset(_TOKEN.findall(request))
    mine, its = link.words, other.words
    return not asked.isdisjoint(mine - its) and not asked.isdisjoint(its - mine)


def _rewords(link: Link, other: Link) -> bool:
    """Tell whether two searches share a word of what they look for."""
    if link.call.tool != other.call.tool:
        return False
    mine = {word.lower()[:SHORTEST_WORD] for word in _WORD.findall(_query(link))}
    return any(word.lower()[:SHORTEST_WORD] in mine for word in _WORD.findall(_query(other)))


def _query(link: Link) -> str:
    """Return what a search looks for: its first argument that is no path."""
    if link.call.command is not None:
        words = [word for word in link.call.command.split()[1:] if word[0] != "-"]
        return next((word for word in words if "/" not in word), "")
    leaves = link.leaves
    return next((leaf for leaf in leaves if "/" not in leaf), leaves[0] if leaves else "")


def _stands(text: str, value: str) -> bool:
    """Tell whether `value` occurs in `text` as a word of its own."""
    # Every text holds a single character; as a value it follows its name.
    start = text.find(value)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(value) : start + len(value) + 1]
        if len(value) == 1:
            named = text[max(0, start - 2) : start].rstrip()[-1:] in ("=", ":", "#", '"')
            if named and not _is_word(after):
                return True
        elif not _is_word(before) and not _is_word(after):
            return True
        start = text.find(value, start + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
