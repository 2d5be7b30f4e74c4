"""A bus inside one process: who subscribes to a type gets every event of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")
_log = logging.getLogger("trimtab.trace")


class InProcessEventBus:
    """Hands published events to subscribers, in the order of their subscription.

    A subscriber that raises is logged; the others are called all the same.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscribers: tuple[tuple[type[Any], Callable[[Any], object]], ...] = ()

    def subscribe(self, kind: type[T], handler: Callable[[T], object]) -> Callable[[], None]:
        """Call `handler` with every published event that is a `kind`.

        Returns:
            a function that ends the subscription.
        """
        entry = (kind, handler)
        with self._lock:
            self._subscribers = (*self._subscribers, entry)
        return lambda: self._end(entry)

    def _end(self, entry: tuple[type[Any], Callable[[Any], object]]) -> None:
        with self._lock:
            self._subscribers = tuple(one for one in self._subscribers if one is not entry)

    def publish(self, event: object) -> None:
        """Call the subscribers of the event's type, one after the other, in this thread."""
        for kind, handler in self._subscribers:
            if isinstance(event, kind):
                try:
                    handler(event)
                except Exception:  # noqa: BLE001 - others are called all the same
                    _log.exception("a subscriber to %s raised", kind.__name__)
