"""Several worker processes: started, replaced when they end by themselves, ended together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trimtab.text import plural
from trimtab_worker._health import Health, read_health
from trimtab_worker._records import LEASE_CLOCK

FAILED, WRONG, CRASHED = 1, 2, 3
"""Exit statuses: messages failed; the input is wrong; a worker ended by itself."""
SHORTEST_LIFE = 5.0
RESTART = (1.0, 30.0)
"""Shortest and longest pause before a process that ended is started again."""
LOOK = 0.1
PARENT = "TRIMTAB_WORKER_PARENT"
"""Environment variable: number of a pipe that ends when the parent process does."""


class Supervisor:
    """Runs worker processes, and replaces one that ends by itself.

    Args:
        command: of one worker.
        wanted: how many run at a time.
        say: prints a line.
        finite: workers may end by themselves, since they have a limit.
        health: folder in which each worker keeps its health, or None.
    """

    def __init__(
        self,
        command: list[str],
        wanted: int,
        say: Callable[[str], object],
        *,
        finite: bool = False,
        health: Path | None = None,
    ) -> None:
        self._command = command
        self._wanted = wanted
        self._say = say
        self._finite = finite
        self._files = [
            None if health is None else health / f"{number}.json" for number in range(wanted)
        ]
        self._signals = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._statuses: set[int] = set()
        self._replaced = 0

    def run(self) -> int:
        """Run until SIGTERM or SIGINT, or until every worker may have ended; return the status.

        A first signal lets the workers finish, a second one lets them give their messages back, a
        third one ends them.
        """
        # Its write end is open here alone: workers read the end of this process, however it comes.
        reading, self._alive = os.pipe()
        self._pipe = reading
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        threads = [threading.Thread(target=self._keep, args=(file,)) for file in self._files]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(LOOK)
        os.close(reading)
        os.close(self._alive)
        replaced = f", {self._replaced} of them replaced" if self._replaced else ""
        self._say(f"{plural(self._wanted, 'worker')} ended{replaced}")
        return max(self._statuses, default=0)

    def _signalled(self, *_: Any) -> None:
        self._signals += 1
        if self._signals == 1:  # a second one may come within the first one's `set`, which locks
            self._stop.set()

    def health(self) -> Health:
        """Return the health of the workers: as good as the worst of them."""
        return Health.of_all(read_health(file) for file in self._files if file is not None)

    def _keep(self, file: Path | None) -> None:
        """Keep one worker running, with its health in `file`."""
        pause, longest = RESTART
        lived = False
        while not self._stop.is_set():
            started = LEASE_CLOCK.monotonic()
            status = self._attend(file)
            if self._ended(status, lived=lived):
                return
            lived = True
            if LEASE_CLOCK.monotonic() - started > SHORTEST_LIFE:
                pause = RESTART[0]
            self._say(f"a worker ended with status {status}; another starts in {pause:.0f} s")
            self._stop.wait(pause)
            pause = min(longest, pause * 2)

    def _ended(self, status: int, *, lived: bool) -> bool:
        """Count the end of a process; return whether it was meant to end."""
        asked = self._stop.is_set() or self._finite
        meant = (asked and status >= 0) or (status == WRONG and not lived)
        killed = status < 0 and self._signals > 1
        with self._lock:
            self._statuses.add(min(status, CRASHED) if meant else 0 if killed else CRASHED)
            self._replaced += not (meant or self._stop.is_set())
        return meant or self._stop.is_set()

    def _attend(self, file: Path | None) -> int:
        """Run one worker, passing on signals; return its status."""
        environment = {**os.environ, PARENT: str(self._pipe)}
        command = self._command if file is None else [*self._command, "--health-file", str(file)]
        sent = 0
        with subprocess.Popen(
            command, start_new_session=True, pass_fds=(self._pipe,), env=environment
        ) as worker:
            while True:
                try:
                    return worker.wait(LOOK)
                except subprocess.TimeoutExpired:
                    for _ in range(self._signals - sent):
                        worker.terminate()
                    sent = self._signals


def when_parent_ends(act: Callable[[], object]) -> None:
    """Call `act` on a thread when the supervisor's process ends, where there is one."""
    number = os.environ.pop(PARENT, None)
    if number is None:
        return

    def wait() -> None:
        while os.read(int(number), 1):
            """Nothing is written."""
        sys.stderr.write("worker: the parent process has ended\n")
        act()

    threading.Thread(target=wait, name="trimtab-parent", daemon=True).start()
