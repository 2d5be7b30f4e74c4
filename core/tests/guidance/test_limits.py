"""Limits in seconds, when several threads ask at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trimtab import ClassificationResult, DecisionPoint, ToolCall
from trimtab.events import ProviderFaulted

EXECUTE = DecisionPoint.PRE_TOOL_EXECUTION
QUIET = ClassificationResult(relevant=False)


def asleep_over_slow_calls(context: Any) -> ClassificationResult:
    if context.pending_tool_calls[0].tool == "slow":
        time.sleep(5)
    return QUIET


@pytest.mark.waits
def test_nobody_waits_behind_the_slow_provider_of_another_thread(kit: Any) -> None:
    run = kit.run(guidance_providers=[kit.Speaker("sleepy", verdict=asleep_over_slow_calls)])
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        calls = [ToolCall(name) for name in ("slow", "fast", "fast", "fast")]
        list(pool.map(lambda call: run.guide(EXECUTE, pending=[call], timeout=0.2), calls))

    assert len(kit.session[ProviderFaulted]) == 1
    assert time.monotonic() - began < 4


@pytest.mark.waits
def test_those_behind_an_overdue_provider_are_asked_once(kit: Any) -> None:
    asked: list[str] = []

    def note(context: Any) -> ClassificationResult:
        asked.append(threading.current_thread().name)
        return QUIET

    def oversleep(context: Any) -> ClassificationResult:
        time.sleep(0.3)
        return QUIET

    sleeper = kit.Speaker("sleepy", verdict=oversleep)
    run = kit.run(guidance_providers=[sleeper, kit.Speaker("next", verdict=note)])
    run.guide(EXECUTE, timeout=0.1)
    time.sleep(0.4)

    assert asked == ["trimtab-provider"]
