"""One recorded call as people see it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trimtab import ToolInvoked
from trimtab.events import CallOrigin
from trimtab.text import shorten
from trimtab_replay._results import CallView
from trimtab_signals import Calls

MAX_PARAMS = 400
MAX_RESULT = 600


def call_view(event: ToolInvoked, calls: Calls, *, turn: int, call: int) -> CallView:
    """Return `event` bounded for showing, with what `calls` made of it."""
    # The records leave out the calls of others than the model.
    recent = calls.recent(1) if event.caller is CallOrigin.MODEL else ()
    record = recent[-1] if recent else None
    return CallView(
        turn=turn,
        call=call,
        tool=event.tool,
        params=shorten(_params(event.params), MAX_PARAMS),
        result=shorten(_text(event.result), MAX_RESULT),
        outcome=event.outcome,
        caller=event.caller,
        agent=event.agent_id,
        polling=bool(record and record.waits),
        failed=event.failed or bool(record and record.failed),
    )


def _params(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _text(value)
    return "\n".join(f"{key}: {_text(given)}" for key, given in value.items())


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
