"""The lease of a task on a Redis broker: its entry among the unacknowledged messages."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import redis
from kombu.transport.redis import Channel

from trimtab_worker import LEASE_CLOCK, Extension, Granted, Lost, MailboxFacts, Unknown

KEPT = 7 * 24 * 3600
"""Seconds for which the number of a task's deliveries is kept after the last one."""
RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
if not redis.call('ZSCORE', KEYS[2], ARGV[2]) then return -2 end
if ARGV[3] ~= '' then redis.call('ZADD', KEYS[2], 'XX', ARGV[3], ARGV[2]) end
return 1
"""
"""Celery keeps the time of each delivery in a sorted set, and gives back what is older than the
visibility timeout. A delivery that was given back keeps its tag, so that the tag alone would let a
stale worker renew, or acknowledge, the delivery of another: the number is the fence."""
LOSSES = {
    -1: "the task was delivered again",
    -2: "Celery gave the task back after its visibility timeout",
}


@attrs.frozen
class Broker:
    """The Redis that a channel of Celery's broker is on.

    Args:
        client: without the prefix that a channel puts before keys.
        prefix: of keys.
        index: of unacknowledged messages.
        visibility: seconds after which these are given back.
    """

    client: redis.Redis
    prefix: str
    index: str
    visibility: float

    @classmethod
    def of(cls, channel: Any) -> Broker | None:
        """Return the broker of a channel, None if it is not Redis."""
        if not isinstance(channel, Channel):
            return None
        prefix = str(channel.global_keyprefix or "")
        return cls(
            redis.Redis(connection_pool=channel.client.connection_pool),
            prefix,
            f"{prefix}{channel.unacked_index_key}",
            float(channel.visibility_timeout),
        )

    def count(self, task_id: str) -> int:
        """Count one more delivery of a task; return which it is, from 1."""
        key = self._key(task_id)
        pipeline = self.client.pipeline()
        pipeline.incr(key)
        pipeline.expire(key, KEPT)
        return int(pipeline.execute()[0])

    def renew(self, task_id: str, number: int, tag: str) -> str | None:
        """Begin the visibility timeout of a delivery anew; None, or why it is no longer ours."""
        return self._ask(task_id, number, tag, str(LEASE_CLOCK.now().timestamp()))

    def lost(self, task_id: str, number: int, tag: str) -> str | None:
        """Return why a delivery is no longer ours, None if it is."""
        return self._ask(task_id, number, tag, "")

    def _ask(self, task_id: str, number: int, tag: str, now: str) -> str | None:
        keys = (self._key(task_id), self.index)
        answer: Any = self.client.eval(RENEW, len(keys), *keys, number, tag, now)
        return LOSSES.get(int(answer))

    def _key(self, task_id: str) -> str:
        return f"{self.prefix}trimtab:deliveries:{task_id}"


@attrs.frozen(eq=False)
class TaskLease:
    """One delivery of a task, as `Work` takes a message.

    Args:
        id: of the task; the same at every delivery.
        deliveries: which delivery this is, from 1.
        tag: of the delivery.
        broker: where it is kept.
    """

    facts: ClassVar[MailboxFacts] = MailboxFacts(
        engine="Celery", fenced=True, reports_loss=True, sets_seconds=False
    )

    id: str
    deliveries: int
    tag: str
    broker: Broker

    @property
    def visibility(self) -> float:
        """Seconds that the lease lasts."""
        return self.broker.visibility

    def extend(self, seconds: float) -> Extension:
        """Begin the visibility timeout anew, whatever is asked."""
        del seconds
        try:
            reason = self.broker.renew(self.id, self.deliveries, self.tag)
        except redis.RedisError as error:
            return Unknown(f"{type(error).__name__}: {error}")
        return Granted(self.visibility) if reason is None else Lost(reason)
