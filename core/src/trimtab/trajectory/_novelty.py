"""Answers as the pieces that they are made of, to tell what of one was there before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from zlib import crc32

from trimtab._types.patterns import LazyPattern

_SPLIT = LazyPattern(r"[\n{}\[\];]|, |,(?=[\"'{\[]|\w{1,40}=)|(?<=[.!?]) +")
_MARKER = LazyPattern(r"^\W*(?:\d{1,3}[.):|]\s*)?")
_SCORE = LazyPattern(
    r"\b(?:score|relevance|rank|similarity|distance|position|query|id)\W{1,4}[\d.]+\W*$", 2
)
_WHOLE_NUMBER = LazyPattern(r"(?<![\w.])\d+(?![\w.])")
_SHORTEST = 3
_SHORTEST_ECHO = 4
_SMALLEST_ECHO = 10
_MOST = 400
_DEEP = 4

Pieces = frozenset[int]


def pieces_of(text: str, params: Any) -> Pieces:
    """Return what an answer is made of: lines and items, without order, numbering, scores and
    what of the arguments it repeats.

    Args:
        text: the normalised answer, its lines kept.
        params: the arguments of the call.
    """
    for echo in sorted(_echoes(params), key=len, reverse=True):
        if echo in text:
            text = _without(text, echo)
    found: set[int] = set()
    for part in _SPLIT.split(text):
        piece = _MARKER.sub("", part).strip(" \t\r\"',:.")
        if len(piece) >= _SHORTEST and piece != "~" and not _SCORE.search(piece):
            found.add(crc32(piece.encode("utf-8", "replace")))
            if len(found) >= _MOST:
                break
    return frozenset(found)


def _without(text: str, echo: str) -> str:
    if not echo.isdecimal():
        return text.replace(echo, "~")
    return _WHOLE_NUMBER.sub(lambda match: "~" if match[0] == echo else match[0], text)


def _echoes(params: Any, depth: int = 0) -> Iterator[str]:
    if type(params) is int and params >= _SMALLEST_ECHO:
        yield str(params)
    elif isinstance(params, str):
        if len(params) >= _SHORTEST_ECHO:
            yield " ".join(params.split())
    elif isinstance(params, Mapping) and depth < _DEEP:
        for value in params.values():
            yield from _echoes(value, depth + 1)
    elif isinstance(params, list | tuple) and depth < _DEEP:
        for value in params[:_MOST]:
            yield from _echoes(value, depth + 1)


def brings_nothing(pieces: Pieces, before: Iterable[Pieces]) -> bool:
    """Tell whether an answer is made of what earlier ones brought; an empty one brings "
    "nothing.
    """
    left = set(pieces)
    for known in before:
        left -= known
        if not left:
            return True
    return not left
