"""Asking the resident process about itself, and telling it to end."""

from __future__ import annotations

import json
from pathlib import Path

from trimtab_claude_code.client import start
from trimtab_claude_code.service.endpoint import (
    FILE,
    STATUS_PATH,
    STOP_PATH,
    Endpoint,
    make_endpoint,
    read_endpoint,
)
from trimtab_claude_code.service.wire import Stranger, ask

_SECONDS = 2.0


def state_of_resident(folder: Path) -> str:
    """Say in words what became of the resident process.

    Args:
        folder: the user's own folder.
    """
    try:
        answer = json.loads(ask(read_endpoint(folder / FILE), b"", _SECONDS, STATUS_PATH))
    except FileNotFoundError:
        return "not installed"
    except ConnectionRefusedError:
        return "not running; the next session starts it"
    except (OSError, ValueError, Stranger) as error:
        return f"can't be asked: {error}"
    watched = f", watched by {answer['guardian']}" if answer.get("guardian") else ""
    return f"running, process {answer.get('pid')}{watched}"


def usable_endpoint(folder: Path) -> Endpoint:
    """Return the user's endpoint; on a new port where another program answers at the old one.

    Raises:
        OSError: it can't be written.
    """
    endpoint = make_endpoint(folder)
    try:
        ask(endpoint, b"", _SECONDS, STATUS_PATH)
    except Stranger:
        (folder / FILE).unlink()
        return make_endpoint(folder)
    except OSError:
        pass  # nobody is there, as between two sessions
    return endpoint


def end_resident(folder: Path) -> bool:
    """Let the resident process end; return whether there was one."""
    try:
        ask(read_endpoint(folder / FILE), b"", _SECONDS, STOP_PATH)
    except (OSError, ValueError, Stranger):
        return False  # there is none, or none that we may speak to
    return True


def renew_resident(folder: Path) -> None:
    """Put a new resident process in the place of one that runs: what is installed now is used.

    Agents at work go on being guided.
    """
    if end_resident(folder):
        try:
            start(folder / FILE, read_endpoint(folder / FILE))
        except (OSError, ValueError):
            pass  # the next session tries again, and says what is wrong
