"""Episodes: one stretch of one trouble, nudged with growing firmness and growing pauses.

One place for all guidance providers (DESIGN 5, "repeated nudges"): nudge, firmer with
evidence, suggest consultation; a cool-down between them; re-armed by progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

MAX_LEVEL = 3
REARM_TURNS = 3
_NO_EPISODES: Mapping[str, tuple[Episode, ...]] = {}


@attrs.frozen
class Episode:
    """One stretch of one trouble.

    Args:
        key: names the trouble.
        category: of the guidance that speaks about it.
        provider: who speaks about it.
        level: of the last nudge: 1 nudge, 2 firmer with evidence, 3 suggest consultation.
        nudges: how many were given.
        nudged_at: turn of the last nudge.
        seen_at: turn in which the trouble was last seen.
    """

    key: str
    category: str
    provider: str
    level: int
    nudges: int
    nudged_at: int
    seen_at: int

    def waits_until(self, cooldown: int) -> int:
        """Return the first turn of the next nudge: the pause doubles from the third on."""
        return self.nudged_at + (cooldown << max(0, self.nudges - 2))


class EpisodeBook:
    """The open episodes of one run."""

    def __init__(self, episodes: Iterable[Episode] = ()) -> None:
        self._open: dict[str, Episode] = {episode.key: episode for episode in episodes}

    def __bool__(self) -> bool:
        return bool(self._open)

    def get(self, key: str) -> Episode | None:
        """Return the open episode `key`."""
        return self._open.get(key)

    def by_category(self) -> Mapping[str, tuple[Episode, ...]]:
        """Return the open episodes, grouped."""
        if not self._open:
            return _NO_EPISODES
        groups: dict[str, list[Episode]] = {}
        for episode in tuple(self._open.values()):
            groups.setdefault(episode.category, []).append(episode)
        return {category: tuple(episodes) for category, episodes in groups.items()}

    def next_level(self, key: str) -> int:
        """Return the level at which the next nudge would speak."""
        episode = self._open.get(key)
        return 1 if episode is None else min(episode.level + 1, MAX_LEVEL)

    def seen(self, key: str, turn: int) -> None:
        """Note that the trouble is still there."""
        episode = self._open.get(key)
        if episode is not None and episode.seen_at != turn:
            self._open[key] = attrs.evolve(episode, seen_at=turn)

    def nudged(self, key: str, category: str, provider: str, turn: int) -> Episode:
        """Note a nudge; it opens the episode or takes it one level on."""
        old = self._open.get(key)
        nudges = old.nudges + 1 if old else 1
        episode = Episode(key, category, provider, self.next_level(key), nudges, turn, turn)
        self._open[key] = episode
        return episode

    def close(self, key: str) -> None:
        """End an episode: its provider saw progress."""
        self._open.pop(key, None)

    def close_all(self) -> None:
        """End all episodes: a new request of the user starts afresh."""
        self._open.clear()

    def sweep(self, turn: int) -> None:
        """End the episodes whose trouble has not been seen for some turns."""
        if self._open:
            stale = [e.key for e in self._open.values() if turn - e.seen_at > REARM_TURNS]
            for key in stale:
                del self._open[key]

    def state(self) -> list[dict[str, Any]]:
        """Return what a snapshot keeps."""
        return [attrs.asdict(episode) for episode in self._open.values()]

    @classmethod
    def from_state(cls, state: Iterable[Mapping[str, Any]]) -> EpisodeBook:
        """Return the book that `state` describes."""
        return cls(Episode(**item) for item in state)
