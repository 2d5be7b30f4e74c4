"""Plans that agents keep with their host's own tools, read from the calls of those tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import attrs

from trimtab import Plan, PlanStep, ToolInvoked
from trimtab.patterns import Pattern
from trimtab_planning._plans import MAX_STEPS, MAX_TITLE
from trimtab_planning._tools import PLAN_REFLECT, PLAN_REVISE, PLAN_SET, PLAN_UPDATE_STEP

WHOLE_PLANS: Mapping[str, str] = {
    "todowrite": "todos",
    "todo_write": "todos",
    "write_todos": "todos",
    "update_plan": "plan",
    "task_tracker": "task_list",
    "manage_todo_list": "todoList",
}
"""Tools whose calls hold the whole plan, in lower case, and the parameter that holds it."""

TASK_CREATE, TASK_UPDATE = "taskcreate", "taskupdate"
OWN_TOOLS = (PLAN_SET, PLAN_UPDATE_STEP, PLAN_REVISE, PLAN_REFLECT)
MIRRORED = frozenset((*WHOLE_PLANS, TASK_CREATE, TASK_UPDATE))
PLANNING_TOOLS = frozenset((*OWN_TOOLS, *MIRRORED, "tasklist", "taskget", "todoread"))

_TITLES = ("content", "title", "step", "subject", "name", "task", "description")
_NUMBER = Pattern(r"#(\w{1,32})")


def bare_name(tool: str) -> str:
    """Return the name of a tool without its server and in lower case: ``mcp__x__Plan_Set``."""
    return tool.rpartition("__")[2].lower()


def is_planning_tool(tool: str) -> bool:
    """Whether a tool only keeps a plan."""
    return bare_name(tool) in PLANNING_TOOLS


def planning_tool(tools: Iterable[str] | None) -> str | None:
    """Return the tool of `tools` with which a plan is made, None where there is none or unknown."""
    names = {bare_name(tool): tool for tool in sorted(tools or ())}
    makers = (PLAN_SET, *WHOLE_PLANS, TASK_CREATE)
    return next((names[name] for name in makers if name in names), None)


def mirrored(call: ToolInvoked, known: Iterable[PlanStep]) -> tuple[PlanStep, ...] | None:
    """Return the steps of the host's plan after a successful call.

    Args:
        call: of any tool.
        known: the steps of that plan before.

    Returns:
        None where the call says nothing about a plan.
    """
    name = bare_name(call.tool)
    params = _mapping(call.params)
    if name in WHOLE_PLANS:
        return _whole(params.get(WHOLE_PLANS[name]), tuple(known))
    if name == TASK_CREATE:
        return _created(params, call.result, tuple(known))
    if name == TASK_UPDATE:
        return _updated(params, tuple(known))
    return None


def _whole(items: Any, known: tuple[PlanStep, ...]) -> tuple[PlanStep, ...] | None:
    items = _parsed(items) if isinstance(items, str) else items
    if not isinstance(items, list | tuple):
        return None
    ids = {step.title: step.step_id for step in known}
    taken: set[str] = set()
    steps = []
    for number, item in enumerate(items[:MAX_STEPS], 1):
        title = _title(item) or f"Step {number}"
        step_id = _unused(ids.get(title) or f"T{number}", taken, ids.values())
        steps.append(PlanStep(title, _status(item), step_id))
    return tuple(steps)


def _unused(wanted: str, taken: set[str], reserved: Iterable[str]) -> str:
    """Return `wanted`, or a new id where it belongs to another step."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    taken.add(name)
    return name


def _created(
    params: Mapping[str, Any], result: Any, known: tuple[PlanStep, ...]
) -> tuple[PlanStep, ...] | None:
    title = _title(params)
    if not title or len(known) >= MAX_STEPS:
        return None
    taken = {step.step_id for step in known}
    step_id = _unused(_task_id(result) or f"{len(known) + 1}", taken, ())
    return (*known, PlanStep(title, "pending", step_id))


def _updated(
    params: Mapping[str, Any], known: tuple[PlanStep, ...]
) -> tuple[PlanStep, ...] | None:
    step_id = str(params.get("taskId", ""))
    old = next((step for step in known if step.step_id == step_id), None)
    if old is None:
        return None
    if params.get("status") == "deleted":
        return tuple(step for step in known if step is not old)
    status = _status(params) if params.get("status") else old.status
    made = attrs.evolve(old, title=_title(params) or old.title, status=status)
    return tuple(made if step is old else step for step in known)


def _title(item: Any) -> str:
    if isinstance(item, str):
        return item.strip()[:MAX_TITLE]
    found = (_mapping(item).get(name) for name in _TITLES)
    title = next((text for text in found if isinstance(text, str) and text.strip()), "")
    return title.strip()[:MAX_TITLE]


def _status(item: Any) -> str:
    status = _mapping(item).get("status", "pending")
    value = status.value if isinstance(status, Enum) else status
    return value[:40] if isinstance(value, str) else "pending"


def _mapping(value: Any) -> Mapping[str, Any]:
    made = _parsed(value) if isinstance(value, str) else value
    return made if isinstance(made, Mapping) else {}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _task_id(result: Any) -> str | None:
    """Return the id that the answer to a creation names: ``{"task": {"id": …}}`` or ``#3``."""
    if isinstance(result, Mapping):
        task = result.get("task", result)
        return str(task["id"])[:64] if isinstance(task, Mapping) and "id" in task else None
    found = _NUMBER.search(result if isinstance(result, str) else str(result)[:200])
    return found.group(1) if found else None


