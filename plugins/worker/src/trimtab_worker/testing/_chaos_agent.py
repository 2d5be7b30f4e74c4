"""What chaos runs are made of: an agent with one effect for each message, and a bad network."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from trimtab import MarkdownSection, Prompt, PromptResponse, Session
from trimtab_worker import (
    LEASE_CLOCK,
    Attempt,
    LeaseExtenderConfig,
    MainLoopConfig,
    Reply,
    WorkerSetup,
    open_mailbox,
)

VARIABLE = "TRIMTAB_CHAOS"
"""Environment variable: a `Settings` as JSON."""
TARGET = f"{Path(__file__).stem}:setup"
"""What a worker is started with."""
BEAT = 0.01
PATIENCE = 60.0


@attrs.frozen
class Settings:
    """What the workers of a run are told.

    Args:
        effects: SQLite file of the effects.
        answers: URL of the mailbox for answers.
        work: longest work on one message, in seconds.
        lease: seconds of a lease.
        extend: leases are extended while the agent beats.
    """

    effects: str
    answers: str
    work: float
    lease: float
    extend: bool

    def environment(self) -> dict[str, str]:
        """Return the environment of a worker, which imports this module and not its package.

        The package imports pytest: workers would start half as fast.
        """
        paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
        return {
            **os.environ,
            VARIABLE: json.dumps(attrs.asdict(self)),
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }


def least_work(settings: Settings) -> float:
    """Return the seconds that work on a message takes at least."""
    return settings.work / 10


class Effects:
    """Effects in one SQLite file: each attempt that asked for one, and those that were made.

    A message's effect is made once, and never for an attempt that is not its newest.

    Args:
        path: of the file.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        with closing(self._open()) as db:
            db.execute("pragma journal_mode = wal")
            db.execute("create table if not exists asked(message, number)")
            db.execute("create table if not exists newest(message primary key, number)")
            db.execute("create table if not exists made(message)")

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, timeout=PATIENCE)
        db.execute("pragma synchronous = off")  # processes are killed, and not the machine
        return db

    def make(self, attempt: Attempt) -> bool:
        """Make the effect of a message; False where it is made or the attempt is stale.

        Args:
            attempt: that asks for it.
        """
        with closing(self._open()) as db, db:
            facts = (attempt.message_id, attempt.number)
            db.execute("begin immediate")
            db.execute("insert into asked values(?, ?)", facts)
            db.execute("insert or ignore into newest values(?, ?)", facts)
            update = "update newest set number = max(number, ?) where message = ?"
            (newest,) = db.execute(f"{update} returning number", facts[::-1]).fetchone()
            made = db.execute("select 1 from made where message = ?", facts[:1]).fetchone()
            if newest > attempt.number or made:
                return False
            db.execute("insert into made values(?)", facts[:1])
            return True

    def doubled(self, table: str) -> int:
        """Count messages with more than one effect.

        Args:
            table: ``asked``: as if there were no store; ``made``: with it.
        """
        grouped = f"select 1 from {table} group by message having count(*) > 1"  # noqa: S608
        with closing(self._open()) as db:
            return len(db.execute(grouped).fetchall())


class Agent:
    """Beats for a while, and makes its effect.

    Args:
        settings: how long, and where.
    """

    def __init__(self, settings: Settings) -> None:
        self._work = (least_work(settings), settings.work)
        self._effects = Effects(settings.effects)

    def evaluate(
        self, prompt: Prompt[Any], *, heartbeat: Any = None, **_: Any
    ) -> PromptResponse[Any]:
        """Work on one message."""
        until = LEASE_CLOCK.monotonic() + random.uniform(*self._work)  # noqa: S311 - no secrets
        while LEASE_CLOCK.monotonic() < until:
            time.sleep(BEAT)
            heartbeat.beat()
        made = self._effects.make(prompt.resources.get(Attempt))
        return PromptResponse("made" if made else "found")

    async def aevaluate(self, prompt: Prompt[Any], **rest: Any) -> PromptResponse[Any]:
        """Not used by workers."""
        raise NotImplementedError


def prepare(request: Any) -> tuple[Prompt[Any], Session]:
    """Return the prompt for one message."""
    section = MarkdownSection(key="number", title="Number", template=str(request))
    return Prompt("chaos", "main", [section]), Session()


def setup() -> WorkerSetup:
    """Return what one worker is made of: times that a test can wait for, and no dead letters."""
    settings = Settings(**json.loads(os.environ[VARIABLE]))
    config = MainLoopConfig(
        lease_extender=LeaseExtenderConfig(
            interval=settings.lease / 20, extension=settings.lease, enabled=settings.extend
        ),
        visibility_timeout=settings.lease,
        longest_silence=settings.lease / 2,
        max_processing_time=None if settings.extend else settings.lease / 2,
        watchdog_threshold=settings.lease * 2,
        dead_letters=None,
        retry_delay=0.1,
        poll_wait=1.0,
    )
    return WorkerSetup(
        adapter=Agent(settings),
        prepare=prepare,
        config=config,
        replies=open_mailbox(settings.answers, Reply),
    )


CHUNK = 65536


class Proxy:
    """Passes the bytes of connections on, until it is told to hold, delay, cut or half-close.

    Args:
        port: of the server, on loopback.

    Attributes:
        port: where clients connect.
        delay: seconds that each piece waits before it is passed on.
    """

    def __init__(self, port: int) -> None:
        self.delay = 0.0
        self._target = port
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self._open: set[socket.socket] = set()
        self._near: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._start(self._accept)

    def hold(self) -> None:
        """Keep all connections open and pass nothing on, as a network does that drops packets."""
        self._flows.clear()

    def release(self) -> None:
        """Pass on what was held, and all that follows."""
        self._flows.set()

    def cut(self) -> None:
        """Close all connections."""
        with self._lock:
            ending = list(self._open)
        for one in ending:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def half_close(self) -> None:
        """End what clients receive, while what they send is still passed on."""
        with self._lock:
            near = list(self._near)
        for one in near:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it."""
        self._listener.close()
        self.release()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._start(self._connect, near)

    def _connect(self, near: socket.socket) -> None:
        self._flows.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            near.close()
            return
        with self._lock:
            self._open |= {near, far}
            self._near.add(near)
        self._start(self._pass_on, near, far)
        self._start(self._pass_on, far, near)

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        waiting = threading.Event()
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._flows.wait()
                if self.delay:
                    waiting.wait(self.delay)
                sink.sendall(data)
        with self._lock:
            self._open -= {source, sink}
            self._near -= {source, sink}
        for one in (source, sink):
            # To close it alone would tell the other end nothing while the other thread reads it.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    @staticmethod
    def _start(act: object, *arguments: object) -> None:
        threading.Thread(target=act, args=arguments, daemon=True).start()  # type: ignore[arg-type]
