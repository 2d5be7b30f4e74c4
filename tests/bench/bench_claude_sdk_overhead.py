"""What trimtab's callbacks add to one tool turn of the real Claude Code program.

The model is scripted on loopback, and a turn is the time from one request to the next. Runs
without callbacks, with callbacks that do nothing (the program's own price, the yardstick) and
with trimtab's alternate, so that all meet the same machine.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, query
from measure import row

from trimtab import FeedbackProviderConfig, FeedbackTrigger, Prompt, Session, enable
from trimtab.inspection import UnknownProvider
from trimtab_claude_agent_sdk import hooks
from trimtab_claude_code.hooks import EVENTS
from trimtab_test_servers import AnthropicServer, Call, Turn, claude_code_environment, say
from trimtab_test_servers.record import Request

TURNS = 20
ROUNDS = 7
MUST_MILLISECONDS = 10
MODEL = "claude-sonnet-4-5"
GUIDANCE = ("diagnostic-signal", "doom-loop", "consultation-prompt", "parallel-tool-reminder")
CHECKERS = ("plan-based-checker",)


class Script:
    """Reads one file after another; notes when it was asked."""

    def __init__(self, work: Path) -> None:
        self.work, self.asked = work, list[float]()

    def __call__(self, _: Request) -> Turn:
        self.asked.append(time.perf_counter())
        number = len(self.asked)
        if number > TURNS:
            return say("Done.")
        return say(Call("Read", {"file_path": str(self.work / f"{number}.txt")}))

    @property
    def turns(self) -> list[float]:
        """Milliseconds of each turn but the first, which starts the program's machinery."""
        return [(later - earlier) * 1000 for earlier, later in itertools.pairwise(self.asked)][1:]


def turns(callbacks: dict[Any, Any] | None) -> list[float]:
    """Return the milliseconds of the turns of one run."""
    with tempfile.TemporaryDirectory() as folder:
        work, home = Path(folder, "work"), Path(folder, "home")
        work.mkdir()
        for number in range(1, TURNS + 1):
            (work / f"{number}.txt").write_text(f"{number}\n" * 20)
        script = Script(work)
        with AnthropicServer(script) as server:
            asyncio.run(_run(server, work, home, callbacks))
    return script.turns


async def _run(server: AnthropicServer, work: Path, home: Path, callbacks: Any) -> None:
    options = ClaudeAgentOptions(
        model=MODEL,
        cwd=work,
        permission_mode="bypassPermissions",
        setting_sources=[],
        env=claude_code_environment(server, home),
        hooks=callbacks,
    )
    async for _ in query(prompt="Read them all.", options=options):
        pass


def everything() -> Prompt[Any]:
    """Return a prompt with the built-in providers that are installed."""
    trigger = FeedbackTrigger(every_n_seconds=30)
    return Prompt(
        ns="bench",
        key="main",
        guidance_providers=[enable(name) for name in GUIDANCE if installed("guidance", name)],
        feedback_providers=[
            FeedbackProviderConfig(enable(name), trigger)
            for name in ("deadline-feedback",)
            if installed("feedback", name)
        ],
        completion_checkers=[enable(name) for name in CHECKERS if installed("completion", name)],
        config=None,
    )


def installed(kind: str, name: str) -> bool:
    """Whether a distribution offers this provider."""
    key = "completion_checkers" if kind == "completion" else f"{kind}_providers"
    fields: dict[str, Any] = {key: [enable(name)]}
    try:
        Prompt(ns="bench", key=name, config=None, **fields)
    except UnknownProvider:
        return False
    return True


async def _nothing(_payload: Any, _tool_use_id: Any, _context: Any) -> Any:
    return {}


def idle() -> dict[Any, Any]:
    """Return callbacks for the same events that answer at once."""
    return {event: [HookMatcher(hooks=[_nothing])] for event in EVENTS}


def main() -> None:
    prompt = everything()
    rounds = [(turns(None), turns(idle()), turns(hooks(prompt, Session()))) for _ in range(ROUNDS)]
    plain, empty, took = (
        statistics.median(itertools.chain(*column)) for column in zip(*rounds, strict=True)
    )
    names = ", ".join(source.name for source in prompt.table.sources)
    print(f"{names}; {ROUNDS} runs of {TURNS} turns; without hooks {plain:.1f} ms a turn")
    row(
        "added to a tool turn by the SDK callbacks",
        f"{took - plain:.1f} ms",
        f"≤ {MUST_MILLISECONDS} ms",
        f"callbacks that do nothing: {empty - plain:.1f} ms",
    )


if __name__ == "__main__":
    main()
