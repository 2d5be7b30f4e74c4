"""The relay's end of the process in which providers are asked: it never waits long for it.

Everything that could block is done by two threads, one that writes and one that reads; the event
loop only waits for futures. A process that hangs is ended, the provider in flight is set aside,
and another process begins, without it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from trimtab import SYSTEM_CLOCK, TrimtabError
from trimtab.inspection import state_home
from trimtab_proxy._frames import Ready, Reply, Request, interrupts, read_frame, write_frame
from trimtab_proxy._gate import Verdict
from trimtab_proxy._guidance import DECISION_SECONDS, JUDGE_SECONDS, LocalGuidance, RawHeaders
from trimtab_proxy._guide import Counts, Spoken
from trimtab_proxy._identity import PROXY
from trimtab_proxy._items import Answer
from trimtab_proxy._json import Unreadable
from trimtab_proxy._service import Decided
from trimtab_trace import SetAside, last_call

START_SECONDS = 30.0
HELD_SECONDS = 2.0
"""A process that answers no ping for so long is ended: none of its threads can run."""

_PING_SECONDS = 0.5
_END_SECONDS = 3.0
_MOST_RESTARTS = 5


class GuidanceFailed(TrimtabError):
    """Providers can't be asked."""


class _Gone(Exception):
    """The process has ended."""


class _Child:
    """One process, and what was asked and not answered yet."""

    def __init__(
        self,
        setup: dict[str, Any],
        environment: dict[str, str],
        told: Callable[[Spoken], None] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trimtab_proxy._guide_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # an interrupt from the terminal is the program's
        )
        self.ready: Future[Ready] = Future()
        self.counts = Counts()
        self.gone = Event()
        self.ended_at = 0.0
        self._told = told
        self._newest = 0
        self._lock = Lock()
        self._waiting: dict[int, Future[Reply]] = {}
        self._number = 0
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox.put(setup)
        with interrupts(kept_out=True):  # one thread waits for them
            for work in (self._write, self._read):
                Thread(target=work, name="trimtab-guide-link", daemon=True).start()

    def ask(self, method: str, *arguments: Any, **options: Any) -> Future[Reply]:
        """Ask; the future fails with `_Gone` if the process ends before it answers."""
        future: Future[Reply] = Future()
        with self._lock:
            if self.gone.is_set():
                future.set_exception(_Gone())
                return future
            self._number += 1
            self._waiting[self._number] = future
            self._outbox.put(Request(self._number, method, arguments, options))
        return future

    def end(self) -> None:
        """End it, whatever it does."""
        self.ended_at = SYSTEM_CLOCK.monotonic()
        self._process.kill()

    def close(self) -> None:
        """Let it end its runs, and wait a little for that."""
        with suppress(Exception):
            self._note(self.ask("close").result(_END_SECONDS))
        self._outbox.put(None)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            self._process.wait()

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with suppress(OSError):
            while (frame := self._outbox.get()) is not None:
                write_frame(stream, frame)
        with suppress(OSError):
            stream.close()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            self.ready.set_result(read_frame(stream))
            while True:
                reply: Reply = read_frame(stream)
                self._note(reply)
                waiting = self._waiting.pop(reply.number, None)
                if waiting is not None and not waiting.cancelled():
                    with suppress(Exception):  # it was cancelled meanwhile
                        waiting.set_result(reply)
        except Exception:  # noqa: BLE001 - it has gone, or sent what is no frame
            self._has_gone()
        finally:
            stream.close()

    def _note(self, reply: Reply) -> None:
        if reply.counts is None:
            return
        self.counts = reply.counts
        for spoken in reply.counts.said:
            if spoken.number > self._newest:
                self._newest = spoken.number
                if self._told is not None and self.ready.result().notify:
                    self._told(spoken)

    def _has_gone(self) -> None:
        self._process.kill()
        self._process.wait()
        with self._lock:
            self.gone.set()
            waiting, self._waiting = [*self._waiting.values()], {}
        self._outbox.put(None)
        everyone: list[Future[Any]] = [*waiting, self.ready]
        for future in everyone:
            with suppress(InvalidStateError):  # it has its result, or was cancelled
                future.set_exception(_Gone())


def _taken(ping: asyncio.Future[Reply]) -> None:
    """Take note of a ping that nobody waits for any more."""
    if not ping.cancelled():
        ping.exception()


class GuideLink:
    """Asks providers in another process: the relay's `Guidance`.

    Args:
        told: called with what is said, where the configuration has `notify`.
        how: as for `read_guide`.

    Attributes:
        notes: what the user should know.
    """

    def __init__(
        self,
        told: Callable[[Spoken], None] | None = None,
        **how: Any,
    ) -> None:
        self._told = told
        self._folder = tempfile.TemporaryDirectory(prefix="trimtab-proxy-")
        self._board = Path(self._folder.name) / "calls"
        self._setup = {"board": self._board, **how}
        self._aside = SetAside(state_home())
        self._lock = Lock()
        self._child: _Child | None = None
        self._before: list[Counts] = []
        self._ready = Ready()
        self.notes: list[str] = []

    @property
    def gate(self) -> bool:
        return self._ready.gate

    def start(self) -> None:
        """Start the process, and wait until it has read the configuration."""
        for name in self._aside.read():
            self.notes.append(f"{name} is set aside; to use it: trimtab status --bring-back {name}")
        child = self._child = _Child(self._setup, self._environment(), self._told)
        try:
            self._ready = child.ready.result(START_SECONDS)
        except (_Gone, TimeoutError):
            child.end()
            blamed = self._blame(child)
            raise GuidanceFailed(
                f"{blamed or 'the process that asks providers'} did not start"
            ) from None
        if self._ready.error:
            raise GuidanceFailed(self._ready.error)
        self.notes += self._ready.notes

    def counts(self) -> Counts:
        """Return what happened so far, in all processes."""
        total = Counts()
        for each in (*self._before, *([self._child.counts] if self._child else [])):
            total.add(each)
        return total

    def close(self) -> None:
        """End all runs, and the process."""
        if self._child is not None:
            self._child.close()
        with suppress(OSError):
            self._folder.cleanup()

    async def decide(
        self, wire: str, headers: RawHeaders, body: bytes, provider: str = ""
    ) -> Decided:
        arguments = ("decide", wire, tuple(headers), body, provider)
        reply = await self._asked(DECISION_SECONDS, *arguments)
        return reply.value if reply is not None and reply.value is not None else Decided()

    async def heard(self, ticket: int, wire: str, body: bytes, *, streamed: bool) -> None:
        await self._asked(DECISION_SECONDS, "heard", ticket, wire, body, streamed=streamed)

    async def judge(self, ticket: int, answer: Answer) -> Verdict:
        reply = await self._asked(JUDGE_SECONDS, "judge", ticket, answer)
        return reply.value if reply is not None and reply.value is not None else Verdict()

    async def _asked(
        self, seconds: float, method: str, *arguments: Any, **options: Any
    ) -> Reply | None:
        """Return the reply; None where there is none in time, whose reason is counted."""
        child = self._child
        if child is None:
            return None
        answer = asyncio.wrap_future(child.ask(method, *arguments, **options))
        try:
            reply = await self._watched(child, answer, seconds)
        except _Gone:
            await asyncio.to_thread(self._replace, child)
            return None
        except TimeoutError:
            self._fail("no answer in time")
            return None
        return None if reply.failure == Unreadable.__name__ else reply

    async def _watched(self, child: _Child, answer: asyncio.Future[Reply], seconds: float) -> Reply:
        """Wait for an answer while the process answers pings; end it when it does not."""
        waited, silent = 0.0, 0.0
        ping: asyncio.Future[Reply] | None = None
        while True:
            done, _ = await asyncio.wait({answer}, timeout=_PING_SECONDS)
            if done:
                if ping is not None:
                    ping.add_done_callback(_taken)
                return answer.result()
            waited += _PING_SECONDS
            if not child.ready.done():
                pass  # it is starting: it reads no frame yet
            elif ping is None or ping.done():
                silent = 0.0
                if ping is not None:
                    _taken(ping)
                ping = asyncio.wrap_future(child.ask("ping"))
            else:
                silent += _PING_SECONDS
            if silent >= HELD_SECONDS:
                child.end()
            if waited >= seconds:
                answer.cancel()
                raise TimeoutError

    def _fail(self, reason: str) -> None:
        child = self._child
        if child is not None:
            failed = Counts()
            failed.failures[reason] += 1
            self._before.append(failed)

    def _replace(self, child: _Child) -> None:
        """Start another process in the place of one that has ended, without whom it ended in."""
        with self._lock:
            if self._child is not child:
                return  # another request has done it
            self._before.append(child.counts)
            name = self._blame(child)
            self._fail(f"{name} held the process" if name and child.ended_at else "process ended")
            if name is None and len(self._before) > 2 * _MOST_RESTARTS:
                self._child = None
                return
            self._child = _Child(self._setup, self._environment(), self._told)

    def _blame(self, child: _Child) -> str | None:
        """Set aside the provider that was being called when a process ended; return its name."""
        call = last_call(self._board)
        if call is None:
            return None
        did = "held the proxy's process" if child.ended_at else "ended the proxy's process"
        self.notes.append(self._aside.add(call.provider, host=PROXY.name, reason=did))
        self._board.unlink(missing_ok=True)
        return call.provider

    def _environment(self) -> dict[str, str]:
        return self._aside.environment(os.environ)


Guidance = LocalGuidance | GuideLink
"""What the relay asks; nothing of it raises, and all of it takes a bounded time."""
