"""Asking the hook server about itself."""

from __future__ import annotations

import json
from pathlib import Path
from socket import SHUT_WR

import attrs

from trimtab_claude_code._server import FLUSH
from trimtab_claude_code._transport import STATUS, connect

_TIMEOUT = 5.0


@attrs.frozen(kw_only=True)
class ServerState:
    """What the hook server does.

    Args:
        process: its process id; None where none runs.
        sessions: how many it has in memory.
        problem: why it can't be asked; empty if it can.
    """

    process: int | None = None
    sessions: int = 0
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"can't be asked: {self.problem}"
        if self.process is None:
            return "not running; the next event starts it"
        return f"running, process {self.process}, sessions in memory: {self.sessions}"


def ask_server(folder: Path, *, save: bool = False) -> ServerState:
    """Ask the hook server what it does.

    Args:
        folder: the user's own folder.
        save: let it save its sessions first.
    """
    try:
        with connect(folder, _TIMEOUT) as connection:
            connection.sendall(FLUSH if save else STATUS)
            connection.shutdown(SHUT_WR)
            answer = bytearray()
            while part := connection.recv(65_536):
                answer += part
        state = json.loads(answer.removeprefix(b"+"))
    except (FileNotFoundError, ConnectionRefusedError):
        return ServerState()
    except (OSError, ValueError) as error:
        return ServerState(problem=str(error))
    return ServerState(process=state["pid"], sessions=state["sessions"])
