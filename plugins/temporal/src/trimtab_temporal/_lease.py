"""The lease of an activity: Temporal's heartbeat timeout."""

from __future__ import annotations

import contextvars
import logging
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from trimtab_worker import Extension, Granted, Lost, MailboxFacts

LOG = logging.getLogger("trimtab_worker")
LONGEST_DETAILS = 1_000_000
"""Characters of a snapshot: a server takes payloads of up to 2 MB."""


class ActivityLease:
    """The running activity, as `LeaseExtender.attach` and `Work` take a message.

    Extending it is a heartbeat. Temporal answers nothing: an activity whose attempt is over, or
    that is cancelled, learns it by a cancellation. Also a store of snapshots (`SnapshotStore`):
    they travel as the heartbeat's details, and the next attempt finds them.

    Raises:
        ApplicationError: the workflow gave the activity no heartbeat timeout.

    Attributes:
        id: of the workflow, its run and the activity; the same at every attempt.
        deliveries: which attempt this is, from 1.
        visibility: the heartbeat timeout in seconds.
    """

    facts = MailboxFacts(
        engine="Temporal",
        fenced=True,
        # It answers no heartbeat: a lease that ended stays lost.
        reports_loss=False,
        sets_seconds=False,
    )

    def __init__(self) -> None:
        info = activity.info()
        if not info.heartbeat_timeout:
            raise ApplicationError(
                f"activity {info.activity_type} needs a heartbeat timeout, which is its lease: "
                "workflow.execute_activity(…, heartbeat_timeout=timedelta(minutes=5))",
                non_retryable=True,
            )
        self.id = f"{info.workflow_id}/{info.workflow_run_id}/{info.activity_id}"
        self.deliveries = info.attempt
        self.visibility = info.heartbeat_timeout.total_seconds()
        self._context = contextvars.copy_context()
        self._details: list[Any] = list(info.heartbeat_details)

    def extend(self, seconds: float) -> Extension:
        """Send a heartbeat; the lease lasts as long as the heartbeat timeout, whatever is asked.

        Args:
            seconds: what is asked.
        """
        del seconds
        if reason := self.over():
            return Lost(reason)
        # A copy each time: two threads can't be in one context.
        self._context.copy().run(activity.heartbeat, *self._details)
        return Granted(self.visibility)

    def over(self) -> str | None:
        """Return why Temporal no longer wants this attempt, None if it does."""
        context = self._context.copy()
        if not context.run(activity.is_cancelled):
            return None
        details = context.run(activity.cancellation_details)
        if details is not None and (details.not_found or details.timed_out):
            return "Temporal has given this attempt up"
        return "Temporal cancelled the activity"

    def wait_until_over(self, seconds: float) -> bool:
        """Wait for a cancellation; return whether there is one.

        Args:
            seconds: to wait at most.
        """
        self._context.copy().run(activity.wait_for_cancelled_sync, seconds)
        return self.over() is not None

    # A store of snapshots.

    def load(self, message_id: str) -> str | None:
        """Return the snapshot of the last attempt's last heartbeat.

        Args:
            message_id: of this activity.
        """
        del message_id
        return next((one for one in self._details if isinstance(one, str)), None)

    def save(self, message_id: str, number: int, text: str) -> bool:
        """Keep a snapshot for the next heartbeats, unless it is too long for one.

        Args:
            message_id, number: of this attempt.
            text: as `Session.snapshot` returns it.
        """
        del message_id, number
        if len(text) > LONGEST_DETAILS:
            LOG.warning("a snapshot of %d characters is too long for a heartbeat", len(text))
        else:
            self._details = [text]
        # Not only with the next extension: this attempt may be about to end.
        self._context.copy().run(activity.heartbeat, *self._details)
        return self.over() is None

    def drop(self, message_id: str) -> None:
        """Do nothing: Temporal forgets details with their activity.

        Args:
            message_id: of this activity.
        """
