"""Feedback that is not due, as the history grows; WINK's ``collect_feedback`` beside it.

WINK (the distribution weakincentives, Python ≥ 3.12.2) is measured where it is installed, on the
same interpreter, with the same four providers and counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import attrs
from measure import median, row

import trimtab
from trimtab import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    ManualClock,
    Prompt,
    Session,
    ToolInvoked,
)

HISTORY = (100, 10_000, 50_000)
NEVER = 10**9
PROVIDERS = 4
Ask = Callable[[], object]


@attrs.frozen
class Silent:
    """A provider that is never due, good for both."""

    name: str

    def should_run(self, *, context: Any) -> bool:
        return True

    def provide(self, *, context: Any) -> Any:
        raise AssertionError("it is not due")


def ours(history: int) -> Ask:
    """Return one asking of ours after `history` calls."""
    never = FeedbackTrigger(every_n_calls=NEVER)
    providers = [FeedbackProviderConfig(Silent(f"p{n}"), never) for n in range(PROVIDERS)]
    prompt = Prompt("bench", "main", feedback_providers=providers, config=None)
    session = Session(clock=ManualClock())
    session.open_run(prompt)
    for _ in range(history):
        session.dispatch(ToolInvoked(tool="read", prompt_name=prompt.name, result="ok"))
    return lambda: trimtab.collect_feedback(prompt=prompt, session=session)


def winks(history: int) -> Ask:
    """Return one asking of WINK's after `history` calls, put into its session at once."""
    from weakincentives import prompt as wink, runtime
    from weakincentives.runtime.events import ToolInvoked as Invoked

    logging.disable(logging.CRITICAL)
    never = wink.FeedbackTrigger(every_n_calls=NEVER)
    providers = tuple(
        wink.FeedbackProviderConfig(provider=Silent(f"p{n}"), trigger=never)
        for n in range(PROVIDERS)
    )
    template = wink.PromptTemplate(
        ns="bench", key="main", name="main", sections=(), feedback_providers=providers
    )
    prompt = wink.Prompt(template)
    session = runtime.Session(dispatcher=runtime.InProcessDispatcher())
    calls = [
        Invoked(
            prompt_name="main",
            adapter="bench",
            name="read",
            params={},
            result=None,
            session_id=None,
            created_at=datetime.now(UTC),
            rendered_output="ok",
        )
    ] * history
    session[Invoked].seed(calls)
    return lambda: wink.collect_feedback(prompt=prompt, session=session)


def measure(name: str, make: Callable[[int], Ask], must: str) -> None:
    """Print the medians along the history."""
    found = [median(make(history), rounds=200) for history in HISTORY]
    shown = " / ".join(f"{value:,.0f}" for value in found)
    row(f"{name}: {PROVIDERS} providers, none due", f"{shown} µs", must, f"after {HISTORY} calls")


def main() -> None:
    measure("trimtab", ours, "flat")
    try:
        measure("WINK", winks, "–")
    except ImportError:
        print("WINK is not measured: weakincentives is not installed here")


if __name__ == "__main__":
    main()
