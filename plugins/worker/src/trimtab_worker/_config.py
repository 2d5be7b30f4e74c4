"""How loops work: times, dead letters, concurrency."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from trimtab import Budget
from trimtab_worker._lease_config import LeaseExtenderConfig
from trimtab_worker._snapshots import SnapshotStore


def _seconds(_: object, attribute: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not 0 < value < float("inf"):
        raise ValueError(f"{attribute.name} must be a finite number above 0, not {value}")


def _from_zero(_: object, attribute: attrs.Attribute[Any], value: float) -> None:
    if not 0 <= value < float("inf"):
        raise ValueError(f"{attribute.name} must be a finite number of 0 or more, not {value}")


@attrs.frozen
class DeadLetterPolicy:
    """When a message is given up, and where it goes.

    Args:
        mailbox: where it goes, a mailbox that holds bodies of that type; the dead letters of its
            own mailbox where None.
        max_deliveries: how often it is tried.
    """

    mailbox: Any = None
    max_deliveries: int = attrs.field(default=5, validator=attrs.validators.ge(1))


@attrs.frozen(kw_only=True)
class WorkConfig:
    """How the work on one message is kept alive and limited, whichever engine drives it.

    Args:
        lease_extender: how leases are extended.
        max_processing_time: seconds that the work on one message may take in all.
        budget: of one message, for the adapter.
        on_lease_lost: ``"stop"`` lets the deadline of the run pass when its lease is lost,
            ``"continue"`` lets the agent finish; the session records `LeaseLost` either way.
        snapshots: where sessions are kept while messages are worked on, so that
            `Attempt.session` goes on from the last one; None: every attempt begins anew.
        snapshot_interval: seconds between two snapshots of a session.
    """

    lease_extender: LeaseExtenderConfig = attrs.field(factory=LeaseExtenderConfig)
    max_processing_time: float | None = attrs.field(default=None, validator=_seconds)
    budget: Budget | None = None
    on_lease_lost: Literal["continue", "stop"] = attrs.field(
        default="continue", validator=attrs.validators.in_(("continue", "stop"))
    )
    snapshots: SnapshotStore | None = None
    snapshot_interval: float = attrs.field(default=30.0, validator=_seconds)


@attrs.frozen(kw_only=True)
class LoopConfig(WorkConfig):
    """What `MainLoopConfig` and `EvalLoopConfig` share; see `WorkConfig` for the first arguments.

    Args:
        visibility_timeout: seconds that a lease lasts at first.
        longest_silence: seconds that may pass without a beat: the slowest response of the model,
            the slowest tool that neither beats nor declares its silence.
        watchdog_threshold: seconds without a beat after which a worker counts as stuck; None:
            no watchdog.
        dead_letters: when a message is given up; None: never.
        concurrency: messages worked on at a time, each on a thread of its own.
        poll_wait: seconds that one call waits for messages.
        retry_delay: seconds before a failed message is ready again, times its deliveries.
        longest_retry_delay: seconds that this delay never passes.
        drain_timeout: seconds that stopping waits for messages in progress, then they are given
            back; None without limit. The default ends before an orchestrator's 30 seconds.
    """

    visibility_timeout: float = attrs.field(default=1800.0, validator=_seconds)
    longest_silence: float | None = attrs.field(default=None, validator=_seconds)
    watchdog_threshold: float | None = attrs.field(default=720.0, validator=_seconds)
    dead_letters: DeadLetterPolicy | None = attrs.field(factory=DeadLetterPolicy)
    concurrency: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    poll_wait: float = attrs.field(default=1.0, validator=_from_zero)
    retry_delay: float = attrs.field(default=60.0, validator=_from_zero)
    longest_retry_delay: float = attrs.field(default=900.0, validator=_from_zero)
    drain_timeout: float | None = attrs.field(default=20.0, validator=_seconds)


@attrs.frozen(kw_only=True)
class MainLoopConfig(LoopConfig):
    """How a `MainLoop` works; see `LoopConfig` for the arguments."""


@attrs.frozen(kw_only=True)
class EvalLoopConfig(LoopConfig):
    """How an `EvalLoop` works; see `LoopConfig` for the arguments."""
