"""What a command says about a change of a settings file."""

from __future__ import annotations

import difflib

from trimtab.inspection import say
from trimtab_claude_code._settings.edit import Change


def report_change(change: Change, *, dry: bool) -> None:
    """Say what was done to a file, or show what would be."""
    path = change.document.path
    if not change.needed:
        say(f"{path} needs no change.")
    elif dry:
        say("".join(_difference(change, str(path))))
    else:
        say(f"{'Removed' if change.content is None else 'Wrote'} {path}")


def _difference(change: Change, name: str) -> list[str]:
    old, new = (
        (raw or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for raw in (change.document.raw, change.content)
    )
    return list(difflib.unified_diff(old, new, name, f"{name} (would be)"))
