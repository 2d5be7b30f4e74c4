"""Feeding projections: what happened waits until the projection's provider asks for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import Any

from trimtab.trajectory._projection import BaseProjection, Projection

HOOKS = ("call_ended", "turn_closed", "responded", "user_spoke", "compacted")
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
    """

    def __init__(
        self, projection: Projection, rebuild: Callable[[Projection], None] | None = None
    ) -> None:
        self.projection = projection
        self.saved: dict[str, Any] | None = None
        self._rebuild = rebuild
        self._pending: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._mutex = RLock()
        self._methods = {
            hook: getattr(projection, hook)
            for hook in HOOKS
            if getattr(type(projection), hook, None) is not getattr(BaseProjection, hook)
        }

    def put(self, hook: str, facts: tuple[Any, ...]) -> None:
        """Let one fact wait, if the projection takes such facts."""
        method = self._methods.get(hook)
        if method is not None:
            self._pending.append((method, facts))

    @property
    def waiting(self) -> int:
        """Facts that wait."""
        return len(self._pending)

    @property
    def is_saved(self) -> bool:
        """Whether `saved` is the state after everything that happened."""
        return self.saved is not None and not self._pending

    def catch_up(self) -> None:
        """Hand over what waits; what the projection raises passes through.

        A fact that the projection fails on is not handed over again.
        """
        if not self._pending and self._rebuild is None:
            return
        with self._mutex:
            self.saved = None
            rebuild, self._rebuild = self._rebuild, None
            if rebuild is not None:
                rebuild(self.projection)
            while self._pending:
                method, facts = self._pending.popleft()
                method(*facts)

    def forget(self) -> None:
        """Drop what waits: a rebuild is about to bring it."""
        self._pending.clear()

    def save(self) -> None:
        """Catch up and keep the projection's state; what it raises passes through."""
        self.catch_up()
        with self._mutex:
            self.saved = self.projection.state()
