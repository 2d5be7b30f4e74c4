"""A provider's own state over a run, kept step by step."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from trimtab._events.run import ToolInvoked
from trimtab.trajectory._records import CallRecord, MessageRecord, TextRecord, TurnRecord


@runtime_checkable
class Projection(Protocol):
    """Derives from `BaseProjection`, or has these methods.

    They are called when the provider asks for the projection (``context.trajectory.projection``),
    in order, with everything that has happened since; so their time and failures are the
    provider's own. If much waits, a run hands it over unasked, isolated in the same way. Keep
    no event or record forever: a run may have 100,000 calls.
    """

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Take a tool call that has ended; its turn is still open."""
        ...

    def turn_closed(self, turn: TurnRecord) -> None:
        """Take a whole batch; the next response is about to be asked for."""
        ...

    def responded(self, text: TextRecord) -> None:
        """Take what the model said, beside its calls."""
        ...

    def user_spoke(self, message: MessageRecord) -> None:
        """Take what the user, or the harness as a notification, said."""
        ...

    def compacted(self) -> None:
        """Take note that the model's history was shortened."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything, JSON-like; decisions after `load_state` of it are the same."""
        ...

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        ...


class BaseProjection:
    """A projection that ignores everything: override what matters.

    Example:
        >>> class Denials(BaseProjection):
        ...     count = 0
        ...     def call_ended(self, call, event):
        ...         self.count += call.outcome == "denied"
        ...     def state(self):
        ...         return {"count": self.count}
        ...     def load_state(self, state):
        ...         self.count = state["count"]
    """

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Ignore it."""

    def turn_closed(self, turn: TurnRecord) -> None:
        """Ignore it."""

    def responded(self, text: TextRecord) -> None:
        """Ignore it."""

    def user_spoke(self, message: MessageRecord) -> None:
        """Ignore it."""

    def compacted(self) -> None:
        """Ignore it."""

    def state(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take nothing."""
