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
ACK_TIMEOUT = 2.0
FAILED = "server.failed"
RETRY_AFTER = 30.0
"""Seconds after a failed start in which only a session that begins tries again."""

_NOBODY_LISTENS = (FileNotFoundError, ConnectionRefusedError)
_TOLD = (b"SessionStart", b"UserPromptSubmit", b"SessionEnd")


class Refused(OSError):
    """The folder is not private, so whoever listens in it can't be trusted."""


class NoAnswer(OSError):
    """The server is alive, and has not answered in time."""


def main(folder: str, timeout: str) -> int:
    """Send the event on standard input; return the exit status."""
    try:
        import posix
    except ImportError:
        return _recover(folder, timeout, None, None)
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
        reply = ask(folder, request, float(timeout))
    except OSError as error:
        let_go = isinstance(error, _NOBODY_LISTENS) and _is_let_go(folder, request)
        return 0 if let_go else _recover(folder, timeout, request, error)
    return show(reply, posix.write)


def ask(folder: str, request: bytes, timeout: float) -> bytes:
    """Return the reply of the server that listens in `folder`."""
    import posix
    from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket

    posix.chdir(folder)
    found = posix.stat(".")
    if found.st_uid != posix.geteuid() or found.st_mode & 0o077:
        raise Refused("the folder is open to other users")
    connection = socket(AF_UNIX, SOCK_STREAM)
    connection.settimeout(ACK_TIMEOUT)
    # Relative: the path of a socket may be 107 bytes long at most.
    connection.connect("server.sock")
    connection.sendall(request)
    connection.shutdown(SHUT_WR)
    if connection.recv(1) != b"+":
        raise OSError("the server closed the connection")
    connection.settimeout(timeout)
    reply = []
    try:
        while part := connection.recv(65536):
            reply.append(part)
    except TimeoutError:
        raise NoAnswer(f"no answer within {timeout:g} s") from None
    if not reply:
        raise OSError("the server ended before it answered")
    return b"".join(reply)


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


def _recover(folder: str, timeout: str, request: bytes | None, error: OSError | None) -> int:
    from pathlib import Path

    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from trimtab_claude_code._launcher import recover

    return recover(folder, float(timeout), request, error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
