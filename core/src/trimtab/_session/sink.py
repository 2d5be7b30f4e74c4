"""Sinks: observers of a session that hear everything in the order in which it was recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Sink(ABC):
    """Takes records under the session's lock, and handles them once the lock is free."""

    @abstractmethod
    def wants(self, event: object) -> bool:
        """Return whether `event` is for this sink; called under the lock."""

    @abstractmethod
    def put(self, event: object) -> None:
        """Queue `event`; called under the lock."""

    @abstractmethod
    def drain(self) -> None:
        """Handle what is queued; called without the lock. Never raises an `Exception`."""
