"""What the hook client does when no hook server answers: start one, ask again, or give up.

Uses the standard library and this package only: the client runs without site-packages.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from socket import SHUT_WR

from trimtab_claude_code import _client, _transport
from trimtab_claude_code._state.files import Busy, locked
from trimtab_claude_code._state.problems import Problems

START_TIMEOUT = 5.0

_PAUSE = 0.01
_DETACHED = 0x00000008 | 0x00000200  # without a console, in a process group of its own
_OF_A_SESSION = ("CLAUDE", *(name.decode() for name in _client.NAMES))


class NotStarted(OSError):
    """The server did not start, or can't answer."""


def recover(folder: str, timeout: float, request: bytes | None, error: OSError | None) -> int:
    """Answer an event whose server could not be asked; return the exit status.

    Args:
        folder: the user's own folder.
        timeout: seconds to wait for the answer.
        request: what to send; read from standard input where None.
        error: why the server could not be asked.
    """
    if request is None:
        request = _read_request()
    if not request or os.environ.get("TRIMTAB_CLAUDE_CODE") == "off":
        return 0
    path = Path(folder)
    try:
        if type(error).__name__ == _client.NoAnswer.__name__:  # the client's module is __main__
            raise NotStarted(str(error))
        _check_private(path)
        if isinstance(error, TimeoutError):
            _transport.remove_endpoint(path)
        reply = _started_answer(path, timeout, request)
    except Exception as failure:  # noqa: BLE001  # a hook must never stop the agent
        reply = _give_up(path, request, failure)
    return _client.show(reply, os.write) if reply else 0


def _read_request() -> bytes:
    body = sys.stdin.buffer.read(_client.MAX_BYTES + 1)
    if len(body) > _client.MAX_BYTES:
        return b""
    values = [os.fsencode(os.environ.get(name.decode(), "")) for name in _client.NAMES]
    return b"\0".join([b"event", *values, body])


def _check_private(folder: Path) -> None:
    """Make the folder, or make sure that only its owner can enter it.

    Raises:
        OSError: it belongs to another user, or can't be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":  # the user's profile is protected by its access list
        return
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} is not a folder of this user")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def _started_answer(folder: Path, timeout: float, request: bytes) -> bytes:
    try:
        return _exchange(folder, timeout, request)
    except OSError:
        start_server(folder, force=_begins(request))
    return _exchange(folder, timeout, request)


def _exchange(folder: Path, timeout: float, request: bytes) -> bytes:
    with _transport.connect(folder, _client.ACK_TIMEOUT) as connection:
        connection.sendall(request)
        connection.shutdown(SHUT_WR)
        if connection.recv(1) != b"+":
            raise OSError("the server closed the connection")
        connection.settimeout(timeout)
        reply = bytearray()
        while part := connection.recv(65_536):
            reply += part
    if not reply:
        raise OSError("the server ended before it answered")
    return bytes(reply)


def start_server(folder: Path, *, force: bool = True) -> None:
    """Start the server and wait until it listens, unless another process has just done so.

    Args:
        folder: the user's own folder.
        force: also soon after a start that failed.

    Raises:
        NotStarted: it ended, or did not listen within 5 seconds.
        OSError: the folder can't be used.
    """
    try:
        with locked(folder / "start.lock", START_TIMEOUT):
            if _listens(folder):
                return
            if not force and _failed_lately(folder):
                raise NotStarted("the last start failed; the next session tries again")
            _start(folder)
    except Busy as error:
        raise NotStarted(str(error)) from error


def _start(folder: Path) -> None:
    log, marker = folder / "server.log", folder / _client.FAILED
    with open(log, "wb", opener=_private) as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "trimtab_claude_code._server", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={k: v for k, v in os.environ.items() if not k.startswith(_OF_A_SESSION)},
            start_new_session=True,
            creationflags=_DETACHED if os.name == "nt" else 0,
        )
    for _ in range(int(START_TIMEOUT / _PAUSE)):
        if _listens(folder):
            marker.unlink(missing_ok=True)
            return
        if process.poll() is not None:
            break
        time.sleep(_PAUSE)
    marker.touch()
    raise NotStarted(f"it did not start; {log} ends with: {_end_of(log)}")


def _listens(folder: Path) -> bool:
    try:
        _transport.connect(folder, _client.ACK_TIMEOUT).close()
    except OSError:
        return False
    return True


def _failed_lately(folder: Path) -> bool:
    try:
        return time.time() - (folder / _client.FAILED).stat().st_mtime < _client.RETRY_AFTER  # noqa: TID251  # runs without trimtab
    except OSError:
        return False


def _begins(request: bytes) -> bool:
    return _event_of(request) in ("SessionStart", "UserPromptSubmit")


def _event_of(request: bytes) -> str:
    try:
        payload = json.loads(request.split(b"\0", len(_client.NAMES) + 1)[-1])
        return str(payload.get("hook_event_name"))
    except (ValueError, AttributeError, RecursionError):
        return ""


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace").strip()[-200:] or "nothing"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _give_up(folder: Path, request: bytes, error: Exception) -> bytes:
    """Note the problem; return a reply that the user sees where a session begins or ends."""
    what = f"The hook server can't be reached: {error}"
    try:
        Problems(folder).add(what)
    except Exception:  # noqa: BLE001, S110  # nothing is left to try
        pass
    text = f"trimtab is inactive in this session. {what}"
    event = _event_of(request)
    if event == "SessionStart":
        return b"=" + json.dumps({"systemMessage": text}).encode()
    return b"!" + text.encode("utf-8", "replace") + b"\n" if event == "SessionEnd" else b""
