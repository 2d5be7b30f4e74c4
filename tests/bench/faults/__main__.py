"""Faults on Celery, an agent beside a plain task: ``python tests/bench/faults [FAULT...]``.

Each fault has a Redis of its own, with a visibility timeout of four seconds, and two workers with
one process each: one has the agent, one a plain task with `acks_late` that does the same. After
the fault two more workers start, and each looks for what to give back some ten seconds later. It
needs redis-server, and prints a table for the docs.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
WORK = 10.0
"""Seconds of a task: longer than the visibility timeout."""
PATIENCE = 60.0
"""Seconds that an answer gets after the fault."""
RAISED = ("CancelledError", "SystemExit", "GeneratorExit")
QUEUES = ("agents", "plain")


def _module(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Stage:
    """A Redis, workers on it, and one task of each kind.

    Args:
        folder: for what they write.
    """

    def __init__(self, folder: Path) -> None:
        self.redis = _module("redis_servers", PLUGINS / "redis/tests/conftest.py").Server(folder)
        self.redis.start()
        os.environ["TRIMTAB_TEST_REDIS"] = f"redis://127.0.0.1:{self.redis.port}/0"
        os.environ["TRIMTAB_TEST_JOURNAL"] = str(folder / "journal")
        tests = PLUGINS / "celery/tests"
        self.app = _module("agents_on_celery", tests / "agents_on_celery.py")
        self.workers = _module("celery_workers", tests / "conftest.py").Workers(
            self.app, folder / "journal"
        )
        self.results: dict[str, Any] = {}

    def begin(self, kind: str, how_long: float = WORK) -> None:
        """Send a task of each kind, and wait until both have begun."""
        for queue in QUEUES:
            self.workers.start("-Q", queue)
        self.results = {
            "agents": self.app.agent.apply_async(([kind, how_long],), queue="agents"),
            "plain": self.app.plain.apply_async((how_long, f"plain {kind}"), queue="plain"),
        }
        for name in (kind, f"plain {kind}"):
            self.workers.wait_for("begins", name)

    def hit(self, number: int) -> None:
        """Send a signal to both workers."""
        for worker in self.workers.running[:2]:
            with suppress(ProcessLookupError):
                self.workers.signal(worker, number)

    def help(self) -> None:
        """Start a second worker for each queue."""
        for queue in QUEUES:
            self.workers.start("-Q", queue)

    def outcome(self, kind: str) -> Mapping[str, str]:
        """Say what became of each task, once it has a result or the time is up."""
        started = time.monotonic()
        pending = dict(self.results)
        ended: dict[str, str] = {}
        while pending and time.monotonic() - started < PATIENCE:
            for queue, result in list(pending.items()):
                with suppress(Exception):  # Redis may be away
                    if result.state in {"SUCCESS", "FAILURE", "REVOKED"}:
                        del pending[queue]
                        how = result.state.lower()
                        if how == "failure":
                            how = type(result.result).__name__
                        ended[queue] = f"{how} after {time.monotonic() - started:.0f} s"
            time.sleep(0.2)
        time.sleep(5)  # what is done a second time
        return {
            queue: f"{ended.get(queue, 'no result')}; begun {self._count('begins', name)}, "
            f"effects {self._count('effect', name)}"
            for queue, name in zip(QUEUES, (kind, f"plain {kind}"), strict=True)
        }

    def _count(self, what: str, kind: str) -> int:
        return len(self.workers.journal(what, kind))

    def end(self) -> None:
        """End everything."""
        self.workers.end()
        self.app.app.close()
        self.redis.stop()


def slow(stage: Stage) -> None:
    """Let other workers look while the tasks go on."""
    stage.begin("slow", WORK * 2)
    stage.help()


def hangs(stage: Stage) -> None:
    """Let the agent go on without a beat; nothing tells that of a plain task."""
    stage.begin("hangs", WORK * 2)
    stage.help()


def killed(stage: Stage) -> None:
    """Kill both workers."""
    stage.begin("killed")
    stage.hit(signal.SIGKILL)
    stage.help()


def stopped(stage: Stage) -> None:
    """Stop both workers until others have begun their tasks, and let them go on."""
    stage.begin("stopped")
    stage.hit(signal.SIGSTOP)
    stage.help()
    for name in ("stopped", "plain stopped"):
        stage.workers.wait_for("begins", name, 2)
    stage.hit(signal.SIGCONT)


def restarted(stage: Stage) -> None:
    """Kill Redis in the middle, and start it again with what it holds."""
    stage.begin("restarted")
    stage.redis.restart()
    stage.help()


def revoked(stage: Stage) -> None:
    """Revoke both tasks while they run."""
    stage.begin("revoked")
    for result in stage.results.values():
        result.revoke(terminate=True)


def raises(kind: str) -> Callable[[Stage], None]:
    """Let both tasks raise what is not an `Exception`."""

    def fault(stage: Stage) -> None:
        stage.begin(kind, 0)
        stage.help()

    return fault


FAULTS: Mapping[str, Callable[[Stage], None]] = {
    "slow": slow,
    "hangs": hangs,
    "killed": killed,
    "stopped": stopped,
    "restarted": restarted,
    "revoked": revoked,
    **{kind: raises(kind) for kind in RAISED},
}


def main(wanted: list[str]) -> None:
    """Make each fault, or those that are named."""
    sys.stdout.write(
        "| fault | agent by `trimtab-celery` | plain task, `acks_late` |\n|---|---|---|\n"
    )
    for name in wanted or FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            stage = Stage(Path(folder))
            try:
                FAULTS[name](stage)
                found = stage.outcome(name)
            finally:
                stage.end()
        sys.stdout.write(f"| {name} | {found['agents']} | {found['plain']} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
