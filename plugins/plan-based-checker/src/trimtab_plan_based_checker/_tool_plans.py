"""Plans that the agent keeps with the tools of its host, seen in the run itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trimtab import LazyPattern, Outcome, ToolInvoked
from trimtab.trajectory import BaseProjection, CallRecord, MessageRecord
from trimtab_plan_based_checker._plan_steps import LONGEST_TITLE, Step, steps_of

WHOLE_PLANS = {
    "todowrite": "todos",  # Claude Code, OpenCode
    "todo_write": "todos",
    "write_todos": "todos",  # LangChain, Gemini CLI
    "update_plan": "plan",  # Codex
    "task_tracker": "task_list",  # OpenHands
    "manage_todo_list": "todoList",  # Copilot
}
"""Tools whose calls hold the whole plan, and under which argument."""

CREATE, UPDATE = "taskcreate", "taskupdate"  # Claude Code
REMOVED = "deleted"
MOST_STEPS = 500
_NUMBER = LazyPattern(r"#(\w+)")

Task = dict[str, Any]


class SeenPlan(BaseProjection):
    """The plan of one run as its tool calls tell it.

    Attributes:
        current: whether it was written since the user last spoke; a plan of an earlier request
            is not held against a new one.
    """

    def __init__(self) -> None:
        self.current = False
        self._tasks: dict[str, Task] = {}

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps; none where no plan was seen."""
        return steps_of(tuple(self._tasks.values())) or ()

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Take a call: what failed or was refused has changed no plan."""
        if not call.failed and event.outcome is Outcome.OK:
            self.take(event)

    def take(self, event: ToolInvoked) -> None:
        """Take one call that went well."""
        name = event.tool.rpartition("__")[2].lower()
        params = _mapping(event.params)
        if name in WHOLE_PLANS:
            self._replace(params.get(WHOLE_PLANS[name]))
        elif name == CREATE:
            self._create(params, event.result)
        elif name == UPDATE:
            self._update(params)

    def user_spoke(self, message: MessageRecord) -> None:
        """Take a message: from a new request on the plan is an old one until it is touched."""
        if not message.notification:
            self.current = False

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {"current": self.current, "tasks": self._tasks}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self.current = state["current"]
        self._tasks = {key: dict(task) for key, task in state["tasks"].items()}

    def _replace(self, items: Any) -> None:
        if isinstance(items, str):
            items = _parsed(items)
        if not isinstance(items, list | tuple):
            return
        steps = steps_of(items) or ()
        self.current = True
        self._tasks = {
            str(number): {"title": step.title, "done": step.done}
            for number, step in enumerate(steps[:MOST_STEPS], 1)
        }

    def _create(self, params: Mapping[str, Any], result: Any) -> None:
        if len(self._tasks) >= MOST_STEPS:
            return
        self.current = True
        title = str(params.get("subject") or params.get("description") or "")[:LONGEST_TITLE]
        key = _task_id(result) or self._next_id()
        self._tasks[key] = {"title": title, "status": "pending"}

    def _next_id(self) -> str:
        numbers = (int(key) for key in self._tasks if key.isdecimal())
        return str(max(numbers, default=0) + 1)

    def _update(self, params: Mapping[str, Any]) -> None:
        key = str(params.get("taskId", ""))
        if key not in self._tasks:
            return
        self.current = True
        status = str(params.get("status") or self._tasks[key].get("status", ""))
        if status == REMOVED:
            del self._tasks[key]
            return
        title = str(params.get("subject") or self._tasks[key]["title"])[:LONGEST_TITLE]
        self._tasks[key] = {"title": title, "status": status}


def _mapping(params: Any) -> Mapping[str, Any]:
    value = _parsed(params) if isinstance(params, str) else params
    return value if isinstance(value, Mapping) else {}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _task_id(result: Any) -> str | None:
    """Return the id that the answer to a creation names: ``{"task": {"id": …}}`` or ``#3``."""
    if isinstance(result, Mapping):
        task = result.get("task", result)
        return str(task["id"]) if isinstance(task, Mapping) and "id" in task else None
    found = _NUMBER.search(result if isinstance(result, str) else str(result)[:200])
    return found.group(1) if found else None
