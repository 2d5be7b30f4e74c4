"""A mailbox in this process's memory, for tests: nothing survives the process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab_worker._mailbox import KEYS_KEPT, BaseMailbox
from trimtab_worker._records import (
    LEASE_CLOCK,
    DeadLetter,
    Delivery,
    Extension,
    Granted,
    Lost,
    MailboxError,
    MailboxFacts,
    MailboxStats,
    StoredMessage,
)

if TYPE_CHECKING:
    from trimtab import Clock

Body = TypeVar("Body")
Receipt = tuple[str, int]


@attrs.define
class _Stored:
    body: bytes
    visible_at: float
    sent_at: datetime
    deliveries: int = 0
    leased: bool = False


class InMemoryMailbox(BaseMailbox[Body]):
    """A mailbox in memory, fenced by the delivery count, judged by its clock alone.

    Args:
        body: attrs class that bodies are of, or several; None: plain JSON values.
        clock: where the time is read.
    """

    facts = MailboxFacts(
        engine="memory", fenced=True, reports_loss=True, call_timeout=0.1, once=True
    )

    def __init__(
        self,
        body: type[Body] | Sequence[type[Any]] | None = None,
        *,
        clock: Clock = LEASE_CLOCK,
    ) -> None:
        super().__init__(body, clock=clock)
        self._lock = threading.Lock()
        self._stored: dict[str, _Stored] = {}
        self._dead: dict[str, DeadLetter] = {}
        self._ids = itertools.count(1)
        self._acked = 0
        self._keys: dict[str, float] = {}

    @classmethod
    def from_url(cls, url: str, body: Any = None) -> InMemoryMailbox[Any]:
        """Return a new, empty mailbox: ``memory:``.

        Args:
            url: only ``memory:``.
            body: type of the bodies; None for anything that JSON holds.

        Raises:
            MailboxError: the URL says more, as if there could be several.
        """
        if url not in ("memory:", "memory://"):
            raise MailboxError(f"{url!r}: a mailbox in memory has no name; write memory:")
        return cls(body)

    def put(self, data: bytes, delay: float) -> str:
        with self._lock:
            return self._put(data, delay)

    def _put(self, data: bytes, delay: float) -> str:
        identifier = str(next(self._ids))
        self._stored[identifier] = _Stored(data, self.clock.monotonic() + delay, self.clock.now())
        return identifier

    def put_once(self, data: bytes, delay: float, key: str) -> str | None:
        now = self.clock.monotonic()
        with self._lock:
            self._keys = {one: at for one, at in self._keys.items() if now - at < KEYS_KEPT}
            if key in self._keys:
                return None
            self._keys[key] = now
            return self._put(data, delay)

    def take(self, count: int, visibility: float) -> Sequence[Delivery]:
        now = self.clock.monotonic()
        with self._lock:
            ready = [
                (one.visible_at, identifier)
                for identifier, one in self._stored.items()
                if one.visible_at <= now
            ]
            ready.sort(key=lambda pair: pair[0])
            return [self._lease(identifier, now + visibility) for _, identifier in ready[:count]]

    def _lease(self, identifier: str, until: float) -> Delivery:
        one = self._stored[identifier]
        one.deliveries += 1
        one.visible_at, one.leased = until, True
        receipt = (identifier, one.deliveries)
        return Delivery(identifier, receipt, one.body, one.deliveries, one.sent_at)

    def delete(self, receipt: Receipt) -> bool:
        with self._lock:
            if self._held(receipt) is None:
                return False
            del self._stored[receipt[0]]
            self._acked += 1
            return True

    def release(self, receipt: Receipt, delay: float) -> bool:
        with self._lock:
            one = self._held(receipt)
            if one is None:
                return False
            one.visible_at, one.leased = self.clock.monotonic() + delay, False
            return True

    def prolong(self, receipt: Receipt, seconds: float) -> Extension:
        with self._lock:
            one, now = self._held(receipt), self.clock.monotonic()
            if one is None:
                return Lost("the message was delivered again, or is gone")
            one.visible_at = max(one.visible_at, now + seconds)
            return Granted(one.visible_at - now)

    def _held(self, receipt: Receipt) -> _Stored | None:
        """The message, where this delivery is the last one and was not given back."""
        one = self._stored.get(receipt[0])
        return one if one is not None and one.leased and one.deliveries == receipt[1] else None

    def discard(self, receipt: Receipt, reason: str) -> bool:
        with self._lock:
            one = self._held(receipt)
            if one is None:
                return False
            del self._stored[receipt[0]]
            self._dead[receipt[0]] = DeadLetter(
                receipt[0], one.body, reason, one.deliveries, self.clock.now()
            )
            return True

    def dead_letters(self, limit: int = 100) -> Sequence[DeadLetter]:
        with self._lock:
            return list(self._dead.values())[:limit]

    def requeue(self, ids: Iterable[str] | None = None) -> int:
        with self._lock:
            letters = self._removed(ids)
            for letter in letters:
                now = self.clock.monotonic()
                self._stored[str(next(self._ids))] = _Stored(letter.body, now, self.clock.now())
        return len(letters)

    def drop(self, ids: Iterable[str] | None = None) -> int:
        with self._lock:
            return len(self._removed(ids))

    def _removed(self, ids: Iterable[str] | None) -> list[DeadLetter]:
        wanted = list(self._dead) if ids is None else list(ids)
        return [self._dead.pop(one) for one in wanted if one in self._dead]

    def peek(self, limit: int = 20) -> Sequence[StoredMessage]:
        now = self.clock.monotonic()
        with self._lock:
            ordered = sorted(self._stored.items(), key=lambda item: item[1].visible_at)
            return [
                StoredMessage.of(
                    Delivery(name, None, one.body, one.deliveries, one.sent_at),
                    one.visible_at - now,
                    held=one.leased,
                )
                for name, one in ordered[:limit]
            ]

    def purge(self) -> int:
        now = self.clock.monotonic()
        with self._lock:
            free = [n for n, one in self._stored.items() if not one.leased or one.visible_at <= now]
            for name in free:
                del self._stored[name]
        return len(free)

    def stats(self) -> MailboxStats:
        now = self.clock.monotonic()
        with self._lock:
            sent = [one.sent_at for one in self._stored.values() if one.visible_at <= now]
            oldest = (self.clock.now() - min(sent)).total_seconds() if sent else None
            later = [one for one in self._stored.values() if one.visible_at > now]
            in_flight = sum(one.leased for one in later)
            return MailboxStats(
                waiting=len(self._stored) - len(later),
                in_flight=in_flight,
                delayed=len(later) - in_flight,
                dead=len(self._dead),
                acked=self._acked,
                oldest=oldest,
            )
