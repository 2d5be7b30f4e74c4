"""Times that must fit together: refused where given numbers contradict, warned where one lacks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import attrs

from trimtab_worker._lease_config import LeaseExtenderConfig, LoopConfig
from trimtab_worker._records import CalibrationError, CalibrationWarning, MailboxFacts

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
