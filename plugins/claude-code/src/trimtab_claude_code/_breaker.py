"""What sessions have waited for answers so far, and which events pass without one.

Events pass until another server is ready after one that did not answer, and those of a session
that has waited `SESSION_SECONDS` pass for good. The client counts events that were not answered,
the server those that were. Standard library only: the client runs without site-packages.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from trimtab_claude_code._client import PAUSED, RETRY_AFTER
from trimtab_claude_code._files import Busy, locked, replace

EVENT_SECONDS = 1.7
"""What the client waits for an answer: with its own start and end, an event costs 2 s at most."""

SESSION_SECONDS = 3.0
"""What a session waits before its events pass: with its last event, it is 5 s at most."""

_COSTS = "costs.json"
_LOCK = "costs.lock"
_LOCK_SECONDS = 0.2
_MOST_SESSIONS = 200

_SHORT = 3.0
_OFTEN = 2 * EVENT_SECONDS
_WINDOW = 60.0
"""After waits of `_OFTEN` seconds within so many seconds without a known cause, a new server is not
asked at once: it is more likely to be the next that hangs."""


class Cost(NamedTuple):
    """What one session has waited.

    Args:
        unanswered: seconds that its clients waited in vain.
        waited_at: when they last did, wall clock; 0 for never.
        answered: seconds of events that were answered late, as `SessionTime` counts them.
        is_told: whether it stands in the session's journal that its events pass.
    """

    unanswered: float = 0.0
    waited_at: float = 0.0
    answered: float = 0.0
    providers: Mapping[str, float] = {}
    is_told: bool = False

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.unanswered + self.answered

    @property
    def is_reached(self) -> bool:
        """Whether the session has waited as long as it may."""
        return self.seconds >= SESSION_SECONDS

    def blaming(self, provider: str) -> Cost:
        """Return the same where a provider has taken the last wait."""
        took = min(EVENT_SECONDS, max(0.0, self.seconds - sum(self.providers.values())))
        before = self.providers.get(provider, 0.0)
        return self._replace(providers={**self.providers, provider: before + took})

    def __str__(self) -> str:
        named = sorted(self.providers.items(), key=lambda item: -item[1])
        who = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in named)
        waited = f"the agent has waited {self.seconds:.1f} s for guidance"
        return f"{waited}{f' ({who})' if who else ''}: this session goes on without"


class Breaker:
    """Lets events pass; `folder` is the user's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now = time.time()  # noqa: TID251  # runs without trimtab

    def open(self, *, short: bool = False) -> None:
        """Let all events pass for a while, a short one where the server is only slow."""
        with self._changed(until=self._now + (_SHORT if short else RETRY_AFTER)):
            pass

    def close(self, *, held_by: str = "") -> None:
        """Let events through again, but for sessions that have waited as long as they may."""
        costs = self._read()
        recent = {n: cost for n, cost in costs.items() if self._now - cost.waited_at < _WINDOW}
        if not held_by and sum(cost.unanswered for cost in recent.values()) >= _OFTEN:
            return
        with self._changed(until=0.0) as costs:
            costs.update({name: cost.blaming(held_by) for name, cost in recent.items() if held_by})

    def waited(self, session: str) -> Cost:
        """Count an event that was not answered; return what its session has waited in all."""
        with self._changed() as costs:
            cost = costs.pop(session, Cost())
            since = max(0.0, self._now - cost.waited_at)
            unanswered = cost.unanswered + min(EVENT_SECONDS, since)  # parallel calls wait together
            costs[session] = cost = cost._replace(unanswered=unanswered, waited_at=self._now)
        return cost

    def answered(self, session: str, seconds: float, providers: Mapping[str, float]) -> Cost:
        """Keep what a session has waited, as `SessionTime` counts it; return what it is in all."""
        with self._changed() as costs:
            cost = costs.pop(session, Cost())._replace(answered=seconds, providers=providers)
            costs[session] = cost
        return cost

    def told(self, session: str) -> None:
        """Note that it stands in the journal of a session that its events pass."""
        with self._changed() as costs:
            if session in costs:
                costs[session] = costs[session]._replace(is_told=True)

    def cost_of(self, session: str) -> Cost:
        """Return what a session has waited."""
        return self._read().get(session, Cost())

    def not_told(self) -> dict[str, Cost]:
        """Return the sessions whose events pass, where their journal does not say so yet."""
        costs = self._read()
        return {name: one for name, one in costs.items() if one.is_reached and not one.is_told}

    @contextmanager
    def _changed(self, until: float | None = None) -> Iterator[dict[str, Cost]]:
        """Give the costs to be changed, and store them; None leaves `until` as it is."""
        with ExitStack() as held:
            with suppress(Busy, OSError):  # better a lost count than a long wait
                held.enter_context(locked(self._folder / _LOCK, _LOCK_SECONDS))
            before = self._read()
            costs = dict(before)
            yield costs
            kept = _kept(costs)
            if costs != before:
                text = json.dumps({name: cost._asdict() for name, cost in kept.items()})
                self._write(_COSTS, text)
            self._pause(self._until() if until is None else until, kept)

    def _pause(self, until: float, costs: Mapping[str, Cost]) -> None:
        out = [name for name, cost in costs.items() if cost.is_reached and name]
        if until or out:
            self._write(PAUSED, "\n".join([str(until), *map(json.dumps, out)]))
        else:
            with suppress(OSError):
                (self._folder / PAUSED).unlink()

    def _until(self) -> float:
        try:
            return float((self._folder / PAUSED).read_bytes().split(b"\n", 1)[0])
        except (OSError, ValueError):
            return 0.0

    def _read(self) -> dict[str, Cost]:
        try:
            found: Any = json.loads((self._folder / _COSTS).read_bytes())
            return {str(name): _cost(fields) for name, fields in found.items()}
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            return {}

    def _write(self, name: str, text: str) -> None:
        with suppress(OSError):  # on a full disk each event is on its own
            replace(self._folder / name, text.encode())


def _cost(fields: Any) -> Cost:
    """Return a cost from its fields."""
    providers = {str(name): float(took) for name, took in fields.pop("providers").items()}
    told = bool(fields.pop("is_told"))
    seconds = {name: float(value) for name, value in fields.items()}
    return Cost(**seconds, providers=providers, is_told=told)


def _kept(costs: Mapping[str, Cost]) -> dict[str, Cost]:
    """Return the costs without those that changed longest ago; those that are reached go last."""
    names = sorted(costs, key=lambda name: costs[name].is_reached)[-_MOST_SESSIONS:]
    return {name: costs[name] for name in names}
