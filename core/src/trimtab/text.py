"""Text from elsewhere is hostile until it is escaped and bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trimtab.patterns import Pattern

CONTROL = Pattern(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    r"\U000e0000-\U000e007f]"
)
"""What no text for an agent may hold: controls, halves of characters, invisible letters."""
LEVELS = (1, 2, 3)


def escape(text: str) -> str:
    """Return `text` in which no tag can open or close."""
    return _escaped(text, quote=False)


def _escaped(text: str, *, quote: bool) -> str:
    from html import escape  # with all names of characters, for those few that have words to say

    return escape(CONTROL.sub(" ", text), quote=quote)


def block(tag: str, content: str, **attributes: str) -> str:
    """Return one well-formed block around `content`, whatever `content` holds."""
    pairs = "".join(
        f' {name}="{_escaped(value, quote=True)}"' for name, value in attributes.items()
    )
    return f"<{tag}{pairs}>{escape(content)}</{tag}>"


def as_text(value: object) -> str:
    """Return ``str(value)``; the name of its type where a stranger's object refuses."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever its author raises
        return f"<{type(value).__name__}>"


def whole(text: str) -> str:
    """Return `text` with halves of characters joined, or replaced where the other half is missing.

    Such halves come from file names that are no UTF-8 and from streams cut within a character;
    no service can be sent one.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def shorten(text: str, limit: int) -> str:
    """Return `text` cut to `limit` characters, with ``…`` where something is left out."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


def quote(text: str, limit: int = 120) -> str:
    """Return untrusted text for use in a sentence: one line, no controls, bounded, quoted.

    Args:
        text: e.g. a tool's output.
        limit: characters, the quotes included.
    """
    line = " ".join(CONTROL.sub(" ", text).replace('"', "'").split())
    return f'"{shorten(line, limit - 2)}"'


def text_option(longest: int, **samples: object) -> Callable[[Any, Any, Any], None]:
    """Return the attrs validator of an option that replaces a provider's text.

    Args:
        longest: most characters.
        samples: the placeholders that it may hold, ``{name}``, each with a value to try.

    Raises:
        ValueError: from the validator; names the option and what it may hold.
    """

    def check(_: object, attribute: Any, value: Any) -> None:
        _check_text(attribute.name, value, longest, samples)

    return check


def level_texts(longest: int, **samples: object) -> Callable[[Any, Any, Any], None]:
    """Return the attrs validator of an option that replaces texts by level (1, 2, 3).

    Args:
        longest, samples: as for `text_option`.

    Raises:
        ValueError: from the validator; names the option and the level.
    """

    def check(_: object, attribute: Any, value: Any) -> None:
        for level, text in value.items():
            if level not in LEVELS:
                raise ValueError(f"{attribute.name}: level {level!r:.20} is not 1, 2 or 3")
            _check_text(f"{attribute.name}[{level}]", text, longest, samples)

    return check


def by_level(texts: Mapping[Any, str]) -> dict[Any, str]:
    """Return `texts` with levels as numbers; in a configuration file the keys are text."""
    named = {str(level): level for level in LEVELS}
    return {named.get(str(level), level): text for level, text in texts.items()}


def _check_text(name: str, value: Any, longest: int, samples: dict[str, object]) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise ValueError(f"{name} must be text of 1 to {longest} characters")
    if CONTROL.search(value):
        raise ValueError(f"{name} holds control characters")
    if not _fits(value, samples):
        known = ", ".join(f"{{{sample}}}" for sample in samples) or "nothing in braces"
        raise ValueError(f"{name} knows {known}; a brace is written twice")


def _fits(text: str, samples: dict[str, object]) -> bool:
    from string import Formatter

    try:
        names = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
        text.format_map(dict.fromkeys(names) | samples)
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    return names <= samples.keys()
