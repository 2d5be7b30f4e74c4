"""A command hook that hands its event to the resident process, and starts it where it is not there.

Only the standard library is imported, and little of it, until something goes wrong.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from trimtab_claude_code.service.endpoint import HOST, STATUS_PATH, Endpoint, read_endpoint
from trimtab_claude_code.service.wire import ask

ALIVE_SECONDS = 4.0
ANSWER_SECONDS = 140.0
START_SECONDS = 5.0
_PAUSE = 0.02
_MOST_BYTES = 16_000_000


class NotStarted(OSError):
    """The resident process did not come up."""


def main() -> None:
    """Hand the event on the standard input over; always ends with status 0."""
    file = Path(sys.argv[1]).absolute()
    body = sys.stdin.buffer.read(_MOST_BYTES)
    try:
        answer = hand_over(file, body)
    except Exception as error:  # noqa: BLE001  # a hook must never stop the agent
        answer = _failed(file.parent, body, error)
    sys.stdout.buffer.write(answer)


def hand_over(file: Path, body: bytes) -> bytes:
    """Return the resident process's answer to an event.

    Args:
        file: where the endpoint is kept.
        body: the event, JSON.

    Raises:
        OSError: the process is not there and can't be started, or does not answer.
        Stranger: another program has its port.
        ValueError: the file is damaged.
    """
    endpoint = read_endpoint(file)
    try:
        # One that says nothing would else take all of the hook's own time.
        ask(endpoint, b"", ALIVE_SECONDS, STATUS_PATH)
    except ConnectionRefusedError:
        start(file, endpoint)
    return ask(endpoint, body, ANSWER_SECONDS)


def start(file: Path, endpoint: Endpoint) -> None:
    """Start the resident process and wait until it listens.

    Raises:
        NotStarted: it ended, or did not listen within 5 seconds.
    """
    import subprocess

    log = file.parent / "service.log"
    with open(log, "wb", opener=_private) as words:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "trimtab_claude_code.service", str(file)],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            start_new_session=True,
            cwd=file.parent,
        )
    for _ in range(int(START_SECONDS / _PAUSE)):
        ended = process.poll() is not None  # asked first: another may have been quicker
        if _listens(endpoint):
            return
        if ended:
            break
        time.sleep(_PAUSE)
    raise NotStarted(f"it did not start; {log} ends with: {_end_of(log)}")


def _listens(endpoint: Endpoint) -> bool:
    import socket

    try:
        socket.create_connection((HOST, endpoint.port), timeout=1).close()
    except OSError:
        return False
    return True


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace").strip()[-200:] or "nothing"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _failed(folder: Path, body: bytes, error: Exception) -> bytes:
    """Note a failure; return an answer that the user sees where a session begins."""
    import json

    from trimtab_claude_code.state.troubles import Troubles

    what = f"The resident process can't be asked: {error}"
    try:
        Troubles(folder).note(what)
        begins = json.loads(body).get("hook_event_name") == "SessionStart"
    except Exception:  # noqa: BLE001  # nothing is left to try
        begins = False
    said = {"systemMessage": f"trimtab guides nobody in this session. {what}"}
    return json.dumps(said).encode() if begins else b""


if __name__ == "__main__":
    main()
