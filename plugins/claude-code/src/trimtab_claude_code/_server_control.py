"""Asking the hook server about itself."""

from __future__ import annotations

import json
from pathlib import Path
from socket import SHUT_WR

from trimtab_claude_code._server import FLUSH
from trimtab_claude_code._transport import STATUS, connect

_TIMEOUT = 5.0


def ask_server(folder: Path, *, save: bool = False) -> str:
    """Say in words what the hook server does.

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
        return "not running; the next event starts it"
    except (OSError, ValueError) as error:
        return f"can't be asked: {error}"
    return f"running, process {state['pid']}, sessions in memory: {state['sessions']}"
