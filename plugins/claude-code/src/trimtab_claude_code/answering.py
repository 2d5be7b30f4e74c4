"""A process for one event, at which somebody may speak: the whole engine, for one answer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from trimtab_claude_code.bounds import payload_of
from trimtab_claude_code.noting import LOCK_SECONDS
from trimtab_claude_code.opening import Guided, describe, place_of, unanswered
from trimtab_claude_code.state.folders import user_folder
from trimtab_claude_code.state.lock import locked
from trimtab_claude_code.state.troubles import Troubles


def answer_and_exit(body: bytes) -> None:
    """Answer an event on the standard output, and end the process with status 0."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a provider prints must not mix with the answer
    try:
        troubles = Troubles(user_folder())
        answer = _answer(body, troubles)
        answers.write(json.dumps(answer) if answer else "")
        answers.flush()
    except Exception as error:  # noqa: BLE001  # the last resort: the agent goes on
        sys.stderr.write(f"trimtab: {describe(error)}\n")
    os._exit(0)  # a thread that a provider left running would keep the process


def _answer(body: bytes, troubles: Troubles) -> Mapping[str, Any]:
    payload: Mapping[str, Any] = {}
    try:
        payload = payload_of(body)
        return _locked_answer(payload, troubles)
    except Exception as error:  # noqa: BLE001  # noted, and told
        return unanswered(payload, error, troubles)


def _locked_answer(payload: Mapping[str, Any], troubles: Troubles) -> Mapping[str, Any]:
    place = place_of(payload, os.environ.get("CLAUDE_PROJECT_DIR"))
    with locked(place.journal.with_suffix(".lock"), LOCK_SECONDS):
        return Guided(place, troubles).answer(payload)
