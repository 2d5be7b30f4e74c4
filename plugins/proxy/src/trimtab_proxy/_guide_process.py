"""``python -m trimtab_proxy._guide_process``: asks providers for the relay, in its own process.

Frames come on standard input and go to standard output. A provider that holds or ends this
process does neither to the relay.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock, Thread
from time import sleep  # a pause, not a time that is told
from typing import IO, Any

import attrs

from trimtab import TrimtabError
from trimtab_proxy._frames import (
    Ready,
    Reply,
    Request,
    collect_often,
    read_frame,
    write_frame,
)
from trimtab_proxy._guide import Counts
from trimtab_proxy._json import Unreadable
from trimtab_proxy._service import GuideService
from trimtab_proxy._settings import read_guide
from trimtab_trace import CallBoard

_WORKERS = 16
_TRIES = 5
_HELD_SECONDS = 15.0


class GuideProcess:
    """Answers frames until the other end closes."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(_WORKERS, "trimtab-guide")

    def serve(self) -> None:
        """Read frames; a question to the process itself is answered before all others."""
        service = self._begun(**read_frame(self._incoming))
        if service is None:
            return
        collect_often()
        while True:
            try:
                request: Request = read_frame(self._incoming)
            except EOFError:
                break
            if request.method == "ping":
                self._send(Reply(request.number))
            elif request.method == "close":
                service.guide.close()
                self._send(Reply(request.number, counts=_copied(service.guide.counts)))
            else:
                self._pool.submit(self._answer, service, request)
        service.guide.close()

    def _begun(self, board: Path, **how: Any) -> GuideService | None:
        """Read the configuration; `board` is the file that says which provider is being called."""
        try:
            CallBoard(board).watch()
            guide = read_guide(**how)
        except (TrimtabError, OSError) as error:
            self._send(Ready(error=str(error)))
            return None
        self._send(Ready(gate=guide.gate, notes=guide.notes, notify=guide.notify))
        return GuideService(guide)

    def _answer(self, service: GuideService, request: Request) -> None:
        method: Callable[..., Any] = getattr(service, request.method)
        reply = Reply(request.number)
        try:
            reply = attrs.evolve(reply, value=method(*request.arguments, **request.options))
        except Unreadable:
            reply = attrs.evolve(reply, failure=Unreadable.__name__)
        except Exception as error:  # noqa: BLE001 - the request goes on without guidance
            service.guide.counts.failures[type(error).__name__] += 1
            reply = attrs.evolve(reply, failure=type(error).__name__)
        self._send(attrs.evolve(reply, counts=_copied(service.guide.counts)))

    def _send(self, frame: Any) -> None:
        with self._lock:
            try:
                write_frame(self._outgoing, frame)
            except OSError:
                pass  # the relay has gone; the next read says so


def _copied(counts: Counts) -> Counts | None:
    """Return counts as they are now; None where other threads change them too fast."""
    for _ in range(_TRIES):
        copy = Counts()
        try:
            copy.add(counts)
        except RuntimeError:  # one came in between
            continue
        return copy
    return None


def _end_if_held() -> None:
    """Let this process end itself if no thread of it can run, even where the relay is gone."""
    with Path(os.devnull).open("wb") as nowhere:
        while True:
            faulthandler.dump_traceback_later(_HELD_SECONDS, file=nowhere, exit=True)
            sleep(1.0)


def main() -> int:
    """Serve on standard input and output; what providers print goes to standard error."""
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    Thread(target=_end_if_held, daemon=True).start()
    GuideProcess(sys.stdin.buffer, outgoing).serve()
    outgoing.flush()
    os._exit(0)  # a provider's thread may still run, forever


if __name__ == "__main__":
    sys.exit(main())
