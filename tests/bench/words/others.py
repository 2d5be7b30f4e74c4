"""The texts of the other providers: what the next call is with each, and without it.

Moments are scripted here; each has the text that its provider says there, made by playing the
moment through a session. ``diagnostic`` takes moments of the file that is given instead.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from trimtab import Budget, Host, Plan, PlanStep, Prompt, Session, enable
from trimtab_plan_based_checker import PlanBasedChecker
from words.arms import Request, text_at
from words.calls import BEGIN, END
from words.guided import spoken_at
from words.moments import Moment, Right, Step, exchange, read as read_moments
from words.next_call import judged, read
from words.plans import PLAN_TOOLS, Task
from words.plans_tasks import TASKS
from words.world import Tool

FINISH = PLAN_TOOLS[-1]
BANDS = {"half": (10, "next"), "tenth": (2, "finish"), "last": (1, "finish"), "none": (0, "finish")}
"""Turns that are left of twenty, and what is right then: to go on, or to end."""
_TURNS = 20
END_OF_TURN = "<|im_end|>"
LONGEST = 160
"""Tokens of a response: four calls."""
_NAMES = ("oak", "elm", "ash", "fir", "yew", "bay", "fig", "box")
_LOOKS = (
    ("Which of the rooms {} are free on 3 June?", "get_room", "room", "seats {}, carpet {}"),
    ("What do the files {} begin with?", "read_file", "path", "lines {}, first word {}"),
    ("Which of the pumps {} leak?", "get_pump", "pump", "bar {}, state {}"),
    ("Collect the prices of the woods {}.", "get_price", "article", "{}9.50 EUR, stock {}"),
)
_ODD = (("7", "sand"), ("31", "moss"), ("12", "clay"))
_STUCK = (
    ("Get the build of 'shop' to pass.", "set_option", "run_build", "lib{n} is not linked"),
    ("Make the printer in room 4 print.", "change_driver", "print_page", "driver {n} refused"),
    (
        "Bring the ferry form through its check.",
        "edit_field",
        "check_form",
        "rule {n} is broken",
    ),
    (
        "Let the model reach 0.9 accuracy.",
        "set_rate",
        "train",
        "loss {n}.5 is not finite",
    ),
)


def parallel() -> Iterator[Moment]:
    """Yield agents that look at one thing a turn, where they could ask for several."""
    for number, (task, tool, key, answer) in enumerate(_LOOKS):
        made = [
            Step(tool, {key: name}, answer.format(*odd))
            for name, odd in zip(_NAMES, _ODD, strict=False)
        ]
        tools = (Tool(tool, "Show one of them.", (key,)), FINISH)
        right = (Right(tool, {key: "|".join(_NAMES[len(_ODD) :])}),)
        asked = task.format(", ".join(_NAMES))
        yield _moment("parallel", f"parallel-{number}", asked, made, tools=tools, right=right)


def stuck() -> Iterator[Moment]:
    """Yield agents of which five different attempts failed, and who can ask for a review."""
    for number, (task, change, check, failure) in enumerate(_STUCK):
        made = []
        for n in range(1, 6):
            made.append(Step(change, {"value": f"v{n}"}, f"set to v{n}"))
            made.append(Step(check, {}, f"Error: {failure.format(n=n)}", False))
        tools = (
            Tool(change, "Change one setting.", ("value",)),
            Tool(check, "Try whether it works now.", ()),
            Tool("request_review", "Have a colleague look at it.", ("question",)),
            FINISH,
        )
        right = (Right("request_review"),)
        name = f"consultation-{number}"
        yield _moment("consultation", name, task, made, tools=tools, right=right)


def limited() -> Iterator[Moment]:
    """Yield agents in the middle of a task, with many turns left, few, one, or none."""
    for task in TASKS:
        for band, (_, right) in BANDS.items():
            made = [task.call(number) for number in range(1, 6)]
            wanted = _next_of(task, 6) if right == "next" else (Right("finish"),)
            tools, name = (*task.tools, FINISH), f"{task.name}-{band}"
            yield _moment("deadline", name, task.asked, made, tools=tools, right=wanted)


def gated() -> Iterator[Moment]:
    """Yield agents that want to end with two steps of their plan open."""
    for task in TASKS:
        made = [task.plan()]
        for number in range(1, 9):
            done = {"step_id": f"S{number}", "status": "done"}
            made += [task.call(number), Step("plan_update_step", done, "plan.v1 (active)")]
        tools = (*task.tools, *PLAN_TOOLS)
        right = _next_of(task, 9)
        yield _moment("gate", f"{task.name}-gate", task.asked, made, tools=tools, right=right)


def diagnostic(path: Path) -> Iterator[Moment]:
    """Yield the moments of a file at which calls failed, as far as the provider speaks first."""
    for moment in read_moments(path):
        if moment.due and not moment.steps[-1].ok:
            steps = moment.steps[: spoken_at(moment)]
            yield attrs.evolve(moment, steps=steps, kind="diagnostic")


def _moment(
    kind: str,
    name: str,
    task: str,
    steps: Sequence[Step],
    *,
    tools: tuple[Tool, ...],
    right: tuple[Right, ...],
) -> Moment:
    made = tuple(steps)
    return Moment(name, name, due=True, task=task, steps=made, kind=kind, tools=tools, right=right)


def _next_of(task: Task, number: int) -> tuple[Right, ...]:
    _, tool, arguments, _ = task.steps[number - 1]
    return (Right(tool, {k: ".*" if " " in v else v for k, v in arguments.items()}),)


def said(moment: Moment) -> str:
    """Return what the provider of a moment's kind says there; empty if it says nothing."""
    if moment.kind == "deadline":
        return _limits(moment)
    if moment.kind == "gate":
        return _gate(moment)
    names = {
        "parallel": "parallel-tool-reminder",
        "consultation": "consultation-prompt",
        "diagnostic": "diagnostic-signal",
    }
    return text_at(moment, options={names[moment.kind]: {}})


def _limits(moment: Moment) -> str:
    left, _ = BANDS[moment.id.rpartition("-")[2]]
    prompt = Prompt(
        "bench", "others", config=None, feedback_providers=[enable("deadline-feedback")]
    )
    host = Host("bench", tools=frozenset(tool.name for tool in moment.tools))
    run = Session().open_run(prompt, host=host, budget=Budget(max_turns=_TURNS))
    text = None
    for number in range(_TURNS - left):
        run.model_responded()
        run.tool_started("look", {}, str(number))
        run.tool_finished(str(number), str(number))
        text = run.feedback() or text
    return text or ""


def _gate(moment: Moment) -> str:
    titles = [step["title"] for step in moment.steps[0].arguments["steps"]]
    done = sum(step.tool == "plan_update_step" for step in moment.steps)
    prompt = Prompt("bench", "others", config=None, completion_checkers=[PlanBasedChecker()])
    run = Session().open_run(prompt)
    run.session.dispatch(
        Plan([PlanStep(t, "done" if n < done else "pending") for n, t in enumerate(titles)])
    )
    return run.check_completion().feedback or ""


def rows(model: Any, moments: Sequence[Moment], out: Path) -> Iterator[Mapping[str, Any]]:
    """Ask at each moment with the text and without it; yield one row for each answer.

    Args:
        model: a `LocalModel`.
        moments: those of this module.
        out: rows that are there already are not asked again.
    """
    done = {(row["moment"], row["arm"]) for row in (read(out) if out.exists() else ())}
    for moment in moments:
        text, role = said(moment), "user" if moment.kind == "gate" else "system"
        base = moment.messages()
        if moment.kind == "parallel":  # else the model is told to make one call a turn
            base = [{**base[0], "content": "Reach the goal with the tools."}, *base[1:]]
        if moment.kind == "gate":
            ended = Step("finish", {"answer": "Done."}, "")
            base = [*base, exchange(ended, len(moment.steps))[0]]
        placed = [*base, {"role": role, "content": text}]
        arms = [("none", "", base), *([("shipped", text, placed)] if text else [])]
        left = [arm for arm in arms if (moment.id, arm[0]) not in done]
        tools = [tool.short_schema() for tool in moment.all_tools()]
        prompts = [model.render(messages, tools) + BEGIN for _, _, messages in left]
        seeds = [zlib.crc32(moment.id.encode())] * len(left)
        # Several calls in one response are read as well, so an answer ends with the turn.
        written = model.complete(prompts, seeds, END_OF_TURN, longest=LONGEST) if left else ()
        for (arm, shown, messages), answer in zip(left, written, strict=True):
            request = Request(arm, messages, shown, ())
            row = judged(moment, request, answer.partition(END)[0])
            calls = 1 + answer.count(BEGIN)
            if moment.kind == "parallel":
                row["progress"] = row["progress"] and calls > 1
            yield {**row, "calls": calls, "text": shown}


def all_moments(path: Path) -> list[Moment]:
    """Return the moments of all kinds, those of `path` last."""
    return [*stuck(), *gated(), *limited(), *parallel(), *diagnostic(path)]
