"""Texts in the portions in which a stream brings them."""

from __future__ import annotations

from collections.abc import Iterator

CHUNK = 40


def pieces(text: str) -> Iterator[str]:
    """``text`` in order, at most `CHUNK` characters at a time."""
    return (text[at : at + CHUNK] for at in range(0, len(text), CHUNK))
