"""Core: the table against pluggy, importing, snapshots."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pluggy
from measure import median, row

from trimtab import (
    DecisionPoint,
    GuidanceProviderConfig,
    Prompt,
    PromptTemplate,
    Run,
    Session,
    hookimpl,
)

SELECT = DecisionPoint.PRE_TOOL_SELECTION
SAVED = 20_000


def open_run(*providers: Any) -> Run:
    prompt = Prompt(PromptTemplate("bench", "run", guidance_providers=providers), config=None)
    return Session().open_run(prompt)


class Specifications:
    """What pluggy checks the arguments of each call against."""

    @pluggy.HookspecMarker("trimtab")
    def guide_pre_tool_selection(self, context: Any) -> None:
        pass


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
        manager.add_hookspecs(Specifications)
        for provider in providers:
            manager.register(provider)
        run = open_run(*[GuidanceProviderConfig(p) for p in providers])
        asks = run.prompt.table.guides[SELECT]
        context = run.guidance_context(SELECT)

        def ours() -> None:
            run.invoker.ask(asks, context, None)  # noqa: B023

        mine, public = median(ours), median(lambda: run.guide(SELECT))  # noqa: B023
        plain = median(lambda: manager.hook.guide_pre_tool_selection(context=context))  # noqa: B023
        row(
            f"table with isolation, {count} providers",
            f"{mine / plain:.2f} ×",
            "≤ 0.5 ×",
            f"pm.hook {plain:.1f} µs",
        )
        must = "≤ 1 ×" if count == 5 else "-"
        row(f"  Run.guide, {count} providers", f"{public / plain:.2f} ×", must)


def started(arguments: list[str]) -> float:
    """Return the seconds that one process takes, with its bytecode in place as once installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def importing() -> None:
    commands = {
        "attrs": ["-c", "import attrs, pluggy"],
        "bare": ["-c", "import trimtab"],
        "touched": ["-c", "import trimtab; trimtab.PromptTemplate; trimtab.Session"],
        "version": ["-m", "trimtab", "--version"],
        "list": ["-m", "trimtab", "plugins", "list"],
        "pass": ["-c", "pass"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(15):
        for name, arguments in commands.items():
            taken[name].append(started(arguments))
    middle = {name: statistics.median(values) for name, values in taken.items()}
    base, empty = middle["attrs"], middle["pass"]
    row("import trimtab", f"{middle['bare'] / base:.2f} ×", "≤ 0.5 ×", f"to {base * 1000:.0f} ms")
    row("  with PromptTemplate and Session", f"{middle['touched'] / base:.2f} ×", "≤ 2 ×")
    row("trimtab --version", f"{middle['version'] / empty:.2f} ×", "≤ 2 ×", "to python -c pass")
    row(
        "trimtab plugins list", f"{middle['list'] / base:.2f} ×", "≤ 2 ×", "to import attrs, pluggy"
    )


def seconds(work: Callable[[], object]) -> float:
    """Return the shortest of three times."""
    found = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def snapshots() -> None:
    session = Session()
    run = session.open_run(Prompt(PromptTemplate("bench", "run"), config=None))
    for number in range(SAVED):
        run.model_responded()
        run.tool_started("read", {"path": f"/src/module_{number}.py"}, str(number))
        run.tool_finished(str(number), f"line {number}\n" * 20)
    text = session.snapshot()
    data = json.loads(text)
    plain = seconds(lambda: json.dumps(data))
    saved, restored = seconds(session.snapshot), seconds(lambda: Session.restore(text))
    row(f"snapshot of {SAVED:,} calls", f"{saved / plain:.2f} ×", "≤ 1.5 ×", "to json.dumps")
    row("  restore", f"{restored / plain:.2f} ×", "≤ 3 ×")


def main() -> None:
    table()
    importing()
    snapshots()


if __name__ == "__main__":
    main()
