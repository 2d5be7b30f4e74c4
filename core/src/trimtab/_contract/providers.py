"""Protocols that provider objects satisfy."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from trimtab._contract.context import (
        FeedbackContext,
        GuidanceContext,
        RecorderContext,
        TaskCompletionContext,
    )
    from trimtab._events.guidance import ClassificationResult, GuidanceInjection
    from trimtab._events.providers import Feedback
    from trimtab._policy.completion import TaskCompletionResult


@runtime_checkable
class GuidanceProvider(Protocol):
    """Speaks at decision points.

    An attribute ``decision_points`` (a tuple of `DecisionPoint`) limits where it is asked;
    without it, it is asked at all five.

    With ``paces_itself = True`` in its class it says itself how often it speaks, as a reminder
    does: no cool-down, no share of one problem and no rule against the same text holds it back,
    and its injections open no episode. Its limits, and those of the prompt, hold.
    """

    @property
    def name(self) -> str:
        """Unique identifier."""
        ...

    @property
    def category(self) -> str:
        """Guidance category, e.g. ``"diagnostic"``."""
        ...

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Decide whether guidance applies, within microseconds and without I/O.

        Args:
            context: the decision point, and the run so far.
        """
        ...

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Make the text; called only when the classification passed the threshold.

        Args:
            context: as for `classify`.
        """
        ...


@runtime_checkable
class FeedbackProvider(Protocol):
    """Comments on the run after tool calls.

    An attribute ``default_trigger`` (a `FeedbackTrigger`) serves where a prompt gives none. With
    ``limits_only = True`` in its class it is asked only in runs that have a deadline or a budget,
    or whose host has a limit of turns.
    """

    @property
    def name(self) -> str:
        """Unique identifier."""
        ...

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Filter beyond the trigger.

        Args:
            context: the run so far.
        """
        ...

    def provide(self, *, context: FeedbackContext) -> Feedback | None:
        """Return feedback; or None for nothing to say, then the next provider is asked.

        Args:
            context: as for `should_run`.
        """
        ...


@runtime_checkable
class TaskCompletionChecker(Protocol):
    """Verifies that required work is done; may do I/O and may be ``async def``."""

    def check(
        self, context: TaskCompletionContext
    ) -> TaskCompletionResult | Awaitable[TaskCompletionResult]:
        """Return the verdict.

        Args:
            context: what the agent would stop with, and the run so far.
        """
        ...


@runtime_checkable
class RunRecording(Protocol):
    """One run that is being recorded; made by `Recorder.open`."""

    def record(self, event: object) -> Sequence[object] | None:
        """Take one event of the run; called in order, never by two threads at once.

        Args:
            event: an event of the run, or another record of its session.

        Returns:
            a list of records that follow from it, to be added to the run; events among them are
            stamped with the run and the time. They do not reach this recorder.
        """
        ...

    def close(self) -> None:
        """The run has ended, or goes on elsewhere."""
        ...


@runtime_checkable
class Recorder(Protocol):
    """Observes the runs of a prompt that names it: writes traces, exports, measures."""

    @property
    def name(self) -> str:
        """Unique identifier."""
        ...

    def open(self, context: RecorderContext) -> RunRecording:
        """Start to record a run; called when it is opened or resumed.

        Args:
            context: the run.
        """
        ...
