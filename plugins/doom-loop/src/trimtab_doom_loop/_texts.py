"""Repetition inside one text; lists, tables and code are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import eq

from trimtab.text import LazyPattern
from trimtab_signals import digest, normalise_text

SHORTEST_TEXT = 12
"""Characters from which a text says enough to be the same as another."""

_EDGE = 8_000
"""Characters of each end that are looked at, for the sake of time."""
_SHORTEST = 200
_ANCHOR = 24
_PLACES = 8
"""At so many places of a text that is long enough, what stands there is looked for again."""
_REPEATS = 5
_SHORT_PERIOD = 20
_SHORT_REPEATS = 12
"""Poems and lists say a thing four times; short words ("no, no, no") come more often."""
_SHARE = 0.4
_ENOUGH = 400
"""Of the text, or characters, that the repeats take up: a refrain takes less."""
_KEPT = 200
"""Characters of what repeats; a quote in a text is shorter."""
_FENCE = LazyPattern(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
# Lists, quotes, tables, headings, differences; indented code; lines without a letter; and lines
# that end as statements do.
_LISTED = LazyPattern(
    r"^(?:\s*(?:[-*+•>|#]|\d+[.)]\s).*|(?:\t| {4,}).*|[\W\d_]*|.*[;{}(,\[\]]\s*)$", re.MULTILINE
)


# Where text that differs by chance may begin: dates, ids and durations hold a digit, or are letters
# alone in a few forms; colours and spinners have characters of their own.
_CHANCE = LazyPattern(
    r"[\dt\x1b\u2800-\u28ff\u25d0-\u25d3\u25f4-\u25f7-]"
    r"(?:(?<![t-])|(?<=t)mp|(?<=-)[0-9a-fA-F]{4}-)"
)
_END = 100
_HALF = 1_500
"""Characters that are compared: what differs by chance stands at the ends, and time is bounded."""
_LONGEST = 2 * _HALF
_WORDS_BEFORE = 6
"""Words before a digit that may go with it, such as ``session id =``."""
_WORDS_BEHIND = 3
"""Words from a digit on that may go with it, such as ``5 minutes``."""

_Words = Sequence[str]


class Said:
    """One text of the model, compared without what differs by chance.

    The comparison is cheap if the first or the last words differ.

    Args:
        text: the text.
        name: its fingerprint, if the text itself is not kept.

    Attributes:
        is_short: whether it says too little to be compared.
    """

    __slots__ = ("_name", "_opening", "_text", "is_short")

    def __init__(self, text: str, name: str | None = None) -> None:
        if len(text) > _LONGEST:  # no more than head and tail is compared
            text = f"{text[:_HALF]}\n{text[-_HALF:]}"
        self._text, self._name, self._opening = text, name, _opening(text)
        self.is_short = name is None and self._says_little()

    def _says_little(self) -> bool:
        return (
            sum(map(len, self._opening)) < SHORTEST_TEXT
            and sum(map(len, _closing(self._text))) < SHORTEST_TEXT
            and len(normalise_text(self._text)) < SHORTEST_TEXT
        )

    @property
    def name(self) -> str:
        """Fingerprint of the normalised text."""
        if self._name is None:
            self._name = digest(normalise_text(self._text))
        return self._name

    def is_like(self, other: Said) -> bool:
        """Tell whether both say the same."""
        if self is other:
            return True
        return (
            _agree(self._opening, other._opening)
            and _agree(_closing(self._text), _closing(other._text))
            and self.name == other.name
        )


def _agree(some: _Words, others: _Words) -> bool:
    return all(map(eq, some, others))


def _opening(text: str) -> _Words:
    """Return the first words, up to where text that differs by chance may begin."""
    head = text[:_END]
    found = _CHANCE.search(head)
    if found is not None:
        head = head[: found.start()]
    elif len(text) <= _END:
        return head.split()
    return head.split()[:-_WORDS_BEFORE]


def _closing(text: str) -> _Words:
    """Return the last words, the very last one first, down to where such text may end."""
    return _CHANCE.split(text[-_END:])[-1].split()[: _WORDS_BEHIND - 1 : -1]


def find_chant(text: str) -> tuple[str, int] | None:
    """Return the passage that a text repeats over and over, and how often; None if it doesn't.

    A passage counts from 5 repeats on (12 where it is shorter than 20 characters) that make up
    40 % of the prose or 400 characters; it may be up to a fifth of the text long.
    """
    if len(text) < _SHORTEST or not _may_chant(text):
        return None
    prose = _prose_of(text)
    for place in _places(len(prose)):
        found = _repeated_at(prose, place)
        if found is not None:
            return found
    return None


def _places(length: int) -> Iterator[int]:
    yield from (length * part // _PLACES for part in range(1, _PLACES + 1))


def _may_chant(text: str) -> bool:
    """Tell cheaply whether any part of a text occurs often; nearly always none does."""
    return any(
        text.count(text[place - _ANCHOR : place]) >= _REPEATS for place in _places(len(text))
    )


def _prose_of(text: str) -> str:
    if len(text) > 2 * _EDGE:
        text = text[:_EDGE] + "\n" + text[-_EDGE:]
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(" ", text)
    return " ".join(_LISTED.sub(" ", text).split())


def _repeated_at(prose: str, place: int) -> tuple[str, int] | None:
    """Look for a passage that repeats around `place`."""
    anchor = prose[max(0, place - _ANCHOR) : place]
    before = prose.rfind(anchor, 0, place - 1)
    if len(anchor) < _ANCHOR or before < 0:
        return None
    period = place - _ANCHOR - before
    start, end = _stretch(prose, before, period)
    repeats = (end - start) // period
    needed = _REPEATS if period >= _SHORT_PERIOD else _SHORT_REPEATS
    if repeats < needed or end - start < min(_SHARE * len(prose), _ENOUGH):
        return None
    return prose[start : start + min(period, _KEPT)], repeats


def _stretch(prose: str, place: int, period: int) -> tuple[int, int]:
    """Return the bounds of the stretch around `place` in which all repeats after `period`."""
    start = end = place
    for size in (256, 16, 1):
        while start >= size and _same(prose, start - size, period, size):
            start -= size
        while end + period + size <= len(prose) and _same(prose, end, period, size):
            end += size
    return start, end + period


def _same(prose: str, place: int, period: int, size: int) -> bool:
    return prose[place : place + size] == prose[place + period : place + period + size]
