"""What an agent reads when it leaves its plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trimtab import Plan, PlanStep
from trimtab.text import quote, shorten
from trimtab_planning._names import PLAN_REFLECT, PLAN_SET, PLAN_UPDATE_STEP, planning_tool
from trimtab_planning._render import tool_names
from trimtab_planning._rules import Deviation

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
    """Return what to say about a call that leaves the plan; no tool is named that is not there.

    Args:
        deviation: how it leaves the plan.
        call: the call in words.
        tools: the agent's tools, None if unknown.
        pending: whether the call is still to run.
    """
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
    """Return what to say the second time, and what from the third time on.

    Args:
        text: as it was said first.
        level: 1, 2 or 3.
    """
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
