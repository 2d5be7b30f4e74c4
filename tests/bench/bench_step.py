"""A whole agent step beside the yardstick Y, its growth over a long run, and memory per call.

Y is sorted ``json.dumps`` plus blake2b of one call. A step is a response, a call that starts and
ends, and the decision before the next call.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from typing import Any, NamedTuple

from measure import p99, row, times, yardstick

from trimtab import DecisionPoint, Prompt, PromptTemplate, Run, Session

SELECT = DecisionPoint.PRE_TOOL_SELECTION
BUILT_IN = ("diagnostic-signal", "doom-loop", "consultation-prompt", "parallel-tool-reminder")
SHELL = {"command": "pytest -q tests/test_prices.py", "description": "Run tests", "timeout": 120}
RESULT = "collected 12 items\n" + "x" * 150
EARLIER = 100_000
ROUNDS = 7


class Taken(NamedTuple):
    """Microseconds of each step, of its decision and of its recording."""

    whole: list[float]
    decision: list[float]
    recording: list[float]


def open_run(*providers: Any) -> Run:
    prompt = Prompt(PromptTemplate("bench", "run", guidance_providers=providers), config=None)
    return Session().open_run(prompt)


def call(number: int) -> tuple[str, dict[str, Any]]:
    """Return a call as agents make them: reads, searches, now and then a command."""
    tool = ("Read", "Grep", "Read", "Bash")[number % 4]
    if tool == "Bash":
        return tool, {**SHELL, "command": f"pytest -q tests/test_{number % 97}.py -k case{number}"}
    path = f"src/pkg_{number % 89}/module_{number}.py"
    return tool, {"file_path": path, "offset": number % 50, "limit": 200, "pattern": f"x{number}"}


def take_steps(run: Run, first: int, count: int, padding: str = "") -> Taken:
    """Take `count` steps and time each."""
    clock, taken = time.perf_counter, Taken([], [], [])
    for number in range(first, first + count):
        (tool, params), call_id = call(number), str(number)
        result = f"{RESULT}{padding}{number}"
        began = clock()
        run.model_responded()
        run.tool_started(tool, params, call_id)
        run.tool_finished(call_id, result)
        asked = clock()
        run.guide(SELECT)
        ended = clock()
        for times_of, seconds in zip(
            taken, (ended - began, ended - asked, asked - began), strict=True
        ):
            times_of.append(seconds * 1e6)
    return taken


def median_yard() -> float:
    tool, params = call(3)
    return yardstick({"tool": tool, "params": params, "result": RESULT, "n": 1})


def steps() -> None:
    """Print a step, its decision and its recording as multiples of Y, measured in turns."""
    full, bare = open_run(*BUILT_IN), open_run()
    take_steps(full, 0, 500)
    take_steps(bare, 0, 500)
    found: list[tuple[float, float, float, float]] = []
    for part in range(ROUNDS):
        yard = median_yard()
        with_all = take_steps(full, 500 + 400 * part, 400)
        recording = take_steps(bare, 500 + 400 * part, 400).recording
        slowest = p99(sorted(with_all.decision))
        middle = map(statistics.median, (with_all.whole, with_all.decision, recording))
        found.append((*(value / yard for value in middle), slowest / yard))  # type: ignore[arg-type]
    whole, decision, recording_only, slowest = map(statistics.median, zip(*found, strict=True))
    beside = f"Y {median_yard():.1f} µs"
    row("a step with the four built-ins, 200 bytes", f"{whole:.1f} Y", "≤ 9 Y", beside)
    row("  of it the decision, median / p99", f"{decision:.1f} / {slowest:.1f} Y", "≤ 4 / 16 Y")
    row("recording a call without providers", f"{recording_only:.1f} Y", "≤ 3.5 Y")
    large = take_steps(open_run(), 0, 300, "x" * 20_000).recording
    row("  the same, 20 KB", f"{statistics.median(large):.0f} µs", "≤ 1000 µs")


def growth() -> None:
    """Print how much a step costs after many earlier calls, relative to after a few."""
    early, late = open_run(*BUILT_IN), open_run(*BUILT_IN)
    take_steps(early, 0, 300)
    take_steps(late, 0, EARLIER)
    ratios: list[tuple[float, ...]] = []
    for part in range(ROUNDS):
        few = take_steps(early, 300 + 300 * part, 300)
        many = take_steps(late, EARLIER + 300 * part, 300)
        middle = zip(map(statistics.median, few), map(statistics.median, many), strict=True)
        ratios.append(tuple(last / first for first, last in middle))
    for what, values in zip(
        ("step", "decision", "recording"), zip(*ratios, strict=True), strict=True
    ):
        title = f"{what} after {EARLIER:,} calls, to after 300"
        row(title, f"{statistics.median(values):.2f} ×", "≤ 1.2 ×")


def memory(title: str, must: int, *, count: int, size: int) -> None:
    """Print by how much a session grows with each call, its arguments of `size` characters."""
    run, first = open_run(), 1_000
    gc.collect()
    tracemalloc.start()
    before = 0
    for number in range(first + count):
        if number == first:
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
        run.model_responded()
        run.tool_started("Write", {"content": "y" * size + str(number)}, str(number))
        run.tool_finished(str(number), f"{RESULT}{number}" if size < 1000 else "ok")
    gc.collect()
    grown = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    row(title, f"{grown:.0f} B", f"≤ {must} B")


def unchanged() -> None:
    run = open_run(*BUILT_IN)
    take_steps(run, 0, 500)
    taken = times(lambda: run.guide(SELECT))
    row("a decision with nothing new since the last", f"{statistics.median(taken):.1f} µs", "-")


def main() -> None:
    steps()
    unchanged()
    growth()
    memory("memory of a call, 200 bytes", 300, count=20_000, size=80)
    memory("memory of a call, arguments of 20 KB", 1_000, count=2_000, size=20_000)


if __name__ == "__main__":
    main()
