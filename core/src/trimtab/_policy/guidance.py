"""Episodes, cool-downs, limits and order of guidance: pure bookkeeping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs

from trimtab._events import Delivery
from trimtab._events.guidance import StopRequested
from trimtab._types.text import blake2b, digest_of

if TYPE_CHECKING:
    from trimtab._events import Provenance
    from trimtab._events.guidance import (
        GuidanceDelivered,
        GuidanceInjection,
        GuidanceSuppressed,
        Proposal,
    )
    from trimtab._policy import GuidanceProviderConfig


MAX_LEVEL = 3
"""Nudge, firmer with the evidence, ask for help: what no third text changed, no fourth does."""
REARM_TURNS = 3
"""Turns without a problem after which it counts as over; the pause after a nudge is as long."""
_NO_EPISODES: Mapping[str, tuple[Episode, ...]] = {}


@attrs.frozen
class Episode:
    """One stretch of one problem.

    Args:
        key: names the problem.
        category: of the guidance that speaks about it.
        provider: who speaks about it.
        level: of the last nudge: 1 nudge, 2 firmer with evidence, 3 suggest consultation.
        nudges: how many were given.
        nudged_at: turn of the last nudge.
        seen_at: turn in which the problem was last seen.
        stop_asked: whether the host was to end the turn because of it.
    """

    key: str
    category: str
    provider: str
    level: int
    nudges: int
    nudged_at: int
    seen_at: int
    stop_asked: bool = False

    def waits_until(self, cooldown: int) -> int:
        """Return the first turn in which the next nudge may come.

        Args:
            cooldown: turns between two nudges; the pause doubles from the third nudge on.
        """
        return self.nudged_at + (cooldown << max(0, self.nudges - 2))


@attrs.define(eq=False, repr=False)
class EpisodeBook:
    open: dict[str, Episode] = attrs.field(factory=dict)

    def all(self) -> tuple[Episode, ...]:
        return tuple(self.open.values())

    def by_category(self) -> Mapping[str, tuple[Episode, ...]]:
        if not self.open:
            return _NO_EPISODES
        groups: dict[str, list[Episode]] = {}
        for episode in self.all():
            groups.setdefault(episode.category, []).append(episode)
        return {category: tuple(episodes) for category, episodes in groups.items()}

    def next_level(self, key: str) -> int:
        episode = self.open.get(key)
        return 1 if episode is None else min(episode.level + 1, MAX_LEVEL)

    def seen(self, key: str, turn: int) -> None:
        episode = self.open.get(key)
        if episode is not None and episode.seen_at != turn:
            self.open[key] = attrs.evolve(episode, seen_at=turn)

    def nudged(self, key: str, category: str, provider: str, turn: int) -> Episode:
        """Note a nudge; it opens the episode or takes it one level on."""
        old = self.open.get(key)
        nudges = old.nudges + 1 if old else 1
        asked = old is not None and old.stop_asked
        level = self.next_level(key)
        episode = Episode(key, category, provider, level, nudges, turn, turn, asked)
        self.open[key] = episode
        return episode

    def sweep(self, turn: int) -> None:
        """End the episodes whose problem has not been seen for some turns."""
        if self.open:
            stale = [e.key for e in self.open.values() if turn - e.seen_at > REARM_TURNS]
            for key in stale:
                del self.open[key]


EPISODE_SHARE = 2 / 3
"""Of a run's nudges, 4 of 6 by default, so that one lasting problem leaves some for another."""


class Candidate(NamedTuple):
    """One proposal with what policy needs to know of its provider."""

    source: Provenance
    config: GuidanceProviderConfig
    order: int
    proposal: Proposal
    held_back: str = ""
    paces_itself: bool = False

    @property
    def injection(self) -> GuidanceInjection:
        return self.proposal.injection

    @property
    def episode(self) -> str:
        """The problem that it is about; empty if its provider paces itself."""
        if self.paces_itself:
            return ""
        return self.proposal.classification.episode or self.injection.key


@attrs.frozen
class Spoken:
    """What one provider has said in a run."""

    total: int = 0
    turn: int = -1
    in_turn: int = 0
    last_text: str = ""

    def plus(self, turn: int, text: str) -> Spoken:
        in_turn = self.in_turn + 1 if turn == self.turn else 1
        return Spoken(self.total + 1, turn, in_turn, text)


SILENT = Spoken()


@attrs.define(eq=False, repr=False)
class GuidanceState:
    episodes: EpisodeBook = attrs.field(factory=EpisodeBook)
    spoken: dict[str, Spoken] = attrs.field(factory=dict)
    persisted: set[str] = attrs.field(factory=set)  # digests of texts in the model's history
    withheld: dict[str, str] = attrs.field(factory=dict)
    stop: StopRequested | None = None  # since the user last spoke

    def must_stop(self, episode: str, config: GuidanceProviderConfig, turn: int) -> bool:
        """Return whether the host is to end the turn, in place of one more nudge."""
        known = self.episodes.open.get(episode)
        if config.stop_after is None or known is None or known.stop_asked:
            return False
        # The agent has had as long to heed the last nudge as it had after the first.
        waited = turn >= known.nudged_at + max(1, config.cooldown_turns)
        return known.nudges >= config.stop_after and waited

    def stop_requested(self, event: StopRequested) -> None:
        known = self.episodes.open.get(event.episode)
        if known is not None:
            self.episodes.open[event.episode] = attrs.evolve(known, stop_asked=True)
        if event.outcome == "asked":
            self.stop = event

    def held_back(
        self, source: str, episode: str, config: GuidanceProviderConfig, turn: int
    ) -> str:
        """Return why a nudge about `episode` must wait, empty if it need not.

        Args:
            episode: the problem; empty for a provider that paces itself, which has limits only.
        """
        spoken = self.spoken.get(source, SILENT)
        if spoken.total >= config.max_per_run:
            return "run budget used up"
        if spoken.turn == turn and spoken.in_turn >= config.max_per_turn:
            return "turn limit reached"
        known = self.episodes.open.get(episode)
        if known is None:
            return ""
        if known.nudges >= max(1, round(config.max_per_run * EPISODE_SHARE)):
            return "episode budget used up"
        return "cooling down" if turn < known.waits_until(config.cooldown_turns) else ""

    def repeats_itself(self, candidate: Candidate, delivery: Delivery) -> bool:
        """Whether the agent has just read this text, or still has it in its history."""
        text = candidate.injection.content
        if delivery is Delivery.PERSISTED and digest_of(text) in self.persisted:
            return True
        return self.spoken.get(candidate.source.name, SILENT).last_text == text

    def delivered(self, event: GuidanceDelivered) -> None:
        self._count(event, event.injection, kept=event.delivery is Delivery.PERSISTED)

    def suppressed(self, event: GuidanceSuppressed) -> None:
        """Note what was held back; it counts if it was chosen: in shadow, or replayed."""
        if event.counted is None:
            self.withheld[event.episode or event.provider_name] = event.reason
        else:
            self._count(event, event.counted, kept=event.in_history)

    def _count(
        self,
        event: GuidanceDelivered | GuidanceSuppressed,
        injection: GuidanceInjection,
        *,
        kept: bool,
    ) -> None:
        provider = event.provider_name
        before = self.spoken.get(provider, SILENT)
        self.spoken[provider] = before.plus(event.turn, injection.content)
        if event.episode:
            self.episodes.nudged(event.episode, injection.category, provider, event.turn)
        self.withheld.pop(event.episode or provider, None)
        if kept:
            self.persisted.add(digest_of(injection.content))

    def newly_withheld(self, episode: str, reason: str) -> bool:
        """Whether this reason is new: one event per stretch, not one per turn."""
        if self.withheld.get(episode) == reason:
            return False
        self.withheld[episode] = reason
        return True


def in_shadow(config: GuidanceProviderConfig, source: Provenance, run_id: str) -> bool:
    """Whether a provider is only watched in this run; the same for every decision of the run."""
    if config.mode == "shadow" or config.holdout >= 1:
        return True
    if config.holdout <= 0:
        return False
    digest = blake2b(f"{source.name}\0{run_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64 < config.holdout


def select(
    candidates: Iterable[Candidate], *, limit: int
) -> tuple[tuple[Candidate, ...], tuple[tuple[Candidate, str], ...]]:
    """Choose among proposals: by priority, then prompt order; one per category; at most `limit`.

    Returns:
        The chosen ones in the order of delivery, and the others, each with the reason.
    """
    chosen: list[Candidate] = []
    dropped: list[tuple[Candidate, str]] = []
    for candidate in sorted(candidates, key=lambda c: (c.injection.priority, c.order)):
        reason = _clash(candidate, chosen, limit)
        if reason:
            dropped.append((candidate, reason))
        else:
            chosen.append(candidate)
    return tuple(chosen), tuple(dropped)


def _clash(candidate: Candidate, chosen: Sequence[Candidate], limit: int) -> str:
    if len(chosen) >= limit:
        return "guidance limit reached"
    category = candidate.injection.category
    if category and any(other.injection.category == category for other in chosen):
        return "another provider has spoken in this category"
    episode = candidate.episode
    if episode and any(other.episode == episode for other in chosen):
        return "another provider has spoken about this problem"
    if any(other.injection.content == candidate.injection.content for other in chosen):
        return "same text"
    return ""
