"""Guidance for LLM agents: repeats the rules of the user where they fade in long runs."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
    RunContext,
    whole_number,
)
from trimtab.trajectory import BaseProjection, Following, MessageRecord
from trimtab_reminder._rule import Rule, as_rules

__all__ = ["Reminder", "Rule"]


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


@attrs.define(eq=False)
class Memory(BaseProjection):
    """Remembers of one run when each rule was said.

    Attributes:
        said: how things stood when a rule was said last, by its text.
        offered: the rules that were handed over last, until it is known whether they were said.
    """

    said: dict[str, Gauges] = attrs.field(factory=dict)
    offered: Offered | None = None
    _compactions: int = 0
    _requests: int = 0

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


NAME = "reminder"
LONGEST = 500
"""Of all rules that are due at once: as long as a nudge may be."""
SEVERAL = "• "


@attrs.frozen
class _Due:
    """The rules that fit in one text, and how things stand."""

    rules: tuple[Rule, ...]
    now: Gauges


@attrs.frozen
class Reminder(Following[Memory]):
    """Repeats rules of the user in a long run, word for word.

    It paces itself: none of core's pauses holds it back. The limits of the prompt do, so
    give it a ``max_per_run`` that lasts as long as the run.

    Args:
        rules: each a text, which is repeated every 20 turns; or a table with the fields of
            `Rule`; or a `Rule`.
        context_window: tokens of the model's context window, for rules with ``at_context``.

    Raises:
        TypeError, ValueError: a rule has the wrong type or is out of its bounds.
    """

    rules: tuple[Rule, ...] = attrs.field(converter=as_rules)
    context_window: int | None = attrs.field(
        default=None, kw_only=True, validator=whole_number(1, optional=True)
    )

    name = NAME
    category = NAME
    paces_itself = True

    def __attrs_post_init__(self) -> None:
        if self.context_window is None and any(rule.at_context for rule in self.rules):
            raise ValueError(
                "a rule with at_context needs context_window, the tokens that the model can read"
            )

    @property
    def decision_points(self) -> tuple[DecisionPoint, ...]:
        """Where the rules are said."""
        return tuple(dict.fromkeys(rule.point for rule in self.rules))

    def projection(self, context: RunContext) -> Memory:  # noqa: ARG002
        """Return what remembers when each rule was said."""
        return Memory()

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Decide which rules are due."""
        memory = self.followed(context)
        now = memory.gauges(context, self.context_window)
        memory.settle(context.nudges_of(NAME), now)
        due = [
            rule
            for rule in self.rules
            if rule.point is context.decision_point
            and _is_about(rule, context)
            and is_due(rule, memory.said.get(rule.text), now)
        ]
        if not due:
            return NOT_RELEVANT
        due.sort(key=lambda rule: memory.said.get(rule.text, Gauges(turn=-1)).turn)
        rules = _that_fit(due)
        reason = f"{len(rules)} of {len(self.rules)} rules"
        return ClassificationResult(True, reason=reason, found=_Due(rules, now))

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return the rules that are due."""
        found: _Due = context.found
        texts = tuple(rule.text for rule in found.rules)
        memory = self.followed(context)
        memory.offer(texts, found.now, context.nudges_of(NAME))
        return GuidanceInjection(NAME, _joined(texts), priority=300, category=self.category)


def _is_about(rule: Rule, context: GuidanceContext) -> bool:
    """Return whether a call that the rule names is about to run, or has ended."""
    if not rule.tools:
        return True
    if rule.point is DecisionPoint.PRE_TOOL_EXECUTION:
        return any(call.tool in rule.tools for call in context.pending_tool_calls)
    return context.last_call is not None and context.last_call.tool in rule.tools


def _that_fit(due: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules whose texts one injection holds; the others are due the next time."""
    kept: list[Rule] = []
    for rule in due:
        if len(_joined([other.text for other in (*kept, rule)])) <= LONGEST:
            kept.append(rule)
    return tuple(kept)


def _joined(texts: Iterable[str]) -> str:
    all_texts = list(texts)
    if len(all_texts) == 1:
        return all_texts[0]
    return "\n".join(SEVERAL + text for text in all_texts)
