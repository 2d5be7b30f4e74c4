"""A command hook: one process for one event, the payload on stdin, the answer on stdout.

The fallback where a resident process is not wanted. Whatever goes wrong, it ends with status 0
and says nothing: a hook must never stop the agent. What went wrong is told at the next start.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from trimtab_claude_code.opening import Guided, describe, place_of
from trimtab_claude_code.state.folders import user_folder
from trimtab_claude_code.state.lock import locked
from trimtab_claude_code.state.troubles import Troubles

MOST_BYTES = 16_000_000
LOCK_SECONDS = 5.0


def main() -> None:
    """Answer the event on the standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a provider prints must not mix with the answer
    try:
        troubles = Troubles(user_folder())
        answer = _answer(sys.stdin.buffer.read(MOST_BYTES + 1), troubles)
        answers.write(json.dumps(answer) if answer else "")
        answers.flush()
    except Exception as error:  # noqa: BLE001  # the last resort: the agent goes on
        sys.stderr.write(f"trimtab: {describe(error)}\n")
    os._exit(0)  # a thread that a provider left running would keep the process


def _answer(body: bytes, troubles: Troubles) -> Mapping[str, Any]:
    try:
        return _locked_answer(payload_of(body), troubles)
    except Exception as error:  # noqa: BLE001  # noted, and told at the next start
        troubles.note(f"A hook could not be answered: {describe(error)}")
        return {}


def _locked_answer(payload: Mapping[str, Any], troubles: Troubles) -> Mapping[str, Any]:
    place = place_of(payload, os.environ.get("CLAUDE_PROJECT_DIR"))
    with locked(place.journal.with_suffix(".lock"), LOCK_SECONDS):
        return Guided(place, troubles).answer(payload)


def payload_of(body: bytes) -> Mapping[str, Any]:
    """Read what a hook was told.

    Raises:
        ValueError: it is no JSON object, or too long.
    """
    if len(body) > MOST_BYTES:
        raise ValueError(f"an event of more than {MOST_BYTES} bytes was left out")
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise ValueError("an event that is no JSON object was left out")
    return payload


if __name__ == "__main__":
    main()
