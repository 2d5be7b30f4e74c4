"""Repeated text: in one response, and from response to response."""

from __future__ import annotations

import re

_EDGE = 8_000
_SHORTEST = 200
_ANCHOR = 24
_REPEATS = 5
_SHORT_PERIOD = 20
_SHORT_REPEATS = 12
_SHARE = 0.4
_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_LISTED = re.compile(r"^\s*(?:[-*+•>|#]|\d+[.)]\s|\W*$).*$", re.MULTILINE)


def prose_of(text: str) -> str:
    """Return `text` without code fences, lists, tables, headings and rules, on one line."""
    if len(text) > 2 * _EDGE:
        text = text[:_EDGE] + "\n" + text[-_EDGE:]
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(" ", text)
    return " ".join(_LISTED.sub(" ", text).split())


def find_chant(text: str) -> tuple[str, int] | None:
    """Return the words that a text repeats over and over, and how often; None where it doesn't.

    A passage counts from 5 repeats on (12 where it is shorter than 20 characters) that make up
    40 % of the text or 400 characters; its length may be up to a fifth of the text.
    """
    if len(text) < _SHORTEST:
        return None
    prose = prose_of(text)
    for share in (1, 2, 3):
        found = _repeated_at(prose, len(prose) * share // 4)
        if found is not None:
            return found
    return None


def _repeated_at(prose: str, place: int) -> tuple[str, int] | None:
    """Look for a passage that repeats around `place`."""
    anchor = prose[place - _ANCHOR : place]
    if len(anchor) < _ANCHOR:
        return None
    before = prose.rfind(anchor, 0, place - 1)
    if before < 0:
        return None
    period = place - _ANCHOR - before
    start, end = _stretch(prose, before, period)
    return _judged(prose, start, end, period)


def _stretch(prose: str, place: int, period: int) -> tuple[int, int]:
    """Return the bounds of the stretch around `place` in which every character repeats."""
    start = place
    while start > 0 and prose[start - 1] == prose[start - 1 + period]:
        start -= 1
    end = place
    while end + period < len(prose) and prose[end] == prose[end + period]:
        end += 1
    return start, end + period


def _judged(prose: str, start: int, end: int, period: int) -> tuple[str, int] | None:
    repeats = (end - start) // period
    needed = _REPEATS if period >= _SHORT_PERIOD else _SHORT_REPEATS
    if repeats < needed or end - start < min(_SHARE * len(prose), 400):
        return None
    return prose[start : start + min(period, 200)], repeats
