"""The work on one message, and the counts of a loop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Heartbeat
from trimtab_worker._events import LeaseEvent

if TYPE_CHECKING:
    from trimtab import Clock, Prompt, Session
    from trimtab_worker._extender import LeaseExtender
    from trimtab_worker._lease import Lease
    from trimtab_worker._message import Message


@attrs.frozen
class LoopSummary:
    """What a loop did.

    Args:
        received: messages that were received.
        done: of these, processed and acknowledged.
        failed: given back to be tried again.
        buried: given up.
        abandoned: lost to another worker.
    """

    received: int = 0
    done: int = 0
    failed: int = 0
    buried: int = 0
    abandoned: int = 0


class Work:
    """The work on one message: its heartbeat, its lease, and where lease events go.

    Args:
        message: the message.
        clock: where the time is read.

    Attributes:
        heartbeat, lease, extender: of the work.
        dropped: the loop gave the message back and no longer wants the result.
    """

    def __init__(self, message: Message[Any], clock: Clock) -> None:
        self.message = message
        self.heartbeat = Heartbeat(clock)
        self.lease: Lease | None = None
        self.extender: LeaseExtender | None = None
        self.dropped = False
        self._lock = threading.Lock()
        self._waiting: list[LeaseEvent] = []
        self._session: tuple[Session, str] | None = None

    def bind(self, session: Session, prompt: Prompt[Any]) -> None:
        """Record lease events from now on, the earlier ones first.

        Args:
            session: where.
            prompt: the prompt that they belong to.
        """
        with self._lock:
            self._session = session, prompt.name
            waiting, self._waiting = self._waiting, []
        for event in waiting:
            self.record(event)

    def record(self, event: LeaseEvent) -> None:
        """Record one lease event in the agent's session, once that is known."""
        with self._lock:
            if self._session is None:
                self._waiting.append(event)
                return
            session, name = self._session
        session.dispatch(attrs.evolve(event, prompt_name=name))

    @property
    def lost(self) -> str | None:
        """Why the result is no longer needed, None if it is."""
        if self.dropped:
            return "the loop stopped and gave the message back"
        if self.lease is not None and self.lease.final:
            return "the lease was lost"
        return None
