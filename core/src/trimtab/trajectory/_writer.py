"""Takes the events of one run in, and keeps what its trajectory is read from."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import attrs

from trimtab._events.run import (
    HARNESS,
    CompactionHappened,
    Event,
    ModelResponded,
    ToolInvoked,
    UserMessage,
)
from trimtab.trajectory._canonical import plain
from trimtab.trajectory._profiles import ToolProfiles
from trimtab.trajectory._projection import (
    BACKLOG,
    HOOKS,
    Fact,
    Feed,
    MessageRecord,
    Projection,
    TextRecord,
    TurnRecord,
    turn_from,
    turn_state,
)
from trimtab.trajectory._records import CallRecord, record_of
from trimtab.trajectory._trajectory import Trajectory

KEPT = 64
"""How many calls, and how many turns, are kept; older ones leave, their counts stay."""

_TOOLS_KEPT = 256
_BATCH_KEPT_WHOLE = 8
_OTHER_TOOLS = "…"

Taker = tuple[Callable[[Fact], None], Callable[..., None]]
"""Where a fact waits, and the method that takes it."""


class TrajectoryWriter:
    """Takes the events of one run in, in constant time, and feeds projections.

    Args:
        profiles: what is known about the tools.
        lock: the session's; held while events come in, and taken where readers iterate.
        history: returns the events of the run so far, in order; called under the lock.

    Attributes:
        feeds: the projections by name.
        quiet_feeds: those of them that can say that their provider need not be asked.
    """

    def __init__(
        self,
        *,
        profiles: ToolProfiles | None = None,
        lock: AbstractContextManager[Any] | None = None,
        history: Callable[[], Iterable[Event]] | None = None,
    ) -> None:
        self.history = history
        self.profiles = profiles or ToolProfiles()
        self._lock: AbstractContextManager[Any] = lock or threading.RLock()
        self.feeds: dict[str, Feed] = {}
        self.quiet_feeds: dict[str, Feed] = {}
        self._takers: dict[str, tuple[Taker, ...]] = dict.fromkeys(HOOKS, ())
        self._turn_takers: tuple[Callable[[Fact], None], ...] = ()
        self._waiting: dict[str, dict[str, Any]] = {}
        self._open: list[CallRecord] = []
        self._closed: deque[TurnRecord] = deque(maxlen=KEPT)
        self._frequency: dict[str, int] = {}
        self._user_spoke_at = 0
        self._began = False
        self.turns = 0
        self.calls = 0

    @property
    def view(self) -> Trajectory:
        """What providers read."""
        return Trajectory(self)

    # Reading -----------------------------------------------------------------------------------

    def latest(self, *, since_user: bool = False) -> list[TurnRecord]:
        """Return the closed turns with calls of the model that are kept, newest first.

        Args:
            since_user: only those that the user has not spoken after.
        """
        with self._lock:
            first = self._user_spoke_at if since_user else 0
            kept = [turn for turn in self._closed if turn.asked and turn.number >= first]
        kept.reverse()
        return kept

    def tool_frequency(self) -> dict[str, int]:
        """Return the calls by tool."""
        with self._lock:
            return dict(self._frequency)

    def recent(self, n: int) -> tuple[CallRecord, ...]:
        """Return the last `n` calls (at most 64), oldest first, those of the open turn too."""
        found: list[CallRecord] = []
        with self._lock:
            for calls in (tuple(self._open), *(turn.calls for turn in reversed(self._closed))):
                found.extend(reversed(calls))
                if len(found) >= n:
                    break
        return tuple(reversed(found[: max(0, min(n, KEPT))]))

    # Projections -------------------------------------------------------------------------------

    def attach(self, name: str, projection: Projection) -> Projection:
        """Feed a projection from now on, and return what is fed under `name`."""
        with self._lock:
            feed = self.feeds.get(name)
            if feed is None:
                rebuild = None
                if name in self._waiting:
                    projection.load_state(self._waiting.pop(name))
                elif self._began and self.history is not None:
                    rebuild = partial(self._rebuild, name)
                feed = self.feeds[name] = Feed(projection, rebuild)
                if hasattr(projection, "quiet"):
                    self.quiet_feeds = {**self.quiet_feeds, name: feed}
                self._feed_all()
            return feed.projection

    def save(self, name: str) -> None:
        """Bring a projection up to date and keep its state for the next `state()`."""
        feed = self.feeds.get(name)
        if feed is not None:
            feed.save()

    @property
    def attached(self) -> tuple[str, ...]:
        """Names under which projections are fed."""
        return tuple(self.feeds)

    @property
    def behind(self) -> tuple[str, ...]:
        """Names of the projections for which much is waiting."""
        return tuple(name for name, feed in self.feeds.items() if len(feed.pending) > BACKLOG)

    def _rebuild(self, name: str, projection: Projection) -> None:
        """Feed everything that happened in the run to a projection that joins late."""
        assert self.history is not None
        with self._lock:
            self.feeds[name].pending.clear()
            events = tuple(self.history())
        past = TrajectoryWriter(profiles=self.profiles)
        past.attach(name, projection)
        for event in events:
            past.apply(event)
            past.feeds[name].catch_up()

    def _feed_all(self) -> None:
        """Hand each kind of fact to the feeds that take it from now on."""
        self._takers = {
            hook: tuple(
                (feed.pending.append, feed.methods[hook])
                for feed in self.feeds.values()
                if hook in feed.methods
            )
            for hook in HOOKS
        }
        self._turn_takers = tuple(put for put, _ in self._takers["turn_closed"])

    def _feed(self, hook: str, *facts: Any) -> None:
        for put, method in self._takers[hook]:
            put((method, facts))

    # Events ------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Take `event` in; called under the session's lock, in constant time."""
        if isinstance(event, ToolInvoked):
            self.ended(event)
        elif isinstance(event, ModelResponded):
            self.responded(event)
        elif isinstance(event, UserMessage):
            self.user_spoke(event)
        elif isinstance(event, CompactionHappened):
            self.compacted()

    def ended(self, event: ToolInvoked) -> None:
        """Take an ended call in."""
        self._began = True
        if event.caller is HARNESS:
            return
        open_calls, tool = self._open, event.tool
        if open_calls and _begins_turn(event.turn, open_calls[0].turn):
            self.close_turn()
        profile = self.profiles.of(tool)
        try:
            call = record_of(event, profile)
        except Exception:  # noqa: BLE001  parameters or results whose own methods raise
            safe = attrs.evolve(event, params=plain(event.params), result=plain(event.result))
            call = record_of(safe, profile)
        self.calls += 1
        frequency = self._frequency
        if tool not in frequency and len(frequency) >= _TOOLS_KEPT:
            tool = _OTHER_TOOLS
        frequency[tool] = frequency.get(tool, 0) + 1
        if len(open_calls) < KEPT:
            open_calls.append(call)
        facts = (call, event)
        for put, method in self._takers["call_ended"]:
            put((method, facts))
        if self.feeds:  # worked out here, for at the decision the agent waits
            _ = call.fingerprint, call.output_hash

    def responded(self, event: ModelResponded) -> None:
        """Take a response in."""
        self._began = True
        if self._open:
            self.close_turn()
        if event.text or event.reasoning:
            text = TextRecord(event.text, event.reasoning, bool(event.tool_calls))
            self._feed("responded", text)

    def user_spoke(self, event: UserMessage) -> None:
        """Take a message in."""
        self._began = True
        self.close_turn()
        if not event.notification:
            self._user_spoke_at = self.turns
        self._feed("user_spoke", MessageRecord(event.text, event.notification))

    def compacted(self) -> None:
        """Note that the model's history was shortened."""
        self._began = True
        self._feed("compacted")

    def close_turn(self) -> None:
        """Close the open turn, if there is one: its calls are a whole batch now; as `apply`."""
        calls = tuple(self._open)
        if not calls:
            return
        self._open.clear()
        turn = TurnRecord(calls, self.turns)
        self.turns += 1
        if len(calls) > _BATCH_KEPT_WHOLE:
            _release_many(turn.asked)
        self._closed.append(turn)
        for put in self._turn_takers:
            put(turn)

    # State -------------------------------------------------------------------------------------

    def use_profiles(self, profiles: ToolProfiles) -> None:
        """Apply what is known about the tools, to the calls that are kept too.

        Projections are detached: the next one of each name gets the state that was saved.
        """
        with self._lock:
            self.profiles = profiles
            for turn in (self._open, *(turn.calls for turn in self._closed)):
                for call in turn:
                    call._use(profiles.of(call.tool))
            self._waiting.update(self._saved())
            self.feeds.clear()
            self.quiet_feeds = {}
            self._feed_all()

    def _saved(self) -> dict[str, dict[str, Any]]:
        return {
            name: feed.saved
            for name, feed in self.feeds.items()
            if feed.is_saved and feed.saved is not None
        }

    def state(self) -> dict[str, Any]:
        """Return everything, JSON-like, with the states of projections that are saved.

        A projection that is not saved is rebuilt from the record later.
        """
        with self._lock:
            return {
                "open": [call.state() for call in self._open],
                "closed": [turn_state(turn) for turn in self._closed],
                "frequency": dict(self._frequency),
                "projections": {**self._waiting, **self._saved()},
                "began": self._began,
                "turns": self.turns,
                "calls": self.calls,
                "user_spoke_at": self._user_spoke_at,
            }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned; projections get theirs when they are attached."""
        with self._lock:
            open_calls = turn_from({"calls": state["open"], "number": 0}, self.profiles).calls
            self._open = list(open_calls)
            self._closed.clear()
            for turn in state["closed"]:
                self._closed.append(turn_from(turn, self.profiles))
            self._frequency = dict(state["frequency"])
            self.turns, self.calls = state["turns"], state["calls"]
            self._user_spoke_at = state["user_spoke_at"]
            self._began = state["began"]
            self._waiting = dict(state["projections"])


def _release_many(calls: Sequence[CallRecord]) -> None:
    """Drop the texts of the calls of one turn if they are many."""
    if len(calls) > _BATCH_KEPT_WHOLE:
        for call in calls:
            call._release()


def _begins_turn(turn: int | None, open_turn: int | None) -> bool:
    """Tell whether a call of `turn` ends the open turn; a late answer of an earlier one doesn't."""
    return turn is None or open_turn is None or turn > open_turn
