"""Record the Claude Code transcripts that the tests read, with the real program.

    python tests/data/record_claude_code.py loop      # tests/data/claude-code-loop.jsonl
    python tests/data/record_claude_code.py failures  # plugins/replay/tests/data/claude-code/

Needs `claude-agent-sdk`, which brings the program, and `trimtab-test-servers` (tests/servers). No
login and no network: the model is scripted on loopback; the tools, their results and the rows are
the program's own. It works in a folder of its own (`--work`, made and removed, /sandbox/work unless
said otherwise) and with a home of its own.

Only rows of users, assistant and system are kept, chained to each other as before; of a row's token
usage only the two totals. What is dropped are request dumps, prompt snapshots and the program's
announcements of tools, skills and agents.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from trimtab_test_servers import (
    AnthropicServer,
    Call,
    Script,
    Step,
    Thinking,
    choose,
    claude_code_asker,
    claude_code_environment,
    say,
)

ROOT = Path(__file__).resolve().parents[2]
KEPT_TYPES = {"user", "assistant", "system"}
MODEL = "claude-sonnet-4-5"
MODEL_SECONDS = 1.2
INTERRUPT = "(interrupt)"

Row = dict[str, Any]


@attrs.frozen
class Scenario:
    """One recording: the project's files, what the user says, what the model answers."""

    session_id: str
    files: Mapping[str, str]
    prompts: tuple[str, ...]
    script: Callable[[Path], Script]
    target: Path
    environment: Mapping[str, str] = attrs.field(factory=dict)
    asks: bool = False


def bash(command: str, description: str) -> Call:
    return Call("Bash", {"command": command, "description": description})


def read(path: Path) -> Call:
    return Call("Read", {"file_path": str(path)})


def task(number: int, status: str) -> Call:
    return Call("TaskUpdate", {"taskId": str(number), "status": status})


def new_task(subject: str, description: str) -> Call:
    return Call("TaskCreate", {"subject": subject, "description": description})


def paced(*parts: str | Call | Thinking) -> Step:
    return say(*parts, delay_seconds=MODEL_SECONDS)


# --- a run that gets stuck ---------------------------------------------------------------------

SHOP = {
    "config.py": "DISCOUNT_PERCENT = 10\n",
    "prices.py": '''"""Prices of the shop, in cents."""

from config import DISCOUNT_PERCENT


def discounted(cents: int) -> int:
    """The price after the discount, rounded half up."""
    return cents * (100 - DISCOUNT_PERCENT) // 100
''',
    "test_prices.py": """import unittest

from prices import discounted


class Discounted(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(discounted(1000), 900)

    def test_half_of_an_odd_price(self):
        self.assertEqual(discounted(995), 896)

    def test_half_of_an_even_price(self):
        self.assertEqual(discounted(985), 887)
""",
}
BEFORE = "cents * (100 - DISCOUNT_PERCENT) // 100"
AFTER = "round(cents * (100 - DISCOUNT_PERCENT) / 100)"


def stuck(work: Path) -> Script:
    """Half the bug is fixed; then the same test is run again and again, and the agent gives up."""
    return [*plan_and_read(work), *fix(work), *rerun()]


def plan_and_read(work: Path) -> Iterator[Step]:
    tools = Call("ToolSearch", {"query": "select:TaskCreate,TaskUpdate"})
    yield paced(Thinking("A failing unit test. I plan the steps first."), tools)
    yield paced(
        "I'll plan this in four steps.",
        new_task("Read the code and its test", "Understand prices.py and test_prices.py"),
        new_task("Fix the rounding", "discounted() must round half up"),
        new_task("Run the tests", "All of test_prices.py must pass"),
        new_task("Note the fix in CHANGES.md", "One line for the next release"),
    )
    files = (read(work / "prices.py"), read(work / "test_prices.py"), read(work / "config.py"))
    yield paced(task(1, "in_progress"))
    yield paced("Let me read the code, its test and the configuration.", *files)
    yield paced("First I see how it fails.", run_tests())


def fix(work: Path) -> Iterator[Step]:
    yield paced("It rounds down.", task(1, "completed"), task(2, "in_progress"))
    change = {"old_string": BEFORE, "new_string": AFTER}
    yield paced(Call("Edit", {"file_path": str(work / "prices.py"), **change}))
    yield paced("The fix is in.", task(2, "completed"), task(3, "in_progress"))


def rerun() -> Iterator[Step]:
    words = (
        "Now the tests.",
        "One test still fails. Let me run the tests again.",
        "Let me try once more.",
        "That should have worked. I'll run the tests again.",
        "Let me run the tests one more time.",
        "I'll check again whether it passes now.",
    )
    for text in words:
        yield paced(text, run_tests())
    yield paced("The rounding in `discounted()` is fixed. The remaining failure looks unrelated.")


def run_tests() -> Call:
    return bash("python3 -m unittest -q test_prices", "Run the price tests")


# --- a run with every kind of trouble -----------------------------------------------------------

SHAPES = {
    "shapes.py": "def area(width, height):\n    return width * height\n",
    "report.py": "from shapes import area\n\nprint(area(2, 3))\n",
    "build.py": "import time\n\ntime.sleep(60)\n",
    "build/old.txt": "stale\n",
}


def troubles(work: Path) -> Script:
    """Denied, invalid, unknown, failing and interrupted calls; a subagent; a compaction."""
    scripts: dict[str, Iterable[Step]] = {
        "main": [*before_compaction(work), *after_compaction()],
        "subagent": subagent(),
        "compaction": [say("<analysis>Short.</analysis><summary>`area` is `surface`.</summary>")],
    }
    return choose(claude_code_asker, scripts)


def before_compaction(work: Path) -> Iterator[Step]:
    yield say("I look at both modules.", read(work / "shapes.py"), read(work / "shape_test.py"))
    yield say("The build folder is stale.", bash("rm -rf build", "Remove the build folder"))
    yield say(Call("Read", {"path": str(work / "report.py")}))
    yield say(Call("Search", {"pattern": "area"}))
    yield say(Call("TodoWrite", {"todos": [todo("Find callers"), todo("Rename")]}))
    yield say("A helper finds the callers.", delegate())
    change = {"old_string": "def area", "new_string": "def surface"}
    yield say(Call("Edit", {"file_path": str(work / "shapes.py"), **change}))
    yield say("`area` is now `surface`.")


def subagent() -> Iterator[Step]:
    yield say(bash("grep -n 'area(' *.py", "Find the callers"))
    yield say(bash("grep -n 'area(' lib/*.py", "Look in lib too"))
    yield say("Only report.py calls it.")


def after_compaction() -> Iterator[Step]:
    yield say("I run the report.", bash("python3 report.py 2>&1 | tail -1; exit 1", "Run it"))
    yield say("It still imports the old name.")
    yield say("I start the build.", bash("python3 build.py", "Build the project"))


def delegate() -> Call:
    work = {"description": "Find callers of area", "prompt": "List the callers of area()."}
    return Call("Agent", {**work, "subagent_type": "general-purpose", "run_in_background": False})


def todo(content: str) -> dict[str, str]:
    return {"content": content, "status": "pending", "activeForm": f"{content} (doing)"}


SCENARIOS = {
    "loop": Scenario(
        session_id="5f0c7a52-3c1e-4b6a-9d1f-0a7e4d2b9c11",
        files=SHOP,
        prompts=("The price tests fail. Please fix prices.py and note it in CHANGES.md.",),
        script=stuck,
        target=ROOT / "tests/data/claude-code-loop.jsonl",
    ),
    "failures": Scenario(
        session_id="b2d94c1e-77a0-4f35-8e0b-6c1d5a3f8e22",
        files=SHAPES,
        prompts=(
            "Rename area to surface.",
            "/compact",
            "Does the report still run?",
            "Build it.",
            INTERRUPT,
        ),
        script=troubles,
        target=ROOT / "plugins/replay/tests/data/claude-code",
        environment={"CLAUDE_CODE_ENABLE_TASKS": "0"},
        asks=True,
    ),
}


# --- recording ----------------------------------------------------------------------------------


def record(scenario: Scenario, work: Path) -> None:
    """Run the program on ``scenario`` and save its stripped transcripts."""
    lay_out(work, scenario.files)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        try:
            asyncio.run(asyncio.wait_for(converse(scenario, work, home), timeout=120))
        finally:
            shutil.rmtree(work)
        save(scenario, home)


def lay_out(work: Path, files: Mapping[str, str]) -> None:
    work.mkdir(parents=True)
    for name, text in files.items():
        path = work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


async def converse(scenario: Scenario, work: Path, home: Path) -> None:
    with AnthropicServer(scenario.script(work)) as server:
        options = ClaudeAgentOptions(
            model=MODEL,
            cwd=work,
            session_id=scenario.session_id,
            setting_sources=[],
            permission_mode="default" if scenario.asks else "bypassPermissions",
            can_use_tool=decide if scenario.asks else None,
            env={**claude_code_environment(server, home), **scenario.environment},
        )
        async with ClaudeSDKClient(options) as client:
            await say_all(client, scenario.prompts)
    if server.refusals:
        raise SystemExit(f"refused: {server.refusals[0].message}")


async def say_all(client: ClaudeSDKClient, prompts: tuple[str, ...]) -> None:
    for prompt, then in zip(prompts, (*prompts[1:], ""), strict=True):
        if prompt != INTERRUPT:
            await client.query(prompt)
            await listen(client, interrupt=then == INTERRUPT)


async def listen(client: ClaudeSDKClient, *, interrupt: bool) -> None:
    async for message in client.receive_response():
        if interrupt and isinstance(message, AssistantMessage) and calls_a_tool(message):
            await asyncio.sleep(MODEL_SECONDS)
            await client.interrupt()


def calls_a_tool(message: AssistantMessage) -> bool:
    return any(hasattr(block, "input") for block in message.content)


async def decide(
    name: str, params: dict[str, Any], _context: ToolPermissionContext
) -> PermissionResult:
    if name == "Bash" and params["command"].startswith("rm "):
        return PermissionResultDeny(message="Deleting is not allowed in this project.")
    return PermissionResultAllow(updated_input=params)


# --- stripping ----------------------------------------------------------------------------------


def save(scenario: Scenario, home: Path) -> None:
    (session,) = home.rglob(f"{scenario.session_id}.jsonl")
    if scenario.target.suffix == ".jsonl":
        write(scenario.target, strip(session, home))
        return
    shutil.rmtree(scenario.target / scenario.session_id, ignore_errors=True)
    for path in [session, *session.with_suffix("").rglob("*.jsonl")]:
        write(scenario.target / path.relative_to(session.parent), strip(path, home))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def strip(path: Path, home: Path) -> str:
    """The rows that a reader of transcripts needs, without a path of the recording machine."""
    text = path.read_text().replace(str(home), "/sandbox/home")
    rows = [json.loads(line) for line in text.splitlines()]
    parents = {row["uuid"]: row.get("parentUuid") for row in rows if dropped(row) and "uuid" in row}
    kept = (relinked(row, parents) for row in rows if not dropped(row))
    return "".join(json.dumps(lean(row), ensure_ascii=False) + "\n" for row in kept)


def dropped(row: Row) -> bool:
    return row["type"] not in KEPT_TYPES


def relinked(row: Row, parents: Mapping[str, str | None]) -> Row:
    """The row hung on its nearest ancestor that is kept."""
    parent = row.get("parentUuid")
    while parent is not None and parent in parents:
        parent = parents[parent]
    return {**row, "parentUuid": parent}


def lean(row: Row) -> Row:
    usage = row.get("message", {}).get("usage")
    if usage is None:
        return row
    totals = {name: usage[name] for name in ("input_tokens", "output_tokens")}
    return {**row, "message": {**row["message"], "usage": totals}}


def main() -> None:
    parser = argparse.ArgumentParser(description="Record a Claude Code transcript for the tests.")
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("--work", type=Path, default=Path("/sandbox/work"), help="a new folder")
    arguments = parser.parse_args()
    record(SCENARIOS[arguments.scenario], arguments.work)


if __name__ == "__main__":
    main()
