"""The channel from hook clients to the hook server, and its process.

A Unix socket in a folder that only the user can enter. Where such sockets don't exist: a port on
127.0.0.1, chosen anew at each start, and a file with a secret of which both sides prove the
knowledge before anything is sent.

Standard library only: the client runs without site-packages.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import NamedTuple

from trimtab_claude_code import _client
from trimtab_claude_code._files import private, replace

SOCKET = "server.sock"
PORT = "server.port"
CALLS = "calls"
"""The file that says which provider is being called."""

STATUS = b"status"
"""The request that asks the server about itself."""

_HOST = "127.0.0.1"
_NONCE = 16
_BACKLOG = 128
_LONGEST_PATH = 100


class Stranger(OSError):
    """The process at the other end does not know the secret."""


class Listener:
    """The server's end; `folder` must be the working directory."""

    def __init__(self, folder: Path) -> None:
        self._secret = b""
        self._kept: int | None = None
        try:
            self.socket = _unix_listener()
            self._file = folder / SOCKET
            (folder / PORT).unlink(missing_ok=True)
        except OSError:
            self.socket, self._secret = _port_listener(folder)
            self._file = folder / PORT
            self._kept = os.open(self._file, os.O_RDONLY)  # its inode is not given away meanwhile
        self._inode = self._file.stat().st_ino

    @property
    def owns_endpoint(self) -> bool:
        """Whether clients still find this server: another one may have taken its place."""
        try:
            return self._file.stat().st_ino == self._inode
        except OSError:
            return False

    def accept(self) -> socket.socket:
        """Return the next connection."""
        return self.socket.accept()[0]

    def verify(self, connection: socket.socket) -> None:
        """Prove the knowledge of the secret to a client, and make it prove its own."""
        if self._secret:
            nonce = secrets.token_bytes(_NONCE)
            connection.sendall(
                _proof(self._secret, b"server", _receive(connection, _NONCE)) + nonce
            )
            _check(self._secret, b"client", nonce, _receive(connection, _NONCE))

    def refuse(self) -> None:
        """Refuse further connections, and wake the threads that wait for one."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # some systems can't

    def close(self) -> None:
        """Stop listening, and remove the endpoint if it is still this server's."""
        if self.owns_endpoint:
            self._file.unlink(missing_ok=True)
        self.socket.close()
        if self._kept is not None:
            os.close(self._kept)


def connect(folder: Path, timeout: float) -> socket.socket:
    """Return a connection to the server; `timeout` is of each step."""
    if hasattr(socket, "AF_UNIX") and not (folder / PORT).exists():
        return _connect_unix(folder, timeout)
    port, secret = _read_port(folder / PORT)
    connection = socket.create_connection((_HOST, port), timeout)
    try:
        nonce = secrets.token_bytes(_NONCE)
        connection.sendall(nonce)
        _check(secret, b"server", nonce, _receive(connection, _NONCE))
        connection.sendall(_proof(secret, b"client", _receive(connection, _NONCE)))
    except BaseException:
        connection.close()
        raise
    return connection


def remove_endpoint(folder: Path) -> bool:
    """Let the server end: it does when clients can't find it; return whether there was one."""
    found = [file for file in (folder / SOCKET, folder / PORT) if file.exists()]
    for file in found:
        try:
            file.unlink(missing_ok=True)
        except OSError:
            pass  # something else than a socket lies there
    return bool(found)


def _connect_unix(folder: Path, timeout: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        with _short(folder / SOCKET) as path:
            connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Give a path that fits into a socket's address; a long one is relative to its folder."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield str(path)
        return
    before = Path.cwd()
    try:
        os.chdir(path.parent)
        yield path.name
    finally:
        os.chdir(before)


def _unix_listener() -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise OSError("this system has no Unix sockets")
    listener = socket.socket(socket.AF_UNIX)
    fresh = Path(f"{SOCKET}.{os.getpid()}")
    try:
        fresh.unlink(missing_ok=True)
        listener.bind(str(fresh))
        fresh.chmod(0o600)
        listener.listen(_BACKLOG)
        fresh.replace(SOCKET)
    except BaseException:
        listener.close()
        fresh.unlink(missing_ok=True)
        raise
    return listener


def _port_listener(folder: Path) -> tuple[socket.socket, bytes]:
    listener = socket.create_server((_HOST, 0), backlog=_BACKLOG)
    secret = secrets.token_bytes(32)
    fresh = folder / f"{PORT}.{os.getpid()}"
    with open(fresh, "w", encoding="ascii", opener=private) as file:
        file.write(f"{listener.getsockname()[1]}\n{secret.hex()}\n")
    fresh.replace(folder / PORT)
    return listener, secret


def _read_port(file: Path) -> tuple[int, bytes]:
    try:
        port, secret = file.read_text(encoding="ascii").split()
        return int(port), bytes.fromhex(secret)
    except ValueError as error:
        raise OSError(f"{file} is damaged") from error


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise Stranger("the connection was closed during the proof")
        received += part
    return received


def _proof(secret: bytes, side: bytes, nonce: bytes) -> bytes:
    return blake2b(nonce, key=secret, person=side, digest_size=_NONCE).digest()


def _check(secret: bytes, side: bytes, nonce: bytes, proof: bytes) -> None:
    if not compare_digest(_proof(secret, side, nonce), proof):
        raise Stranger("the process at the other end does not know the secret")


_PID = "server.pid"
_ENDED = "server.ended"
_DETACHED = 0x00000008 | 0x00000200  # without a console, in a process group of its own
_OF_A_SESSION = ("CLAUDE", *(name.decode() for name in _client.NAMES))


class ServerProcess(NamedTuple):
    """A process that was started as the server.

    Args:
        since: what tells it from a later process with the same id.
    """

    pid: int
    since: str
    started: float

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return bool(self.since) and _since(self.pid) == self.since

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started  # noqa: TID251  # runs without trimtab


def spawn(folder: Path) -> subprocess.Popen[bytes]:
    """Start the server, and note its process."""
    with open(folder / "server.log", "wb", opener=private) as output:
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
    note = f"{process.pid} {time.monotonic()} {_since(process.pid)}"  # noqa: TID251  # runs without trimtab
    try:
        replace(folder / _PID, note.encode())
    except OSError:
        pass  # on a full disk it can't be ended by its pid
    return process


def noted(folder: Path) -> ServerProcess | None:
    """Return the process that was started last."""
    try:
        pid, started, since = (folder / _PID).read_text(encoding="utf-8").split(" ", 2)
        return ServerProcess(int(pid), since, float(started))
    except (OSError, ValueError):
        return None


def end(folder: Path, process: ServerProcess) -> None:
    """End a process that does not answer, whatever holds it, and note when."""
    try:
        replace(folder / _ENDED, f"{process.pid} {time.monotonic()}".encode())  # noqa: TID251
    except OSError:
        pass
    try:
        os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    except OSError:
        pass  # it has ended meanwhile


def ended_at(folder: Path, pid: int) -> float | None:
    """Return when a client ended this process, in monotonic seconds; None if none did."""
    try:
        who, when = (folder / _ENDED).read_text(encoding="utf-8").split()
        return float(when) if int(who) == pid else None
    except (OSError, ValueError):
        return None


def is_alive(pid: int) -> bool:
    """Whether a process of this id runs."""
    return bool(_since(pid))


def _since(pid: int) -> str:
    """Return what tells a process from others that had or will have its id; empty if it ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return "" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        pass
    if os.name == "nt" or Path("/proc/self/stat").exists():
        return ""
    done = subprocess.run(
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
