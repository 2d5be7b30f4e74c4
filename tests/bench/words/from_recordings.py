"""Take moments from runs that other people's agents recorded.

A moment is a stretch of a run, shortened: the last request of the user, the calls before a point
of decision, long arguments and answers cut. The providers must speak at the end of the stretch
as shortened, or nowhere in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import attrs

from trimtab import Outcome, ToolInvoked
from trimtab.events import UserMessage
from trimtab_replay import Corpus, Recording
from words.guided import spoken_at
from words.moments import Moment, Step, canonical
from words.world import Tool

LONGEST_ARGUMENT = 100
LONGEST_ANSWER = 160
LONGEST_TASK = 300
LONGEST_STRETCH = 5
QUIET_STRETCH = 3
MOST_TOOLS = 14
FEWEST_TOOLS = 10


SOURCES = {
    "tau-bench": ("tau-bench/gpt-4o-airline.json.gz", "sierra-research/tau-bench, MIT"),
    "tau2-bench": (
        "tau2-bench/langchain_agent_airline_2025-11-26_00-37-06.json.gz",
        "sierra-research/tau2-bench, MIT",
    ),
}
"""By family: the file in the folder of recorded runs, and where it was published."""
OF_EACH = 2
LARGEST = 2800
"""Characters of the messages of a moment."""


@attrs.frozen
class Run:
    """A recorded run as steps, with the request of the user that was the last before each."""

    id: str
    tools: tuple[Tool, ...]
    steps: tuple[Step, ...]
    tasks: tuple[str, ...]


def collect(folder: Path) -> Iterator[Moment]:
    """Return a few moments of every source, each from a run of its own."""
    for family, (name, source) in SOURCES.items():
        wanted = {True: OF_EACH, False: OF_EACH}
        for run in runs(folder / name):
            fitting = (moment for moment in moments(run, family, source) if wanted[moment.due])
            for moment in fitting:
                if len(str(moment.messages())) <= LARGEST:
                    wanted[moment.due] -= 1
                    yield moment
                    break


def runs(path: Path) -> Iterator[Run]:
    """Read the runs of a file, if they use enough tools and not too many."""
    readers = [entry.load()() for entry in entry_points(group="trimtab.transcripts")]
    found = [_read(recording) for recording in Corpus(readers).recordings([path])]
    params: dict[str, dict[str, None]] = {}
    for run in found:
        for step in run.steps:
            params.setdefault(step.tool, {}).update(dict.fromkeys(step.arguments))
    names = sorted(params)
    if FEWEST_TOOLS <= len(names) <= MOST_TOOLS:
        tools = tuple(Tool(name, _described(name), tuple(params[name])) for name in names)
        for run in found:
            yield attrs.evolve(run, tools=tools)


def _described(name: str) -> str:
    return name.replace("_", " ").strip().capitalize() + "."


def _read(recording: Recording) -> Run:
    task, steps, tasks = "", [], []
    for entry in recording.entries:
        item = entry.item
        if isinstance(item, UserMessage):
            task = item.text or task
        elif isinstance(item, ToolInvoked):
            steps.append(_step(item))
            tasks.append(task)
    return Run(recording.id, (), tuple(steps), tuple(tasks))


def _step(call: ToolInvoked) -> Step:
    given = call.params if isinstance(call.params, Mapping) else {"value": call.params}
    arguments = {str(name): _cut(value, LONGEST_ARGUMENT) for name, value in given.items()}
    ok = call.outcome is Outcome.OK
    return Step(call.tool, arguments, _cut(call.result, LONGEST_ANSWER), ok)


def _cut(value: Any, longest: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def moments(run: Run, family: str, source: str) -> Iterator[Moment]:
    """Return the moments of a run, those at which guidance is due first."""
    for due, longest in ((True, LONGEST_STRETCH), (False, QUIET_STRETCH)):
        for end in range(longest, len(run.steps) + 1):
            made = _moment(run, (end - longest, end), family, source)
            if _fits(made, due=due):
                yield attrs.evolve(made, due=due)


def _moment(run: Run, stretch: tuple[int, int], family: str, source: str) -> Moment:
    start, end = stretch
    return Moment(
        id=f"{family}-{run.id}-{end}"[:60],
        family=family,
        due=False,
        task=_cut(run.tasks[end - 1], LONGEST_TASK),
        steps=run.steps[start:end],
        tools=run.tools,
        source=source,
    )


def _fits(moment: Moment, *, due: bool) -> bool:
    if due:
        return spoken_at(moment) == len(moment.steps)
    calls = {canonical(step.tool, step.arguments) for step in moment.steps}
    answers = {step.answer for step in moment.steps}
    fresh = len(calls) == len(answers) == len(moment.steps)
    return fresh and all(step.ok for step in moment.steps) and spoken_at(moment) is None
