"""Repetition in what the model says: inside one text, where lists, tables and code are left out,
and of one text in several responses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trimtab.text import LazyPattern
from trimtab.trajectory import TextRecord
from trimtab_doom_loop._loop import Loop, LoopKind
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
_HALF = 1_500
"""Characters that are compared: what differs by chance stands at the ends, and time is bounded."""
_LONGEST = 2 * _HALF
_HEAD = 40
"""Characters at the beginning of a text; where these are letters alone, its first words hold
nothing that differs by chance, and tell it from most others."""


class Said:
    """One text of the model, compared without what differs by chance.

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
        known = name is not None or bool(self._opening)
        self.is_short = not known and len(normalise_text(text)) < SHORTEST_TEXT

    @property
    def name(self) -> str:
        """Fingerprint of the normalised text."""
        if self._name is None:
            self._name = digest(normalise_text(self._text))
        return self._name

    def is_like(self, other: Said) -> bool:
        """Tell whether both say the same."""
        openings = self._opening, other._opening
        return (openings[0] == openings[1] or [] in openings) and self.name == other.name


def _opening(text: str) -> list[str]:
    """Return the first two words of a text that begins with letters alone; else none."""
    head = text[:_HEAD]
    words = head.split()
    letters = "".join(words)
    plain = letters.isascii() and letters.isalpha()
    return words[:2] if plain and len(words) > 2 and len(letters) > 2 * SHORTEST_TEXT else []


class Sayings:
    """What the model says in response after response.

    Args:
        times: how many equal texts are a loop; beside calls, and by turns, it takes one more.
    """

    def __init__(self, times: int) -> None:
        self._times = times
        self.clear()

    def clear(self) -> None:
        """Forget what was said."""
        self._latest: tuple[Said, ...] = ()  # the last text, and the one before if it is another
        self._again = self._turnabouts = 0

    def hear(self, text: TextRecord) -> Loop | None:
        """Take what was said; return the repetition that it belongs to, in itself or of others."""
        for said in (text.text, text.reasoning):
            found = find_chant(said)
            if found is not None:
                return _loop(LoopKind.CHANT, digest(found[0]), found[1], found[0])
        words = text.text or text.reasoning
        latest = Said(words)
        if latest.is_short:
            return None
        return self._said_again(latest, words, has_calls=text.has_calls)

    def _said_again(self, said: Said, words: str, *, has_calls: bool) -> Loop | None:
        place = next((n for n, one in enumerate(self._latest) if one.is_like(said)), 2)
        if place == 0:
            self._again += 1
        else:
            self._latest = (said, *self._latest[:1])
            self._again, self._turnabouts = 1, self._turnabouts + 1 if place == 1 else 0
        times = self._again + (self._turnabouts + 1) // 2
        # A text beside calls repeats itself in good work too ("Let me look at the next file").
        needed = self._times + has_calls + (self._turnabouts > 0)
        return _loop(LoopKind.TEXT, said.name, times, words) if times >= needed else None

    def state(self) -> tuple[tuple[str, ...], int, int]:
        """Return what a snapshot keeps."""
        return tuple([said.name for said in self._latest]), self._again, self._turnabouts

    def load_state(self, state: tuple[tuple[str, ...], int, int]) -> None:
        """Take back what `state` returned."""
        names, self._again, self._turnabouts = state
        self._latest = tuple([Said("", name) for name in names])


def _loop(kind: LoopKind, name: str, times: int, said: str) -> Loop:
    return Loop(
        kind=kind,
        episode=f"loop-{name}",
        confidence=0.9,
        times=times,
        output=said[:_KEPT],
        members=frozenset({name}),
    )


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
