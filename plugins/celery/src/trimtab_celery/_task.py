"""What a Celery worker does with a delivery: count it, and acknowledge it if it is still ours."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs
import redis
from celery.exceptions import Ignore  # type: ignore[import-untyped]
from celery.worker.request import Request  # type: ignore[import-untyped]
from kombu.transport import virtual

from trimtab.text import describe_error
from trimtab_celery._lease import Broker, TaskLease
from trimtab_worker import (
    LeaseExtenderConfig,
    PromptWork,
    Work,
    WorkConfig,
    as_json as to_json,
    structure_json,
)

if TYPE_CHECKING:
    from trimtab import Adapter
    from trimtab_worker import Prepare

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
        "Request": "trimtab_celery._task:FencedRequest",
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
