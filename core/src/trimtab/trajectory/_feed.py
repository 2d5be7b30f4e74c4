"""Feeding projections: what happened waits until the projection's provider asks for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import Any

from trimtab.trajectory._projection import BaseProjection, Projection

HOOKS = ("call_ended", "turn_closed", "responded", "user_spoke", "compacted")
Fact = Callable[[], None]
"""A method of a projection with what it takes."""

BACKLOG = 128
"""Facts that may wait for one projection before its run hands them over unasked."""


class Feed:
    """One projection and the facts that it has not seen yet.

    A projection is its provider's code, so it never runs where events are recorded. It catches
    up when the provider asks for it: on the provider's thread, within its time limit, and with
    its failures counted as the provider's.

    Args:
        projection: what is fed.
        rebuild: feeds it everything that happened before; None if it has seen all of it.

    Attributes:
        pending: the facts that wait.
        methods: those methods of the projection that do something, by name.
    """

    def __init__(
        self, projection: Projection, rebuild: Callable[[Projection], None] | None = None
    ) -> None:
        self.projection = projection
        self.saved: dict[str, Any] | None = None
        self.rebuild = rebuild
        self.pending: deque[Fact] = deque()
        self._mutex = RLock()
        self.methods = {
            hook: getattr(projection, hook)
            for hook in HOOKS
            if getattr(type(projection), hook, None) is not getattr(BaseProjection, hook)
        }

    @property
    def is_saved(self) -> bool:
        """Whether `saved` is the state after everything that happened."""
        return self.saved is not None and not self.pending

    def catch_up(self) -> None:
        """Hand over what waits; what the projection raises passes through.

        A fact that the projection fails on is not handed over again.
        """
        pending = self.pending
        with self._mutex:
            if self.rebuild is not None:
                rebuild, self.rebuild, self.saved = self.rebuild, None, None
                rebuild(self.projection)
            while pending:
                self.saved = None
                pending.popleft()()

    def save(self) -> None:
        """Catch up and keep the projection's state; what it raises passes through."""
        self.catch_up()
        with self._mutex:
            self.saved = self.projection.state()
