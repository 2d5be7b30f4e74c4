"""``python -m trimtab_claude_code._server FOLDER``: answer hook clients until no event comes.

One server per user serves all sessions. It listens before it loads anything large, so that the
client which started it can send its event at once. It ends when its endpoint is removed, when the
installed packages change, or when no event has come for an hour.
"""

from __future__ import annotations

import faulthandler
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Lock, Thread
from time import monotonic  # noqa: TID251  # loaded before trimtab
from typing import TYPE_CHECKING, Any

from trimtab_claude_code._acceptors import Acceptors
from trimtab_claude_code._client import MAX_BYTES, NAMES
from trimtab_claude_code._transport import CALLS, Listener

if TYPE_CHECKING:
    from trimtab_claude_code._session_cache import SessionCache

FLUSH = b"flush"
_EVENT = b"event"

IDLE_TIMEOUT = 3600.0
REQUEST_TIMEOUT = 5.0
_TICK = 1.0
_DRAIN_TIMEOUT = 5.0
_HELD_TIMEOUT = 10.0
"""Seconds after which a process ends itself in which no thread can run, whatever holds it."""


class HookServer:
    """Answers the events of all sessions until it is time to end.

    Args:
        folder: the user's own folder, which must be the working directory.
        listener: where clients connect.
        idle_timeout: seconds without an event after which it ends.
    """

    def __init__(
        self, folder: Path, listener: Listener, *, idle_timeout: float = IDLE_TIMEOUT
    ) -> None:
        self._folder = folder
        self._listener = listener
        self._idle_timeout = idle_timeout
        self._acceptors = Acceptors(listener, self._serve_one)
        self._lock = Lock()
        self._cache: SessionCache | None = None
        self._last_event = monotonic()
        self._installed = InstalledPackages()

    @property
    def cache(self) -> SessionCache:
        """The sessions; loaded on first use."""
        with self._lock:
            if self._cache is None:
                from trimtab_claude_code._session_cache import SessionCache
                from trimtab_claude_code._supervision import begin

                begin(self._folder)
                self._cache = SessionCache(self._folder)
            return self._cache

    def serve(self) -> None:
        """Answer until it is time to end; sessions are saved then."""
        Thread(target=lambda: self.cache, daemon=True).start()
        self._acceptors.start()
        with Path(os.devnull).open("wb") as nowhere:
            while self._wanted():
                faulthandler.dump_traceback_later(_HELD_TIMEOUT, file=nowhere, exit=True)
                if self._acceptors.ended.wait(_TICK):
                    break
            faulthandler.dump_traceback_later(2 * _HELD_TIMEOUT, file=nowhere, exit=True)
            self._finish()

    def _finish(self) -> None:
        self._acceptors.stop(_DRAIN_TIMEOUT)
        if self._cache is not None and self._listener.owns_endpoint:
            self._cache.close()
        self._listener.close()

    def _wanted(self) -> bool:
        return (
            self._listener.owns_endpoint
            and not self._installed.changed()
            and monotonic() - self._last_event < self._idle_timeout
        )

    def _serve_one(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(REQUEST_TIMEOUT)
                self._listener.verify(connection)
                connection.sendall(b"+")
                after = self._answer(connection)
            after()
        except Exception:  # noqa: BLE001, S110  # the client has gone; the others are still served
            pass

    def _answer(self, connection: socket.socket) -> Any:
        kind, variables, body = parse_request(_read(connection))
        if kind != _EVENT:
            connection.sendall(json.dumps(self._control(kind)).encode())
            return _nothing
        self._last_event = monotonic()
        reply = self.cache.answer(variables, body)
        connection.sendall(reply.encoded)
        return reply.after

    def _control(self, kind: bytes) -> Mapping[str, Any]:
        if kind == FLUSH:
            self.cache.save_all()
        return {"pid": os.getpid(), "sessions": len(self.cache)}


def parse_request(raw: bytes) -> tuple[bytes, Mapping[str, str], bytes]:
    """Return the kind of a request, the variables of its session and its body."""
    kind, *values = raw.split(b"\0", len(NAMES) + 1)
    if len(values) <= len(NAMES):
        return kind, {}, b""
    *found, body = values
    return (
        kind,
        {
            name.decode(): os.fsdecode(value)
            for name, value in zip(NAMES, found, strict=True)
            if value
        },
        body,
    )


def _read(connection: socket.socket) -> bytes:
    """Read a request to its end.

    Raises:
        OSError: it is too long, or came too slowly.
    """
    parts, size, end = [], 0, monotonic() + REQUEST_TIMEOUT
    while part := connection.recv(1_048_576):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES + 65_536 or monotonic() > end:
            raise OSError("the request is too long or too slow")
    return b"".join(parts)


class InstalledPackages:
    """Whether packages were installed or removed since this object was made.

    What Python itself writes into these folders when it imports a module is no change.
    """

    def __init__(self) -> None:
        self._folders = (str(Path(__file__).parent), *sys.path)
        self._modified = self._times()
        self._names = self._listing()

    def changed(self) -> bool:
        """Look at the folders; at their content only where one was modified."""
        times = self._times()
        if times == self._modified:
            return False
        self._modified = times
        return self._listing() != self._names

    def _times(self) -> list[int]:
        return [_modified(folder) for folder in self._folders]

    def _listing(self) -> list[frozenset[str]]:
        return [_entries(folder) for folder in self._folders]


def _modified(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


def _entries(folder: str) -> frozenset[str]:
    try:
        return frozenset(entry.name for entry in Path(folder).iterdir()) - {"__pycache__"}
    except OSError:
        return frozenset()


def _nothing() -> None:
    """Do nothing after a reply."""


def _mute() -> None:
    """Send further output nowhere: the log would grow, and hold what providers print."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)


def main(arguments: list[str]) -> int:
    """Serve; 1 where neither a socket nor a port can be used."""
    folder = Path(arguments[0])
    os.umask(0o077)
    os.chdir(folder)
    try:
        listener = Listener(folder)
    except OSError as error:
        sys.stderr.write(f"trimtab: {error}\n")
        return 1
    _mute()
    HookServer(folder, listener).serve()
    (folder / CALLS).unlink(missing_ok=True)  # nobody is to blame for this end
    os._exit(0)  # a provider's thread may still run, forever


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
