"""How leases are extended and loops work: times, dead letters, concurrency."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import attrs

from trimtab import Budget
from trimtab_worker._records import MailboxFacts
from trimtab_worker._snapshots import SnapshotStore

NEVER = float("inf")


def _positive(_: object, attribute: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not 0 < value < NEVER:
        raise ValueError(f"{attribute.name} must be a finite number above 0, not {value}")


class LeaseState(StrEnum):
    """What is known of a lease."""

    HELD = "held"
    SHAKY = "shaky"
    LOST = "lost"
    RELEASED = "released"


@attrs.frozen
class LeaseExtenderConfig:
    """How leases are extended. A lease lasts `extension` seconds from the last beat.

    A declared silent stretch holds it until `interval` and `margin` after the stretch's end.

    Args:
        interval: seconds by which an extension must prolong a lease to be worth a call.
        extension: seconds that a lease lasts after a beat.
        enabled: extend at all.
        margin: seconds before the end at which a lease counts as lost, for the time that messages
            travel; a twentieth of `extension`, 10 at most, where None.
        max_total: seconds after receipt that no extension passes, None: as the engine allows.
        max_extensions: of one delivery, None without limit.
        cap_warning: seconds before a limit at which `LeaseCapNear` is reported, at most a tenth
            of the limit.
        join_timeout: seconds that the end of a block waits for an extension in flight.

    Raises:
        ValueError: a number is not positive, or `interval` is more than a third of `extension`.
    """

    interval: float = attrs.field(default=60.0, validator=_positive)
    extension: float = attrs.field(default=300.0, validator=_positive)
    enabled: bool = True
    margin: float | None = attrs.field(default=None, validator=_positive)
    max_total: float | None = attrs.field(default=None, validator=_positive)
    max_extensions: int | None = attrs.field(default=None, validator=_positive)
    cap_warning: float = attrs.field(default=600.0, validator=_positive)
    join_timeout: float = attrs.field(default=10.0, validator=_positive)

    def __attrs_post_init__(self) -> None:
        if self.interval * 3 > self.extension * (1 + 1e-9):  # 0.1 is a third of 0.3
            raise ValueError(
                f"interval {self.interval:g} s is more than a third of extension "
                f"{self.extension:g} s: two failed calls would lose the lease; "
                f"use interval={self.extension / 3:g} or extension={self.interval * 3:g}"
            )

    @property
    def safety(self) -> float:
        """The margin in seconds."""
        return min(10.0, self.extension / 20) if self.margin is None else self.margin


@attrs.frozen
class LeaseTerms:
    """What a lease begins with.

    Args:
        received: monotonic seconds at which the message was asked for.
        visibility: seconds that the engine granted, None if unknown.
        facts: of the engine.
        message_id, deliveries: for events.
    """

    received: float
    visibility: float | None
    facts: MailboxFacts
    message_id: str = ""
    deliveries: int = 0


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
