"""One lease while its message is worked on: pure policy, driven by a keeper with the time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trimtab_worker._events import (
    LeaseCapNear,
    LeaseEvent,
    LeaseGrantDiffers,
    LeaseLost,
    LeaseRegained,
    LeaseShaky,
)
from trimtab_worker._lease_config import NEVER, LeaseExtenderConfig, LeaseState, LeaseTerms
from trimtab_worker._records import Capped, Extension, Granted, Lost, Unknown

if TYPE_CHECKING:
    from trimtab import Heartbeat

FIRST_RETRY = 0.5
NOTABLE = 0.05
"""The share by which a grant must fall short of what was asked to be reported."""


class Lease:
    """The lease of one message that a keeper extends while beats come.

    The keeper calls `check`, `request` and `settle` in turn, all with the monotonic time; nothing
    here does I/O. Users read `state`, `lost`, `remaining` and `cap_remaining`.

    Args:
        config: when to extend, and by how much.
        terms: what the engine granted.
        heartbeat: of the work.
        now: returns monotonic seconds.
        jitter: returns a random number from 0.0 to 1.0, so that workers don't extend together.
    """

    def __init__(
        self,
        config: LeaseExtenderConfig,
        terms: LeaseTerms,
        heartbeat: Heartbeat,
        *,
        now: Callable[[], float],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.config = config
        self.terms = terms
        self.heartbeat = heartbeat
        self.state = LeaseState.HELD
        self.final = False
        self.extensions = 0
        self._ended = False
        self._safety = config.safety
        if config.margin is None and terms.visibility is not None:
            # A first lease shorter than an extension must not count as lost from its beginning.
            self._safety = min(self._safety, terms.visibility / 20)
        self._now = now
        self._jitter = jitter
        self._expiry = None if terms.visibility is None else terms.received + terms.visibility
        self._extension = config.extension
        self._proven = heartbeat.beats
        self._asked = self._proven
        self._failures = 0
        self._retry_at = -NEVER
        self._cap, self._limit, self._cap_reason = self._caps()
        self._cap_told = False
        self._exhausted = False

    def _caps(self) -> tuple[float, float | None, str]:
        facts, own = self.terms.facts, self.config.max_total
        limits = [
            (limit, reason)
            for limit, reason in (
                (facts.max_total, f"{facts.engine} ends a lease after this time"),
                (own, "max_total of LeaseExtenderConfig"),
            )
            if limit is not None
        ]
        if not limits:
            return NEVER, None, ""
        limit, reason = min(limits)
        return self.terms.received + limit, limit, reason

    # What users read.

    @property
    def lost(self) -> bool:
        """Whether the lease ended while the message was worked on, looked at or not."""
        return self._ended or (self.state is not LeaseState.RELEASED and self._expired())

    def held(self) -> bool:
        """Whether an effect may be made in the name of this delivery now, by all that is known.

        Also after the block that kept the lease: it lasts as long as was granted.
        """
        return not self._ended and not self._expired()

    def _expired(self) -> bool:
        # Not the state: a thread may wake from a stop of the process before the keeper looks.
        return self._now() >= self.deadline

    def remaining(self) -> float | None:
        """Return the seconds until the lease counts as lost; None if the engine never said."""
        return None if self._expiry is None else self.deadline - self._now()

    def cap_remaining(self) -> float | None:
        """Return the seconds until the limit that no extension passes; None without limit."""
        return None if self._cap == NEVER else self._cap - self._safety - self._now()

    @property
    def deadline(self) -> float:
        """Monotonic seconds at which the lease counts as lost."""
        return NEVER if self._expiry is None else self._expiry - self._safety

    # What the keeper does.

    def check(self, now: float) -> list[LeaseEvent]:
        """Return the events that time alone brings: the end of the lease, a limit that is near.

        Args:
            now: the monotonic time.
        """
        events: list[LeaseEvent] = []
        if self.state is LeaseState.RELEASED:
            return events
        if not self._cap_told and now >= self._cap - self._cap_warning():
            events.append(self._cap_near(now))
        if self.state is not LeaseState.LOST and now >= self.deadline:
            events.append(self._lose(self._why_expired(), final=False))
        return events

    def request(self, now: float) -> float | None:
        """Return the seconds to ask for now, None if nothing is to be asked.

        Never fewer than are left, and nothing without a beat or a declared silent stretch since
        the last grant.
        """
        if not self._may_ask or now < self._retry_at:
            return None
        beats = self.heartbeat.beats
        target = self._target(now, beats)
        if target is None or target <= now:
            return None
        if self._expiry is not None and target - self._expiry < self._step:
            return None
        self._asked = beats
        return target - now

    def request_last(self, now: float) -> float | None:
        """Return the seconds to ask for before the first effect of work that is finished.

        The end of the work proves it, so that no beat is needed, and a lease that has ended may be
        asked for again. None where the engine can't tell whose the message is.

        Args:
            now: the monotonic time.
        """
        facts = self.terms.facts
        if self.final or not (facts.extendable and facts.fenced and facts.reports_loss):
            return None
        left = 0.0 if self._expiry is None else self._expiry - now
        most = NEVER if facts.max_grant is None else facts.max_grant
        seconds = min(max(left, self._extension), self._cap - now, most)
        return seconds if seconds > 0 else None

    @property
    def _may_ask(self) -> bool:
        enough = self.config.max_extensions
        return (
            self.state is not LeaseState.RELEASED
            and not self.final
            and not self._exhausted
            and self.terms.facts.extendable
            and (self.state is not LeaseState.LOST or self.terms.facts.reports_loss)
            and (enough is None or self.extensions < enough)
        )

    @property
    def _step(self) -> float:
        return min(self.config.interval, self._extension / 3)

    def _target(self, now: float, beats: int) -> float | None:
        """Return until when the work that was shown so far may hold the lease."""
        silence = self.heartbeat.expected()
        targets = []
        if beats > self._proven:
            targets.append(now - self.heartbeat.elapsed() + self._extension)
        if silence > 0:
            targets.append(now + silence + self._step + self._safety)
        if not targets:
            return None
        longest = self.terms.facts.max_grant
        return min(max(targets), self._cap, NEVER if longest is None else now + longest)

    def settle(self, sent: float, now: float, asked: float, outcome: Extension) -> list[LeaseEvent]:
        """Take in the outcome of a request; return the events that follow.

        Args:
            sent: monotonic seconds at which the request was sent.
            now: the monotonic time.
            asked: seconds that were asked for.
            outcome: what the engine answered.
        """
        if self.state is LeaseState.RELEASED:
            return []
        if isinstance(outcome, Granted):
            return self._granted(sent, now, asked, outcome.seconds)
        if isinstance(outcome, Lost):
            self.final = True
            known = self.state is LeaseState.LOST
            lost = self._lose(outcome.reason, final=True)
            return [] if known else [lost]
        if isinstance(outcome, Capped):
            return self._capped(now, outcome.limit)
        return self._failed(now, outcome)

    def _granted(self, sent: float, now: float, asked: float, seconds: float) -> list[LeaseEvent]:
        events: list[LeaseEvent] = []
        if self.state is LeaseState.LOST:
            late = max(0.0, now - (self._expiry if self._expiry is not None else now))
            events.append(LeaseRegained(late=late, **self._facts))
        if seconds < asked * (1 - NOTABLE) and self._extension > seconds:
            events.append(LeaseGrantDiffers(asked=asked, granted=seconds, **self._facts))
            self._extension = seconds
        self._expiry = sent + seconds
        self._proven, self._failures, self._retry_at = self._asked, 0, -NEVER
        self.extensions += 1
        self.state, self._ended = LeaseState.HELD, False
        if self.extensions == self.config.max_extensions and not self._cap_told:
            self._cap, self._cap_reason = self._expiry, "max_extensions of LeaseExtenderConfig"
            events.append(self._cap_near(now))
        return events

    def _failed(self, now: float, outcome: Unknown) -> list[LeaseEvent]:
        pause = min(FIRST_RETRY * 2**self._failures, self._step / 2, self._extension / 10)
        self._failures = min(self._failures + 1, 20)
        self._retry_at = now + pause * (0.5 + self._jitter())
        if self.state is not LeaseState.HELD:
            return []
        self.state = LeaseState.SHAKY
        left = None if self._expiry is None else self.deadline - now
        return [LeaseShaky(error=outcome.error, remaining=left, **self._facts)]

    def _capped(self, now: float, limit: float | None) -> list[LeaseEvent]:
        self._exhausted = True
        if self._cap_told or self._expiry is None:
            return []
        self._cap = min(self._cap, self._expiry)
        self._limit, self._cap_reason = limit, f"{self.terms.facts.engine} refuses to extend more"
        return [self._cap_near(now)]

    def _lose(self, reason: str, *, final: bool) -> LeaseLost:
        self.state, self._ended = LeaseState.LOST, True
        return LeaseLost(reason=reason, final=final, **self._facts)

    def _why_expired(self) -> str:
        if self._failures:
            return "extending failed until the lease ended"
        return f"no beat for {self.heartbeat.elapsed():.0f} s"

    def _cap_warning(self) -> float:
        tenth = NEVER if self._limit is None else self._limit / 10
        return min(self.config.cap_warning, tenth) + self._safety

    def _cap_near(self, now: float) -> LeaseCapNear:
        self._cap_told = True
        left = self._cap - self._safety - now
        return LeaseCapNear(
            remaining=left, limit=self._limit, reason=self._cap_reason, **self._facts
        )

    @property
    def _facts(self) -> dict[str, Any]:
        return {"message_id": self.terms.message_id, "deliveries": self.terms.deliveries}

    def next_look(self, now: float) -> float:
        """Return when `check` and `request` should be called next.

        Args:
            now: the monotonic time.
        """
        moments = []
        if self.state is not LeaseState.LOST:
            moments.append(self.deadline)
        if not self._cap_told:
            moments.append(self._cap - self._cap_warning())
        if self._may_ask:
            moments.append(self._next_request(now))
        return max(now + 0.005, min(moments, default=NEVER))

    def _next_request(self, now: float) -> float:
        tick = min(1.0, max(0.01, self._step / 10))
        if self._retry_at > now:
            return self._retry_at
        if self._expiry is None:
            return now + tick
        return max(now + tick, self._expiry - self._extension + self._step)

    def release(self) -> None:
        """End it: nothing is asked any more."""
        self.state = LeaseState.RELEASED
