"""Plans that agents keep with their host's own tools, read from the calls of those tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import attrs

from trimtab import LazyPattern, Outcome, Plan, PlanStep, ToolInvoked
from trimtab.trajectory import BaseProjection, CallRecord, MessageRecord
from trimtab_planning._names import TASK_CREATE, TASK_UPDATE, WHOLE_PLANS, bare_name, is_mirrored
from trimtab_planning._plans import MAX_STEPS, MAX_TITLE

_TITLES = ("content", "title", "step", "subject", "name", "task", "description")
_NUMBER = LazyPattern(r"#(\w{1,32})")


def mirrored(call: ToolInvoked, known: Iterable[PlanStep]) -> tuple[PlanStep, ...] | None:
    """Return the steps of the host's plan after a successful call.

    Args:
        call: of any tool.
        known: the steps of that plan before.

    Returns:
        None if the call says nothing about a plan.
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
    items = items[:MAX_STEPS]
    titles = [_title(item) or f"Step {number}" for number, item in enumerate(items, 1)]
    ids = _ids(titles, {step.title: step.step_id for step in known})
    return tuple(
        PlanStep(title, _status(item), step_id)
        for title, item, step_id in zip(titles, items, ids, strict=True)
    )


def _ids(titles: list[str], known: dict[str, str]) -> list[str]:
    """Return an id for each title: the known one the first time, else a new one."""
    kept = [known.pop(title, "") for title in titles]
    taken = set(kept)
    return [step_id or _unused(f"T{number}", taken) for number, step_id in enumerate(kept, 1)]


def _unused(wanted: str, taken: set[str]) -> str:
    """Return `wanted`, or a new id where it is taken, and take it."""
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
    step_id = _unused(_task_id(result) or f"{len(known) + 1}", taken)
    return (*known, PlanStep(title, "pending", step_id))


def _updated(params: Mapping[str, Any], known: tuple[PlanStep, ...]) -> tuple[PlanStep, ...] | None:
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


class HostPlan(BaseProjection):
    """The plan of one run as the calls of the host's own tools tell it."""

    def __init__(self) -> None:
        self._steps: tuple[PlanStep, ...] = ()
        self._current = False

    @property
    def plan(self) -> Plan | None:
        """The plan; None if there is none, or where it was left open when the user spoke."""
        return Plan(self._steps) if self._current and self._steps else None

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:  # noqa: ARG002  protocol
        """Take a call that went well."""
        if event.outcome is not Outcome.OK or not is_mirrored(event.tool):
            return
        steps = mirrored(event, self._steps)
        if steps is not None:
            self._steps, self._current = steps, True

    def user_spoke(self, message: MessageRecord) -> None:
        """Take a request: a plan with open steps is an old one until it is touched again."""
        if not message.notification and any(not step.done for step in self._steps):
            self._current = False

    def state(self) -> dict[str, Any]:
        """Return everything."""
        steps = [[step.step_id, step.title, step.status] for step in self._steps]
        return {"current": self._current, "steps": steps}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self._current = state["current"]
        self._steps = tuple(
            PlanStep(title, status, step_id) for step_id, title, status in state["steps"]
        )
