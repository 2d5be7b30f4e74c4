"""Events at which nobody may speak: written down in a few milliseconds, and done.

The next event at which somebody may speak relives them from the journal, at their own time. So
this module, and what it imports, must import little: no attrs, nothing of the engine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab import SYSTEM_CLOCK, __version__
from trimtab_claude_code.bounds import bounded, payload_of
from trimtab_claude_code.state.journal import Journal, Moment
from trimtab_claude_code.state.lock import locked
from trimtab_claude_code.state.names import journal_name, prepared_name

LOCK_SECONDS = 5.0
_SWITCHES = ("TRIMTAB_DISABLE", "TRIMTAB_PLUGINS")
_FINAL_ANSWER = "StructuredOutput"


def note(body: bytes, folder: Path) -> bool:
    """Write an event down, if that is enough; return whether it was.

    Args:
        body: the event, JSON.
        folder: the user's own folder.

    Raises:
        OSError, ValueError, TrimtabError: it could not be written, or is no event.
    """
    payload = payload_of(body)
    saved = _prepared(payload, folder)
    if payload.get("hook_event_name") not in saved.get("quiet", ()):
        return False
    journal = Journal(Path(saved["sessions"], journal_name(str(payload.get("session_id")))))
    if payload.get("tool_name") == _FINAL_ANSWER or not journal.path.exists():
        return False
    with locked(journal.path.with_suffix(".lock"), LOCK_SECONDS):
        moment = Moment(SYSTEM_CLOCK.now(), SYSTEM_CLOCK.monotonic())
        journal.append(moment, bounded(dict(payload)))
    return True


def _prepared(payload: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Return what is written down for the payload's project; nothing where that is not certain."""
    if is_switched() or os.environ.get("TRIMTAB_CONFIG"):
        return {}
    config = _plain_configuration(os.environ.get("CLAUDE_PROJECT_DIR") or payload.get("cwd"))
    return read_prepared(config, folder) if config else {}


def is_switched() -> bool:
    """Whether a variable may change what is resolved: nothing is written down then, or read."""
    return any(os.environ.get(name) for name in _SWITCHES)


def read_prepared(config: Path, folder: Path) -> Mapping[str, Any]:
    """Return what is written down for a configuration; nothing where it no longer holds."""
    try:
        saved = json.loads((folder / "prepared" / prepared_name(config)).read_bytes())
        valid = saved["valid"] == validity(config)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    found: Mapping[str, Any] = saved
    return found if valid and all(map(os.path.isdir, saved["packages"])) else {}


def validity(config: Path) -> list[Any]:
    """Return what must be the same for something written down to hold.

    Raises:
        OSError: the file is gone.
    """
    found = config.stat()
    home = os.environ.get("TRIMTAB_HOME", "")
    stamp = [str(config), found.st_mtime_ns, found.st_size]
    return [*stamp, __version__, sys.version, sys.prefix, home]


def _plain_configuration(start: object) -> Path | None:
    """Find the nearest trimtab.toml; None where a pyproject.toml may come before it.

    `trimtab.find_configuration` knows every place, and would be one more module to import.
    """
    if not isinstance(start, str):
        return None
    folder = Path(start).absolute()
    for above in (folder, *folder.parents):
        if (above / "trimtab.toml").is_file():
            return above / "trimtab.toml"
        if (above / "pyproject.toml").is_file():
            return None
    return None
