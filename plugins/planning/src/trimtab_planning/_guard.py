"""What a plan says about a tool call, and tools that refuse a call which leaves the plan."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import attrs

from trimtab import Plan, PlanStep, Tool, ToolContext, ToolResult
from trimtab.events import in_namespace
from trimtab.text import quote, shorten
from trimtab_planning._book import PlanBook
from trimtab_planning._plan_calls import (
    PLAN_REFLECT,
    PLAN_SET,
    PLAN_UPDATE_STEP,
    is_neutral,
    planning_tool,
)
from trimtab_planning._plans import tool_names

MOST_REMEMBERED = 256


class Breach(StrEnum):
    """How a call leaves the plan."""

    NO_PLAN = "no-plan"
    OFF_STEP = "off-step"


@attrs.frozen
class Deviation:
    """A call that leaves the plan.

    Args:
        breach: how.
        step: the current step, None without a plan.
        wanted: a later step that lists the tool.
    """

    breach: Breach
    step: PlanStep | None = None
    wanted: PlanStep | None = None

    @property
    def episode(self) -> str:
        """Name of the episode."""
        return self.breach if self.step is None else f"{self.breach}:{self.step.step_id}"


def declares(step: PlanStep, tool: str) -> bool:
    """Whether `step` allows `tool`: it lists it, or lists no tools at all."""
    return not step.tools or step.uses(tool)


def breach(plan: Plan | None, tool: str, *, free: Iterable[str] = ()) -> Deviation | None:
    """Return how a call of `tool` leaves `plan`, None if it keeps to it.

    Tools that keep plans, ask the user or load tools are always right, and so is every tool once
    the plan is completed.
    """
    if is_neutral(tool) or any(in_namespace(tool, name) for name in free):
        return None
    if plan is None or plan.status == "abandoned":
        return Deviation(Breach.NO_PLAN)
    step = plan.step_for(tool)
    if step is None or any(declares(item, tool) for item in workable(plan)):
        return None
    wanted = next((item for item in plan.open_steps if item.uses(tool)), None)
    return Deviation(Breach.OFF_STEP, step, wanted)


class BreachMemo:
    """Remembers what `breach` found for the newest plan: plans change much less than tools run."""

    def __init__(self, free: Iterable[str] = ()) -> None:
        self._free = tuple(free)
        self._known: tuple[Plan | None, dict[str, Deviation | None]] = (None, {})

    def breach(self, plan: Plan | None, tool: str) -> Deviation | None:
        """Return what `breach` returns."""
        of, found = self._known
        if of is not plan or len(found) > MOST_REMEMBERED:
            found = {}
            self._known = plan, found
        if tool not in found:
            found[tool] = breach(plan, tool, free=self._free)
        return found[tool]


def workable(plan: Plan) -> tuple[PlanStep, ...]:
    """Return the steps in progress; where there are none, those that are ready."""
    return tuple(step for step in plan.open_steps if step.started) or plan.ready_steps


LONGEST = 500
Tools = frozenset[str] | None


def call_words(tool: str, params: Any) -> str:
    """Return a call as the agent wrote it: the tool and its parameters, shortened, in quotes."""
    given = params if isinstance(params, Mapping) else {}
    try:
        text = json.dumps(dict(given), ensure_ascii=False, default=str) if given else ""
    except (TypeError, ValueError, RecursionError):
        text = ""
    return quote(f"{tool} {text}".strip(), 100)


def breach_text(deviation: Deviation, call: str, tools: Tools, *, pending: bool) -> str:
    """Return what to say about a call that leaves the plan; no tool is named that is not there."""
    did = "call" if pending else "called"
    if deviation.step is None:
        return shorten(f"You {did} {call} without a plan. {_make_plan(tools)}", LONGEST)
    step = step_words(deviation.step)
    text = f"You {did} {call}, which is none of the tools of {step}: {_allowed(deviation.step)}."
    return shorten(f"{text} {_next(deviation, tools)}", LONGEST)


def reflect_text(step: PlanStep) -> str:
    """Return what to say if a step is done and its outcome was not checked."""
    expected = step.expected or step.objective
    against = f" with what it expects, {quote(expected, 120)}" if expected else ""
    return shorten(
        f"{_capital(step_words(step))} is done. Before you go on, call {PLAN_REFLECT} for it:"
        f" compare what you observed{against}, and propose a change of the plan where they differ.",
        LONGEST,
    )


def final_text(plan: Plan) -> str:
    """Return what to say if the agent ends without having checked the exit criteria."""
    criteria = "; ".join(quote(item, 90) for item in plan.exit_criteria[:3])
    more = "; ..." if len(plan.exit_criteria) > 3 else ""
    return shorten(
        f"All steps are done. Before you answer, check the exit criteria ({criteria}{more}) and"
        f" call {PLAN_REFLECT} without step_id to say whether they are met.",
        LONGEST,
    )


def firmer(text: str, level: int) -> str:
    """Return what to say the second time, and what from the third time on."""
    if level < 2:
        return text
    if level == 2:
        return shorten(f"You were told before. {text}", LONGEST)
    end = " If you can't, tell the user why before you go on."
    return shorten(f"You were told {level - 1} times. {text}", LONGEST - len(end)) + end


def step_words(step: PlanStep) -> str:
    """Return ``step "S1" ("title")``."""
    return f"step {quote(step.step_id or '?', 40)} ({quote(step.title, 70)})"


def _make_plan(tools: Tools) -> str:
    tool = planning_tool(tools)
    made = f"Call {tool} now" if tool else "Write the plan now"
    return f"{made}: the steps in order, the tools of each, and what must be true in the end."


def _allowed(step: PlanStep) -> str:
    return quote(tool_names(step.tools, 5), 120)[1:-1]


def _next(deviation: Deviation, tools: Tools) -> str:
    known = tools or frozenset()
    ways = ["Use those"]
    if deviation.wanted is not None:
        wanted = step_words(deviation.wanted)
        begin = f"with {PLAN_UPDATE_STEP}" if _has(known, PLAN_UPDATE_STEP) else "first"
        ways.append(f"finish this step and begin {wanted} {begin}")
    change = f"with {PLAN_SET}" if _has(known, PLAN_SET) else "first"
    ways.append(f"change the plan {change}")
    return f"{', or '.join(ways)}."


def _has(tools: Iterable[str], name: str) -> bool:
    return any(tool == name or tool.endswith(f"__{name}") for tool in tools)


def has_reflect(tools: Tools) -> bool:
    """Whether the agent is known to have `plan_reflect`."""
    return _has(tools or (), PLAN_REFLECT)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def guarded(
    tools: Iterable[Tool[Any, Any]], *, free: Iterable[str] = ()
) -> tuple[Tool[Any, Any], ...]:
    """Return `tools` so that each refuses a call before there is a plan, or outside its step.

    A refused call does not run; the agent reads why and what to do instead, as an error of the
    tool.

    Args:
        tools: what the agent may call; tools that keep plans are left as they are.
        free: names and namespaces of tools that need no plan.
    """
    tools, free = tuple(tools), tuple(free)
    names = frozenset(tool.name for tool in tools)
    return tuple(attrs.evolve(tool, handler=_guard(tool, free, names)) for tool in tools)


def _guard(tool: Tool[Any, Any], free: tuple[str, ...], names: frozenset[str]) -> Any:
    called = getattr(tool.handler, "__call__", None)  # noqa: B004 - an object with an async __call__
    waits = inspect.iscoroutinefunction(tool.handler) or inspect.iscoroutinefunction(called)
    return (_AsyncGuarded if waits else _Guarded)(tool, free, names)


@attrs.frozen
class _Guarded:
    tool: Tool[Any, Any]
    free: tuple[str, ...]
    tools: frozenset[str]

    def __call__(self, params: Any, /, *, context: ToolContext) -> Any:
        refusal = self.refusal(params, context)
        return refusal or self.tool.handler(params, context=context)

    def refusal(self, params: Any, context: ToolContext) -> ToolResult[Any] | None:
        found = breach(PlanBook.for_tool(context).current, self.tool.name, free=self.free)
        if found is None:
            return None
        words = call_words(self.tool.name, _given(params))
        tools = self.tools if planning_tool(self.tools) else None
        return ToolResult.error(breach_text(found, words, tools, pending=True))


@attrs.frozen
class _AsyncGuarded(_Guarded):
    async def __call__(self, params: Any, /, *, context: ToolContext) -> Any:
        refusal = self.refusal(params, context)
        if refusal is not None:
            return refusal
        answer: Any = self.tool.handler(params, context=context)
        return await answer


def _given(params: Any) -> dict[str, Any]:
    if attrs.has(type(params)):
        return attrs.asdict(params)
    return dataclasses.asdict(params) if dataclasses.is_dataclass(params) else {}  # type: ignore[arg-type]
