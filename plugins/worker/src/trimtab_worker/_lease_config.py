"""How leases are extended and loops work, and times that must fit together."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Literal

import attrs

from trimtab import Budget
from trimtab.hosting import names_known
from trimtab_worker._records import CalibrationError, CalibrationWarning, MailboxFacts
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


@names_known()
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


def _from_zero(_: object, attribute: attrs.Attribute[Any], value: float) -> None:
    if not 0 <= value < NEVER:
        raise ValueError(f"{attribute.name} must be a finite number of 0 or more, not {value}")


@names_known()
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


@names_known()
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

    lease_extender: LeaseExtenderConfig = attrs.field(
        factory=LeaseExtenderConfig, validator=attrs.validators.instance_of(LeaseExtenderConfig)
    )
    max_processing_time: float | None = attrs.field(default=None, validator=_positive)
    budget: Budget | None = None
    on_lease_lost: Literal["continue", "stop"] = attrs.field(
        default="continue", validator=attrs.validators.in_(("continue", "stop"))
    )
    snapshots: SnapshotStore | None = None
    snapshot_interval: float = attrs.field(default=30.0, validator=_positive)


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

    visibility_timeout: float = attrs.field(default=1800.0, validator=_positive)
    longest_silence: float | None = attrs.field(default=None, validator=_positive)
    watchdog_threshold: float | None = attrs.field(default=720.0, validator=_positive)
    dead_letters: DeadLetterPolicy | None = attrs.field(factory=DeadLetterPolicy)
    concurrency: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    poll_wait: float = attrs.field(default=1.0, validator=_from_zero)
    retry_delay: float = attrs.field(default=60.0, validator=_from_zero)
    longest_retry_delay: float = attrs.field(default=900.0, validator=_from_zero)
    drain_timeout: float | None = attrs.field(default=20.0, validator=_positive)


@names_known()
@attrs.frozen(kw_only=True)
class MainLoopConfig(LoopConfig):
    """How a `MainLoop` works; see `LoopConfig` for the arguments."""


@names_known()
@attrs.frozen(kw_only=True)
class EvalLoopConfig(LoopConfig):
    """How an `EvalLoop` works; see `LoopConfig` for the arguments."""


WATCHDOG_SLACK = 1.2


@attrs.frozen
class _Times:
    """The numbers of a configuration, in seconds, with what follows from them."""

    config: LoopConfig
    facts: MailboxFacts

    @property
    def lease(self) -> LeaseExtenderConfig:
        return self.config.lease_extender

    @property
    def extends(self) -> bool:
        return self.lease.enabled and self.facts.extendable

    @property
    def silence(self) -> float | None:
        """Without `longest_silence`, one operation may take all of the work's time."""
        return self.config.longest_silence or self.config.max_processing_time

    @property
    def silence_name(self) -> str:
        if self.config.longest_silence:
            return "longest_silence"
        return "max_processing_time (longest_silence is not given)"

    @property
    def needed_extension(self) -> float:
        """The shortest extension that covers the silence."""
        if self.silence is None:
            return self.lease.extension
        bare = self.silence + self.lease.interval
        margin = self.lease.margin or min(10.0, bare / 19)
        return max(self.lease.extension, float(math.ceil(bare + margin)))

    @property
    def limit(self) -> float | None:
        """Seconds after receipt that no extension passes."""
        limits = [
            limit for limit in (self.facts.max_total, self.lease.max_total) if limit is not None
        ]
        return min(limits, default=None)


def calibrate(config: LoopConfig, facts: MailboxFacts, *, stacklevel: int = 3) -> None:
    """Check that the times of a loop keep leases alive on its engine.

    Args:
        config: the times.
        facts: what the engine can do.
        stacklevel: as for `warnings.warn`.

    Raises:
        CalibrationError: given numbers contradict each other.

    Warns:
        CalibrationWarning: a number that decides is not given.
    """
    times = _Times(config, facts)
    wrong = list(_problems(times))
    if wrong:
        raise CalibrationError(_explained(wrong, times))
    for missing in _missing(times):
        warnings.warn(missing, CalibrationWarning, stacklevel=stacklevel)


def _problems(times: _Times) -> Iterator[str]:
    if times.extends:
        yield from _extension_problems(times)
        yield from _limit_problems(times)
    else:
        yield from _fixed_problems(times)
    yield from _grant_problems(times)
    yield from _watchdog_problems(times)


def _extension_problems(times: _Times) -> Iterator[str]:
    lease, config = times.lease, times.config
    if times.silence is not None:
        needed = times.silence + lease.interval + lease.safety
        if needed > lease.extension:
            yield (
                f"extension is {lease.extension:g} s, but {times.silence_name} "
                f"{times.silence:g} s + interval {lease.interval:g} s + margin "
                f"{lease.safety:g} s = {needed:g} s"
            )
    if config.visibility_timeout < lease.extension:
        yield (
            f"visibility_timeout {config.visibility_timeout:g} s is shorter than extension "
            f"{lease.extension:g} s: the first stretch would have less time than later ones"
        )
    slowest = 2 * times.facts.call_timeout + lease.interval
    if lease.extension < slowest:
        yield (
            f"extension is {lease.extension:g} s, but two calls to {times.facts.engine} that time "
            f"out after {times.facts.call_timeout:g} s + interval {lease.interval:g} s = "
            f"{slowest:g} s"
        )


def _limit_problems(times: _Times) -> Iterator[str]:
    work, lease = times.config.max_processing_time, times.lease
    if work is None:
        return
    if times.limit is not None and work > times.limit - lease.safety:
        yield (
            f"max_processing_time is {work:g} s, but no lease lasts longer than "
            f"{times.limit:g} s after receipt"
        )
    if lease.max_extensions is not None:
        least = times.config.visibility_timeout + lease.max_extensions * lease.interval
        if work > least:
            yield (
                f"max_processing_time is {work:g} s, but {lease.max_extensions} extensions of at "
                f"least {lease.interval:g} s after visibility_timeout "
                f"{times.config.visibility_timeout:g} s may end at {least:g} s"
            )


def _fixed_problems(times: _Times) -> Iterator[str]:
    work, lasting = times.config.max_processing_time, times.config.visibility_timeout
    why = (
        "leases are not extended (enabled=False)"
        if times.facts.extendable
        else f"{times.facts.engine} can't extend leases"
    )
    if work is not None and work > lasting - times.lease.safety:
        yield (
            f"max_processing_time is {work:g} s, but {why} and visibility_timeout is {lasting:g} s"
        )


def _grant_problems(times: _Times) -> Iterator[str]:
    longest = times.facts.max_grant
    if longest is None:
        return
    for name, value in (
        ("visibility_timeout", times.config.visibility_timeout),
        ("extension", times.lease.extension),
    ):
        if value > longest:
            yield f"{name} is {value:g} s, but {times.facts.engine} grants at most {longest:g} s"


def _watchdog_problems(times: _Times) -> Iterator[str]:
    threshold = times.config.watchdog_threshold
    if threshold is not None and times.silence is not None and threshold <= times.silence:
        yield (
            f"watchdog_threshold {threshold:g} s is not longer than {times.silence_name} "
            f"{times.silence:g} s: the watchdog would end a healthy worker"
        )


def _missing(times: _Times) -> Iterator[str]:
    if not times.extends and times.config.max_processing_time is None:
        yield (
            "max_processing_time is not given: leases are not extended, and work that takes more "
            f"than {times.config.visibility_timeout:g} s is done twice"
        )
    if times.extends and times.silence is None:
        lease = times.lease
        longest = lease.extension - lease.interval - lease.safety
        yield (
            f"longest_silence is not given: {longest:g} s without a beat may lose the lease "
            "(a slow response of the model, a tool that does not beat)"
        )


def _explained(wrong: list[str], times: _Times) -> str:
    lines = ["These times lose leases:", *(f"  - {one}" for one in wrong)]
    fixed = working(times.config, times.facts)
    if fixed is not None:
        lines += ["These work:", *(f"  {name}={value:g}" for name, value in _table(fixed))]
    if times.silence is not None and not times.config.longest_silence:
        lines.append(
            "If no single operation is silent for that long, give longest_silence; a tool that "
            "runs longer can call context.beat(), or context.expect(seconds)."
        )
    return "\n".join(lines)


def working(config: LoopConfig, facts: MailboxFacts) -> LoopConfig | None:
    """Return `config` with times that hold, None if no times do (the work is too long)."""
    times = _Times(config, facts)
    work, threshold = config.max_processing_time, config.watchdog_threshold
    lease = attrs.evolve(config.lease_extender, extension=times.needed_extension)
    lease = attrs.evolve(
        lease, extension=max(lease.extension, 2 * facts.call_timeout + lease.interval)
    )
    lasting = max(config.visibility_timeout, lease.extension)
    if not times.extends and work is not None:
        lasting = max(lasting, math.ceil(work + lease.safety))
    if threshold is not None and times.silence is not None and threshold <= times.silence:
        threshold = math.ceil(times.silence * WATCHDOG_SLACK)
    fixed = attrs.evolve(
        config, lease_extender=lease, visibility_timeout=lasting, watchdog_threshold=threshold
    )
    return None if any(_problems(_Times(fixed, facts))) else fixed


def _table(config: LoopConfig) -> Iterator[tuple[str, float]]:
    yield "interval", config.lease_extender.interval
    yield "extension", config.lease_extender.extension
    yield "visibility_timeout", config.visibility_timeout
    for name in ("longest_silence", "max_processing_time", "watchdog_threshold"):
        value = getattr(config, name)
        if value is not None:
            yield name, value
