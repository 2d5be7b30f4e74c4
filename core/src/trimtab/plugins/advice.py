"""What messages tell the reader to do."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` with the nearest of `known`, or nothing where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def listed(names: Iterable[str]) -> str:
    """Return the names as ``'a', 'b'``, or ``none``."""
    return ", ".join(map(repr, names)) or "none"


def pip_install(*arguments: str) -> str:
    """Return the line that installs something for this very interpreter."""
    import shlex

    return shlex.join([sys.executable, "-m", "pip", "install", *arguments])
