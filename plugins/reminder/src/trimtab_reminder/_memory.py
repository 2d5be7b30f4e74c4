"""What has been said of each rule, and how things stood then."""

from __future__ import annotations

from math import inf

import attrs

from trimtab import DecisionPoint, GuidanceContext
from trimtab.trajectory import BaseProjection, MessageRecord
from trimtab_reminder._rule import Rule


@attrs.frozen
class Gauges:
    """How things stand in a run.

    Attributes:
        turn: turns so far.
        context: the used share of the model's context window.
        budget: the used share of the limit that is used up most.
        compactions: of the model's history so far.
        requests: of the user so far.
    """

    turn: int = 0
    context: float = 0.0
    budget: float = 0.0
    compactions: int = 0
    requests: int = -1


@attrs.frozen
class Offered:
    """Rules that were handed to core, which may still hold them back.

    Attributes:
        texts: of the rules.
        gauges: how things stood.
        nudges: how often the provider had spoken.
    """

    texts: tuple[str, ...]
    gauges: Gauges
    nudges: int


@attrs.frozen
class SavedMemory:
    """A `Memory` as a snapshot keeps it."""

    said: dict[str, Gauges]
    offered: Offered | None
    compactions: int
    requests: int


class Memory(BaseProjection):
    """Remembers of one run when each rule was said.

    Attributes:
        said: how things stood when a rule was said last, by its text.
        offered: the rules that were handed over last, until it is known whether they were said.
    """

    def __init__(self) -> None:
        self.said: dict[str, Gauges] = {}
        self.offered: Offered | None = None
        self._compactions = 0
        self._requests = 0

    def gauges(self, context: GuidanceContext, window: int | None) -> Gauges:
        """Return how things stand now.

        Args:
            context: the run.
            window: tokens of the model's context window; None if unknown.
        """
        return Gauges(
            context.turn_count,
            _context_share(context, window),
            _budget_share(context),
            self._compactions,
            self._requests,
        )

    def offer(self, texts: tuple[str, ...], now: Gauges, nudges: int) -> None:
        """Note which rules are handed to core.

        Args:
            texts: of the rules.
            now: how things stand.
            nudges: how often the provider has spoken before.
        """
        self.offered = Offered(texts, now, nudges)

    def settle(self, nudges: int, now: Gauges) -> None:
        """Note what was said, and forget shares of the context that are free again.

        Called again it changes nothing more.

        Args:
            nudges: how often the provider has spoken.
            now: how things stand.
        """
        if self.offered is not None and nudges > self.offered.nudges:
            self.said.update(dict.fromkeys(self.offered.texts, self.offered.gauges))
            self.offered = None
        for text, then in self.said.items():
            if now.context < then.context:
                self.said[text] = attrs.evolve(then, context=now.context)

    def compacted(self) -> None:
        """Count a compaction."""
        self._compactions += 1

    def user_spoke(self, message: MessageRecord) -> None:
        """Count a request."""
        self._requests += not message.notification

    def state(self) -> SavedMemory:
        """Return everything."""
        return SavedMemory(dict(self.said), self.offered, self._compactions, self._requests)

    def load_state(self, state: SavedMemory) -> None:
        """Take back what `state` returned."""
        self.said, self.offered = dict(state.said), state.offered
        self._compactions, self._requests = state.compactions, state.requests


def is_due(rule: Rule, said: Gauges | None, now: Gauges) -> bool:
    """Return whether a rule is to be said, at its decision point.

    Args:
        rule: the rule.
        said: how things stood when it was said last; None if it was not.
        now: how things stand.
    """
    then = said or Gauges()
    if rule.at_its_point:
        return rule.point is not DecisionPoint.PRE_RESPONSE or now.requests > then.requests
    return (
        (rule.after_compaction and now.compactions > then.compactions)
        or any(then.context < share <= now.context for share in rule.at_context)
        or any(then.budget < share <= now.budget for share in rule.at_budget)
        or now.turn >= _next_turn(rule, said)
    )


def _next_turn(rule: Rule, said: Gauges | None) -> float:
    """Return the turn from which on a rule is due; infinite if turns don't matter."""
    if rule.turns is None:
        return inf
    if said is None:
        return rule.turns if rule.first_after is None else rule.first_after
    return said.turn + rule.turns


def _context_share(context: GuidanceContext, window: int | None) -> float:
    last = context.last_response
    if window is None or last is None or last.usage is None:
        return 0.0
    return last.usage.total_tokens / window


def _budget_share(context: GuidanceContext) -> float:
    shares, most = [0.0], context.host.max_turns
    if context.budget is not None:
        counts = {"turns": context.turn_count, "calls": context.tool_call_count}
        used = context.budget.shares(context.usage, context.active_seconds, **counts)
        shares += used.values()
    if most is not None:
        shares.append(context.turns_of_request / most)
    deadline = context.deadline
    if deadline is not None:
        left, total = deadline.remaining().total_seconds(), deadline.total
        shares.append(1 - left / total if total > 0 else 1.0)
    return max(shares)
