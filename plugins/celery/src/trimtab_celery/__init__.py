"""Agents as tasks of Celery: counted, leased on a Redis broker, acknowledged while still ours."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import redis
from celery.exceptions import Ignore  # type: ignore[import-untyped]
from celery.worker.request import Request  # type: ignore[import-untyped]
from kombu.transport import virtual
from kombu.transport.redis import Channel

from trimtab.text import describe_error
from trimtab_worker import (
    LEASE_CLOCK,
    Extension,
    Granted,
    LeaseExtenderConfig,
    Lost,
    MailboxFacts,
    PromptWork,
    Unknown,
    Work,
    WorkConfig,
    as_json as to_json,
    structure_json,
)

if TYPE_CHECKING:
    from trimtab import Adapter
    from trimtab_worker import Prepare

__all__ = ["AgentFailed", "agent_task"]


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

    facts: ClassVar[MailboxFacts] = MailboxFacts(engine="Celery", fenced=True, reports_loss=True)

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


LOG = logging.getLogger("trimtab_worker")
NUMBER = "trimtab_delivery"
"""Where a task finds which delivery it is, in `task.request`."""


class FencedRequest(Request):  # type: ignore[misc]
    """A delivery that a stale worker can neither acknowledge nor reject.

    Celery acknowledges by a tag that a delivery keeps when it is given back: a worker that was
    stopped past the visibility timeout would remove the message on which another one works.
    """

    def __init__(self, message: Any, **options: Any) -> None:
        super().__init__(message, **options)
        self.acknowledged: bool
        self._broker = Broker.of(message.channel)
        self._tag = str(message.delivery_tag)
        if self._broker is not None:
            self._request_dict[NUMBER] = self._broker.count(self.id)

    def acknowledge(self) -> None:
        """Acknowledge the delivery, if it is still ours."""
        if not self._left():
            super().acknowledge()

    def reject(self, requeue: bool = False) -> None:
        """Reject the delivery, if it is still ours."""
        if not self._left():
            super().reject(requeue=requeue)

    def _left(self) -> bool:
        """Return whether the delivery is another worker's; then it no longer counts here."""
        if self._broker is None or self.acknowledged:
            return False
        try:
            reason = self._broker.lost(self.id, self._request_dict[NUMBER], self._tag)
        except redis.RedisError as error:
            # The acknowledgement would fail too; Celery deals with that.
            LOG.warning("whose task %s is can't be told: %s", self.id, error)
            return False
        if reason is None:
            return False
        LOG.warning("task %s is not acknowledged: %s", self.id, reason)
        # Free its place among the deliveries of this worker, and leave the broker alone.
        virtual.QoS.ack(self._message.channel.qos, self._tag)  # type: ignore[no-untyped-call]
        self.acknowledged = True
        return True


REPORT = 0.05
"""Share of a time limit that is kept for reporting: the agent ends before Celery ends the task."""


class AgentFailed(Exception):
    """The work raised what would end a Celery worker: a cancellation or an exit; the text says."""


def agent_task(
    app: Any,
    adapter: Adapter,
    prepare: Prepare,
    *,
    name: str = "trimtab.agent",
    request: type[Any] | None = None,
    config: WorkConfig | None = None,
    on_event: Callable[[Any], object] | None = None,
    **options: Any,
) -> Any:
    """Return a Celery task that evaluates the prompt of one request.

    It is acknowledged late, so that a task whose worker dies is delivered again. On a Redis
    broker, its visibility timeout begins anew while the agent shows progress, and a delivery that
    was given back can neither be acknowledged nor leave a result: the timeout may be some minutes,
    whatever the agent takes. On another broker nothing is renewed.

    The task takes a request as JSON values, and returns a `Reply` as a dict.

    Args:
        app: the Celery application.
        adapter: evaluates prompts.
        prepare: returns the prompt and the session for one request; a parameter named `attempt`
            gets the `Attempt`.
        name: of the task.
        request: attrs class that requests are structured as; None: plain JSON values.
        config: limits of the work; its `lease_extender` follows the broker.
        on_event: called with lease events, in the process that runs the task.
        options: of ``app.task``.
    """
    settings = config or WorkConfig(on_lease_lost="stop")
    prompt_work = PromptWork(adapter, prepare)
    how = {
        "acks_late": True,
        "reject_on_worker_lost": True,
        "Request": "trimtab_celery:FencedRequest",
        **options,
    }

    @app.task(bind=True, name=name, **how)  # type: ignore[untyped-decorator]
    def evaluate(task: Any, body: Any) -> dict[str, Any]:
        message = _delivery(task)
        work = Work(message, _adapted(settings, message, task), on_event=on_event)
        try:
            with work.leased():
                if isinstance(message, TaskLease):
                    work.confirm()
                if work.lost is not None:
                    raise Ignore(work.lost)
                answer = prompt_work.answer(structure_json(body, request), work)
                work.confirm()
        except BaseException as error:
            if work.lost is not None:
                raise Ignore(work.lost) from error
            if isinstance(error, Exception):
                raise
            raise AgentFailed(describe_error(error)) from error
        if work.lost is not None:
            raise Ignore(work.lost)
        work.forget()
        found: dict[str, Any] = to_json(answer)
        return found

    return evaluate


@attrs.frozen(eq=False)
class _Unleased:
    """A delivery that nothing renews: on another broker, or called without one."""

    id: str
    deliveries: int = 1


def _delivery(task: Any) -> TaskLease | _Unleased:
    facts = task.request
    number: Any = getattr(facts, NUMBER, None)
    tag = (facts.properties or {}).get("delivery_tag")
    broker = None if number is None or tag is None else _broker(task.app, os.getpid())
    if broker is None:
        return _Unleased(str(facts.id), int(facts.retries or 0) + 1)
    return TaskLease(str(facts.id), int(number), str(tag), broker)


@cache
def _broker(app: Any, process: int) -> Broker | None:
    """Return the broker of an application, with connections of this process."""
    del process
    return Broker.of(app.connection_for_write().default_channel)


def _adapted(config: WorkConfig, message: TaskLease | _Unleased, task: Any) -> WorkConfig:
    """Let the lease and the limits of the work follow those of the task."""
    hard, soft = task.request.timelimit or (None, None)
    whole = soft or hard or task.soft_time_limit or task.time_limit
    limit = None if not whole else whole * (1 - REPORT)
    limits = [one for one in (config.max_processing_time, limit) if one is not None]
    lease = LeaseExtenderConfig(enabled=False)
    if isinstance(message, TaskLease):
        seconds = message.visibility
        lease = LeaseExtenderConfig(interval=seconds / 6, extension=seconds)
    return attrs.evolve(config, lease_extender=lease, max_processing_time=min(limits, default=None))
