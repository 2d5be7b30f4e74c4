"""Plans as text that an agent reads: bounded, one line a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trimtab import Plan, PlannedTool, PlanStep
from trimtab.text import quote, shorten

SHOWN_STEPS = 50
LONGEST_LINE = 400
LONGEST_CRITERION = 300


def plan_text(plan: Plan | None) -> str:
    """Return `plan` as Markdown: version, objective, steps with tools, exit criteria."""
    return "No plan yet." if plan is None else "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    reason = f": {_line(plan.reason)}" if plan.reason else ""
    yield f"Version: {plan.version or 'unversioned'} ({plan.status}{reason})"
    if plan.objective:
        yield f"Objective: {_line(plan.objective)}"
    yield from map(step_line, plan.steps[:SHOWN_STEPS])
    if len(plan.steps) > SHOWN_STEPS:
        yield f"- and {len(plan.steps) - SHOWN_STEPS} more steps"
    if plan.exit_criteria:
        yield "Done when:"
        yield from (f"- {_line(item, LONGEST_CRITERION)}" for item in plan.exit_criteria[:20])


def step_line(step: PlanStep) -> str:
    """Return one step: ``- S1 [done] Title. Tools: a, b. After: S0. Outcome: …``."""
    parts = [f"- {_line(step.step_id or '?', 64)} [{_line(step.status, 20)}] {_line(step.title)}"]
    if step.tools:
        parts.append(f"Tools: {tool_names(step.tools)}")
    if step.depends_on:
        parts.append(f"After: {', '.join(_line(item, 64) for item in step.depends_on)}")
    if step.outcome:
        parts.append(f"Outcome: {_line(step.outcome, 160)}")
    return shorten(". ".join(parts), LONGEST_LINE)


def tool_names(tools: Iterable[PlannedTool], most: int = 8) -> str:
    """Return the names of tools with their versions, comma-separated, the first `most`."""
    names = [
        _line(f"{tool.name}@{tool.version}" if tool.version else tool.name, 80) for tool in tools
    ]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _line(text: object, limit: int = 200) -> str:
    return quote(str(text), limit + 2)[1:-1]
