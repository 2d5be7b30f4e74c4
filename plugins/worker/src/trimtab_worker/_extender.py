"""Leases kept by proof of work, and what the agent reads about its lease."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Feedback, FeedbackTrigger
from trimtab_worker._events import LeaseCapNear, LeaseEvent, LeaseLost, LeaseRegained
from trimtab_worker._keeper import KEEPER, Keeper, Kept
from trimtab_worker._lease import Lease
from trimtab_worker._lease_config import LeaseExtenderConfig, LeaseTerms
from trimtab_worker._mailbox import Message
from trimtab_worker._records import MailboxFacts

if TYPE_CHECKING:
    from trimtab import FeedbackContext, Heartbeat

FOREIGN = MailboxFacts(engine="another mailbox", fenced=False, reports_loss=True)


class LeaseExtender:
    """Extends the lease of one message while beats come.

    `Heartbeat.beat` only records the time; threads of the keeper ask the engines. A lease lasts
    `extension` seconds from the last beat, is never shortened, and nothing is asked after the
    block that `attach` opens.

    Args:
        config: how leases are extended.
        keeper: extends the lease on its thread; by default the process's keeper.
    """

    def __init__(
        self, config: LeaseExtenderConfig | None = None, *, keeper: Keeper = KEEPER
    ) -> None:
        self.config = config or LeaseExtenderConfig()
        self._keeper = keeper
        self._attaching = threading.Lock()
        self._kept: Kept | None = None

    @contextmanager
    def attach(
        self,
        msg: Any,
        heartbeat: Heartbeat,
        *,
        visibility: float | None = None,
        on_event: Callable[[LeaseEvent], object] | None = None,
    ) -> Iterator[Lease]:
        """Keep the lease of `msg` within the block; the block's end waits for a call in flight.

        Args:
            msg: a `Message`, or any object with `extend_visibility(seconds)`, or with
                `extend(seconds)` that returns an `Extension`; its `facts` say what it can do.
            heartbeat: whose beats are the proof of work.
            visibility: seconds that the lease lasts from now, where `msg` does not tell.
            on_event: called with lease events, on a thread of their own, one after another.

        Raises:
            RuntimeError: this extender is attached already, or no thread can be started.
        """
        lease = self._lease(msg, heartbeat, visibility)
        if not self.config.enabled:
            try:
                yield lease
            finally:
                lease.release()
            return
        if not self._attaching.acquire(blocking=False):
            raise RuntimeError("LeaseExtender already attached: use one extender per message")
        try:
            self._kept = Kept(lease, msg, on_event or (lambda _: None))
            self._keeper.add(self._kept)
            try:
                yield lease
            finally:
                self.release()
        finally:
            self._kept = None
            self._attaching.release()

    def confirm(self) -> None:
        """Ask the engine whether the lease is still ours, before work that is done takes effect.

        A lease that ended by time alone is regained if no other worker has the message; then
        `Lease.held` is true again. Engines that can't tell are not asked.
        """
        kept = self._kept
        if kept is not None:
            self._keeper.confirm(kept, self.config.join_timeout)

    def release(self) -> None:
        """Stop extending before the block ends, from any thread; wait for a call in flight."""
        kept = self._kept
        if kept is not None:
            self._keeper.remove(kept, self.config.join_timeout)

    def _lease(self, msg: Any, heartbeat: Heartbeat, visibility: float | None) -> Lease:
        now = self._keeper.clock.monotonic
        facts = getattr(msg, "facts", None) or getattr(getattr(msg, "mailbox", None), "facts", None)
        age = msg.mailbox.clock.monotonic() - msg.received if isinstance(msg, Message) else 0.0
        terms = LeaseTerms(
            received=now() - age,
            visibility=getattr(msg, "visibility", None) if visibility is None else visibility,
            facts=facts if isinstance(facts, MailboxFacts) else FOREIGN,
            message_id=str(getattr(msg, "id", "")),
            deliveries=getattr(msg, "deliveries", 0),
        )
        return Lease(self.config, terms, heartbeat, now=now)


NAME = "lease"


@attrs.frozen
class LeaseFeedback:
    """Speaks once after each change: the lease was lost, regained, or its limit is near."""

    name: str = attrs.field(default=NAME, init=False)
    default_trigger: FeedbackTrigger = attrs.field(
        factory=lambda: FeedbackTrigger(every_n_calls=1), init=False
    )

    def should_run(self, *, context: FeedbackContext) -> bool:
        """Whether something happened that the agent was not told."""
        return _untold(context) is not None

    def provide(self, *, context: FeedbackContext) -> Feedback | None:
        """Say what happened to the lease."""
        event = _untold(context)
        if isinstance(event, LeaseLost):
            return Feedback(
                provider_name=NAME,
                summary="The lease on this task was lost: another worker may be doing it now.",
                suggestions=(
                    "Make no further changes outside this session.",
                    "Say what is done and what is not, and end.",
                ),
                severity="warning",
            )
        if isinstance(event, LeaseCapNear):
            left = max(0, round(event.remaining))
            return Feedback(
                provider_name=NAME,
                summary=f"This task ends in {left} seconds; the time can't be extended.",
                suggestions=("Save what is done, and end before that.",),
                severity="warning",
            )
        return None


def _untold(context: FeedbackContext) -> LeaseEvent | None:
    """The run's last event of its lease, where nothing was said since; None if it was."""
    events = [
        event
        for kind in (LeaseLost, LeaseRegained, LeaseCapNear)
        for event in context.session[kind].all()[-1:]
        if event.run_id in ("", context.run_id)
    ]
    latest = max(events, key=_when, default=None)
    if latest is None or isinstance(latest, LeaseRegained):
        return None
    said = context.last_feedback_for_provider(NAME)
    return latest if said is None or _when(said) < _when(latest) else None


def _when(event: LeaseEvent | Feedback) -> float:
    return event.at.timestamp() if event.at is not None else 0.0
