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
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Semaphore, Thread
from time import monotonic  # noqa: TID251  # loaded before trimtab
from typing import TYPE_CHECKING

from trimtab import TrimtabError
from trimtab_claude_code._breaker import Breaker
from trimtab_claude_code._client import MAX_BYTES, NAMES
from trimtab_claude_code._files import Problems
from trimtab_claude_code._host_config import HOST
from trimtab_claude_code._transport import CALLS, Listener, ended_at, is_alive
from trimtab_trace import (
    Call,
    CallBoard,
    GuidanceStopped,
    JournalOpened,
    JournalSettings,
    SessionJournal,
    SetAside,
    journal_folder,
    last_call,
)

if TYPE_CHECKING:
    from trimtab_claude_code._sessions import SessionCache

MAX_CONNECTIONS = 64
_PATIENCE = 1.0


class Acceptors:
    """Answers connections, at most so many at a time.

    Args:
        answer: answers a connection and closes it.
        most: so many.
    """

    def __init__(
        self,
        listener: Listener,
        answer: Callable[[socket.socket], None],
        most: int = MAX_CONNECTIONS,
    ) -> None:
        self.ended = Event()
        """Set by `stop`, or when no connection can be accepted any more."""
        self._listener = listener
        self._answer = answer
        self._free = Semaphore(most)
        self._pool = ThreadPoolExecutor(most)
        self._lock = Lock()
        self._answers: set[Future[None]] = set()

    def start(self) -> None:
        """Accept connections from now on."""
        Thread(target=self._run, daemon=True).start()

    def stop(self, timeout: float) -> bool:
        """Accept no more; return whether all connections were answered within `timeout` seconds."""
        with self._lock:
            self.ended.set()
        self._listener.refuse()
        return not wait(tuple(self._answers), timeout).not_done

    def _run(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                self.ended.set()
                return
            free = self._free.acquire(timeout=_PATIENCE)
            with self._lock:
                if not free or self.ended.is_set() or not self._begun(connection):
                    connection.close()

    def _begun(self, connection: socket.socket) -> bool:
        try:
            answer = self._pool.submit(self._answer, connection)
        except RuntimeError:  # the system has no more threads
            self._free.release()
            return False
        self._answers.add(answer)
        answer.add_done_callback(self._done)
        return True

    def _done(self, answer: Future[None]) -> None:
        self._answers.discard(answer)
        self._free.release()


_NO_LIMIT = 1e6
_HELD_SECONDS = 1.0
"""A call that a server was ended in is to blame from here on: a shorter one may have waited for the
processor."""


def begin(folder: Path) -> None:
    """Set aside the provider that ended or held the last server, and watch calls from now on."""
    call = last_call(folder / CALLS)
    held = call is not None and _is_to_blame(folder, call)
    if call is not None and held:
        _set_aside(folder, call)
    Breaker(folder).close(held_by=call.provider if call is not None and held else "")
    _tell_stopped(folder)
    with suppress(OSError):  # on a full disk nobody is watched
        CallBoard(folder / CALLS).watch()


def _tell_stopped(folder: Path) -> None:
    """Write into the journals of sessions that they go on without guidance, where none does yet."""
    for session_id, cost in Breaker(folder).not_told().items():
        journals, stem = journal_folder(folder.parent), f"{HOST}-{session_id}"
        kept = JournalSettings(keep_days=_NO_LIMIT, max_megabytes=_NO_LIMIT)  # removes none
        journal = SessionJournal(stem, JournalOpened(host=HOST), folder=journals, settings=kept)
        if journal.exists:
            with suppress(OSError, TrimtabError):
                journal.record(GuidanceStopped(seconds=cost.seconds, providers=cost.providers))
            journal.close()
        Breaker(folder).told(session_id)


def _is_to_blame(folder: Path, call: Call) -> bool:
    if is_alive(call.pid):
        return False  # it is still at its last events
    ended = ended_at(folder, call.pid)
    return ended is None or ended - call.began >= _HELD_SECONDS


def _set_aside(folder: Path, call: Call) -> None:
    ended = ended_at(folder, call.pid)
    did = "ended the hook server" if ended is None else "held the hook server until it was ended"
    Problems(folder).add(SetAside(folder.parent).add(call.provider, host=HOST, reason=did))


_EVENT = b"event"

IDLE_TIMEOUT = 3600.0
REQUEST_TIMEOUT = 5.0
_TICK = 1.0
_DRAIN_TIMEOUT = 5.0
_HELD_TIMEOUT = 10.0
"""Seconds after which a process ends itself in which no thread can run, whatever holds it."""


class HookServer:
    """Answers the events of all sessions until it is time to end; works in `folder`."""

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
                from trimtab_claude_code._sessions import SessionCache

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
            if after is not None:
                after()
        except Exception:  # noqa: BLE001, S110  # the client has gone; the others are still served
            pass

    def _answer(self, connection: socket.socket) -> Callable[[], None] | None:
        kind, variables, body = parse_request(_read(connection))
        if kind != _EVENT:
            state = {"pid": os.getpid(), "sessions": len(self.cache)}
            connection.sendall(json.dumps(state).encode())
            return None
        self._last_event = monotonic()
        reply = self.cache.answer(variables, body)
        connection.sendall(reply.encoded)
        return reply.after


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
    """Read a request to its end."""
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
        # A relative one would be the folder of the server itself, where it writes.
        self._folders = (str(Path(__file__).parent), *filter(os.path.isabs, sys.path))
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
