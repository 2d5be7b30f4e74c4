"""What can be done with plans: pure functions that return new plans, or text for agents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import attrs

from trimtab import Plan, PlannedTool, PlanStep
from trimtab.text import quote, shorten

MAX_STEPS = 200
MAX_TITLE = 200
MAX_TEXT = 2_000
_VERSION = re.compile(r"plan\.v(\d{1,9})")
_DEFINITION = ("title", "objective", "tools", "depends_on", "expected")
_PROGRESS = ("status", "outcome")


def version_number(version: str) -> int:
    """Return 3 for ``"plan.v3"``, 0 for anything else."""
    found = _VERSION.fullmatch(version)
    return int(found.group(1)) if found else 0


def next_version(versions: Iterable[str]) -> str:
    """Return the version after the highest of `versions`."""
    return f"plan.v{max(map(version_number, versions), default=0) + 1}"


def with_ids(steps: Iterable[PlanStep], *, taken: Iterable[str] = ()) -> tuple[PlanStep, ...]:
    """Return `steps` with an id for each that has none: ``S1``, ``S2``, … by position.

    Raises:
        ValueError: there are more than 200 steps, a title is empty, or a text is too long.
    """
    steps = tuple(steps)
    if len(steps) > MAX_STEPS:
        raise ValueError(f"a plan has at most {MAX_STEPS} steps, not {len(steps)}")
    known = {*taken, *(step.step_id for step in steps)}
    return tuple(
        _checked(step if step.step_id else attrs.evolve(step, step_id=_free(number, known)))
        for number, step in enumerate(steps, 1)
    )


def _free(number: int, taken: set[str]) -> str:
    """Return ``S`` and the first number from `number` on that is not taken, and take it."""
    while f"S{number}" in taken:
        number += 1
    taken.add(f"S{number}")
    return f"S{number}"


def _checked(step: PlanStep) -> PlanStep:
    if not step.title.strip():
        raise ValueError(f"step {step.step_id!r} has no title")
    limits = {"title": MAX_TITLE, "step_id": 64, "objective": MAX_TEXT, "expected": MAX_TEXT}
    for name, limit in limits.items():
        if len(getattr(step, name)) > limit:
            raise ValueError(f"step {step.step_id!r:.80}: {name} is longer than {limit} characters")
    return step


def matched(
    steps: Iterable[PlanStep], old: Iterable[PlanStep], *, by_id: bool = True
) -> list[tuple[PlanStep, PlanStep | None]]:
    """Return each of `steps` with the step of `old` that it continues, or None.

    That is the step of the same id and title; else one of the same id; else one of the same
    title. Each is taken once, the first ones first.

    Args:
        steps: of the new version; those without an id are matched by title.
        old: of the version before.
        by_id: whether an id stands for the same work even where the title is another.
    """
    steps, left = tuple(steps), list(old)
    found: dict[int, PlanStep] = {}
    for key in (_id_and_title, _id, _title) if by_id else (_id_and_title, _title):
        pool: dict[str, list[PlanStep]] = {}
        for step in left:
            pool.setdefault(key(step), []).append(step)
        for number, step in enumerate(steps):
            wanted = key(step)
            if number not in found and wanted and pool.get(wanted):
                found[number] = pool[wanted].pop(0)
        left = [step for step in left if not any(step is other for other in found.values())]
    return [(step, found.get(number)) for number, step in enumerate(steps)]


def _id_and_title(step: PlanStep) -> str:
    return f"{step.step_id}\0{step.title}" if step.step_id else ""


def _id(step: PlanStep) -> str:
    return step.step_id


def _title(step: PlanStep) -> str:
    return " ".join(step.title.split()).casefold().rstrip(".")


def carry_progress(
    steps: Iterable[PlanStep], old: Iterable[PlanStep], *, overrule: bool = False
) -> tuple[PlanStep, ...]:
    """Return `steps` with ids, and with the progress of the steps in `old` that they continue.

    What was done stays done when a plan is revised or rolled back. A step without an id gets that
    of the step that it continues, else one that neither version has.

    Args:
        steps: of the new version.
        old: of the version before.
        overrule: carry it over even where a new step says a status of its own.

    Raises:
        ValueError: as for `with_ids`.
    """
    old = tuple(old)
    carried = (_carried(step, before, overrule) for step, before in matched(steps, old))
    return with_ids(carried, taken=(step.step_id for step in old))


def _carried(step: PlanStep, old: PlanStep | None, overrule: bool) -> PlanStep:
    if old is None:
        return step
    if not step.step_id:
        step = attrs.evolve(step, step_id=old.step_id)
    if not (overrule or step.status == "pending"):
        return step
    return attrs.evolve(step, status=old.status, outcome=old.outcome or step.outcome)


def same_work(one: Plan, other: Plan) -> bool:
    """Whether two plans ask for the same, whatever their progress and version."""
    return _work(one) == _work(other)


def _work(plan: Plan) -> tuple[object, ...]:
    steps = [
        tuple(getattr(step, name) for name in ("step_id", *_DEFINITION)) for step in plan.steps
    ]
    return plan.objective, plan.exit_criteria, steps


def change_step(
    plan: Plan, step_id: str, *, status: str | None = None, outcome: str | None = None
) -> Plan:
    """Return `plan` with another status or outcome of one step.

    Raises:
        ValueError: there is no such step, or steps that it depends on are open.
    """
    step = plan.step(step_id)
    if step is None:
        known = ", ".join(step.step_id for step in plan.steps)
        raise ValueError(f"the plan has no step {step_id!r:.80}; its steps are {known}")
    made = attrs.evolve(
        step,
        status=step.status if status is None else status,
        outcome=step.outcome if outcome is None else outcome[:MAX_TEXT],
    )
    waiting = blockers(plan, step)
    if waiting and (made.started or made.status.strip().lower() in ("done", "completed")):
        raise ValueError(f"step {step_id!r} depends on open steps: {', '.join(waiting)}")
    steps = tuple(made if item is step else item for item in plan.steps)
    return attrs.evolve(plan, steps=steps)


def blockers(plan: Plan, step: PlanStep) -> list[str]:
    """Return the ids of the open steps that `step` depends on."""
    open_ids = {item.step_id for item in plan.open_steps}
    return [step_id for step_id in step.depends_on if step_id in open_ids]


def abandoned(plan: Plan, reason: str) -> Plan:
    """Return `plan` given up: its open steps are cancelled."""
    steps = tuple(
        step if step.done else attrs.evolve(step, status="cancelled") for step in plan.steps
    )
    return attrs.evolve(plan, steps=steps, status="abandoned", reason=reason)


def reopened(plan: Plan) -> tuple[PlanStep, ...]:
    """Return the steps of `plan`; those that were cancelled as it was given up are pending."""
    if plan.status != "abandoned":
        return plan.steps
    return tuple(
        attrs.evolve(step, status="pending") if step.status == "cancelled" else step
        for step in plan.steps
    )


@attrs.frozen
class StepDiff:
    """One field of one step that differs.

    Args:
        step_id: the step.
        field: ``"title"``, ``"status"``, ``"tools"``, …
        before, after: the values.
    """

    step_id: str
    field: str
    before: object
    after: object


@attrs.frozen
class PlanDiff:
    """How two versions of a plan differ; false where they do not.

    Args:
        added, removed: steps that only the second, or only the first, has.
        changed: fields of the steps that both have.
        reordered: whether the steps that both have stand in another order.
        fields: fields of the plan itself that differ (objective, exit criteria, status):
            name, value before, value after.
    """

    added: tuple[PlanStep, ...] = ()
    removed: tuple[PlanStep, ...] = ()
    changed: tuple[StepDiff, ...] = ()
    reordered: bool = False
    fields: tuple[tuple[str, object, object], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.reordered or self.fields)

    @property
    def text(self) -> str:
        """Lines that say what differs; ``+`` is added, ``-`` removed, ``~`` changed."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for name, before, after in self.fields:
            yield f"~ {name}: {_shown(before)} -> {_shown(after)}"
        yield from (f"- {step.step_id}: {step.title}" for step in self.removed)
        yield from (f"+ {step.step_id}: {step.title}" for step in self.added)
        for item in self.changed:
            yield f"~ {item.step_id}.{item.field}: {_shown(item.before)} -> {_shown(item.after)}"
        if self.reordered:
            yield "~ order of the steps"


def _shown(value: object) -> str:
    """Return a value in a few words: names of tools, text in quotes."""
    if isinstance(value, tuple):
        items = (item.name if isinstance(item, PlannedTool) else str(item) for item in value)
        return quote(", ".join(items)) if value else "none"
    return quote(str(value))


def diff(before: Plan, after: Plan) -> PlanDiff:
    """Return how two versions of a plan differ; steps are matched by id, else by title.

    Args:
        before, after: the versions.
    """
    old, new = _by_key(before.steps), _by_key(after.steps)
    return PlanDiff(
        added=tuple(step for key, step in new.items() if key not in old),
        removed=tuple(step for key, step in old.items() if key not in new),
        changed=tuple(_changes((key, old[key], new[key]) for key in old if key in new)),
        reordered=[key for key in old if key in new] != [key for key in new if key in old],
        fields=tuple(
            (name, getattr(before, name), getattr(after, name))
            for name in ("objective", "exit_criteria", "status")
            if getattr(before, name) != getattr(after, name)
        ),
    )


def _by_key(steps: Sequence[PlanStep]) -> dict[str, PlanStep]:
    return {step.step_id or step.title: step for step in steps}


def _changes(pairs: Iterable[tuple[str, PlanStep, PlanStep]]) -> Iterator[StepDiff]:
    for key, old, new in pairs:
        for name in (*_DEFINITION, *_PROGRESS):
            before, after = getattr(old, name), getattr(new, name)
            if before != after:
                yield StepDiff(key, name, before, after)


def expected_of(plan: Plan | None, step_id: str) -> str:
    """Return what a plan expects of a step, or of the whole if `step_id` is empty.

    Raises:
        ValueError: there is no such step.
    """
    if plan is None:
        if step_id:
            raise ValueError(f"there is no plan with a step {step_id!r:.80}")
        return ""
    if not step_id:
        return "\n".join(plan.exit_criteria)
    step = plan.step(step_id)
    if step is None:
        raise ValueError(f"the plan has no step {step_id!r:.80}")
    return step.expected or step.objective or step.title


SHOWN_STEPS = 50
LONGEST_LINE = 400
LONGEST_CRITERION = 300


def plan_text(plan: Plan | None) -> str:
    """Return `plan` as Markdown: version, objective, steps with tools, exit criteria."""
    return "No plan yet." if plan is None else "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    reason = f": {as_line(plan.reason)}" if plan.reason else ""
    yield f"Version: {plan.version or 'unversioned'} ({plan.status}{reason})"
    if plan.objective:
        yield f"Objective: {as_line(plan.objective)}"
    yield from map(step_line, plan.steps[:SHOWN_STEPS])
    if len(plan.steps) > SHOWN_STEPS:
        yield f"- and {len(plan.steps) - SHOWN_STEPS} more steps"
    if plan.exit_criteria:
        yield "Done when:"
        yield from (f"- {as_line(item, LONGEST_CRITERION)}" for item in plan.exit_criteria[:20])


def step_line(step: PlanStep) -> str:
    """Return one step: ``- S1 [done] Title. Tools: a, b. After: S0. Outcome: …``."""
    parts = [
        f"- {as_line(step.step_id or '?', 64)} [{as_line(step.status, 20)}] {as_line(step.title)}"
    ]
    if step.tools:
        parts.append(f"Tools: {tool_names(step.tools)}")
    if step.depends_on:
        parts.append(f"After: {', '.join(as_line(item, 64) for item in step.depends_on)}")
    if step.outcome:
        parts.append(f"Outcome: {as_line(step.outcome, 160)}")
    return shorten(". ".join(parts), LONGEST_LINE)


def tool_names(tools: Iterable[PlannedTool], most: int = 8) -> str:
    """Return the names of tools with their versions, comma-separated, the first `most`."""
    names = [
        as_line(f"{tool.name}@{tool.version}" if tool.version else tool.name, 80) for tool in tools
    ]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def as_line(text: object, limit: int = 200) -> str:
    """Return a text as `quote` does, without the quotes."""
    return quote(str(text), limit + 2)[1:-1]
