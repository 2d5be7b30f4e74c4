"""What `trimtab worker` runs: loops by factory or URL, in processes that it replaces."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import attrs

from trimtab.inspection import discover, load, select
from trimtab.text import describe_error, plural
from trimtab_worker._handling import Replies
from trimtab_worker._health import Health, read_health
from trimtab_worker._lease_config import MainLoopConfig
from trimtab_worker._loop import Loop
from trimtab_worker._loops import MainLoop, Prepare
from trimtab_worker._records import LEASE_CLOCK, MailboxError, WorkerError

if TYPE_CHECKING:
    from trimtab import Adapter


def open_mailbox(url: str, body: Any = None) -> Any:
    """Open the mailbox that `url` names, e.g. ``sqlite:///queue.db``.

    An engine that is not installed raises trimtab's `UnknownProvider`.

    Args:
        url: its scheme is the name of an installed engine: ``sqlite``, ``redis``, ``sqs``,
            ``postgresql``, or another package's.
        body: attrs class that bodies are of, or several; None: plain JSON values.

    Raises:
        MailboxError: this is not a URL, or the engine refuses it.
    """
    scheme, colon, _ = url.partition(":")
    if not colon or not scheme:
        raise MailboxError(f"{url!r} is not a URL of a mailbox: write e.g. sqlite:///queue.db")
    factory = load(select("mailboxes", scheme, discover()))
    return factory(url, body)


def split_queue(url: str, default: str = "agents") -> tuple[str, str]:
    """Return a server's URL without its parameter ``queue``, and that parameter.

    Args:
        url: e.g. ``redis://localhost:6379/0?queue=agents``.
        default: the queue if the URL names none.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    queue = options.pop("queue", default)
    return urlunsplit(parts._replace(query=urlencode(options))), queue


@attrs.frozen(kw_only=True)
class WorkerSetup:
    """What a main loop is made of, but for its mailbox.

    Args:
        adapter: evaluates prompts.
        prepare: returns the prompt and the session for one request.
        request: attrs class of the requests; None: plain JSON values.
        config: times, dead letters, concurrency.
        replies: as for `MainLoop`.
    """

    adapter: Adapter
    prepare: Prepare
    request: type[Any] | None = None
    config: MainLoopConfig = attrs.field(factory=MainLoopConfig)
    replies: Replies = None


def make_loop(target: str, url: str | None, on_event: Callable[[Any], object]) -> Loop:
    """Return the loop that the factory `target` makes.

    Args:
        target: ``module:factory``; the module may lie in the current folder. The factory takes
            nothing or the mailbox's URL, and returns a loop or a `WorkerSetup`.
        url: of the mailbox.
        on_event: listener of the loop.

    Raises:
        WorkerError: there is no such factory, it fails, or returns something else.
    """
    factory = _imported(target)
    try:
        takes_url = bool(inspect.signature(factory).parameters)
        made = factory(url) if takes_url else factory()
    except Exception as error:
        raise WorkerError(f"{target} failed: {describe_error(error)}") from error
    if isinstance(made, Loop):
        if url is not None and not takes_url:
            raise WorkerError(
                f"{target} returns a loop with a mailbox of its own: leave out --mailbox, or let "
                f"the factory take the URL"
            )
        made.listen(on_event)
        return made
    if not isinstance(made, WorkerSetup):
        raise WorkerError(
            f"{target} must return a MainLoop, an EvalLoop or a WorkerSetup, "
            f"not {type(made).__name__}"
        )
    if url is None:
        raise WorkerError(f"{target} returns a WorkerSetup, which needs --mailbox URL")
    if url.startswith("memory:"):
        raise WorkerError(
            f"nobody can send to {url} of this worker: name a mailbox that others can open, such "
            "as sqlite:///queue.db"
        )
    return MainLoop(
        made.adapter,
        open_mailbox(url, made.request),
        made.config,
        prepare=made.prepare,
        replies=made.replies,
        on_event=on_event,
    )


def _imported(target: str) -> Callable[..., Any]:
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise WorkerError(f"{target!r} names no factory: write module:function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:
        raise WorkerError(f"{target} can't be imported: {describe_error(error)}") from error
    if not callable(found):
        raise WorkerError(f"{target} is not a function but {type(found).__name__}")
    factory: Callable[..., Any] = found
    return factory


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
