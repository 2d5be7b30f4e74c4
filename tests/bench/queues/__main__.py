"""Queues with one and four workers, beside each other in one run: ``python tests/bench/queues``.

Each worker handles one message at a time, and a message does nothing. Messages are sent for some
seconds; then workers start, and the rate is counted once all of them are at work. Then they are
idle, and single messages are sent to them. Peers run with their defaults, but for late
acknowledgement and no prefetching. It needs redis-server and Postgres; a peer that is not
installed is left out.

``--rounds 3 --write docs/reference/leases.md`` does all that three times, as far as 12 minutes go,
and writes the table of the page: medians, and the slowest and fastest round.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

HERE = Path(__file__).parent
PLUGINS = HERE.parents[2] / "plugins"
SENDING, LONGEST, IDLE = 2.0, 4.0, 2.0
SINGLES, APART = 10, 0.2
LEAST = 400
"""Messages that are sent at least, whatever time it takes."""
PATIENCE = 60.0
"""Seconds that sending, starting and working off may take each."""
MINUTES = 12.0
"""No round begins that would not end by then."""
COLUMNS = (
    "a second, 1 worker",
    "a second, 4 workers",
    "CPU of a message, 1 · 4",
    "idle, 1 · 4",
    "send to start, 1 worker",
    "4 workers",
)
BEGIN, END = "<!-- python tests/bench/queues: begin -->", "<!-- end -->"
TICK = os.sysconf("SC_CLK_TCK")
PEERS = ("celery", "dramatiq", "rq", "procrastinate")
OURS = ("trimtab sqlite", "trimtab redis", "trimtab postgres")
ORDER = (OURS[0], OURS[1], "celery", "dramatiq", "rq", OURS[2], "procrastinate")


@attrs.frozen
class Figures:
    """What one engine did with so many workers.

    Args:
        rate: messages a second.
        each: seconds of processor for a message.
        idle: share of one processor while nothing is to do.
        start: seconds from sending to the start of single messages.
    """

    rate: float
    each: float
    idle: float
    start: Sequence[float]


Found = Mapping[tuple[str, int], Sequence[Figures]]


def main(arguments: Sequence[str]) -> None:
    """Measure each engine, or those that are named."""
    parser = argparse.ArgumentParser(prog="python tests/bench/queues")
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help=", ".join(ORDER))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    options = parser.parse_args(arguments)
    found: dict[tuple[str, int], list[Figures]] = defaultdict(list)
    load = os.getloadavg()[0]
    began, longest = time.monotonic(), 0.0
    for number in range(options.rounds):
        started = time.monotonic()
        if started - began + longest > MINUTES * 60:
            sys.stdout.write(f"no time for round {number + 1}\n")
            break
        _round(options.engines or ORDER, found)
        longest = max(longest, time.monotonic() - started)
    table = _table(found, load)
    sys.stdout.write(f"\n{table}\n")
    if options.write:
        text = options.write.read_text()
        before, _, rest = text.partition(BEGIN)
        options.write.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")


def _round(engines: Sequence[str], found: dict[tuple[str, int], list[Figures]]) -> None:
    """Measure each engine once; one that fails is named, and the others go on."""
    folder = tempfile.mkdtemp(prefix="queues-")
    redis, postgres = _server("redis", folder), _server("postgres", None)
    redis.client.config_set("appendonly", "no")  # else the disk is measured
    try:
        for engine in engines:
            if engine in PEERS and importlib.util.find_spec(engine) is None:
                sys.stdout.write(f"{engine} is not installed\n")
                continue
            for workers in (1, 4):
                redis.client.flushall()
                with tempfile.TemporaryDirectory() as own:
                    try:
                        one = Run(engine, workers, Path(own), redis, postgres).measure()
                    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
                        sys.stdout.write(f"{engine}, {workers} workers: {error}\n")
                        continue
                found[engine, workers].append(one)
                sys.stdout.write(f"{engine}, {workers} workers: {one}\n")
                sys.stdout.flush()
    finally:
        redis.stop()
        postgres.stop()
        for path in (folder, postgres.folder):
            shutil.rmtree(path, ignore_errors=True)


def _table(found: Found, load: float) -> str:
    """Return the table of a page, with what it was measured on."""
    lines = [f"| | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for engine in [one for one in ORDER if found.get((one, 1)) and found.get((one, 4))]:
        one, four = found[engine, 1], found[engine, 4]
        each = " · ".join(
            f"{statistics.median(f.each for f in fs) * 1e6:,.0f}" for fs in (one, four)
        )
        idle = " · ".join(f"{statistics.median(f.idle for f in fs):.1%}" for fs in (one, four))
        cells = (_rates(one), _rates(four), f"{each} µs", idle, _starts(one), _starts(four))
        lines.append(f"| {engine} | {' | '.join(cells)} |")
    names = (name for name in PEERS if found.get((name, 1)))
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    rounds = max(map(len, found.values()), default=0)
    lines.append(
        f"\nRounds: {rounds}. Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"load before the first round {load:.1f}; {versions}; {datetime.now(UTC):%Y-%m-%d}."
    )
    return "\n".join(lines)


def _rates(rounds: Sequence[Figures]) -> str:
    rates = [one.rate for one in rounds]
    middle = f"{statistics.median(rates):,.0f}"
    return middle if len(rates) < 2 else f"{middle} ({min(rates):,.0f} to {max(rates):,.0f})"


def _starts(rounds: Sequence[Figures]) -> str:
    took = [1000 * seconds for one in rounds for seconds in one.start]
    return f"{statistics.median(took):.0f} ms, at most {max(took):.0f}" if took else "–"


def _server(plugin: str, folder: str | None) -> Any:
    """Start the server that the tests of a plugin use."""
    path = PLUGINS / plugin / "tests" / "conftest.py"
    spec = importlib.util.spec_from_file_location(f"{plugin}_servers", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if plugin == "redis":
        server = module.Server(folder)
    else:
        server = module.Server(module.programs(), tempfile.mkdtemp(prefix="queues-"))
        server.make()
    server.start()
    return server


class Run:
    """One engine with so many workers."""

    def __init__(self, engine: str, workers: int, folder: Path, redis: Any, postgres: Any) -> None:
        self.engine, self.workers, self.ran = engine, workers, folder / "ran"
        self.ran.touch()
        bare = postgres.url("x").partition("?")[0]
        mailboxes = {
            "trimtab sqlite": f"sqlite:///{folder}/queue.db",
            "trimtab redis": redis.url("bench"),
            "trimtab postgres": postgres.url(f"bench{workers}"),
        }
        self.environment = {
            **os.environ,
            "QUEUES_ENGINE": engine,
            "QUEUES_REDIS": f"redis://127.0.0.1:{redis.port}/0",
            "QUEUES_POSTGRES": bare,
            "QUEUES_MAILBOX": mailboxes.get(engine, ""),
            "QUEUES_RAN": str(self.ran),
            "PYTHONPATH": str(HERE),
            "PYTHONWARNINGS": "ignore",
        }
        if engine == "procrastinate":
            postgres.execute("drop schema public cascade; create schema public")
            schema = [*PROCRASTINATE, "schema", "--apply"]
            subprocess.run(schema, env=self.environment, cwd=HERE, check=True, capture_output=True)

    def measure(self) -> Figures:
        """Work a queue off, then wait for single messages.

        Raises:
            RuntimeError: the workers don't work.
        """
        sent = self._send(LEAST, seconds=SENDING)
        processes = [self._start(command) for command in self._commands()]
        try:
            rate, each = self._rate(processes, sent)
            until = time.perf_counter() + PATIENCE
            while len(self._lines()) < sent:
                if time.perf_counter() > until:
                    raise RuntimeError(
                        f"{len(self._lines())} of {sent} messages in {PATIENCE:.0f} s"
                    )
                time.sleep(0.2)
            time.sleep(1)
            before = self._cpu(processes)
            time.sleep(IDLE)
            idle = (self._cpu(processes) - before) / IDLE
            singles = self._send(SINGLES, pause=APART)
            until = time.perf_counter() + SINGLES
            while len(self._lines()) < sent + singles and time.perf_counter() < until:
                time.sleep(0.1)
            took = [ran - at for ran, at, _ in self._lines()[sent + 1 :]]
        finally:
            for one in processes:
                one.send_signal(signal.SIGTERM)
            for one in processes:
                self._end(one)
        return Figures(rate, each, idle, took)

    def _commands(self) -> list[list[str]]:
        python = [sys.executable, "-m"]
        count = str(self.workers)
        if self.engine in OURS:
            options = ["--mailbox", self.environment["QUEUES_MAILBOX"], "--workers", count]
            return [[*python, "trimtab", "worker", "tasks:setup", "--quiet", *options]]
        if self.engine == "celery":
            quiet = ["--without-gossip", "--without-mingle", "--loglevel", "ERROR"]
            return [[*python, "celery", "-A", "tasks", "worker", "-c", count, *quiet]]
        if self.engine == "dramatiq":
            return [[*python, "dramatiq", "tasks", "--processes", count, "--threads", "1"]]
        if self.engine == "rq":
            url = self.environment["QUEUES_REDIS"]
            one = [str(Path(sys.executable).with_name("rq")), "worker", "--quiet", "--url", url]
            return [[*one, "-w", "rq.SimpleWorker"]] * self.workers
        return [[*PROCRASTINATE, "worker", "-c", "1"]] * self.workers

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            env=self.environment,
            cwd=HERE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _send(self, least: int, *, seconds: float = 0.0, pause: float = 0.0) -> int:
        """Send so many, and for so long, from a process of its own; return how many it were."""
        code = (
            "import sys, time, tasks\n"
            "send, until, n = tasks.sender(), time.time() + float(sys.argv[1]), 0\n"
            "least = int(sys.argv[3])\n"
            "while time.time() < until or n < least:\n"
            "    send(time.time()); n += 1; time.sleep(float(sys.argv[2]))\n"
            "print(n)\n"
        )
        command = [sys.executable, "-c", code, str(seconds), str(pause), str(least)]
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=HERE,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return int(done.stdout)

    def _lines(self) -> list[tuple[float, float, int]]:
        lines = [line.split() for line in self.ran.read_text().splitlines()]
        return [(float(ran), float(sent), int(pid)) for ran, sent, pid in lines if pid]

    def _rate(self, processes: list[subprocess.Popen[bytes]], sent: int) -> tuple[float, float]:
        """Messages a second, and seconds of processor for one, once all workers are at work."""
        until = time.perf_counter() + PATIENCE
        while True:
            if time.perf_counter() > until:
                raise RuntimeError(f"no {self.workers} workers in {PATIENCE:.0f} s")
            lines = self._lines()
            if len({pid for _, _, pid in lines}) >= self.workers or len(lines) >= sent * 0.7:
                break
            time.sleep(0.02)
        began, count, cpu = time.perf_counter(), len(self._lines()), self._cpu(processes)
        while len(self._lines()) < sent and time.perf_counter() - began < LONGEST:
            time.sleep(0.05)
        taken, cpu = time.perf_counter() - began, self._cpu(processes) - cpu
        lines = self._lines()
        done = max(1, len(lines) - count)
        ran = sorted(ran for ran, _, _ in lines)[count:]
        taken = max(taken - 0.05, ran[-1] - ran[0]) if len(ran) > 1 else taken
        return done / taken, cpu / done

    @staticmethod
    def _cpu(processes: list[subprocess.Popen[bytes]]) -> float:
        """Seconds of processor of the processes and all that they started."""
        parents, used = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                parents[int(path.parent.name)] = int(fields[1])
                used[int(path.parent.name)] = sum(map(int, fields[11:13]))
        known = {one.pid for one in processes}
        grown = True
        while grown:
            more = {pid for pid, parent in parents.items() if parent in known} - known
            known |= more
            grown = bool(more)
        return sum(used.get(pid, 0) for pid in known) / TICK

    @staticmethod
    def _end(one: subprocess.Popen[bytes]) -> None:
        try:
            one.wait(10)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()


PROCRASTINATE = [str(Path(sys.executable).with_name("procrastinate")), "--app", "tasks.jobs"]

if __name__ == "__main__":
    main(sys.argv[1:])
