"""Beats with a slow engine behind them, leases and threads, the SQLite mailbox, memory of a loop.

Yardstick of a beat: sorted ``json.dumps`` plus blake2b of one call. Yardstick of the mailbox: the
same processes insert into and delete from a bare table of SQLite, one statement a transaction.
"""

from __future__ import annotations

import logging
import multiprocessing
import resource
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import median, row, yardstick

from trimtab import Heartbeat, MarkdownSection, Prompt, PromptResponse, Session
from trimtab_worker import (
    InMemoryMailbox,
    LeaseExtender,
    LeaseExtenderConfig,
    MainLoop,
    MainLoopConfig,
    SqliteMailbox,
)

CALL = {"tool": "Bash", "params": {"command": "x" * 150}, "call_id": "toolu_01", "turn": 1}
PROCESSES = 4
MESSAGES = 20_000
LOOP_MESSAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
BEATS = 1000
QUICK = LeaseExtenderConfig(interval=0.05, extension=1.0)


class SlowEngine:
    """A message whose extensions take 50 ms."""

    id = "slow"
    visibility = 1.0

    def extend_visibility(self, seconds: float) -> None:
        """Take the time that a far service takes."""
        time.sleep(0.05)


def beats() -> None:
    """One beat, with an extender attached whose engine is always busy."""
    heartbeat = Heartbeat()

    def many() -> None:
        for _ in range(BEATS):
            heartbeat.beat()

    with LeaseExtender(QUICK).attach(SlowEngine(), heartbeat):
        each = median(many, rounds=300) / BEATS
    y = yardstick(CALL)
    row("a beat, extender attached, engine of 50 ms", f"{each:.2f} µs", "<= 1 µs", f"Y {y:.1f} µs")


def threads() -> None:
    """64 leases of one process."""
    mailbox, heartbeat = InMemoryMailbox[Any](), Heartbeat()
    for number in range(64):
        mailbox.send(number)
    before = threading.active_count()
    blocks = [
        LeaseExtender(QUICK).attach(message, heartbeat)
        for message in mailbox.receive(64, visibility=1)
    ]
    leases = [block.__enter__() for block in blocks]
    until = time.perf_counter() + 2
    while time.perf_counter() < until:
        heartbeat.beat()
        time.sleep(0.01)
    more = threading.active_count() - before
    lost = sum(lease.lost for lease in leases)
    for block in blocks:
        block.__exit__(None, None, None)
    row("64 leases for 2 s: threads more, leases lost", f"{more}, {lost}", "<= 1, 0")


def drain(path: str, start: Any, done: Any) -> None:
    """Receive and acknowledge until the mailbox is empty."""
    mailbox = SqliteMailbox[Any](path)
    start.wait()
    count = 0
    while messages := mailbox.receive(1, visibility=30):
        count += messages[0].ack()
    done.put(count)


def bare(path: str, start: Any, done: Any) -> None:
    """Insert into and delete from a bare table, as many times as the others receive."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("pragma synchronous = normal")
    start.wait()
    for _ in range(MESSAGES // PROCESSES):
        made = connection.execute("insert into bare(body) values('x')").lastrowid
        connection.execute("delete from bare where id = ?", (made,))
    done.put(MESSAGES // PROCESSES)


def rate(work: Callable[[str, Any, Any], None], path: str) -> tuple[float, float, int]:
    """Return pairs of operations a second, in all and per second of CPU, and how many."""
    context = multiprocessing.get_context("fork")
    start, done = context.Barrier(PROCESSES + 1), context.Queue()
    crew = [context.Process(target=work, args=(path, start, done)) for _ in range(PROCESSES)]
    for one in crew:
        one.start()
    start.wait()
    began = time.perf_counter()
    count = sum(done.get() for _ in crew)
    taken = time.perf_counter() - began
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for one in crew:
        one.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return count / taken, count / cpu, count


def sqlite_rate() -> None:
    """Receive and acknowledge with several processes on one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "bare.db"))
        with sqlite3.connect(path) as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute("create table bare(id integer primary key, body text)")
        yard, yard_cpu, _ = rate(bare, path)
        path = str(Path(folder, "queue.db"))
        with SqliteMailbox[Any](path) as mailbox:
            for number in range(MESSAGES):
                mailbox.send({"number": number})
        mailbox.close()
        ours, ours_cpu, count = rate(drain, path)
        doubles = count - MESSAGES
    row(
        f"SqliteMailbox, {PROCESSES} processes: receive + ack a second",
        f"{ours:,.0f}",
        ">= 5,000",
        f"bare insert + delete {yard:,.0f}; doubles {doubles}",
    )
    row(
        "the same per second of CPU, processes' start included",
        f"{ours_cpu:,.0f}",
        "",
        f"bare insert + delete {yard_cpu:,.0f}",
    )


class Instant:
    """An adapter that answers at once."""

    def evaluate(self, prompt: Any, **_: Any) -> PromptResponse[Any]:
        """Answer."""
        return PromptResponse("done")

    async def aevaluate(self, prompt: Any, **_: Any) -> PromptResponse[Any]:
        """Answer."""
        return PromptResponse("done")


def prepare(_: Any) -> tuple[Prompt[Any], Session]:
    """Make a prompt and a session, as a worker does for each message."""
    return Prompt("bench", "main", [MarkdownSection(key="t", title="T", template="x")]), Session()


def resident() -> float:
    """Return the greatest resident memory so far in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory() -> None:
    """A whole loop: receive, prepare, evaluate, acknowledge."""
    with tempfile.TemporaryDirectory() as folder, SqliteMailbox[Any](f"{folder}/q.db") as mailbox:
        config = MainLoopConfig(longest_silence=60, watchdog_threshold=None)
        loop = MainLoop(Instant(), mailbox, config, prepare=prepare)
        tenth = LOOP_MESSAGES // 10
        began, first = time.perf_counter(), 0.0
        for part in range(10):
            for number in range(tenth):
                mailbox.send(number)
            assert loop.run(max_messages=tenth).done == tenth
            if part == 0:
                first = resident()
        taken = time.perf_counter() - began
    row(
        f"a loop over {LOOP_MESSAGES:,} messages: memory after a tenth, all",
        f"{first:.0f}, {resident():.0f} MB",
        "flat",
        f"{LOOP_MESSAGES / taken:,.0f} messages a second, sending included",
    )


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sqlite_rate()
    beats()
    threads()
    memory()
