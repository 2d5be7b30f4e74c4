"""One rule of the user, and when it is repeated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from trimtab import DecisionPoint, number, whole_number
from trimtab.hosting import names_known
from trimtab.text import CONTROL_CHARACTERS

LONGEST_TEXT = 480
"""Leaves room for the marks by which several rules are told apart in one text of 500 characters."""

EVERY_TURNS = 20
"""A rule that says nothing else is repeated after so many turns."""

_ABOUT_CALLS = (DecisionPoint.PRE_TOOL_EXECUTION, DecisionPoint.POST_TOOL_RESULT)


def _as_shares(value: Any) -> Any:
    if value is None:
        return ()
    if isinstance(value, int | float):
        return (value,)
    return tuple(sorted(value)) if isinstance(value, list | tuple | set) else value


def _shares(rule: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, tuple):
        raise TypeError(f"{attribute.name} must be a share or a list of them, not {value!r:.100}")
    for share in value:
        number(0, 1, above=True)(rule, attribute, share)


def _as_names(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list | tuple | set | frozenset) else value


def _names(_: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"{attribute.name} must be a list of names of tools, not {value!r:.100}")


def _as_point(value: Any) -> DecisionPoint:
    try:
        return DecisionPoint(value)
    except ValueError:
        known = ", ".join(repr(point.value) for point in DecisionPoint)
        raise ValueError(f"point must be one of {known}, not {value!r:.100}") from None


def _text(_: object, __: object, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"text must be text, not {value!r:.100}")
    if not value.strip() or len(value) > LONGEST_TEXT or CONTROL_CHARACTERS.search(value):
        raise ValueError(
            f"text must have 1 to {LONGEST_TEXT} characters, without control characters: "
            f"{value!r:.100}"
        )


@names_known()
@attrs.frozen
class Rule:
    """A text of the user, and when the agent reads it again.

    Any of `every_turns`, `at_context`, `at_budget` and `after_compaction` suffices. Without any
    of them the rule is repeated every 20 turns; with a `point` of its own, whenever the agent gets
    there: once for each request of the user at ``"pre_response"``, and for each batch of
    calls, or each answer, at the points about calls.

    Args:
        text: what the agent reads, at most 480 characters.
        every_turns: turns between two times.
        first_after: turns before the first time, 0 for the first request; `every_turns` if None.
        at_context: shares of the model's context window, each above 0 and at most 1. The
            provider's ``context_window`` says how large that is.
        at_budget: shares of the limit that is used up most: of the budget, of the deadline, or
            of the turns that the host allows.
        after_compaction: whether it is repeated when the model's history was shortened.
        point: the decision point at which it is said.
        tools: only about calls of these, at ``"pre_tool_execution"`` and ``"post_tool_result"``.

    Raises:
        TypeError, ValueError: a field has the wrong type or is out of its bounds.
    """

    text: str = attrs.field(validator=_text)
    every_turns: int | None = attrs.field(
        default=None, kw_only=True, validator=whole_number(1, optional=True)
    )
    first_after: int | None = attrs.field(
        default=None, kw_only=True, validator=whole_number(0, optional=True)
    )
    at_context: tuple[float, ...] = attrs.field(
        default=(), kw_only=True, converter=_as_shares, validator=_shares
    )
    at_budget: tuple[float, ...] = attrs.field(
        default=(), kw_only=True, converter=_as_shares, validator=_shares
    )
    after_compaction: bool = attrs.field(
        default=False, kw_only=True, validator=attrs.validators.instance_of(bool)
    )
    point: DecisionPoint = attrs.field(
        default=DecisionPoint.PRE_TOOL_SELECTION, kw_only=True, converter=_as_point
    )
    tools: tuple[str, ...] = attrs.field(
        default=(), kw_only=True, converter=_as_names, validator=_names
    )

    def __attrs_post_init__(self) -> None:
        if self.tools and self.point not in _ABOUT_CALLS:
            raise ValueError(
                "tools needs point = 'pre_tool_execution' or 'post_tool_result', not "
                f"{self.point.value!r}"
            )

    @property
    def turns(self) -> int | None:
        """Turns between two times; None if turns do not matter."""
        if self.every_turns is not None or self.first_after is not None:
            return self.every_turns or EVERY_TURNS
        counted = self.at_context or self.at_budget or self.after_compaction
        return None if counted or self.at_its_point else EVERY_TURNS

    @property
    def at_its_point(self) -> bool:
        """Whether it is said whenever the agent comes to its decision point."""
        counted = (self.every_turns, self.first_after) != (None, None)
        counted = counted or bool(self.at_context or self.at_budget or self.after_compaction)
        return not counted and self.point is not DecisionPoint.PRE_TOOL_SELECTION


def as_rules(value: Iterable[str | Mapping[str, object] | Rule]) -> tuple[Rule, ...]:
    """Return rules from texts, tables of a file, and rules.

    Args:
        value: a list of them.

    Raises:
        TypeError, ValueError: one of them is no rule; the message says which.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"rules must be a list of texts or tables, not {value!r:.100}")
    rules = tuple([_as_rule(index, one) for index, one in enumerate(value)])
    texts = [rule.text for rule in rules]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise ValueError(f"two rules have the text {twice!r:.100}: give one of them both times")
    if not rules:
        raise ValueError("rules is empty: say what the agent is to be reminded of")
    return rules


def _as_rule(index: int, value: Any) -> Rule:
    if isinstance(value, Rule):
        return value
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping):
        raise TypeError(f"rules[{index}] must be a text, a table or a Rule, not {value!r:.100}")
    known = attrs.fields_dict(Rule)
    unknown = [str(name) for name in value if name not in known]
    if unknown or "text" not in value:
        wrong = f"has no field {unknown[0]!r:.60}" if unknown else "has no text"
        raise ValueError(f"rules[{index}] {wrong}; its fields are {', '.join(known)}")
    try:
        return Rule(**value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"rules[{index}]: {error}") from None
