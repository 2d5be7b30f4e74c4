"""Plans that agents keep with tools of their host, read from calls and followed in one run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import attrs

from trimtab import Outcome, Plan, PlanStep, ToolInvoked
from trimtab.text import LazyPattern
from trimtab.trajectory import BaseProjection, MessageRecord
from trimtab_planning._plans import MAX_STEPS
from trimtab_signals import name_words

_WHOLE_PLANS = {
    "todowrite": "todos",  # Claude Code, OpenCode
    "todo_write": "todos",
    "write_todos": "todos",  # LangChain, Gemini CLI
    "update_plan": "plan",  # Codex
    "task_tracker": "task_list",  # OpenHands
    "manage_todo_list": "todoList",  # Copilot
}
_CREATE, _UPDATE = "taskcreate", "taskupdate"  # Claude Code
_REMOVED = "deleted"

PLAN_TOOLS = (*_WHOLE_PLANS, _CREATE)
"""Tools with which agents make plans, by their names in lower case."""

_TITLES = ("content", "title", "step", "subject", "name", "task", "description")
_STATUSES = ("status", "state")
_FLAGS = ("done", "completed", "complete", "is_done")
_MOST_STEPS = 500
_LONGEST_TITLE = 200
_LONGEST_STATUS = 40
_LONGEST_ID = 64
_NUMBER = LazyPattern(r"#(\w{1,64})")

Steps = tuple[PlanStep, ...]


def is_plan_tool(tool: str) -> bool:
    """Tell whether calls of `tool` change a plan that `plan_after` reads.

    Args:
        tool: its name; the prefix of a server, as in ``mcp__x__TodoWrite``, makes no difference.
    """
    name = bare_name(tool)
    return name in PLAN_TOOLS or name == _UPDATE


def plan_after(
    known: Iterable[PlanStep], tool: str, params: Any, result: Any = None, *, unknown: str
) -> Steps | None:
    """Return the steps of an agent's plan after a call that succeeded.

    >>> from trimtab_planning import plan_after
    >>> todos = [{"content": "Fetch", "status": "completed"}, {"content": "Check"}]
    >>> steps = plan_after((), "TodoWrite", {"todos": todos}, unknown="pending")
    >>> [(step.title, step.status) for step in steps]
    [('Fetch', 'completed'), ('Check', 'pending')]

    Args:
        known: the steps before the call.
        tool: name of the called tool, as for `is_plan_tool`.
        params: its arguments, a mapping or JSON text.
        result: its result, which names the id of a new task.
        unknown: status of a step if the call names none.

    Returns:
        At most 500 steps, with ids; None if the call does not change a plan.
    """
    name, arguments, steps = bare_name(tool), _mapping(params), tuple(known)
    if name in _WHOLE_PLANS:
        return _replaced(steps, arguments.get(_WHOLE_PLANS[name]), unknown)
    if name == _CREATE:
        return _created(steps, arguments, result)
    if name == _UPDATE:
        return _updated(steps, arguments)
    return None


def _replaced(known: Steps, items: Any, unknown: str) -> Steps | None:
    items = _parsed(items) if isinstance(items, str) else items
    if not isinstance(items, list | tuple):
        return None
    items = items[:_MOST_STEPS]
    titles = [_title(item) or f"Step {number}" for number, item in enumerate(items, 1)]
    ids = _ids(titles, {step.title: step.step_id for step in known})
    return tuple(
        PlanStep(title, _status(item) or unknown, step_id)
        for title, item, step_id in zip(titles, items, ids, strict=True)
    )


def _ids(titles: Sequence[str], known: dict[str, str]) -> list[str]:
    """Return an id for each title: the known one for its first occurrence, else a new one."""
    kept = [known.pop(title, "") for title in titles]
    taken = set(kept)
    return [step_id or _unused(f"T{number}", taken) for number, step_id in enumerate(kept, 1)]


def _unused(wanted: str, taken: set[str]) -> str:
    """Return `wanted`, or a variation of it if it is taken, and take it."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    taken.add(name)
    return name


def _created(known: Steps, params: Mapping[str, Any], result: Any) -> Steps | None:
    if len(known) >= _MOST_STEPS:
        return None
    taken = {step.step_id for step in known}
    numbers = (int(step_id) for step_id in taken if step_id.isdecimal())
    step_id = _unused(_task_id(result) or str(max(numbers, default=0) + 1), taken)
    title = _title(params) or f"Step {len(known) + 1}"
    return (*known, PlanStep(title, "pending", step_id))


def _updated(known: Steps, params: Mapping[str, Any]) -> Steps | None:
    step_id = str(params.get("taskId", ""))
    old = next((step for step in known if step.step_id == step_id), None)
    if old is None:
        return None
    status = _status(params) or old.status
    new = attrs.evolve(old, title=_title(params) or old.title, status=status)
    kept = () if status == _REMOVED else (new,)
    return tuple(item for step in known for item in (kept if step is old else (step,)))


def _title(item: Any) -> str:
    if isinstance(item, str):
        return item.strip()[:_LONGEST_TITLE]
    found = (_mapping(item).get(name) for name in _TITLES)
    title = next((text for text in found if isinstance(text, str) and text.strip()), "")
    return title.strip()[:_LONGEST_TITLE]


def _status(item: Any) -> str:
    """Return the status that `item` names, empty if it names none."""
    fields = _mapping(item)
    for name in (*_STATUSES, *_FLAGS):
        value = fields.get(name)
        if isinstance(value, bool):
            return "done" if value else "pending"
        word = value.value if isinstance(value, Enum) else value
        if name in _STATUSES and isinstance(word, str) and word:
            return word[:_LONGEST_STATUS]
    return ""


def _mapping(value: Any) -> Mapping[str, Any]:
    read = _parsed(value) if isinstance(value, str) else value
    return read if isinstance(read, Mapping) else {}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _task_id(result: Any) -> str:
    """Return the id in the result of a creation: ``{"task": {"id": …}}`` or ``#3``."""
    if isinstance(result, Mapping):
        task = result.get("task", result)
        return str(task["id"])[:_LONGEST_ID] if isinstance(task, Mapping) and "id" in task else ""
    found = _NUMBER.search(result if isinstance(result, str) else str(result)[:200])
    return found.group(1) if found else ""


PLAN_SET, PLAN_UPDATE_STEP = "plan_set", "plan_update_step"
PLAN_REVISE, PLAN_REFLECT = "plan_revise", "plan_reflect"
OWN_TOOLS = (PLAN_SET, PLAN_UPDATE_STEP, PLAN_REVISE, PLAN_REFLECT)
_READING = ("tasklist", "taskget", "todoread")

NEUTRAL = frozenset(
    {"askuserquestion", "ask_user", "request_user_input", "enterplanmode", "exitplanmode", "think"}
)
"""Tools that ask the user or only think, in lower case: they need no plan."""

_TOOL_WORDS = frozenset({"tool", "tools"})
_LOOKING = frozenset({"describe", "discover", "find", "get", "list", "load", "search", "select"})


def bare_name(tool: str) -> str:
    """Return the name of a tool without its server and in lower case: ``mcp__x__Plan_Set``."""
    return tool.rpartition("__")[2].lower()


def is_planning_tool(tool: str) -> bool:
    """Whether a tool only keeps a plan."""
    return is_plan_tool(tool) or bare_name(tool) in (*OWN_TOOLS, *_READING)


def is_neutral(tool: str) -> bool:
    """Whether a tool needs no plan: it keeps one, asks the user, only thinks, or loads tools."""
    return is_planning_tool(tool) or bare_name(tool) in NEUTRAL or finds_tools(tool)


def finds_tools(tool: str) -> bool:
    """Whether a tool looks for tools or loads them: ``ToolSearch``, ``mcp__x__list_tools``."""
    words = frozenset(name_words(tool.rpartition("__")[2]))
    return not words.isdisjoint(_TOOL_WORDS) and not words.isdisjoint(_LOOKING)


def planning_tool(tools: Iterable[str] | None) -> str | None:
    """Return the tool of `tools` with which a plan is made, None if there is none or unknown."""
    names = {bare_name(tool): tool for tool in sorted(tools or ())}
    return next((names[name] for name in (PLAN_SET, *PLAN_TOOLS) if name in names), None)


def steps_after(known: tuple[PlanStep, ...], call: ToolInvoked) -> tuple[PlanStep, ...] | None:
    """Return the steps of the host's plan after a call, the first 200.

    Returns:
        None if the call failed or does not change a plan.
    """
    if call.outcome is not Outcome.OK or not is_plan_tool(call.tool):
        return None
    steps = plan_after(known, call.tool, call.params, call.result, unknown="pending")
    return None if steps is None else steps[:MAX_STEPS]


@attrs.define(eq=False)
class HostPlan(BaseProjection):
    """The plan of one run, as the calls of the host's own tools show it."""

    _steps: tuple[PlanStep, ...] = ()
    _current: bool = False

    @property
    def plan(self) -> Plan | None:
        """The plan; None if there is none, or if it had open steps when the user spoke."""
        return Plan(self._steps) if self._current and self._steps else None

    def call_ended(self, call: ToolInvoked) -> None:
        """Follow a call."""
        steps = steps_after(self._steps, call)
        if steps is not None:
            self._steps, self._current = steps, True

    def user_spoke(self, message: MessageRecord) -> None:
        """Put an unfinished plan aside until a call changes it again."""
        if not message.notification and any(not step.done for step in self._steps):
            self._current = False
