"""When feedback is due, counted by the runner alone, and how often the gate may send back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from trimtab._events.guidance import MAX_FEEDBACK, CompletionStatus, Feedback
from trimtab._types.options import names_known, text
from trimtab._types.text import shorten

if TYPE_CHECKING:
    from trimtab._events.guidance import CompletionChecked
    from trimtab._policy import FeedbackTrigger


@attrs.frozen
class Mark:
    """A moment of the run: at which call, at which second."""

    calls: int = 0
    seconds: float = 0.0


@attrs.define(eq=False, repr=False)
class FeedbackState:
    last: Feedback | None = None
    by_provider: dict[str, Feedback] = attrs.field(factory=dict)
    times: dict[str, int] = attrs.field(factory=dict)
    used: dict[str, Mark] = attrs.field(factory=dict)
    created: set[str] = attrs.field(factory=set)
    watched: frozenset[str] = attrs.field(init=False, default=frozenset())
    reserved: set[str] = attrs.field(init=False, factory=set)  # that a thread is asking

    def due(self, provider: str, trigger: FeedbackTrigger, *, now: Mark, created: bool) -> bool:
        """Whether a condition of `trigger` is met."""
        times = self.times.get(provider, 0)
        if trigger.max_per_run is not None and times >= trigger.max_per_run:
            return False
        if created and provider not in self.created:
            return True
        since = self._since(provider, trigger)
        return _counted(trigger, now, since, trigger.backoff**times)

    def _since(self, provider: str, trigger: FeedbackTrigger) -> Mark | None:
        """Return the last delivery, or the last use of the tool that counts like one."""
        used = self.used.get(trigger.reset_by or "")
        event = self.by_provider.get(provider)
        if event is None:
            return used
        last = Mark(event.call_index + 1, event.elapsed or 0.0)
        # Delivered after as many calls as it was used at: then it was delivered after its use.
        return last if used is None or used.calls <= last.calls else used

    def delivered(self, event: Feedback) -> None:
        name = event.provider_name
        self.last = event
        self.by_provider[name] = event
        self.times[name] = self.times.get(name, 0) + 1


def _counted(trigger: FeedbackTrigger, now: Mark, since: Mark | None, factor: float) -> bool:
    start = since or Mark()
    calls = trigger.every_n_calls
    if calls is not None and now.calls - start.calls >= calls * factor:
        return True
    if trigger.every_n_seconds is None:
        return False
    return since is None or now.seconds - start.seconds >= trigger.every_n_seconds * factor


MAX_BLOCKS_WITHOUT_PROGRESS = 3
"""An agent that was told three times what is open and did none of it can't do it, or won't."""
MAX_BLOCKS = 8
"""In one request of the user, also with progress: what is left is for the user to judge."""


@attrs.define(eq=False, repr=False)
class GateState:
    """Blocks of one run: in all, and since the plan last moved."""

    attempts: int = 0
    blocks: int = 0
    stuck: int = 0
    progress: str | None = None

    def exhausted(self, progress: str | None) -> str | None:
        """Return why one more block is not allowed, None if it is."""
        if self.blocks >= MAX_BLOCKS:
            return f"sent back {self.blocks} times in this request"
        stuck = self.stuck if progress == self.progress else 0
        if stuck >= MAX_BLOCKS_WITHOUT_PROGRESS:
            return f"sent back {stuck} times without progress"
        return None

    def checked(self, event: CompletionChecked) -> None:
        self.attempts += 1
        if event.status.value != "incomplete" or event.final:
            return
        self.stuck = self.stuck + 1 if event.progress == self.progress else 1
        self.progress = event.progress
        self.blocks += 1

    def user_spoke(self) -> None:
        self.blocks = 0
        self.stuck = 0
        self.progress = None


def _bounded(value: Any) -> Any:
    return shorten(value, MAX_FEEDBACK) if isinstance(value, str) else value


def _feedback(result: TaskCompletionResult, attribute: attrs.Attribute[Any], value: Any) -> None:
    text(optional=True)(result, attribute, value)
    if result.status is CompletionStatus.INCOMPLETE and not (value or "").strip():
        raise ValueError("incomplete work needs feedback that tells the agent what is left")


@names_known()
@attrs.frozen
class TaskCompletionResult:
    """The verdict of one checker; make it with `ok`, `incomplete` or `unverified`.

    Args:
        status: `CompletionStatus.OK`, `INCOMPLETE` or `UNVERIFIED`; its plain string is accepted.
        feedback: for the agent if incomplete, for the record otherwise; cut to 4,000 characters.
        progress: any text that changes when work is done (e.g. ``"3/5"``); the gate's count of
            blocks is reset when it changes. If None, the feedback is used.

    Raises:
        TypeError, ValueError: a field has the wrong type, or incomplete work has no feedback.
    """

    status: CompletionStatus = attrs.field(converter=CompletionStatus)
    feedback: str | None = attrs.field(default=None, converter=_bounded, validator=_feedback)
    progress: str | None = attrs.field(default=None, validator=text(optional=True))

    @classmethod
    def ok(cls, feedback: str | None = None) -> TaskCompletionResult:
        """Return the verdict that all required work is done.

        Args:
            feedback: a note for the record, or None.
        """
        return cls(CompletionStatus.OK, feedback)

    @classmethod
    def incomplete(cls, feedback: str, *, progress: str | None = None) -> TaskCompletionResult:
        """Return the verdict that work is left.

        Args:
            feedback: tells the agent what is left.
            progress: as for the class.
        """
        return cls(CompletionStatus.INCOMPLETE, feedback, progress)

    @classmethod
    def unverified(cls, reason: str) -> TaskCompletionResult:
        """Return the verdict that the checker could not look; the agent may stop.

        Args:
            reason: why, for the record.
        """
        return cls(CompletionStatus.UNVERIFIED, reason)

    @property
    def complete(self) -> bool:
        """Whether all required work is done."""
        return self.status is CompletionStatus.OK


def seriousness(result: TaskCompletionResult) -> int:
    """Return a number by which incomplete beats unverified, and that beats ok."""
    order = (CompletionStatus.OK, CompletionStatus.UNVERIFIED, CompletionStatus.INCOMPLETE)
    return order.index(result.status)
