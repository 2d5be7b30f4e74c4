"""Records and traces for the tests."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trimtab import Outcome, ToolCall, ToolInvoked
from trimtab.events import (
    ModelResponded,
    RunClosed,
    RunOpened,
    ToolStarted,
    UserMessage,
)
from trimtab_trace import JsonlStore, TraceWriter

START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def records(calls: int, *, seed: int = 1, size: int = 400) -> list[object]:
    """Return a run of that many calls, as a session records it."""
    chance = random.Random(seed)

    def stamp(seconds: float) -> dict[str, object]:
        at = START + timedelta(seconds=seconds)
        return {"prompt_name": "agent/main", "run_id": "run-1", "at": at, "elapsed": seconds}

    found: list[object] = [
        RunOpened(**stamp(0.0)),
        UserMessage(text="Fix the build — «now»", **stamp(0.5)),
    ]
    for i in range(calls):
        params = {"command": f"make {i} {'é' * chance.randrange(30)}", "timeout": 120}
        call = ToolCall("bash", params, f"call-{i}")
        told = {"tool": "bash", "params": params, "call_id": f"call-{i}", "turn": i}
        found.append(ModelResponded(turn=i, tool_calls=(call,), **stamp(i * 2 + 1.0)))
        found.append(ToolStarted(**told, **stamp(i * 2 + 1.25)))
        bad = i % 5 == 4
        found.append(
            ToolInvoked(
                **told,
                result="word " * (chance.randrange(size) // 5),
                outcome=Outcome.ERROR if bad else Outcome.OK,
                error="exit status 2" if bad else None,
                started=START + timedelta(seconds=i * 2 + 1.25),
                duration=0.5,
                **stamp(i * 2 + 1.75),
            )
        )
    found.append(RunClosed(reason="done", **stamp(calls * 2 + 1.0)))
    return found


def write(path: Path, items: list[object], **options: object) -> Path:
    """Write a trace of `items`; return its path."""
    writer = TraceWriter(JsonlStore(path, **options))
    for item in items:
        writer.record(item)
    writer.close()
    return path
