"""Signals over the tool calls of one run: what providers read."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from trimtab.trajectory._profiles import ToolProfiles
    from trimtab.trajectory._projection import Feed, Projection, TurnRecord
    from trimtab.trajectory._records import CallRecord


class Source(Protocol):
    """Keeps what a trajectory is read from: a `TrajectoryWriter`."""

    profiles: ToolProfiles
    calls: int
    turns: int
    feeds: dict[str, Feed]

    def latest(self, *, since_user: bool = False) -> list[TurnRecord]: ...
    def tool_frequency(self) -> dict[str, int]: ...
    def recent(self, n: int) -> tuple[CallRecord, ...]: ...
    def attach(self, name: str, projection: Projection) -> Projection: ...


class Trajectory:
    """Signals over the tool calls of one run, read-only.

    `calls`, `turns` and `tool_frequency` count the whole run. The other signals are computed when
    they are read, from the last 64 turns, and count to 64 at most. The harness's own calls are
    left out everywhere. The user's count as calls, but other signals skip turns without a call of
    the model.

    Args:
        source: takes the run's events in.
    """

    __slots__ = ("_source",)

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def profiles(self) -> ToolProfiles:
        """What is known about the tools."""
        return self._source.profiles

    @property
    def calls(self) -> int:
        """Ended tool calls, without the harness's own."""
        return self._source.calls

    @property
    def turns(self) -> int:
        """Closed turns with calls of the model or the user."""
        return self._source.turns

    @property
    def consecutive_errors(self) -> int:
        """Closed turns in a row, since the user last spoke, in which every call failed."""
        count = 0
        for turn in self._source.latest(since_user=True):
            if not all(call.failed for call in turn.asked):
                break
            count += 1
        return count

    @property
    def repeats(self) -> int:
        """How often in a row, since the user last spoke, the last turn's calls brought the same.

        1 if they are new. Two turns are the same if their calls and answers are, as sets.
        """
        turns = self._source.latest(since_user=True)
        for count, (later, earlier) in enumerate(pairwise(turns), 1):
            if not later.repeats(earlier):
                return count
        return len(turns)

    @property
    def tool_frequency(self) -> Mapping[str, int]:
        """Calls by tool, over the whole run; names beyond the 256th together under ``…``."""
        return self._source.tool_frequency()

    def recent(self, n: int) -> tuple[CallRecord, ...]:
        """Return the last calls, oldest first, those of the open turn included.

        Args:
            n: how many; at most 64 are kept.
        """
        return self._source.recent(n)

    def attach(self, name: str, projection: Projection) -> Projection:
        """Feed a projection from now on, and return what is fed under `name`.

        A provider calls it in its hook ``run_opened``, marked with `trimtab.hookimpl`:
        ``context.trajectory.attach(self.name, MyProjection())``. In a restored session the
        projection first gets its saved state; if it has none, or joins a run late, it is rebuilt
        from the record of the run. A name that is taken keeps what it has.

        Args:
            name: the provider's name.
            projection: what is fed.
        """
        return self._source.attach(name, projection)

    def projection(self, name: str) -> Projection | None:
        """Return what is fed under `name`, up to date, or None.

        What the projection raises passes through: in a provider's call, it counts as the
        provider's failure.
        """
        feed = self._source.feeds.get(name)
        if feed is None:
            return None
        if feed.pending:
            feed.catch_up()
        return feed.projection
