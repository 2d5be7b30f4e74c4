"""Core: recording, deciding, the table against pluggy, importing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from itertools import chain
from typing import Any

import pluggy
from measure import median, p99, row, times, yardstick

from trimtab import (
    DecisionPoint,
    GuidanceProviderConfig,
    Prompt,
    PromptTemplate,
    Run,
    Session,
    ToolCall,
    hookimpl,
)
from trimtab._contract.hookspecs import SPECS

SELECT = DecisionPoint.PRE_TOOL_SELECTION
BUILT_IN = ("diagnostic-signal", "doom-loop", "consultation-prompt", "parallel-tool-reminder")


def open_run(*providers: Any) -> Run:
    prompt = Prompt(PromptTemplate("bench", "run", guidance_providers=providers), config=None)
    return Session().open_run(prompt)


class Calls:
    """Different calls of one size, recorded one per turn."""

    def __init__(self, run: Run, size: int) -> None:
        self.run, self.size, self.number = run, size, 0

    def make(self) -> tuple[dict[str, Any], str]:
        self.number += 1
        body = f"{self.number} " + "lorem ipsum dolor sit amet " * (self.size // 54)
        return {"path": f"/src/module_{self.number}.py", "text": body[: self.size // 2]}, body

    def record(self, params: dict[str, Any], result: str) -> None:
        call_id = str(self.number)
        self.run.tool_started("read", params, call_id)
        self.run.tool_finished(call_id, result)

    def one(self) -> None:
        self.run.model_responded(tool_calls=[ToolCall("read", {}, "x")])
        self.record(*self.make())
        self.run.guide(SELECT)

    def fill(self, calls: int) -> None:
        for _ in range(calls):
            self.one()


def early_and_late(size: int, *providers: Any) -> tuple[Calls, Calls]:
    """Return a run of 100 calls, and one of many."""
    early, late = (Calls(open_run(*providers), size) for _ in range(2))
    early.fill(100)
    late.fill(100_000 if size < 1000 else 2_000)
    return early, late


def in_turns(
    early: Calls, late: Calls, measure: Callable[[Calls], list[float]]
) -> tuple[list[float], list[float]]:
    """Measure both in turns, so that what else the machine does falls on both; sorted."""
    pairs = [(measure(early), measure(late)) for _ in range(10)]
    return sorted(chain(*(first for first, _ in pairs))), sorted(
        chain(*(last for _, last in pairs))
    )


def recorded(calls: Calls) -> list[float]:
    """Return the microseconds of recording each of 100 calls."""
    taken = []
    for params, result in [calls.make() for _ in range(100)]:
        began = time.perf_counter_ns()
        calls.record(params, result)
        taken.append((time.perf_counter_ns() - began) / 1000)
        calls.run.guide(SELECT)
    return taken


def decided(calls: Calls) -> list[float]:
    """Return the microseconds of each of 200 decisions."""
    return times(lambda: calls.run.guide(SELECT), rounds=200)


def recording(size: int, must: str) -> None:
    early, late = early_and_late(size)
    few, many = in_turns(early, late, recorded)
    yard = yardstick(early.make())
    row(
        f"record a call of {size} bytes, 100 earlier",
        f"{statistics.median(few):.1f} µs",
        must,
        f"yardstick {yard:.1f} µs",
    )
    later(late, few, many, "flat")


def deciding(size: int) -> None:
    early, late = early_and_late(size, *BUILT_IN)
    few, many = in_turns(early, late, decided)
    yard = yardstick(early.make())
    row(
        f"four built-ins, nothing to say, {size} bytes, 100 earlier",
        f"{statistics.median(few):.1f} / {p99(few):.1f} µs",
        "≤ 15 / 50 µs",
        f"yardstick {yard:.1f} µs",
    )
    later(late, few, many, "≤ 1.2 ×")


def later(late: Calls, few: list[float], many: list[float], must: str) -> None:
    ratio = statistics.median(many) / statistics.median(few)
    row(f"  the same, {late.number:,} earlier", f"{ratio:.2f} ×", must)


def memory() -> None:
    run = open_run(*BUILT_IN)
    sizes = []
    tracemalloc.start()
    for step in range(60_000):
        run.state.apply(_event(step))
        run.state.close_turn()
        if step in (1_000, 59_999):
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    grown = (sizes[1] - sizes[0]) / 1024
    row("memory of the trajectory, call 1,000 to 60,000", f"{grown:+.0f} KiB", "flat")


def _event(step: int) -> Any:
    from trimtab import ToolInvoked

    return ToolInvoked(
        tool="read", params={"path": f"/m{step}.py"}, result=f"body {step}", turn=step
    )


class Quiet:
    def __init__(self, name: str) -> None:
        self.name = name

    @hookimpl
    def guide_pre_tool_selection(self, context: Any) -> None:
        return None


def table() -> None:
    for count in (1, 5, 20):
        providers = [Quiet(f"quiet-{n}") for n in range(count)]
        manager = pluggy.PluginManager("trimtab")
        for spec in SPECS:
            manager.add_hookspecs(spec)
        for provider in providers:
            manager.register(provider)
        run = open_run(*[GuidanceProviderConfig(p) for p in providers])
        entries = run.prompt.table.guides[SELECT]
        context, caller = run.guidance_context(SELECT), run.caller

        def ours() -> None:
            caller.guides(entries, context, None)  # noqa: B023

        mine = median(ours)
        plain = median(lambda: manager.hook.guide_pre_tool_selection(context=context))  # noqa: B023
        row(
            f"table with isolation, {count} providers",
            f"{mine / plain:.2f} ×",
            "≤ 0.5 ×",
            f"pm.hook {plain:.1f} µs",
        )


def importing() -> None:
    codes = [
        "import attrs, pluggy",
        "import trimtab",
        "import trimtab; trimtab.PromptTemplate; trimtab.Run",
    ]
    taken: dict[str, list[float]] = {code: [] for code in codes}
    for _ in range(15):
        for code in codes:
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            taken[code].append(time.perf_counter() - began)
    base, bare, touched = (statistics.median(taken[code]) * 1000 for code in codes)
    row("import trimtab", f"{bare / base:.2f} ×", "≤ 1.3 ×", f"attrs, pluggy {base:.0f} ms")
    row("  with PromptTemplate and Run touched", f"{touched / base:.2f} ×", "≤ 2 ×")


def main() -> None:
    recording(200, "≤ 25 µs")
    recording(20_000, "≤ 1000 µs")
    deciding(200)
    deciding(20_000)
    memory()
    table()
    importing()


if __name__ == "__main__":
    main()
