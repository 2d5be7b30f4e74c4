"""What probes of an orchestrator ask: does a worker live, and does it take messages."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from trimtab_worker._clock import LEASE_CLOCK

if TYPE_CHECKING:
    from typing import Self

INTERVAL = 1.0
"""Seconds between two looks at a loop."""
STALE = 10.0
"""Seconds after which a file that nobody writes means a process that does not run."""


@attrs.frozen(kw_only=True)
class Health:
    """How a loop, or all loops of several processes, fare.

    Args:
        running: its threads run.
        stopping: it takes no more messages.
        stuck: names of workers without a beat for too long.
        mailbox_error: why the mailbox could not be reached the last time; None if it answered.
        working: how many messages are worked on.
    """

    running: bool = False
    stopping: bool = False
    stuck: tuple[str, ...] = ()
    mailbox_error: str | None = None
    working: int = 0

    @property
    def live(self) -> bool:
        """Whether the loop runs and no worker is stuck; else a restart helps."""
        return self.running and not self.stuck

    @property
    def ready(self) -> bool:
        """Whether messages are taken now."""
        return self.live and not self.stopping and self.mailbox_error is None

    @classmethod
    def of_all(cls, found: Iterable[Health]) -> Health:
        """Return the health of several: as good as the worst of them.

        Args:
            found: of each.
        """
        every = list(found)
        return cls(
            running=bool(every) and all(one.running for one in every),
            stopping=any(one.stopping for one in every),
            stuck=tuple(name for one in every for name in one.stuck),
            mailbox_error=next((one.mailbox_error for one in every if one.mailbox_error), None),
            working=sum(one.working for one in every),
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, with `live` and `ready`."""
        return {"live": self.live, "ready": self.ready, **attrs.asdict(self)}


class HealthFile:
    """Writes the health of a loop into a file each second, and removes it where it is not live.

    A probe that runs a command looks at the file's age: it is at most some seconds old while the
    worker lives.

    Args:
        path: of the file.
        check: returns the health.
    """

    def __init__(self, path: Path, check: Callable[[], Health]) -> None:
        self._path = path
        self._check = check
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trimtab-health", daemon=True)

    def __enter__(self) -> Self:
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(INTERVAL)
        self._path.unlink(missing_ok=True)

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL):
            with suppress(OSError):  # the file grows old, which says the same
                self._write()

    def _write(self) -> None:
        health = self._check()
        if health.running and not health.live:
            self._path.unlink(missing_ok=True)
            return
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        part.write_text(json.dumps(health.as_json()), encoding="utf-8")
        part.replace(self._path)


def read_health(path: Path) -> Health:
    """Return the health that a process has written; not running where there is none or an old one.

    Args:
        path: of its file.
    """
    try:
        age = LEASE_CLOCK.now().timestamp() - path.stat().st_mtime
        found = json.loads(path.read_text(encoding="utf-8"))
        known = {field.name: found[field.name] for field in attrs.fields(Health)}
    except (OSError, ValueError, KeyError):
        return Health()
    return Health(**{**known, "stuck": tuple(known["stuck"])}) if age < STALE else Health()


class HealthServer:
    """Answers probes by HTTP: ``/live`` and ``/ready`` with 200 or 503, and JSON about why.

    Args:
        address: host and port; port 0 takes a free one.
        check: returns the health.

    Raises:
        OSError: the address can't be used.
    """

    def __init__(self, address: tuple[str, int], check: Callable[[], Health]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 5.0

            def do_GET(self) -> None:
                health = check()
                known = {"/live": health.live, "/ready": health.ready}
                status = 404 if self.path not in known else 200 if known[self.path] else 503
                body = json.dumps(health.as_json()).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base has it
                """Log nothing."""

        self._server = ThreadingHTTPServer(address, Handler)
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.1,), name="trimtab-probes", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
