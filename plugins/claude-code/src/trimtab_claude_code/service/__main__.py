"""``python -m trimtab_claude_code.service FILE``: be the resident process until nothing comes."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from trimtab_claude_code.service.endpoint import HOST, Endpoint, read_endpoint
from trimtab_claude_code.service.guardian import outlive
from trimtab_claude_code.service.pulse import Pulse

WAITING = 128
"""Connections that wait at the port while nobody serves."""
_SECONDS_TO_END = 1.0


def main(arguments: list[str]) -> int:
    """Serve, or start processes that do; 1 where the port is taken, e.g. by another like this."""
    file = Path(arguments[0])
    try:
        endpoint = read_endpoint(file)
        listener = socket.create_server((HOST, endpoint.port), backlog=WAITING)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"trimtab: {error}\n")
        return 1
    with listener:
        if sys.platform == "win32":  # which can't fork: there the next prompt starts it again
            _serve(endpoint, listener, file.parent)
        else:
            guardian = os.getpid()
            if pulse := outlive(file.parent):
                _serve(endpoint, listener, file.parent, guardian, pulse)
    return 0


def _serve(
    endpoint: Endpoint,
    listener: socket.socket,
    folder: Path,
    guardian: int | None = None,
    pulse: Pulse | None = None,
) -> None:
    from threading import Timer

    from trimtab_claude_code.service.desk import Desk
    from trimtab_claude_code.service.server import HookServer

    desk = Desk(folder)
    with HookServer(endpoint, listener, desk, guardian=guardian, pulse=pulse) as server:
        server.serve_forever()
    end = Timer(_SECONDS_TO_END, os._exit, (0,))  # a provider's thread may still run, for ever
    end.daemon = True
    end.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
