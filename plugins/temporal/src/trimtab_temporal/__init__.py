"""Agents as activities of Temporal, and their lease: its heartbeat timeout."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import attrs
from temporalio import activity
from temporalio.exceptions import ApplicationError, CancelledError

from trimtab.text import describe_error
from trimtab_worker import (
    Extension,
    Granted,
    LeaseExtenderConfig,
    Lost,
    MailboxFacts,
    PromptWork,
    Work,
    WorkConfig,
    as_json as to_json,
    structure_json,
)

if TYPE_CHECKING:
    from trimtab import Adapter
    from trimtab_worker import Prepare

__all__ = ["ActivityLease", "agent_activity"]


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


LOOK = 0.5
REPORT = 0.05
"""Share of `start_to_close_timeout` that is kept for reporting: the agent ends before it."""


def agent_activity(
    adapter: Adapter,
    prepare: Prepare,
    *,
    name: str = "trimtab_agent",
    request: type[Any] | None = None,
    config: WorkConfig | None = None,
    resume: Literal["anew", "snapshot"] = "anew",
    on_event: Callable[[Any], object] | None = None,
) -> Callable[[Any], dict[str, Any]]:
    """Return an activity that evaluates the prompt of one request; pass it to a Temporal worker.

    The lease of an attempt is the activity's heartbeat timeout: heartbeats are sent while the
    agent shows progress, so that an attempt that hangs times out and is tried again. A
    cancellation, or the loss of the attempt, ends the run by its deadline. Results, retries and
    what is given up are Temporal's own.

    The activity takes a request as JSON values, and returns a `Reply` as a dict. It runs on a
    thread: give the worker an ``activity_executor``.

    Args:
        adapter: evaluates prompts.
        prepare: returns the prompt and the session for one request; a parameter named `attempt`
            gets the `Attempt`.
        name: of the activity, for ``workflow.execute_activity``.
        request: attrs class that requests are structured as; None: plain JSON values.
        config: limits of the work; its `lease_extender` and `snapshots` follow the activity.
        resume: ``"snapshot"`` sends snapshots of the session with heartbeats, and
            `Attempt.session` returns the last one's; ``"anew"`` begins each attempt anew.
        on_event: called with lease events.
    """
    settings = config or WorkConfig(on_lease_lost="stop")
    prompt_work = PromptWork(adapter, prepare)

    # Temporal would raise the cancellation somewhere in the agent's code.
    @activity.defn(name=name, no_thread_cancel_exception=True)
    def evaluate(body: Any) -> dict[str, Any]:
        lease = ActivityLease()
        work = Work(lease, _adapted(settings, lease, resume), on_event=on_event)
        try:
            with work.leased(), _cancelled(work, lease):
                answer = prompt_work.answer(structure_json(body, request), work)
                work.confirm()
        except BaseException as error:
            _raise_if_over(lease, error)
            if isinstance(error, Exception):
                raise
            raise ApplicationError(describe_error(error), type=type(error).__name__) from error
        _raise_if_over(lease)
        found: dict[str, Any] = to_json(answer)
        return found

    return evaluate


def _adapted(
    config: WorkConfig, lease: ActivityLease, resume: Literal["anew", "snapshot"]
) -> WorkConfig:
    """Let the lease and the limits of the work follow those of the activity."""
    seconds, info = lease.visibility, activity.info()
    whole = info.start_to_close_timeout
    limit = None if not whole else whole.total_seconds() * (1 - REPORT)
    limits = [one for one in (config.max_processing_time, limit) if one is not None]
    return attrs.evolve(
        config,
        lease_extender=LeaseExtenderConfig(interval=seconds / 6, extension=seconds),
        max_processing_time=min(limits, default=None),
        snapshots=lease if resume == "snapshot" else None,
    )


@contextmanager
def _cancelled(work: Work, lease: ActivityLease) -> Iterator[None]:
    """Let the deadline of the run pass when Temporal cancels the activity."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            if lease.wait_until_over(LOOK):
                work.drop(lease.over())
                return

    thread = threading.Thread(target=watch, name="trimtab-temporal-cancel", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()


def _raise_if_over(lease: ActivityLease, error: BaseException | None = None) -> None:
    """Report a cancellation as one, whatever the run made of it."""
    if reason := lease.over():
        raise CancelledError(reason) from error
