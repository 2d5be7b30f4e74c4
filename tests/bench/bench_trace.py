"""Traces: events a second appended, read and rebuilt, and memory over a million events.

Each figure stands beside a yardstick of the same run: the JSON library alone.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trimtab import ToolInvoked
from trimtab.events import ToolStarted
from trimtab_trace import (
    EVENT_TYPES,
    JsonlStore,
    SqliteStore,
    TraceEvent,
    TraceWriter,
    _codec,
    open_trace,
    session_of,
)
from trimtab_trace._codec import BACKEND, STANDARD, Backend, scan_file

EVENTS = 40_000
MILLION = 1_000_000
START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def records(count: int) -> Iterator[object]:
    """Yield calls and their results: 120-byte arguments, results of 2 KB on average."""
    chance = random.Random(1)
    for i in range(count // 2):
        at = START + timedelta(seconds=i)
        told = {
            "tool": "bash",
            "params": {"command": "ls " + "x" * 120, "timeout": 120},
            "call_id": f"call-{i}",
            "turn": i,
            "prompt_name": "agent/main",
            "run_id": "run-1",
            "at": at,
            "elapsed": float(i),
        }
        yield ToolStarted(**told)
        yield ToolInvoked(
            **told, result="word " * (int(chance.expovariate(1 / 1900)) // 5), duration=0.1
        )


def rate(what: str, count: int, run: Callable[[], object], repeats: int = 3) -> float:
    """Print and return events a second, the best of some runs, by the processor's time."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    found = count / best
    print(f"{what:<58} {found:>10,.0f} events/s")
    return found


def append_all(folder: Path, events: list[TraceEvent]) -> Path:
    path = folder / f"{time.monotonic_ns()}.jsonl"
    store = JsonlStore(path, durability="none")
    for event in events:
        store.append(event)
    store.close()
    return path


def latency(folder: Path, events: list[TraceEvent], durability: str) -> None:
    """Print how long single appends take by the clock on the wall."""
    store = JsonlStore(folder / f"latency-{durability}.jsonl", durability=durability)
    taken = []
    for event in events:
        began = time.perf_counter()
        store.append(event)
        taken.append((time.perf_counter() - began) * 1e6)
    store.close()
    taken.sort()
    p50, p99 = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    print(f"append, durability {durability:<39} p50 {p50:,.1f} µs  p99 {p99:,.1f} µs")


def yardstick(events: list[TraceEvent], backend: Backend) -> None:
    bodies = [{"seq": one.seq, "payload": one.payload} for one in events]
    lines = [backend.dumps(body) for body in bodies]
    rate(f"yardstick: {backend.name} dumps", len(bodies), lambda: [*map(backend.dumps, bodies)])
    rate(f"yardstick: {backend.name} loads", len(lines), lambda: [*map(backend.loads, lines)])


def speed(folder: Path) -> None:
    """Print the figures of both JSON libraries."""
    path = folder / "run.jsonl"
    made = list(records(EVENTS))
    gc.freeze()  # what stands ready is no work of the collector's
    writer = TraceWriter(JsonlStore(path, durability="none"))
    rate("record, from a session's record", EVENTS, lambda: [*map(writer.record, made)], 1)
    writer.close()
    events = list(open_trace(path))
    gc.freeze()
    for backend in dict.fromkeys((BACKEND, STANDARD)):
        yardstick(events, backend)
        _codec.BACKEND = backend
        written = append_all(folder, events)
        rate(f"append, {backend.name}", EVENTS, lambda: append_all(folder, events))
        rate(
            f"decode and verify, {backend.name}",
            EVENTS,
            lambda written=written: sum(1 for _ in scan_file(written)),
        )
    _codec.BACKEND = BACKEND
    rate("load typed records", EVENTS, lambda: [*map(EVENT_TYPES.load, events)])
    rate("rebuild a session", EVENTS, lambda: session_of(open_trace(path)), 1)
    latency(folder, events, "none")
    latency(folder, events[:2000], "barrier")
    database = SqliteStore(folder / "runs.db", durability="none")
    rate("append, SQLite", 10_000, lambda: [database.append(one) for one in events[:10_000]], 1)
    database.close()


def peak() -> float:
    """Return the most memory that the process has used so far, in MB (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def memory(folder: Path) -> None:
    """Print how much memory grows while a million events are written and read."""
    path = folder / "million.jsonl"
    writer = TraceWriter(JsonlStore(path, durability="none"))
    marks = []
    for index, record in enumerate(records(MILLION), 1):
        writer.record(record)
        if index in (10_000, MILLION):
            marks.append(peak())
    writer.close()
    count = 0
    for event in open_trace(path):
        count += event.seq >= 0
    size = path.stat().st_size / 1e6
    print(
        f"{count:,} events, {size:,.0f} MB on disk: peak {marks[0]:.0f} MB after 10,000,"
        f" {marks[1]:.0f} MB after all were written, {peak():.0f} MB after all were read"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps({"python": sys.version.split()[0], "json": BACKEND.name}))
        if "--million" in sys.argv:
            memory(Path(name))
            return
        speed(Path(name))
    subprocess.run([sys.executable, __file__, "--million"], check=True)


if __name__ == "__main__":
    main()
