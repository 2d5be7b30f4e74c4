"""Phrases that error messages share."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from trimtab._plugins.registry import PluginInfo


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` with the nearest of `known`, or nothing where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def quoted_list(names: Iterable[str]) -> str:
    """Return the names as ``'a', 'b'``, or ``none``."""
    return ", ".join(map(repr, names)) or "none"


def pip_install(*arguments: str) -> str:
    """Return the line that installs something for this very interpreter."""
    import shlex

    return shlex.join([sys.executable, "-m", "pip", "install", *arguments])


WORDS = {
    "guidance": "guidance provider",
    "feedback": "feedback provider",
    "completion": "completion checker",
    "recorders": "recorder",
    "hosts": "host",
    "mailboxes": "mailbox",
    "transcripts": "transcript reader",
    "events": "record type",
    "commands": "command",
}
"""What messages call the entries of a group."""


def title(entry: PluginInfo) -> str:
    """Name an entry as messages do: what, its name, its package and version."""
    return f"{WORDS[entry.group]} {entry.name!r} of {entry.package}"
