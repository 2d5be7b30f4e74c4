"""Closed turns and events of one run, handed to the projections that follow it."""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any

import attrs

from trimtab._events import (
    HARNESS,
    CompactionHappened,
    Event,
    ModelResponded,
    ToolInvoked,
    UserMessage,
)
from trimtab._session.projection import HOOKS, BaseProjection, MessageRecord, TextRecord, Turn
from trimtab._types.errors import class_name
from trimtab._types.resources import ToolProfile
from trimtab._types.text import did_you_mean, nearest, quoted_list

BACKLOG = 128
"""Facts that may wait for one projection before its run hands them over unasked."""

MOST_CALLS = 64
"""Calls of one turn that are handed over as its batch; a model that asks for more is stuck."""

Fact = tuple[int, str, tuple[Any, ...]]
"""Its number in the run, the method that takes it, and what that takes."""


class Feed:
    """One projection and the facts that it has not seen yet.

    A projection is its provider's code, so it never runs where events are recorded. It catches
    up when the provider asks for it: on the provider's thread, within its time limit, and with
    its failures counted as the provider's.

    Attributes:
        source: the feed of the projection that it needs; None if it takes facts as they are.
        begin: restores the projection, or feeds it everything that happened before, when it first
            catches up; None if it has seen all of it.
        restores: whether `begin` takes a saved state back.
        seen: number of the last fact that `begin` has fed.
        rests: whether the projection was quiet, and need take no more facts until its source stirs.
        saved: the projection's state after all but `pending`; None if it is not saved.
    """

    def __init__(self, projection: BaseProjection, source: Feed | None = None) -> None:
        self.projection = projection
        self.source = source
        self.pending: deque[Fact] = deque()
        self.begin: Callable[[], None] | None = None
        self.restores = False
        self.seen = 0
        self.rests = False
        self.saved: Any = None
        self.mutex = threading.RLock()
        self.followers: list[Feed] = []
        self._forward: dict[str, tuple[Callable[[Fact], None], ...]] = {}
        self._methods: dict[str, Callable[..., Any]] = {
            hook: getattr(projection, hook) for hook in HOOKS
        }
        if source is not None:
            source.followers.append(self)
            source._look_at_followers()

    def _look_at_followers(self) -> None:
        self._forward = {
            hook: tuple(feed.pending.append for feed in self.followers if feed.takes(hook))
            for hook in HOOKS
        }
        if self.source is not None:
            self.source._look_at_followers()

    def takes(self, hook: str) -> bool:
        """Return whether the projection, or one that needs it, has a method for these facts."""
        inherited = getattr(type(self.projection), hook, None) is getattr(BaseProjection, hook)
        return not inherited or bool(self._forward.get(hook))

    @property
    def is_saved(self) -> bool:
        """Whether `saved` is the state after everything that happened."""
        if self.saved is None or self.pending or self.begin is not None:
            return False
        return self.source is None or self.source.is_saved

    @property
    def backlog(self) -> int:
        """How many facts wait, those that the projection it needs has not seen included."""
        return len(self.pending) + (0 if self.source is None else self.source.backlog)

    def catch_up(self, _: object = None) -> None:
        """Hand over what waits; what the projection raises passes through.

        A fact that the projection fails on is not handed over again.
        """
        source = self.source
        # Only where needed: all providers of a run ask at each decision, and the first is enough.
        if source is not None and (source.pending or source.begin or source.source):
            source.catch_up()
        pending = self.pending
        if not pending and self.begin is None:
            return
        with self.mutex:
            self.saved = None
            if self.begin is not None:
                begin, self.begin = self.begin, None
                begin()
            methods, forward, seen = self._methods, self._forward, self.seen
            while pending:
                number, hook, fact = pending.popleft()
                if number <= seen:
                    continue
                made = methods[hook](*fact)
                if forward:
                    passed_on = number, hook, fact if made is None else made
                    for put in forward[hook]:
                        put(passed_on)
                    if self.projection.stirs:
                        for feed in self.followers:
                            feed.rests = False

    def may_speak(self, _: object) -> bool | None:
        """Catch up; return True if the provider must be asked, None if it has nothing to say."""
        self.catch_up()
        projection, source = self.projection, self.source
        if projection.quiet is not True:
            return True
        if source is not None and projection.rests is True:
            self.rests = True
            # The second, if another thread has just made the source stir.
            if source.projection.stirs or self.pending:
                self.rests = False
        return None

    def save(self, _: object = None) -> None:
        """Catch up and keep the projection's state; what it raises passes through."""
        self.catch_up()
        from trimtab._session.codec import encode_state

        with self.mutex:
            self.saved = encode_state(self.projection)


@attrs.frozen
class SavedFeeds:
    """What a snapshot keeps of `Feeds`."""

    open: tuple[ToolInvoked, ...]
    projections: dict[str, Any]
    began: bool
    turns: int
    calls: int


def _check(projection: object) -> None:
    """Refuse what can't follow a run, before it has missed a fact without a word."""
    name = class_name(projection)
    if not isinstance(projection, BaseProjection):
        raise TypeError(f"{name} is no projection: derive it from BaseProjection")
    for hook in HOOKS:
        if inspect.iscoroutinefunction(getattr(projection, hook)):
            raise TypeError(f"{hook} of the projection {name} is async; write: def {hook}(…): …")
    kind: Any = type(projection)
    wrong = _unheard(kind)
    if wrong:
        raise TypeError(f"the projection {name} {wrong}")


_INHERITED = frozenset(dir(BaseProjection))
_OVERRIDDEN = (*HOOKS, "of_run", "state", "load_state")


@lru_cache(maxsize=256)
def _unheard(kind: type[Any]) -> str:
    """Return why the methods of a class would not be called; empty if they are."""
    deaf = all(getattr(kind, hook) is getattr(BaseProjection, hook) for hook in HOOKS)
    for own in dir(kind):
        if own in _INHERITED or own.startswith("_") or not callable(getattr(kind, own)):
            continue
        # Where some facts are taken, only a slip of a letter: a helper may be called `compact`.
        if nearest(own, _OVERRIDDEN, 0.6 if deaf else 0.9):
            return f"has a method {own!r}, which is not called.{did_you_mean(own, _OVERRIDDEN)}"
    return f"takes nothing that happens: define one of {quoted_list(HOOKS)}" if deaf else ""


class Feeds:
    """Takes the events of one run in, in constant time, and feeds projections.

    Nothing here looks into what calls return: that is up to the projections. The session's lock is
    held while events come in, and while `history` returns those of the run so far.

    Attributes:
        quiet_feeds: the feeds of projections that can say that their provider need not be asked.
        shared: names of the projections that others need.
        is_shared: whether those have taken the last ended call, so that the others may rest.
    """

    def __init__(
        self,
        *,
        profiles: tuple[ToolProfile, ...] = (),
        lock: AbstractContextManager[Any] | None = None,
        history: Callable[[], Iterable[Event]] | None = None,
    ) -> None:
        self.profiles = profiles
        self.feeds: dict[str, Feed] = {}
        self.quiet_feeds: dict[str, Feed] = {}
        self.shared: tuple[str, ...] = ()
        self.is_shared = False
        self.turns = 0
        self.calls = 0
        self._history = history
        self._lock: AbstractContextManager[Any] = lock or threading.RLock()
        self._takers: dict[str, tuple[Callable[[Fact], None], ...]] = dict.fromkeys(HOOKS, ())
        self._saved: dict[str, Any] = {}
        self._saved_at = 0
        self._open: list[ToolInvoked] = []
        self._began = False
        self._facts = 0

    # Projections -------------------------------------------------------------------------------

    def attach(self, name: str, projection: BaseProjection) -> BaseProjection:
        return self._attached(name, lambda: projection).projection

    def follow(self, kind: type[BaseProjection]) -> BaseProjection:
        """Return the one projection of its class, up to date; it is attached if it was not."""
        feed = self._shared(kind)
        feed.catch_up()
        return feed.projection

    def _shared(self, kind: type[BaseProjection]) -> Feed:
        name = f"{kind.__module__}.{kind.__qualname__}"
        return self._attached(name, lambda: kind.of_run(self.profiles))

    def _attached(self, name: str, make: Callable[[], BaseProjection]) -> Feed:
        feed = self.feeds.get(name)
        if feed is not None:
            return feed
        projection = make()
        _check(projection)
        source = None if projection.needs is None else self._shared(projection.needs)
        state = None
        if name in self._saved:
            from trimtab._session.codec import decode_state

            # Without the lock, for it runs the provider's code.
            state = decode_state(projection, self._saved[name])
        with self._lock:
            feed = self.feeds.get(name)
            if feed is None:
                feed = self._new_feed(name, projection, source, state)
        if feed.restores:
            feed.catch_up()
        return feed

    def _new_feed(
        self, name: str, projection: BaseProjection, source: Feed | None, state: tuple[Any] | None
    ) -> Feed:
        feed = Feed(projection, source)
        self._saved.pop(name, None)
        # It goes on from its state unless something has happened since, or what it needs can't.
        current = self._facts == self._saved_at and (source is None or source.restores)
        if state is not None and current:
            feed.begin, feed.restores = partial(projection.load_state, *state), True
        elif self._began and self._history is not None:
            feed.begin = partial(self._rebuild, name, feed)
        self.feeds[name] = feed
        self.quiet_feeds = {**self.quiet_feeds, name: feed}
        self._feed_all()
        return feed

    @property
    def behind(self) -> tuple[str, ...]:
        """Names of the projections for which much is waiting.

        Those that others need are left out: they catch up with these, on their provider's time.
        """
        return tuple(
            name
            for name, feed in self.feeds.items()
            if feed.backlog > BACKLOG and not feed.followers
        )

    def _rebuild(self, name: str, feed: Feed) -> None:
        """Feed everything that happened in the run to a projection that joins late."""
        assert self._history is not None
        with self._lock:
            feed.seen = self._facts
            is_open = bool(self._open)
            events = tuple(self._history())
        past = Feeds(profiles=self.profiles)
        past.attach(name, feed.projection)
        for event in events:
            past.apply(event)
            past.feeds[name].catch_up()
        if not is_open:
            past.close_turn()
            past.feeds[name].catch_up()

    def _feed_all(self) -> None:
        """Hand each kind of fact to the feeds that take it from now on."""
        self.shared = tuple(name for name, feed in self.feeds.items() if feed.followers)
        self._takers = {
            hook: tuple(
                feed.pending.append
                for feed in self.feeds.values()
                if feed.source is None and feed.takes(hook)
            )
            for hook in HOOKS
        }

    def _feed(self, hook: str, *fact: Any) -> None:
        self._facts = number = self._facts + 1
        for put in self._takers[hook]:
            put((number, hook, fact))

    # Events ------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Take `event` in; called under the session's lock, in constant time."""
        take = _TAKES.get(type(event))
        if take is not None:
            take(self, event)

    def ended(self, event: ToolInvoked) -> None:
        self._began, self.is_shared = True, False
        if event.caller is HARNESS:
            return
        open_calls, turn = self._open, event.turn
        if open_calls:
            began = open_calls[0].turn  # a late answer of an earlier turn does not end it
            if turn is None or began is None or turn > began:
                self.close_turn()
        self.calls += 1
        if len(open_calls) < MOST_CALLS:
            open_calls.append(event)
        self._feed("call_ended", event)

    def responded(self, event: ModelResponded) -> None:
        self._began = True
        if self._open:
            self.close_turn()
        if event.text or event.reasoning:
            text = TextRecord(event.text, event.reasoning, bool(event.tool_calls))
            self._feed("responded", text)

    def user_spoke(self, event: UserMessage) -> None:
        self._began = True
        self.close_turn()
        self._feed("user_spoke", MessageRecord(event.text, event.notification))

    def compacted(self, _: CompactionHappened) -> None:
        self._began = True
        self._feed("compacted")

    def close_turn(self) -> None:
        """Close the open turn, if there is one: its calls are a whole batch now; as `apply`."""
        if not self._open:
            return
        turn = Turn(tuple(self._open), self.turns)
        self._open.clear()
        self.turns += 1
        self._feed("turn_closed", turn)

    # State -------------------------------------------------------------------------------------

    def use_profiles(self, profiles: tuple[ToolProfile, ...]) -> None:
        """Take what prompt and host declare about the tools.

        Projections are detached: the next one of each name gets the state that was saved.
        """
        with self._lock:
            self.profiles = profiles
            self._saved, self._saved_at = self._states(), self._facts
            self.feeds.clear()
            self.quiet_feeds = {}
            self._feed_all()

    def _states(self) -> dict[str, Any]:
        saved = {
            name: feed.saved
            for name, feed in self.feeds.items()
            if feed.is_saved and feed.saved is not None
        }
        return {**self._saved, **saved}

    def saved(self) -> SavedFeeds:
        """Return what a snapshot keeps.

        A projection that is not saved is rebuilt from the record later.
        """
        with self._lock:
            return SavedFeeds(
                tuple(self._open), self._states(), self._began, self.turns, self.calls
            )

    def restore(self, saved: SavedFeeds) -> None:
        """Take back what `saved` returned; projections get their states when they are attached."""
        with self._lock:
            self._open = list(saved.open)
            self.turns, self.calls = saved.turns, saved.calls
            self._began = saved.began
            self._saved, self._saved_at = dict(saved.projections), self._facts


_TAKES: dict[type[Event], Callable[[Feeds, Any], None]] = {
    ToolInvoked: Feeds.ended,
    ModelResponded: Feeds.responded,
    UserMessage: Feeds.user_spoke,
    CompactionHappened: Feeds.compacted,
}
