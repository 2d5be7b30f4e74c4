"""Replay: calls a second on events already read and from files, and memory.

Measured are recorded sessions made up here: turns of one or two calls of 200 to 2,000 bytes. With
TRIMTAB_CORPUS the recorded runs in that folder are measured as well, whose calls are larger.
Seconds are those of the processor, since machines that measure are shared.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import attrs
from measure import row, yardstick

from trimtab_replay._driver import replay
from trimtab_replay._file import Job, ReadStats, replay_all
from trimtab_replay._recording import Recording
from trimtab_replay._selection import Prompts, everything

RUNS, TURNS = 20, 150
CALL = {"command": "pytest -q tests/test_prices.py", "description": "x" * 120}


def session(number: int) -> Iterator[dict[str, object]]:
    """The messages of one recorded run."""
    yield {"role": "user", "content": f"Task {number}: make the tests pass."}
    for turn in range(TURNS):
        ids = [f"{number}-{turn}-{n}" for n in range(1 + turn % 3 // 2)]
        arguments = [json.dumps({**CALL, "command": f"pytest -q tests/test_{i}.py"}) for i in ids]
        functions = [{"name": "run", "arguments": each} for each in arguments]
        calls = [
            {"id": i, "type": "function", "function": each}
            for i, each in zip(ids, functions, strict=True)
        ]
        yield {"role": "assistant", "content": "", "tool_calls": calls}
        for i in ids:
            answer = f"{turn} passed in {i}\n" + "one line of the log\n" * (10 + turn % 90)
            yield {"role": "tool", "tool_call_id": i, "content": answer}
    yield {"role": "assistant", "content": "Done."}


def write_sessions(folder: Path) -> None:
    for number in range(RUNS):
        (folder / f"{number:03}.json").write_text(json.dumps(list(session(number))))


def read(folder: Path, job: Job) -> list[Recording]:
    """All recordings of a folder, with their events in memory."""
    found = job.corpus(print).recordings([folder])
    return [attrs.evolve(recording, entries=list(recording.entries)) for recording in found]


def from_events(recordings: list[Recording], prompts: Prompts) -> float:
    """Calls a second on events already read."""
    began = time.process_time()
    calls = sum(replay(recording, prompts).calls for recording in recordings)
    return calls / (time.process_time() - began)


def from_files(folder: Path, job: Job) -> float:
    """Calls a second from files."""
    began = time.process_time()
    calls = sum(replayed.calls for replayed in replay_all([str(folder)], job, ReadStats()))
    return calls / (time.process_time() - began)


def peak(folder: Path, job: Job) -> float:
    """Megabytes of Python objects at the worst moment of a replay from files."""
    tracemalloc.start()
    for _ in replay_all([str(folder)], job, ReadStats()):
        pass
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return highest / 1e6


def measured(what: str, folder: Path) -> None:
    job = Job(selection=everything())
    beside = f"yardstick {yardstick(CALL):.1f} µs a call"
    recordings = read(folder, job)
    calls = [0.0, 0.0]
    for _ in range(3):
        calls[0] = max(calls[0], from_events(recordings, Prompts(job.selection)))
        calls[1] = max(calls[1], from_files(folder, job))
    row(f"replay, events already read, {what}", f"{calls[0]:,.0f} calls/s", "≥ 10,000", beside)
    row(f"replay, from files, {what}", f"{calls[1]:,.0f} calls/s", "≥ 5,000", beside)
    del recordings
    row(f"memory at the peak, from files, {what}", f"{peak(folder, job):,.1f} MB", "flat")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sessions(folder)
        measured("made-up sessions", folder)
    corpus = os.environ.get("TRIMTAB_CORPUS")
    if corpus:
        measured("recorded corpus", Path(corpus, "trajectories"))


if __name__ == "__main__":
    main()
