"""Providers that do what a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from trimtab._contract.context import FeedbackContext, GuidanceContext, TaskCompletionContext
from trimtab._events.guidance import ClassificationResult, GuidanceInjection
from trimtab._events.provenance import DecisionPoint
from trimtab._events.providers import Feedback
from trimtab._policy.completion import TaskCompletionResult

ALWAYS = ClassificationResult(relevant=True)


def _points(named: Iterable[DecisionPoint | str]) -> tuple[DecisionPoint, ...]:
    return tuple(DecisionPoint(point) for point in named)


@attrs.define
class Speaker:
    """A guidance provider that says one text.

    Args:
        name: its name, and the key of what it says.
        category: as for `GuidanceInjection`.
        text: what it says; a function makes it from the context.
        verdict: whether it speaks, as `ClassificationResult` or bool; a function decides by the
            context.
        priority: as for `GuidanceInjection`.
        decision_points: where it is asked; plain strings are accepted.

    Attributes:
        asked: how often it was asked.
    """

    name: str = "speaker"
    category: str = "test"
    text: str | Callable[[GuidanceContext], Any] = "Look before you leap."
    verdict: Any = ALWAYS
    priority: int = 100
    decision_points: tuple[DecisionPoint, ...] = attrs.field(
        default=tuple(DecisionPoint), converter=_points
    )
    asked: int = attrs.field(default=0, init=False)

    def classify(self, *, context: GuidanceContext) -> Any:
        """Return the verdict."""
        self.asked += 1
        verdict = self.verdict(context) if callable(self.verdict) else self.verdict
        return ClassificationResult(relevant=verdict) if isinstance(verdict, bool) else verdict

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return the text."""
        text = self.text(context) if callable(self.text) else self.text
        return GuidanceInjection(self.name, text, priority=self.priority, category=self.category)


def _count_calls(context: FeedbackContext) -> Feedback:
    return Feedback(summary=f"{context.tool_call_count} calls")


@attrs.define
class Commentator:
    """A feedback provider; by default it counts the calls.

    Args:
        name: its name.
        say: makes the `Feedback`, or None, from the context.
        wanted: what `should_run` returns.

    Attributes:
        asked: how often it was asked.
    """

    name: str = "commentator"
    say: Callable[[FeedbackContext], Any] = _count_calls
    wanted: bool = True
    asked: int = attrs.field(default=0, init=False)

    def should_run(self, *, context: FeedbackContext) -> bool:  # noqa: ARG002 - the protocol
        """Return `wanted`."""
        return self.wanted

    def provide(self, *, context: FeedbackContext) -> Any:
        """Return the feedback."""
        self.asked += 1
        return self.say(context)


def _all_done(_: TaskCompletionContext) -> TaskCompletionResult:
    return TaskCompletionResult.ok()


@attrs.define
class Checker:
    """A completion checker; by default all is done.

    Args:
        name: its name.
        answer: makes the `TaskCompletionResult` from the context; may be ``async def``.

    Attributes:
        asked: how often it was asked.
    """

    name: str = "checker"
    answer: Callable[[TaskCompletionContext], Any] = _all_done
    asked: int = attrs.field(default=0, init=False)

    def check(self, context: TaskCompletionContext) -> Any:
        """Return the verdict."""
        self.asked += 1
        return self.answer(context)
