"""Providers made of functions, and runs on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from trimtab import (
    ClassificationResult,
    Feedback,
    GuidanceInjection,
    ManualClock,
    Prompt,
    PromptTemplate,
    Run,
    Session,
    TaskCompletionResult,
)


@attrs.define
class Speaker:
    """A guidance provider that does what it is told."""

    name: str = "speaker"
    category: str = "test"
    text: str | Callable[[Any], str] = "Look before you leap."
    verdict: ClassificationResult | Callable[[Any], Any] = ClassificationResult(relevant=True)
    priority: int = 100
    asked: int = 0

    def classify(self, *, context: Any) -> Any:
        self.asked += 1
        return self.verdict(context) if callable(self.verdict) else self.verdict

    def provide(self, *, context: Any) -> Any:
        text = self.text(context) if callable(self.text) else self.text
        return GuidanceInjection(self.name, text, priority=self.priority, category=self.category)


@attrs.define
class Commentator:
    """A feedback provider that does what it is told."""

    name: str = "commentator"
    say: Callable[[Any], Any] = lambda context: Feedback(summary=f"{context.tool_call_count} calls")
    wanted: bool = True
    asked: int = 0

    def should_run(self, *, context: Any) -> bool:
        return self.wanted

    def provide(self, *, context: Any) -> Any:
        self.asked += 1
        return self.say(context)


@attrs.define
class Checker:
    """A completion checker that does what it is told."""

    name: str = "checker"
    answer: Callable[[Any], Any] = lambda context: TaskCompletionResult.ok()
    asked: int = 0

    def check(self, context: Any) -> Any:
        self.asked += 1
        return self.answer(context)


@attrs.frozen
class Kit:
    """What engine tests are made of."""

    clock: ManualClock
    session: Session
    Speaker: type[Speaker] = Speaker
    Commentator: type[Commentator] = Commentator
    Checker: type[Checker] = Checker

    def run(self, key: str = "main", **providers: Any) -> Run:
        """Open a run of a prompt with these providers."""
        opening = {k: providers.pop(k) for k in _OPENING if k in providers}
        prompt = Prompt(PromptTemplate("agent", key, **providers), config=None)
        return self.session.open_run(prompt, **opening)

    def call(self, run: Run, tool: str = "read", params: Any = None, **end: Any) -> Any:
        """Let the run make one call in a turn of its own."""
        run.model_responded()
        run.tool_started(tool, params or {}, f"c{run.state.calls}")
        return run.tool_finished(f"c{run.state.calls}", end.pop("result", "done"), **end)


_OPENING = ("agent_id", "run_id", "host", "deadline", "budget", "timeout")


@pytest.fixture
def kit() -> Kit:
    """A fresh session on a clock that stands still."""
    clock = ManualClock()
    return Kit(clock, Session(clock=clock))
