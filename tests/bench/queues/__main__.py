"""Queues with one and four workers, beside each other in one run: ``python tests/bench/queues``.

Each worker handles one message at a time, and a message does nothing. Messages are sent for some
seconds; then workers start, and the rate is counted once all of them are at work. Then they are
idle, and single messages are sent to them. Peers run with their defaults, but for late
acknowledgement and no prefetching. It needs redis-server and Postgres; a peer that is not
installed is left out.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PLUGINS = HERE.parents[2] / "plugins"
SENDING, LONGEST, IDLE = 2.0, 6.0, 3.0
SINGLES = 10
LEAST = 1500
"""Messages that are sent at least, whatever time it takes."""
TICK = os.sysconf("SC_CLK_TCK")
PEERS = ("celery", "dramatiq", "rq", "procrastinate")
OURS = ("trimtab sqlite", "trimtab redis", "trimtab postgres")
ORDER = (OURS[0], OURS[1], "celery", "dramatiq", "rq", OURS[2], "procrastinate")


def main(wanted: list[str]) -> None:
    """Measure each engine, or those that are named."""
    print(f"{'':18}{'workers':>8}{'a second':>10}{'CPU each':>10}{'idle CPU':>10}{'start':>16}")
    with tempfile.TemporaryDirectory() as folder:
        redis, postgres = _server("redis", folder), _server("postgres", None)
        redis.client.config_set("appendonly", "no")  # else the disk is measured
        try:
            for engine in wanted or ORDER:
                if engine in PEERS and importlib.util.find_spec(engine) is None:
                    print(f"{engine:18} is not installed", flush=True)
                    continue
                for workers in (1, 4):
                    redis.client.flushall()
                    with tempfile.TemporaryDirectory() as own:
                        Run(engine, workers, Path(own), redis, postgres).report()
        finally:
            redis.stop()
            postgres.stop()


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

    def report(self) -> None:
        """Measure, and print one line."""
        sent = self._send(SENDING, 0.0)
        began = time.perf_counter()
        processes = [self._start(command) for command in self._commands()]
        try:
            rate, each = self._rate(processes, sent)
            backlog = sent - len(self._lines())
            while backlog and time.perf_counter() - began < 60:
                time.sleep(0.5)
                backlog = sent - len(self._lines())
            time.sleep(1)
            before = self._cpu(processes)
            time.sleep(IDLE)
            idle = (self._cpu(processes) - before) / IDLE
            known = len(self._lines())
            self._send(SINGLES * 0.3, 0.3)
            time.sleep(2)
            took = [1000 * (ran - sent) for ran, sent, _ in self._lines()[known + 1 :]]
        finally:
            for one in processes:
                self._end(one)
        start = f"{statistics.median(took):.0f} / {max(took):.0f} ms" if took else "not measured"
        print(
            f"{self.engine:18}{self.workers:>8}{rate:>10,.0f}{each * 1e6:>7,.0f} µs"
            f"{idle:>9.1%} {start:>16}",
            flush=True,
        )

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

    def _send(self, seconds: float, pause: float) -> int:
        """Send for so long, from a process of its own; return how many messages."""
        code = (
            "import sys, time, tasks\n"
            "send, until, n = tasks.sender(), time.time() + float(sys.argv[1]), 0\n"
            "least = int(sys.argv[3])\n"
            "while time.time() < until or n < least:\n"
            "    send(time.time()); n += 1; time.sleep(float(sys.argv[2]))\n"
            "print(n)\n"
        )
        least = 0 if pause else LEAST
        command = [sys.executable, "-c", code, str(seconds), str(pause), str(least)]
        done = subprocess.run(
            command, env=self.environment, cwd=HERE, check=True, capture_output=True, text=True
        )
        return int(done.stdout)

    def _lines(self) -> list[tuple[float, float, int]]:
        lines = [line.split() for line in self.ran.read_text().splitlines()]
        return [(float(ran), float(sent), int(pid)) for ran, sent, pid in lines if pid]

    def _rate(self, processes: list[subprocess.Popen[bytes]], sent: int) -> tuple[float, float]:
        """Messages a second, and seconds of processor for one, once all workers are at work."""
        until = time.perf_counter() + 20
        while time.perf_counter() < until:
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
        one.send_signal(signal.SIGTERM)
        try:
            one.wait(15)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()


PROCRASTINATE = [str(Path(sys.executable).with_name("procrastinate")), "--app", "tasks.jobs"]

if __name__ == "__main__":
    main(sys.argv[1:])
