"""What providers of each kind offer, a base for those that follow a run, composite checkers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

import attrs
import pluggy
from attrs.validators import min_len

from trimtab._boundary import Reply, acall, call, own_result
from trimtab._contract import TaskCompletionContext
from trimtab._events.guidance import CompletionStatus
from trimtab._policy.feedback import TaskCompletionResult, seriousness
from trimtab._session.projection import BaseProjection
from trimtab._types.errors import class_name
from trimtab._types.options import as_tuple, items_of, names_known
from trimtab._types.text import as_text

if TYPE_CHECKING:
    from trimtab._contract import FeedbackContext, GuidanceContext, RecorderContext, RunContext
    from trimtab._events.guidance import ClassificationResult, Feedback, GuidanceInjection

P = TypeVar("P", bound=BaseProjection)
PROJECT = "trimtab"
hookimpl = pluggy.HookimplMarker(PROJECT)


class Following(Generic[P]):
    """Attaches a provider's projection when a run opens, and hands it out up to date.

    Derive from ``Following[YourProjection]`` and say in `projection` how one is made; give the
    provider a ``name``, under which the projection is kept in snapshots.

    Example:
        >>> from trimtab.trajectory import BaseProjection, Following
        >>> class Count(BaseProjection):
        ...     calls = 0
        ...     def call_ended(self, call):
        ...         self.calls += 1
        >>> class Long(Following[Count]):
        ...     name = "long"
        ...     def projection(self, context):
        ...         return Count()
    """

    __slots__ = ()

    name: str

    def projection(self, context: RunContext) -> P:
        """Return a new projection for a run.

        Args:
            context: the run.
        """
        raise NotImplementedError(f"{type(self).__name__}.projection must return a projection")

    @hookimpl
    def run_opened(self, context: RunContext) -> None:
        """Begin to follow a run."""
        context.trajectory.attach(self.name, self.projection(context))

    def followed(self, context: RunContext) -> P:
        """Return the run's projection, up to date; one that joins late has seen the record.

        Args:
            context: the run.
        """
        found = context.trajectory.projection(self.name)
        if found is None:
            self.run_opened(context)
            found = context.trajectory.projection(self.name)
        return found  # type: ignore[return-value]


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


@names_known()
@attrs.frozen
class CompositeChecker:
    """Asks its checkers in order and stops as soon as the verdict is clear.

    One that fails is *unverified*, and the next is asked.

    Args:
        checkers: at least one.
        all_must_pass: True: the first incomplete decides; False: the first ok decides.
    """

    checkers: tuple[TaskCompletionChecker, ...] = attrs.field(
        converter=as_tuple, validator=[items_of(TaskCompletionChecker), min_len(1)]
    )
    all_must_pass: bool = True

    @property
    def name(self) -> str:
        """The checker's name in events."""
        return "composite"

    async def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return the joint verdict: incomplete beats unverified beats ok.

        Args:
            context: passed to each checker.
        """
        decides = CompletionStatus.INCOMPLETE if self.all_must_pass else CompletionStatus.OK
        results: list[TaskCompletionResult] = []
        for checker in self.checkers:
            results.append(_verdict(checker, await acall(_asked(checker, context))))
            if results[-1].status is decides:
                return results[-1]
        worst = max(results, key=seriousness)
        if worst.status is CompletionStatus.UNVERIFIED:
            return worst
        texts = [r.feedback for r in results if r.status is worst.status and r.feedback]
        if worst.status is CompletionStatus.INCOMPLETE:
            return TaskCompletionResult.incomplete(" ".join(texts))
        return TaskCompletionResult.ok(" ".join(texts) or "All checks passed.")


async def _asked(checker: Any, context: TaskCompletionContext) -> TaskCompletionResult:
    value = checker.check(context)
    return own_result(await value if inspect.isawaitable(value) else value, "check")


def _verdict(checker: Any, reply: Reply[Any]) -> TaskCompletionResult:
    if reply.error is None and reply.value is not None:
        return reply.value  # type: ignore[no-any-return]
    name = call(lambda: as_text(checker.name or "")).value or class_name(checker)
    return TaskCompletionResult.unverified(f"the checker {name!r} failed: {reply.error}")
