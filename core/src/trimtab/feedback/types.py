"""When feedback providers are asked, and what they see (seeds 001 and 002)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from trimtab.session.context import RunContext

if TYPE_CHECKING:
    from trimtab.feedback.events import Feedback


def _positive(_: object, attribute: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"{attribute.name} must be above 0, not {value}; leave it out instead")


@attrs.frozen
class FeedbackTrigger:
    """When a feedback provider is asked; conditions are OR'd, each counted per provider.

    Args:
        every_n_calls: after so many tool calls since its last delivery.
        every_n_seconds: after so many seconds since its last delivery; at once where there
            was none.
        on_file_created: once per run, when this path exists and did not when the run opened.
        reset_by: a tool whose use counts like a delivery, so that nobody is reminded of what
            they have just done.
        backoff: after each delivery the two counts above grow by this factor (≥ 1).
        max_per_run: deliveries per run; None for no limit.
    """

    every_n_calls: int | None = attrs.field(default=None, validator=_positive)
    every_n_seconds: float | None = attrs.field(default=None, validator=_positive)
    on_file_created: str | None = None
    reset_by: str | None = None
    backoff: float = attrs.field(default=1.0, validator=attrs.validators.ge(1))
    max_per_run: int | None = attrs.field(default=None, validator=_positive)

    @property
    def empty(self) -> bool:
        """Whether no condition is set."""
        conditions = (self.every_n_calls, self.every_n_seconds, self.on_file_created)
        return conditions == (None, None, None)


@attrs.frozen(eq=False, repr=False)
class FeedbackContext(RunContext):
    """What a feedback provider may look at (seeds 001 and 002)."""

    @property
    def last_feedback(self) -> Feedback | None:
        """Most recent feedback of this run, from any provider."""
        return self.run.state.last_feedback

    def last_feedback_for_provider(self, name: str) -> Feedback | None:
        """Return the most recent feedback of one provider in this run."""
        return self.run.state.feedback_of(name)

    def tool_calls_since_last_feedback(self) -> int:
        """Return the calls since the last feedback of any provider in this run."""
        last = self.last_feedback
        return self.tool_call_count - (last.call_index if last else 0)

    def tool_calls_since_last_feedback_for_provider(self, name: str) -> int:
        """Return the calls since the last feedback of that provider in this run."""
        last = self.last_feedback_for_provider(name)
        return self.tool_call_count - (last.call_index if last else 0)


@runtime_checkable
class FeedbackProvider(Protocol):
    """Comments on the run after tool calls (seed 001).

    An attribute ``default_trigger`` (a `FeedbackTrigger`) serves where a prompt gives none. With
    ``limits_only = True`` in its class it is asked only in runs that have a deadline or a budget.
    """

    @property
    def name(self) -> str:
        """Unique identifier."""
        ...

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Filter beyond the trigger."""
        ...

    def provide(self, *, context: FeedbackContext) -> Feedback | None:
        """Produce feedback, or None: nothing to say, ask the next provider."""
        ...
