"""A run that goes on from a snapshot in another process decides as if it had never stopped."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trimtab import Prompt, Session, enable
from trimtab.events import ProviderFaulted

SCRIPT = '''
import json, random, sys
from pathlib import Path
from trimtab import Prompt, Session, ToolCall, enable
from trimtab import ManualClock

BUILT_INS = ("doom-loop", "diagnostic-signal", "consultation-prompt", "parallel-tool-reminder")
ANSWERS = (
    {"found": {"alpha", "beta", "gamma"}}, "Error: no such file: a.txt", "done", b"\\xff\\x00", "",
    {"rows": [1, 2, 3], "tags": frozenset({("a", 1), ("b", 2)})}, None, {"status": "running"},
)
PARAMS = (
    {"tags": {"alpha", "beta", "gamma", "delta"}}, {"path": "a.txt"}, {"of": {1, 2.5, "x", None}},
    {"raw": b"abc", "nested": [{"s": frozenset("hello")}]}, {"command": "pytest -q"},
)


def opened(session):
    prompt = Prompt("a", "b", config=None, guidance_providers=[enable(name) for name in BUILT_INS])
    return session.open_run(prompt, run_id="r")


def played(seed, session, run, turns):
    """Return what a run says in some turns of a made-up history."""
    said = []
    for turn in turns:
        choices = random.Random(f"{seed} {turn // 7}")
        pool = [(choices.choice(["tag", "read", "bash"]), choices.choice(PARAMS),
                 choices.choice(ANSWERS), choices.choice(["ok", "ok", "error"]))
                for _ in range(choices.choice([1, 1, 2, 3]))]
        tool, params, answer, outcome = pool[turn % len(pool)]
        session.clock.advance(2)
        run.model_responded(text=f"turn {turn}", tool_calls=[ToolCall(tool, params, f"c{turn}")])
        run.tool_started(tool, params, f"c{turn}")
        run.tool_finished(f"c{turn}", answer, outcome=outcome)
        said.append(run.guide("pre_tool_selection").text)
    return said


folder, mode, runs = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
decisions = {}
for seed in range(runs):
    cut = 5 + seed % 20
    file = folder / f"{seed}.json"
    if mode == "first":
        session = Session(clock=ManualClock())
        played(seed, session, opened(session), range(cut))
        file.write_text(session.snapshot())
        continue
    if mode == "then":
        session = Session.restore(file.read_text(), clock=ManualClock())
        run = opened(session)
    else:
        session = Session(clock=ManualClock())
        run = opened(session)
        played(seed, session, run, range(cut))
    session.clock.advance(100)
    decisions[seed] = played(seed, session, run, range(cut, 40))
print(json.dumps(decisions))
'''


def run(folder: Path, mode: str, hash_seed: int, runs: int = 40) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), mode, str(runs)],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_decisions_after_a_restore_under_another_hash_seed_are_the_same(tmp_path: Path) -> None:
    run(tmp_path, "first", 1)
    then: dict[str, list[Any]] = json.loads(run(tmp_path, "then", 2))

    assert then == json.loads(run(tmp_path, "whole", 3))
    spoken = sum(bool(text) for texts in then.values() for text in texts)
    assert spoken > len(then)


@pytest.mark.slow
def test_a_snapshot_is_the_same_under_every_hash_seed(tmp_path: Path) -> None:
    texts = []
    for hash_seed in (1, 2):
        folder = tmp_path / str(hash_seed)
        folder.mkdir()
        run(folder, "first", hash_seed, 10)
        texts.append([path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())])

    assert texts[0] == texts[1]


BUILT_INS = ("doom-loop", "diagnostic-signal", "consultation-prompt", "parallel-tool-reminder")
DAMAGES = (None, "text", 7, -7, 10**30, 1.5, True, [], [[1, "a", None]], {}, {"unknown": 1})


def opened(session: Session) -> Any:
    prompt: Prompt[Any] = Prompt(
        "a",
        "b",
        config=None,
        guidance_providers=[enable(name) for name in BUILT_INS],
        completion_checkers=[enable("plan-based-checker")],
    )
    return session.open_run(prompt, run_id="r")


def work(run: Any, calls: range) -> None:
    for number in calls:
        run.model_responded(text="Now I try it again, as before.")
        run.tool_started("bash", {"command": "pytest -q"}, f"c{number}")
        run.tool_finished(f"c{number}", "E   KeyError: 'x'\n1 failed", outcome="error")
        run.guide("pre_tool_selection")
    run.check_completion()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value, of lists the first item only."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_the_saved_state_of_a_provider_can_be_damaged_anyhow(damage: Any) -> None:
    session = Session()
    run = opened(session)
    run.user_message("Mend the tests.")
    todos = [{"content": "mend", "status": "in_progress"}]
    run.tool_finished("plan", "ok", tool="TodoWrite", params={"todos": todos})
    work(run, range(6))
    body = json.loads(session.snapshot())
    states = body["runs"][0]["feeds"]["projections"]
    assert len(states) >= len(BUILT_INS)

    for path in places(states):
        changed = copy.deepcopy(body)
        holder = changed["runs"][0]["feeds"]["projections"]
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = damage
        again = Session.restore(json.dumps(changed))
        resumed = opened(again)
        work(resumed, range(10, 12))
        faults = [fault.error for fault in again[ProviderFaulted].all()]
        assert faults == [], (path, faults)
        again.snapshot()
