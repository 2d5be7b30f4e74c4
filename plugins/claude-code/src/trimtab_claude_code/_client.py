"""The command hook: sends one event to the hook server and prints the answer.

Run as a script by ``python -I -S``. Each import here costs time at every hook event, so only
built-in modules are used; all that is not the normal case is in `_launcher`.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = (
    b"CLAUDE_PROJECT_DIR",
    b"CLAUDE_CODE_ENTRYPOINT",
    b"TRIMTAB_CONFIG",
    b"TRIMTAB_DISABLE",
    b"TRIMTAB_HOME",
    b"TRIMTAB_PLUGINS",
    b"TRIMTAB_TIMEOUT",
)
MAX_BYTES = 16_000_000
FAILED = "server.failed"
PAUSED = "paused"
"""A file that lets events pass: until when, then the sessions that go on without guidance."""

RETRY_AFTER = 30.0
"""Seconds after a failed start in which only a session that begins tries again."""

_NOBODY_LISTENS = (FileNotFoundError, ConnectionRefusedError)
_TOLD = (b"SessionStart", b"UserPromptSubmit", b"SessionEnd")


class Refused(OSError):
    """The folder is not private, so whoever listens in it can't be trusted."""


class NoAnswer(OSError):
    """The server is alive, and has not answered in time; by `connection` it may answer yet."""

    def __init__(self, connection: object) -> None:
        super().__init__("it did not answer in time")
        self.connection = connection


class Ended(OSError):
    """The server has ended while it was at work on the event."""


def main(folder: str, timeout: str, patience: str = "0") -> int:
    """Send the event on standard input; return the exit status.

    Args:
        patience: seconds that it may take where the server is at work on it, and says so.
    """
    try:
        import posix
    except ImportError:
        return _recover(folder, timeout, patience, None, None)
    from time import monotonic  # noqa: TID251  # runs without trimtab

    end = monotonic() + float(timeout)
    if posix.environ.get(b"TRIMTAB_CLAUDE_CODE") == b"off":
        return 0
    parts = [b"event"] + [posix.environ.get(name, b"") for name in NAMES]
    size = 0
    body = []
    while part := posix.read(0, 65536):
        size += len(part)
        if size <= MAX_BYTES:
            body.append(part)
    if size > MAX_BYTES:
        return 0
    request = b"\0".join([*parts, b"".join(body)])
    try:
        reply = ask(folder, request, end)
    except OSError as error:
        let_go = isinstance(error, _NOBODY_LISTENS) and _is_let_go(folder, request)
        return 0 if let_go else _recover(folder, str(end - monotonic()), patience, request, error)
    return show(reply, posix.write)


def ask(folder: str, request: bytes, end: float) -> bytes:
    """Return the reply of the server that listens in `folder`; nothing while events pass."""
    import posix
    from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket
    from time import monotonic  # noqa: TID251  # runs without trimtab

    posix.chdir(folder)
    found = posix.stat(".")
    if found.st_uid != posix.geteuid() or found.st_mode & 0o077:
        raise Refused("the folder is open to other users")
    if passes(request):
        return b"="
    connection = socket(AF_UNIX, SOCK_STREAM)
    reply = []
    try:
        connection.settimeout(max(0.01, end - monotonic()))
        # Relative: the path of a socket may be 107 bytes long at most.
        connection.connect("server.sock")
        connection.sendall(request)
        connection.shutdown(SHUT_WR)
        if connection.recv(1) != b"+":
            raise OSError("the server closed the connection")
        connection.settimeout(max(0.01, end - monotonic()))
        while part := connection.recv(65536):
            reply.append(part)
    except TimeoutError:
        raise NoAnswer(connection) from None
    if not reply:
        raise Ended("the server ended before it answered")
    return b"".join(reply)


def passes(request: bytes) -> bool:
    """Whether events pass at present, or those of this session do; in the user's own folder."""
    try:
        with open(PAUSED, "rb") as file:  # noqa: PTH123  # no pathlib here
            until, *sessions = file.read().split(b"\n")
    except OSError:
        return False
    from time import time  # noqa: TID251  # runs without trimtab

    try:
        paused = time() < float(until) < time() + RETRY_AFTER + 1  # the clock may have been changed
    except ValueError:
        paused = False
    return paused or any(name and name in request for name in sessions)


def _is_let_go(folder: str, request: bytes) -> bool:
    """Whether the server could not be started lately, and neither start nor user depend on it."""
    import posix
    import time

    try:
        age = time.time() - posix.stat(f"{folder}/{FAILED}").st_mtime  # noqa: TID251  # runs without trimtab
    except OSError:
        return False
    return age < RETRY_AFTER and not any(name in request for name in _TOLD)


def show(reply: bytes, write: "Callable[[int, bytes], int]") -> int:
    """Print a reply; return the exit status that its first byte stands for."""
    status = 1 if reply[:1] == b"!" else 0
    text = reply[1:]
    while text:
        text = text[write(2 if status else 1, text) :]
    return status


def _recover(
    folder: str, timeout: str, patience: str, request: bytes | None, error: OSError | None
) -> int:
    from pathlib import Path

    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from trimtab_claude_code._launcher import recover

    return recover(folder, float(timeout), float(patience), request, error)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
