"""Text from elsewhere is hostile until it is escaped and bounded."""

from __future__ import annotations

import re
from html import escape as _escape

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape(text: str) -> str:
    """Return `text` in which no tag can open or close."""
    return _escape(_CONTROL.sub(" ", text), quote=False)


def block(tag: str, content: str, **attributes: str) -> str:
    """Return one well-formed block around `content`, whatever `content` holds."""
    pairs = "".join(
        f' {name}="{_escape(_CONTROL.sub(" ", value), quote=True)}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{pairs}>{escape(content)}</{tag}>"


def as_text(value: object) -> str:
    """Return ``str(value)``; the name of its type where a stranger's object refuses."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever its author raises
        return f"<{type(value).__name__}>"


def shorten(text: str, limit: int) -> str:
    """Return `text` cut to `limit` characters, with ``…`` where something is left out."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


def quote(text: str, limit: int = 120) -> str:
    """Return untrusted text for use in a sentence: one line, no controls, bounded, quoted.

    Args:
        text: e.g. a tool's output.
        limit: characters, the quotes included.
    """
    line = " ".join(_CONTROL.sub(" ", text).replace('"', "'").split())
    return f'"{shorten(line, limit - 2)}"'
