"""Limits on what one event may hold where it is kept, and secrets taken out on the way."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from trimtab_trace._secrets import Redaction

LONGEST_TEXT = 8_000
LONGEST_EVENT = 200_000
_EDGE = 3_500
_MARGIN = 300
_LONGEST_LIST = 2_000
_DEEPEST = 60
_SHORT = 40


def bounded(value: Any, redact: Redaction) -> Any:
    """Return a JSON-like value without secrets, its texts, lists, depth and size cut to a limit.

    Of a longer text, head and tail are left, and a digest, so that two that differ in the middle
    still differ.

    Args:
        value: of one event.
        redact: takes out secrets, in texts and under names.
    """
    return _Bounder(redact).bounded(value, 0)


class _Bounder:
    """Cuts one event; when it has kept `LONGEST_EVENT` characters, only digests are left."""

    def __init__(self, redact: Redaction) -> None:
        self._redact = redact
        self._room = LONGEST_EVENT

    def bounded(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if depth >= _DEEPEST:
            return None
        if isinstance(value, dict):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            if len(value) == 2 and isinstance(value[0], str):  # a header
                return [self._text(value[0]), self._under(value[0], value[1], depth)]
            return [self.bounded(item, depth + 1) for item in value[:_LONGEST_LIST]]
        return value

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        named = value.get("name", value.get("key"))
        name = named if isinstance(named, str) and "value" in value else None
        return {
            self._text(key) if isinstance(key, str) else key: self._under(
                name if name is not None and key == "value" else str(key), item, depth
            )
            for key, item in tuple(value.items())[:_LONGEST_LIST]
        }

    def _under(self, name: str, item: Any, depth: int) -> Any:
        hidden = self._redact.hidden(name, item)
        return self.bounded(item, depth + 1) if hidden is None else hidden

    def _text(self, text: str) -> str:
        if self._room <= 0 and len(text) > _SHORT:
            return f"[{len(text)} characters left out, {_digest(text)}]"
        kept = _ends(text, self._redact) if len(text) > LONGEST_TEXT else self._redact(text)
        self._room -= len(kept)
        return kept


def _ends(text: str, redact: Redaction) -> str:
    """Return both ends; secrets that cross an inner edge are found by the margin beyond it."""
    left_out = len(text) - 2 * _EDGE
    head = redact(text[: _EDGE + _MARGIN])[:_EDGE]
    tail = redact(text[-_EDGE - _MARGIN :])[-_EDGE:]
    return f"{head}\n[… {left_out} characters left out, {_digest(text)} …]\n{tail}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
