"""Which proposals are delivered: thresholds, episodes, limits, order. Pure bookkeeping.

The rules are DESIGN 5's: per provider and turn, per provider and run, per decision, one per
category, a cool-down per episode, never the same text twice running.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from trimtab.guidance.episodes import EpisodeBook
from trimtab.runtime.host import Delivery

if TYPE_CHECKING:
    from trimtab.guidance.types import GuidanceDelivered, GuidanceInjection, Proposal
    from trimtab.plugins.settings import GuidanceProviderConfig
    from trimtab.plugins.source import Source

EPISODE_SHARE = 2 / 3


@attrs.frozen(eq=False, repr=False)
class Candidate:
    """One proposal with what policy needs to know of its provider."""

    source: Source
    config: GuidanceProviderConfig
    order: int
    proposal: Proposal

    @property
    def injection(self) -> GuidanceInjection:
        return self.proposal.injection

    @property
    def episode(self) -> str:
        return self.proposal.classification.episode or self.injection.key


class Spoken(NamedTuple):
    """What one provider has said in a run."""

    total: int = 0
    turn: int = -1
    in_turn: int = 0
    last_text: str = ""

    def plus(self, turn: int, text: str) -> Spoken:
        """Return the count after one more injection."""
        in_turn = self.in_turn + 1 if turn == self.turn else 1
        return Spoken(self.total + 1, turn, in_turn, text)


SILENT = Spoken()


class GuidanceState:
    """What the policy remembers of one run."""

    def __init__(self) -> None:
        self.episodes = EpisodeBook()
        self.spoken: dict[str, Spoken] = {}
        self.persisted: set[str] = set()  # of texts that still stand in the model's history
        self.withheld: dict[str, str] = {}

    def held_back(
        self, source: str, episode: str, config: GuidanceProviderConfig, turn: int
    ) -> str:
        """Return why a nudge about `episode` must wait, empty where it need not."""
        spoken = self.spoken.get(source, SILENT)
        if spoken.total >= config.max_per_run:
            return "run budget used up"
        if spoken.turn == turn and spoken.in_turn >= config.max_per_turn:
            return "turn limit reached"
        known = self.episodes.get(episode)
        if known is None:
            return ""
        if known.nudges >= max(1, round(config.max_per_run * EPISODE_SHARE)):
            return "episode budget used up"
        return "cooling down" if turn < known.waits_until(config.cooldown_turns) else ""

    def nudges_of(self, provider: str) -> int:
        """Return how often `provider` has spoken, shadow mode included."""
        return self.spoken.get(provider, SILENT).total

    def repeats_itself(self, candidate: Candidate, delivery: Delivery) -> bool:
        """Whether the agent has just read this text, or still has it before its eyes."""
        text = candidate.injection.content
        if delivery is Delivery.PERSISTED and _digest(text) in self.persisted:
            return True
        return self.spoken.get(candidate.source.name, SILENT).last_text == text

    def delivered(self, event: GuidanceDelivered) -> None:
        """Count one delivery."""
        self.count(event.provider_name, event.episode, event.injection, event.turn)
        if event.delivery is Delivery.PERSISTED:
            self.persisted.add(_digest(event.injection.content))

    def count(self, provider: str, episode: str, injection: GuidanceInjection, turn: int) -> None:
        """Count one nudge, whether it was delivered or kept in the shadow."""
        before = self.spoken.get(provider, SILENT)
        self.spoken[provider] = before.plus(turn, injection.content)
        self.episodes.nudged(episode, injection.category, provider, turn)
        self.withheld.pop(episode, None)

    def newly_withheld(self, episode: str, reason: str) -> bool:
        """Whether this reason is news: one event per stretch, not one per turn."""
        if self.withheld.get(episode) == reason:
            return False
        self.withheld[episode] = reason
        return True

    def state(self) -> dict[str, Any]:
        """Return what a snapshot keeps."""
        return {
            "episodes": self.episodes.state(),
            "spoken": dict(self.spoken),
            "persisted": sorted(self.persisted),
            "withheld": dict(self.withheld),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> GuidanceState:
        """Return the memory that `state` describes."""
        made = cls()
        made.episodes = EpisodeBook.from_state(state["episodes"])
        made.spoken = {name: Spoken(*values) for name, values in state["spoken"].items()}
        made.persisted = set(state["persisted"])
        made.withheld = dict(state["withheld"])
        return made


def in_shadow(config: GuidanceProviderConfig, source: Source, run_id: str) -> bool:
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
        return "category already spoken for"
    if any(other.injection.content == candidate.injection.content for other in chosen):
        return "same text"
    return ""


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
