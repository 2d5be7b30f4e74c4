"""The process of the hook server, seen from outside: started, found by its pid, ended.

Standard library only: the client runs without site-packages.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from trimtab_claude_code import _client
from trimtab_claude_code._state.files import private, replace

_PID = "server.pid"
_ENDED = "server.ended"
_DETACHED = 0x00000008 | 0x00000200  # without a console, in a process group of its own
_OF_A_SESSION = ("CLAUDE", *(name.decode() for name in _client.NAMES))


class ServerProcess(NamedTuple):
    """A process that was started as the server.

    Args:
        pid: its id.
        since: what tells it from a later process with the same id.
        started: monotonic seconds.
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
    """Start the server, and note its process.

    Args:
        folder: the user's own folder.
    """
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
