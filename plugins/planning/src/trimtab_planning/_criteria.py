"""Exit criteria and limits that are checked by functions, not taken on the agent's word."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from trimtab import Outcome, TaskCompletionContext, TaskCompletionResult, Tool, ToolInvoked
from trimtab.events import in_namespace
from trimtab.hosting import names_known
from trimtab.text import describe_error, quote, shorten
from trimtab_planning._history import CriterionResult

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


@names_known()
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


NAME = "plan-criteria"
_LONGEST = 1_000
_SHOWN = 300

Check: TypeAlias = Callable[[Any], "str | bool | None"]
"""Takes a context with `session`, `prompt`, `resources` and `filesystem`; returns what is
wrong. None and True say that the criterion is met, False that it is not."""


def _plain(_: object, __: object, check: Any) -> None:
    if check is None:
        return
    if not callable(check):
        raise TypeError(f"check must be a function, not {check!r:.80}")
    if inspect.iscoroutinefunction(check):
        raise TypeError("check must be a plain function: a tool without an event loop calls it")


@attrs.frozen
class ExitCriterion:
    """What must be true in the end, and a function that looks.

    Example:
        >>> from trimtab_planning import ExitCriterion, plan_act_reflect
        >>> def report_is_there(context):
        ...     return None if context.filesystem.exists("report.md") else "there is no report.md"
        >>> written = ExitCriterion("The report is written.", report_is_there)
        >>> strategy = plan_act_reflect(done_when=written)

    Args:
        text: for the agent.
        check: looks whether it is true: returns what is wrong, None if nothing is. It is called
            when the agent says that the plan is done, and before it may stop. Without one, the
            agent's word is all there is.

    Raises:
        TypeError: `check` is no plain function.
        ValueError: the text is empty.
    """

    text: str = attrs.field(validator=attrs.validators.min_len(1))
    check: Check | None = attrs.field(default=None, validator=_plain)

    def result(self, context: Any) -> CriterionResult:
        """Check it; a check that raises leaves it unknown.

        Args:
            context: what the function gets.
        """
        assert self.check is not None
        try:
            found = self.check(context)
        except Exception as error:  # noqa: BLE001 - the function is the client's
            detail = f"could not be checked: {describe_error(error)}"
            return CriterionResult(self.text, None, shorten(detail, _LONGEST))
        if isinstance(found, str) and found.strip():
            return CriterionResult(self.text, False, shorten(found, _LONGEST))
        if found is None or found is True or found == "":
            return CriterionResult(self.text, True)
        if found is False:
            return CriterionResult(self.text, False)
        detail = f"could not be checked: it returned {type(found).__name__}, not text, bool or None"
        return CriterionResult(self.text, None, detail)


def as_criteria(value: Any) -> tuple[ExitCriterion, ...]:
    """Return a text, a criterion or several of them as criteria; none for empty text."""
    if isinstance(value, str | ExitCriterion):
        value = (value,) if value else ()
    return tuple(ExitCriterion(item) if isinstance(item, str) else item for item in value)


def results(criteria: Iterable[ExitCriterion], context: Any) -> tuple[CriterionResult, ...]:
    """Check those of `criteria` that have a function."""
    return tuple(item.result(context) for item in criteria if item.check is not None)


def unmet(found: Iterable[CriterionResult]) -> str:
    """Return what is wrong, a criterion each; empty if nothing is known to be."""
    wrong = [item for item in found if item.met is False]
    return "; ".join(_words(item) for item in wrong)


def _words(item: CriterionResult) -> str:
    why = f" ({quote(item.detail, _SHOWN)[1:-1]})" if item.detail else ""
    return f"{quote(item.text, 120)} is not met{why}"


@attrs.frozen
class PlanCriteria:
    """The completion checker of a strategy whose exit criteria have functions.

    Args:
        criteria: those that are checked.
    """

    criteria: tuple[ExitCriterion, ...] = attrs.field(converter=as_criteria)

    name = NAME

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return ok, incomplete with what is wrong, or unverified where a check raised."""
        found = results(self.criteria, context)
        wrong = unmet(found)
        if wrong:
            met = sum(item.met is True for item in found)
            text = f"You may not stop yet: {wrong}. Do what is missing."
            return TaskCompletionResult.incomplete(text, progress=f"{met}/{len(found)}")
        unknown = next((item for item in found if item.met is None), None)
        if unknown is not None:
            text = f"{quote(unknown.text)} {unknown.detail}"
            return TaskCompletionResult.unverified(shorten(text, _LONGEST))
        return TaskCompletionResult.ok("All exit criteria that are checked are met.")
