"""The provider: says rules of the user again."""

from __future__ import annotations

from collections.abc import Iterable

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
from trimtab.trajectory import Following
from trimtab_reminder._memory import Gauges, Memory, is_due
from trimtab_reminder._rule import Rule, as_rules

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
