"""A command hook: one process for one event, the payload on stdin, the answer on stdout.

The fallback where a resident process is not wanted. Whatever goes wrong, it ends with status 0
and says nothing: a hook must never stop the agent. What went wrong is told at the next start.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from trimtab_claude_code.bounds import MOST_BYTES
from trimtab_claude_code.noting import note


def main() -> None:
    """Answer the event on the standard input."""
    gc.disable()  # what a process for one event leaves lying goes with it
    body = sys.stdin.buffer.read(MOST_BYTES + 1)
    if not _noted(body):
        from trimtab_claude_code.answering import answer_and_exit

        answer_and_exit(body)


def _noted(body: bytes) -> bool:
    try:
        return note(body, Path(sys.argv[1]))
    except Exception:  # noqa: BLE001  # the long way says what is wrong
        return False


if __name__ == "__main__":
    main()
