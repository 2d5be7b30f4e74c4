"""What a Celery worker does with a delivery: count it, and acknowledge it if it is still ours."""

from __future__ import annotations

import logging
from typing import Any

import redis
from celery.worker.request import Request  # type: ignore[import-untyped]
from kombu.transport import virtual

from trimtab_celery._lease import Broker

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
