"""What the hook client does when the hook server does not answer: start one, end one, give up.

Uses the standard library and this package only: the client runs without site-packages.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from socket import SHUT_WR, socket
from typing import Any

from trimtab_claude_code import _client, _transport
from trimtab_claude_code._breaker import Breaker, Cost
from trimtab_claude_code._files import Busy, Problems, locked

START_TIMEOUT = 5.0

_PAUSE = 0.01
_PROBE_EVERY = 1.0
_PROBE_TIMEOUT = 1.5
_PATIENCE_FOR_LOCK = 0.3


class NotStarted(OSError):
    """The server did not start, or can't answer."""


class Unanswered(OSError):
    """The server is alive, and has not answered in time."""


def recover(
    folder: str, timeout: float, patience: float, request: bytes | None, error: OSError | None
) -> int:
    """Answer an event whose server could not be asked; return the exit status.

    Args:
        timeout: seconds that the event may still take.
        patience: seconds that it may take where the server says that it is at work.
        request: what to send; read from standard input where None.
    """
    end = time.monotonic() + timeout  # noqa: TID251  # runs without trimtab
    first = request is None
    if request is None:
        request = _read_request()
    if not request or os.environ.get("TRIMTAB_CLAUDE_CODE") == "off":
        return 0
    path = Path(folder)
    try:
        _check_private(path)
        if first:  # the client could not look
            os.chdir(path)
            if _client.passes(request):
                return 0
        if _is(error, _client.Ended) and error is not None:
            raise error
        reply = _answer(path, end, patience, request, getattr(error, "connection", None))
    except Unanswered as failure:
        cost = Breaker(path).waited(_field(request, "session_id"))
        _end_server(path)
        reply = _give_up(path, request, failure, cost)
    except Exception as failure:  # noqa: BLE001  # a hook must never stop the agent
        if _is(
            failure, _client.Ended
        ):  # it has the event in its journal, and must not see it again
            _replace_server(path)
        reply = _give_up(path, request, failure)
    return _client.show(reply, os.write) if reply else 0


def _is(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Whether an error is of a kind of the client, whose module is ``__main__``."""
    return type(error).__name__ == kind.__name__


def _read_request() -> bytes:
    body = sys.stdin.buffer.read(_client.MAX_BYTES + 1)
    if len(body) > _client.MAX_BYTES:
        return b""
    values = [os.fsencode(os.environ.get(name.decode(), "")) for name in _client.NAMES]
    return b"\0".join([b"event", *values, body])


def _check_private(folder: Path) -> None:
    """Make the folder, or make sure that only its owner can enter it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":  # the user's profile is protected by its access list
        return
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} is not a folder of this user")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def _answer(folder: Path, end: float, patience: float, request: bytes, connection: Any) -> bytes:
    """Return the answer to an event; over `connection` where a server has the event already."""
    if connection is not None:
        return _late_reply(folder, connection, patience)
    try:
        return _exchange(folder, end, patience, request)
    except Unanswered:
        raise
    except OSError:
        begins = _field(request, "hook_event_name") in ("SessionStart", "UserPromptSubmit")
        start_server(folder, force=begins, end=end)
    return _exchange(folder, end, patience, request)


def _exchange(folder: Path, end: float, patience: float, request: bytes) -> bytes:
    connection = _transport.connect(folder, _left(end))
    try:
        connection.sendall(request)
        connection.shutdown(SHUT_WR)
        if connection.recv(1) != b"+":
            raise OSError("the server closed the connection")
        connection.settimeout(_left(end))
        return _whole(connection)
    except TimeoutError:
        return _late_reply(folder, connection, patience)


def _left(end: float) -> float:
    return max(0.01, end - time.monotonic())  # noqa: TID251  # runs without trimtab


def _whole(connection: socket) -> bytes:
    reply = bytearray()
    while part := connection.recv(65_536):
        reply += part
    if not reply:
        raise _client.Ended("the server ended before it answered")
    return bytes(reply)


def _late_reply(folder: Path, connection: socket, patience: float) -> bytes:
    """Return a reply that takes long, as long as the server answers others meanwhile."""
    end = time.monotonic() + patience  # noqa: TID251  # runs without trimtab
    while patience and time.monotonic() < end and _at_work(folder):  # noqa: TID251  # as above
        connection.settimeout(_PROBE_EVERY)
        try:
            return _whole(connection).removeprefix(b"+")
        except TimeoutError:
            continue
    raise Unanswered("it did not answer in time")


def _at_work(folder: Path, timeout: float = _PROBE_TIMEOUT) -> bool:
    try:
        with _transport.connect(folder, timeout) as connection:
            connection.sendall(_transport.STATUS)
            connection.shutdown(SHUT_WR)
            return connection.recv(1) == b"+" and bool(connection.recv(1))
    except OSError:
        return False


def _end_server(folder: Path) -> None:
    """End the server that did not answer, let events pass, and start another one meanwhile.

    One that answers other questions is only slow, as when much is installed: it may go on.
    """
    try:
        with locked(folder / "start.lock", _PATIENCE_FOR_LOCK):
            stuck = _transport.noted(folder)
            recent = stuck is not None and stuck.age < _PROBE_TIMEOUT  # it has just been started
            slow = recent or _at_work(folder, _PATIENCE_FOR_LOCK)
            Breaker(folder).open(short=slow)
            if slow:
                return
            _transport.remove_endpoint(folder)
            if stuck is not None and stuck.alive:
                _transport.end(folder, stuck)
            _transport.spawn(folder)
    except (Busy, OSError):
        pass  # another client does it


def _replace_server(folder: Path) -> None:
    """Start a server where one has ended by itself, and let events pass meanwhile."""
    try:
        with locked(folder / "start.lock", _PATIENCE_FOR_LOCK):
            if not _listens(folder):
                Breaker(folder).open()
                _transport.spawn(folder)
    except (Busy, OSError):
        pass  # another client does it


def start_server(folder: Path, *, force: bool = True, end: float | None = None) -> None:
    """Start the server and wait until it listens, unless another process has just done so.

    It is not started again soon after a start that failed, unless by `force`.
    """
    until = time.monotonic() + START_TIMEOUT if end is None else end  # noqa: TID251  # as above
    try:
        with locked(folder / "start.lock", _left(until)):
            if _listens(folder):
                return
            if not force and _failed_lately(folder):
                raise NotStarted("the last start failed; the next session tries again")
            _start(folder, until)
    except Busy as error:
        raise NotStarted(str(error)) from error


def _start(folder: Path, until: float) -> None:
    marker = folder / _client.FAILED
    process = _transport.spawn(folder)
    while process.poll() is None:
        if _listens(folder):
            marker.unlink(missing_ok=True)
            return
        if _left(until) <= _PAUSE:
            Breaker(folder).open()
            raise NotStarted("it is still starting; events pass until it answers")
        time.sleep(_PAUSE)
    marker.touch()
    log = folder / "server.log"
    end = log.read_text(encoding="utf-8", errors="replace").strip()[-200:] or "nothing"
    raise NotStarted(f"it did not start; {log} ends with: {end}")


def _listens(folder: Path) -> bool:
    try:
        _transport.connect(folder, _PROBE_TIMEOUT).close()
    except OSError:
        return False
    return True


def _failed_lately(folder: Path) -> bool:
    try:
        return time.time() - (folder / _client.FAILED).stat().st_mtime < _client.RETRY_AFTER  # noqa: TID251  # runs without trimtab
    except OSError:
        return False


def _field(request: bytes, name: str) -> str:
    try:
        payload = json.loads(request.split(b"\0", len(_client.NAMES) + 1)[-1])
        return str(payload.get(name) or "")
    except (ValueError, AttributeError, RecursionError):
        return ""


def _give_up(folder: Path, request: bytes, error: Exception, cost: Cost | None = None) -> bytes:
    """Note the problem; return a reply that the user sees, where a session begins or ends.

    At once where its session has waited too long: `cost`.
    """
    is_last = cost is not None and cost.is_reached
    what = str(cost) if is_last else f"The hook server can't be reached: {error}"
    try:
        Problems(folder).add(what)
    except Exception:  # noqa: BLE001, S110  # nothing is left to try
        pass
    text = f"trimtab: {what}" if is_last else f"trimtab is inactive in this session. {what}"
    event = _field(request, "hook_event_name")
    if event == "SessionEnd":
        return b"!" + text.encode("utf-8", "replace") + b"\n"
    if event == "SessionStart" or is_last:
        return b"=" + json.dumps({"systemMessage": text}).encode()
    return b""
