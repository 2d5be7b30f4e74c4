"""An activity that evaluates the prompt of a request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import attrs
from temporalio import activity
from temporalio.exceptions import ApplicationError, CancelledError

from trimtab.text import describe_error
from trimtab_temporal._lease import ActivityLease
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
