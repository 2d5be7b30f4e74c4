"""``python -m trimtab_claude_code.service FILE``: be the resident process until nothing comes."""

from __future__ import annotations

import sys
from pathlib import Path

from trimtab_claude_code.service.desk import Desk
from trimtab_claude_code.service.endpoint import read_endpoint
from trimtab_claude_code.service.server import HookServer


def main(arguments: list[str]) -> int:
    """Serve; 1 where the port is taken, e.g. by another process like this one."""
    file = Path(arguments[0])
    try:
        server = HookServer(read_endpoint(file), Desk(file.parent))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"trimtab: {error}\n")
        return 1
    with server:
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
