"""Tasks of ten steps with a plan: what is said of the plan, and what the next call is then.

Each task is played by a script through the plan tools. At four moments the model is asked for
its next call, with what the providers say there and without it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from trimtab import DecisionPoint, Host, Outcome, Session, ToolCall, ToolExecutor, enable
from trimtab_planning import react
from words.arms import Request
from words.moments import SYSTEM, Moment, Right, Step
from words.next_call import Model, judged, read
from words.world import Tool

KINDS = {
    "middle": ("none", "plan"),
    "compacted": ("none", "plan"),
    "unmarked": ("none", "plan"),
    "ticked": ("none", "plan", "plan+drift"),
}
"""The kinds of moment, with the arms of each: what is shown of the plan."""
PLAN_TOOLS = (
    Tool("plan_set", "Write the plan: all steps in order.", ("objective", "steps")),
    Tool("plan_update_step", "Say where a step stands: done after it.", ("step_id", "status")),
    Tool("finish", "End the task with an answer.", ("answer",)),
)


@attrs.frozen
class Task:
    """A task of ten steps, each one call.

    Args:
        name: of the task.
        asked: what the user asks for.
        tools: name, description and parameters of each tool.
        steps: title, tool, arguments and answer of each step.
    """

    name: str
    asked: str
    tools: tuple[Tool, ...]
    steps: tuple[tuple[str, str, Mapping[str, str], str], ...]

    def call(self, number: int) -> Step:
        """Return the call of a step, from 1."""
        _, tool, arguments, answer = self.steps[number - 1]
        return Step(tool, arguments, answer)

    def plan(self) -> Step:
        """Return the call that writes the plan."""
        steps = [{"title": title, "tools": [{"name": tool}]} for title, tool, _, _ in self.steps]
        return Step("plan_set", {"objective": self.asked, "steps": steps}, "plan.v1 (active)")


def _done(number: int) -> Step:
    return Step("plan_update_step", {"step_id": f"S{number}", "status": "done"}, "plan.v1 (active)")


def moment(task: Task, kind: str) -> Moment:
    """Return one moment of a task.

    ``middle``: three steps are done and marked. ``compacted``: five are done; a summary stands in
    place of the history. ``unmarked``: nine are done, the last six are not marked. ``ticked``:
    four are done, and the fifth is marked done without its call.
    """
    marked = {"middle": 3, "compacted": 5, "unmarked": 3, "ticked": 4}[kind]
    steps = [task.plan()]
    for number in range(1, marked + 1):
        steps += [task.call(number), _done(number)]
    following = marked + 1
    if kind == "unmarked":
        steps += [task.call(number) for number in range(4, 10)]
        following = 10
    if kind == "ticked":
        steps.append(_done(5))
    _, tool, arguments, _ = task.steps[following - 1]
    right = [Right(tool, {name: _loosely(value) for name, value in arguments.items()})]
    right += [Right("plan_update_step", args) for args in _updates(kind, following)]
    return Moment(
        f"{task.name}-{kind}",
        task.name,
        due=True,
        task=task.asked,
        steps=tuple(steps),
        tools=(*task.tools, *PLAN_TOOLS),
        kind=kind,
        right=tuple(right),
    )


def _updates(kind: str, following: int) -> Iterator[dict[str, str]]:
    """Yield the marks that are as right as the next call."""
    yield {"step_id": f"S{following}", "status": "in_progress"}
    if kind == "unmarked":
        yield {"step_id": "S[4-9]", "status": "done"}
    if kind == "ticked":
        yield {"step_id": "S5", "status": "pending|in_progress"}


def _loosely(value: str) -> str:
    return ".*" if " " in value else value.replace(".", r"\.")


def requests(at: Moment) -> list[Request]:
    """Return what each arm sends at a moment."""
    messages = at.messages()
    if at.kind == "compacted":
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": at.task}]
        messages.append({"role": "user", "content": _summary(at)})
    made = []
    for arm in KINDS[at.kind]:
        text = said(at, arm)
        placed = [*messages, {"role": "system", "content": text}] if text else messages
        made.append(Request(arm, placed, text, ()))
    return made


def _summary(at: Moment) -> str:
    calls = [step for step in at.steps if not step.tool.startswith("plan_")]
    done = "; ".join(f"{step.call}: {step.answer}" for step in calls)
    return f"Summary of the conversation so far, which was shortened: {done}. Go on."


def said(at: Moment, arm: str) -> str:
    """Return what the providers of an arm say at a moment, played through a session."""
    if arm == "none":
        return ""
    names = arm.replace("plan", "current-plan").replace("drift", "plan-drift").split("+")
    strategy = attrs.evolve(react(), guidance=[enable(name) for name in names])
    prompt = strategy.prompt("bench", "plans", config=None)
    told = frozenset(tool.name for tool in at.tools)
    run = Session().open_run(prompt, host=Host("bench", tools=told))
    run.user_message(at.task)
    executor = ToolExecutor(run, prompt.render().tools)
    for number, step in enumerate(at.steps):
        run.guide(DecisionPoint.PRE_TOOL_SELECTION)
        call = ToolCall(step.tool, dict(step.arguments), f"call_{number}")
        run.model_responded(tool_calls=[call])
        if step.tool.startswith("plan_"):
            assert executor.execute(call).outcome is Outcome.OK
        else:
            run.tool_started(call.tool, call.params, call.call_id)
            run.tool_finished(call.call_id, step.answer)
    if at.kind == "compacted":
        run.compacted()
    return run.guide(DecisionPoint.PRE_TOOL_SELECTION).text


def rows(model: Model, moments: Sequence[Moment], out: Path) -> Iterator[dict[str, Any]]:
    """Ask for the next calls that `out` does not hold yet; yield one row for each."""
    asked = {(row["moment"], row["arm"]) for row in (read(out) if out.exists() else ())}
    for at in moments:
        left = [one for one in requests(at) if (at.id, one.arm) not in asked]
        seed = zlib.crc32(at.id.encode())
        written = model.ask([one.messages for one in left], at.all_tools(), [seed] * len(left))
        for one, text in zip(left, written, strict=True):
            yield judged(at, one, text)


def all_moments(tasks: Sequence[Task]) -> list[Moment]:
    """Return the moments in turns of the kinds, so that a run that is cut off has all kinds."""
    return [moment(task, kind) for task in tasks for kind in KINDS]
