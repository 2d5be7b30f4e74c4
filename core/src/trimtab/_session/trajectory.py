"""A run as its providers follow it: declared tools, counts, projections."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from trimtab._session.projection import BaseProjection, Projection

if TYPE_CHECKING:
    from trimtab._session.feeds import Feeds
    from trimtab._types.profiles import ToolProfile

P = TypeVar("P", bound=BaseProjection)


class Trajectory:
    """The tool calls of one run, as projections follow them.

    The harness's own calls are left out everywhere.

    Args:
        feeds: takes the run's events in.
    """

    __slots__ = ("_feeds",)

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds

    @property
    def tool_profiles(self) -> tuple[ToolProfile, ...]:
        """What prompt and host declare about the tools, in order of precedence."""
        return self._feeds.profiles

    @property
    def calls(self) -> int:
        """Ended tool calls."""
        return self._feeds.calls

    @property
    def turns(self) -> int:
        """Closed turns with calls."""
        return self._feeds.turns

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
        return self._feeds.attach(name, projection)

    def projection(self, name: str) -> Projection | None:
        """Return what is fed under `name`, up to date, or None.

        What the projection raises passes through: in a provider's call, it counts as the
        provider's failure.

        Args:
            name: the provider's name.
        """
        feed = self._feeds.feeds.get(name)
        if feed is None:
            return None
        feed.catch_up()
        return feed.projection

    def follow(self, kind: type[P]) -> P:
        """Return the projection of a class that the providers of a run share, up to date.

        It is made with `BaseProjection.of_run` when it is first needed or asked for, and saved
        with the session like all others. What it raises passes through.

        Args:
            kind: its class.
        """
        return self._feeds.follow(kind)  # type: ignore[return-value]
