"""Names of providers and distributions, and text about them that is safe to print."""

from __future__ import annotations

from trimtab.patterns import Pattern

PROVIDER_NAME = Pattern(r"[a-z][a-z0-9-]{0,39}")
_SEPARATORS = Pattern(r"[-_.]+")


def normalise(name: str) -> str:
    """Return `name` in lower case, with every run of ``-``, ``_`` and ``.`` as one ``-``."""
    return _SEPARATORS.sub("-", name).lower()


def normalise_full(name: str) -> str:
    """Normalise both parts of ``distribution:name``, or a bare name."""
    return ":".join(normalise(part.strip()) for part in name.split(":"))


def plain(text: str, limit: int = 200) -> str:
    """Return `text` on one line, without characters that a terminal would obey, bounded.

    Args:
        text: from a stranger.
        limit: most characters of the result.
    """
    head = text[: limit + 1]
    line = "".join(c if c.isprintable() else " " if c.isspace() else _escape(c) for c in head)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def describe(error: BaseException, limit: int = 200) -> str:
    """Return an error's type and message, bounded, even where its own text can't be had."""
    name, text = type(error).__name__, message_of(error)
    return plain(f"{name}: {text}" if text else name, limit)


def message_of(error: BaseException) -> str:
    """Return an error's message; empty where it has none.

    attrs' validators put the attribute and the value behind the message: those are left out.
    """
    arguments = list(error.args)
    try:
        wordy = isinstance(error, TypeError | ValueError) and len(arguments) > 1
        return str(arguments[0] if wordy else error)
    except Exception:  # noqa: BLE001  # the error is a stranger's object
        return ""
