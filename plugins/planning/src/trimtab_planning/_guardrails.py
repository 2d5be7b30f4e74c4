"""Limits of a prompt or a stage, shown to the agent and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from trimtab import Outcome, Tool, ToolInvoked
from trimtab.events import in_namespace

_NOT_RUN = (Outcome.INVALID, Outcome.DENIED)
Filter: TypeAlias = Callable[[str], str | None]
"""Takes the text of an output; returns what is wrong with it, None if it may pass."""


def _tuple_of_text(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


def _rules(value: Any) -> tuple[str, ...]:
    return _tuple_of_text(value) or ()


def _positive(_: object, attribute: attrs.Attribute[Any], value: int | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"{attribute.name} must be above 0, or None for no limit, not {value}")


@attrs.frozen
class Guardrails:
    """Limits of a prompt or a stage.

    Args:
        rules: in words, for the agent.
        max_tokens: input and output together; None is no limit.
        tools: names and namespaces of the tools that may be called; None is all, none is none.
        filters: functions that take the text of an output and return what is wrong with it.

    Raises:
        ValueError: `max_tokens` is not above 0.
    """

    rules: tuple[str, ...] = attrs.field(default=(), converter=_rules)
    max_tokens: int | None = attrs.field(default=None, kw_only=True, validator=_positive)
    tools: tuple[str, ...] | None = attrs.field(
        default=None, kw_only=True, converter=_tuple_of_text
    )
    filters: tuple[Filter, ...] = attrs.field(default=(), kw_only=True, converter=tuple)

    def allows(self, tool: str) -> bool:
        """Whether `tool` may be called."""
        return self.tools is None or any(in_namespace(tool, name) for name in self.tools)

    def allowed(self, tools: Iterable[Tool[Any, Any]]) -> tuple[Tool[Any, Any], ...]:
        """Return those of `tools` that may be called."""
        return tuple(tool for tool in tools if self.allows(tool.name))

    def breached(self, calls: Iterable[ToolInvoked]) -> str | None:
        """Return what is wrong with calls that ran, None if all may be made.

        A call that did not run is no breach: the agent was told that there is no such tool.
        """
        ran = (call for call in calls if call.outcome not in _NOT_RUN)
        wrong = next((call for call in ran if not self.allows(call.tool)), None)
        return None if wrong is None else f"tool {wrong.tool[:80]!r} is not allowed here"

    def lines(self) -> list[str]:
        """Return the limits in words, one each."""
        lines = list(self.rules)
        if self.max_tokens is not None:
            lines.append(f"Use at most {self.max_tokens:,} tokens.")
        if self.tools is not None:
            names = ", ".join(self.tools)
            lines.append(f"Call only these tools: {names}." if names else "Call no tools.")
        return lines


def as_guardrails(value: Any) -> Guardrails:
    """Return a text, or several, as rules; guardrails as they are; none for None."""
    if isinstance(value, Guardrails):
        return value
    return Guardrails(() if value is None else value)
