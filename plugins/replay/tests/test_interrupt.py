"""Ctrl-C ends a replay by several processes without a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WAIT = 60
CALL = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
MESSAGES = [
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "x"},
]


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(),
    reason="the system does not list the children of a process",
)
@pytest.mark.parametrize("started", [1, 2])
def test_processes_that_are_still_starting_print_no_traceback(tmp_path, started):
    for number in range(200):
        (tmp_path / f"{number}.json").write_text(json.dumps({"messages": MESSAGES}))
    command = [sys.executable, "-m", "trimtab", "replay", str(tmp_path), "--all", "--jobs", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline = time.monotonic() + WAIT
        while len(children(process.pid)) < started and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=WAIT)

    assert b"Traceback" not in said
    assert process.returncode in {130, -signal.SIGINT}


def a_case(number: int) -> str:
    """A case of one long run, as backtest reads it."""
    calls = [{"tool": "ls", "args": {"n": n}, "result": "x", "turn": n} for n in range(60_000)]
    case = {"id": f"c{number}", "concerns": "doom-loop", "expected": "quiet", "calls": calls}
    return json.dumps(case) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["replay", "backtest", "report"])
def test_files_in_work_are_not_waited_for(tmp_path, command):
    for number in range(2):
        messages = json.dumps({"messages": MESSAGES * 30_000})
        text = a_case(number) if command == "backtest" else messages
        (tmp_path / f"{number}.json{'l' * (command == 'backtest')}").write_text(text)
    options = ["--enable", "doom-loop"]
    out = ["--out", str(tmp_path / "page.html")] if command == "report" else []
    arguments = [sys.executable, "-m", "trimtab", command, str(tmp_path), *options, *out]
    with subprocess.Popen(
        [*arguments, "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + WAIT
        while len(children(process.pid)) < 2:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1)
        started = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=WAIT)
    assert time.monotonic() - began < 5  # a second where nothing else runs
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
