"""The conversations that are under way, and the indexes by which a request finds its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from trimtab import SYSTEM_CLOCK, Clock, Session
from trimtab_proxy._identity import (
    History,
    Link,
    Name,
    Relation,
    chain,
    link,
    only_repeats_the_user,
)
from trimtab_proxy._items import Answer, text_key

if TYPE_CHECKING:
    from trimtab_proxy._follower import Follower

K = TypeVar("K")
MOST_THREADS = 64
MOST_BRANCHES = 32
MOST_IDS = 4_096
AGE_SECONDS = 3600.0


@attrs.define(eq=False, slots=True, weakref_slot=True)
class Talk:
    """The agents of one conversation with the user; they share a session, and its recorders."""

    session: Session
    recorders: tuple[Any, ...] = ()
    opened: Counter[str] = attrs.field(factory=Counter)
    branches: int = 0

    def run_id(self, prompt_name: str, name: Name) -> str:
        """Return an id for one more run, by the names that the program gives."""
        run_id = "/".join(filter(None, (prompt_name, name.session, name.agent)))
        self.opened[run_id] += 1
        again = self.opened[run_id]
        return f"{run_id}~{again}" if again > 1 else run_id


@attrs.define(eq=False)
class Thread:
    """One conversation of one agent.

    Args:
        lane: stands for the tools that the model is offered.
        told: keys of the items that its run knows.

    Attributes:
        seen: keys of all items of the last request.
        words: what was said in the last request that ended with a tool's answer.
    """

    follower: Follower
    talk: Talk
    name: Name | None = None
    lane: int = 0
    told: list[str] = attrs.field(factory=list)
    seen: list[str] = attrs.field(factory=list)
    words: str = ""
    number: int = 0
    used: float = 0.0
    lock: RLock = attrs.field(factory=RLock)
    closed: bool = False
    ids: dict[str, None] = attrs.field(factory=dict)
    chains: set[int] = attrs.field(factory=set)


@attrs.frozen
class Found:
    """The conversation of a request, and how the request stands to it."""

    relation: Relation
    thread: Thread | None = None
    link: Link = Link(Relation.NEW, 0, 0)


class Threads:
    """Conversations by name, by the ids of their calls and by their words, within limits."""

    def __init__(
        self,
        clock: Clock = SYSTEM_CLOCK,
        *,
        most: int = MOST_THREADS,
        age_seconds: float = AGE_SECONDS,
    ) -> None:
        self._clock = clock
        self._most = most
        self._age_seconds = age_seconds
        self._threads: dict[Thread, None] = {}
        self._by_name: dict[Name, list[Thread]] = {}
        self._by_id: dict[str, list[Thread]] = {}
        self._by_chain: dict[int, Thread] = {}
        self.lock = RLock()

    def __len__(self) -> int:
        return len(self._threads)

    def __iter__(self) -> Iterator[Thread]:
        return iter(tuple(self._threads))

    # Finding.

    def find(self, now: History, name: Name | None, lane: int) -> Found:
        """Return the conversation that a request belongs to; `NEW` where it is in none."""
        named = self._by_name.get(name, ()) if name else ()
        best = _best(now, named)
        if best is not None:
            return best
        other = self._by_words(now) or _best(now, self._by_ids(now))
        if other is None or other.thread is None:
            return _compacted(named, lane) or Found(Relation.NEW)
        if name and other.thread.name and other.thread.name != name:
            return attrs.evolve(other, relation=Relation.FORK)
        return other

    def _by_words(self, now: History) -> Found | None:
        """Look for a conversation whose last request this one extends, key by key."""
        if not now.has_answers:
            return None
        hashes = chain(now.keys)
        for index in range(len(hashes) - 1, -1, -1):
            thread = self._by_chain.get(hashes[index])
            if thread is not None:
                found = link(now, thread.told)
                return Found(found.relation, thread, found) if found else None
        return None

    def _by_ids(self, now: History) -> Sequence[Thread]:
        """Return the conversations that know the last call that any conversation knows."""
        for key in reversed(now.keys):
            if key[0] == "c" and key in self._by_id:
                return self._by_id[key]
        return ()

    # Keeping.

    def add(self, thread: Thread) -> None:
        """Keep a conversation; older ones may go for it."""
        self._threads[thread] = None
        thread.used = self._clock.monotonic()
        if thread.name is not None:
            self._by_name.setdefault(thread.name, []).append(thread)

    def use(self, thread: Thread) -> None:
        """Note that a conversation goes on."""
        if thread in self._threads:
            del self._threads[thread]
            self._threads[thread] = None
            thread.used = self._clock.monotonic()

    def settled(self, thread: Thread, now: History) -> None:
        """Index a conversation by what its last request held."""
        if thread.name is None and now.has_answers:
            self._forget_chains(thread)
            self._index_chains(thread, (chain(now.keys[: now.told])[-1], chain(now.keys)[-1]))
        self.index_ids(thread, (key for key in now.keys[: now.told] if key[0] == "c"))

    def answered(self, thread: Thread, chained: int, answer: Answer) -> None:
        """Index a conversation by the answer to a request, whose items `chained` stands for."""
        self.index_ids(thread, (f"c{call.call_id}" for call in answer.calls if call.call_id))
        if thread.name is None and not answer.calls and answer.text.strip():
            self._index_chains(thread, chain([text_key(answer.text)], chained))

    def index_ids(self, thread: Thread, keys: Iterable[str]) -> None:
        """Index a conversation by ids of calls."""
        for key in keys:
            if key not in thread.ids:
                thread.ids[key] = None
                self._by_id.setdefault(key, []).append(thread)
        while len(thread.ids) > MOST_IDS:
            oldest = next(iter(thread.ids))
            del thread.ids[oldest]
            _take_out(self._by_id, oldest, thread)

    def drop(self, thread: Thread) -> None:
        """Forget a conversation."""
        self._threads.pop(thread, None)
        if thread.name is not None:
            _take_out(self._by_name, thread.name, thread)
        for key in thread.ids:
            _take_out(self._by_id, key, thread)
        thread.ids.clear()
        self._forget_chains(thread)
        thread.closed = True

    def overdue(self) -> list[Thread]:
        """Return the conversations that have to go, the oldest first."""
        too_old = self._clock.monotonic() - self._age_seconds
        spare = len(self._threads) - self._most
        due = []
        for index, thread in enumerate(self._threads):
            if index >= spare and thread.used > too_old:
                break
            due.append(thread)
        return due

    def _index_chains(self, thread: Thread, hashes: Iterable[int]) -> None:
        for value in hashes:
            self._by_chain[value] = thread
            thread.chains.add(value)

    def _forget_chains(self, thread: Thread) -> None:
        for value in thread.chains:
            if self._by_chain.get(value) is thread:
                del self._by_chain[value]
        thread.chains.clear()


def _best(now: History, threads: Iterable[Thread]) -> Found | None:
    """Return the conversation that shares most with a request, where one shares anything."""
    best: Found | None = None
    for thread in threads:
        found = link(now, thread.told) if thread.told else _begun(now, thread)
        if found is None:
            continue
        relation = found.relation
        if relation is Relation.REWIND and only_repeats_the_user(now, thread.told):
            continue
        if best is None or _rank(found) > _rank(best.link):
            best = Found(relation, thread, found)
    return best


def _begun(now: History, thread: Thread) -> Link | None:
    """Return how a request stands to a conversation in which the model has not been heard yet."""
    if now.keys[:1] != thread.seen[:1]:
        return None
    return Link(Relation.NEXT if now.told else Relation.RETRY, 0, 0)


def _rank(found: Link) -> tuple[bool, int]:
    extends = found.relation in {Relation.NEXT, Relation.RETRY}
    return extends, max(found.shared, found.known)


def _compacted(threads: Sequence[Thread], lane: int) -> Found | None:
    """Return the conversation whose place a request takes that shares nothing with any."""
    for thread in reversed(threads):
        if thread.told and thread.lane == lane:
            return Found(Relation.COMPACTED, thread, Link(Relation.COMPACTED, 0, 0))
    return None


def _take_out(index: dict[K, list[Thread]], key: K, thread: Thread) -> None:
    threads = index.get(key)
    if threads is not None:
        threads[:] = [other for other in threads if other is not thread]
        if not threads:
            del index[key]
