"""Steps of a plan, read from records, mappings or lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import attrs

from trimtab.events import is_done

STEPS = ("steps", "todos", "plan", "tasks", "items", "task_list", "todoList")
TITLES = (
    "title", "content", "step", "subject", "name", "task", "objective", "text", "description",
    "identifier", "step_id", "id",
)  # fmt: skip
STATUSES = ("status", "state")
FLAGS = ("done", "completed", "complete", "is_done")
LONGEST_TITLE = 200
"""Characters; those of trimtab-planning have at most as many."""


@attrs.frozen
class Step:
    """One step.

    Args:
        title: what is to be done; at most 200 characters.
        done: whether it needs no more work; None if the plan doesn't say.
    """

    title: str
    done: bool | None


def steps_of(plan: Any) -> tuple[Step, ...] | None:
    """Return the steps of an attrs object, a dataclass, a mapping or a list.

    Returns:
        None if `plan` has no steps that could be recognised.
    """
    items = plan if isinstance(plan, list | tuple) else _first(plan, STEPS)
    if isinstance(items, Mapping):
        items = tuple(items.values())
    if not isinstance(items, Iterable) or isinstance(items, str | bytes):
        return None
    return tuple(_step(number, item) for number, item in enumerate(items, 1))


def _step(number: int, item: Any) -> Step:
    title = item if isinstance(item, str) else _first(item, TITLES)
    words = title if isinstance(title, str) and title.strip() else f"Step {number}"
    return Step(words[:LONGEST_TITLE], _done(item))


def _done(item: Any) -> bool | None:
    status = _first(item, STATUSES)
    if isinstance(status, str | Enum):
        return is_done(status)
    flag = status if isinstance(status, bool) else _first(item, FLAGS)
    return flag if isinstance(flag, bool) else None


def _first(holder: Any, names: Iterable[str]) -> Any:
    """Return what `holder` has under the first of `names` that it has; None if none."""
    for name in names:
        value = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
        if value is not None and not callable(value):
            return value
    return None
