"""A connection whose calls end in time, whatever the network does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from typing import Any

import psycopg

from trimtab_worker import LEASE_CLOCK

TIMEOUT = 5.0
"""Seconds after which a call is given up. The client counts them: what a server or a kernel times
fails where a proxy keeps the connection open and holds the bytes."""
CANCEL = 2.0
LOG = logging.getLogger("trimtab_worker")
PARAMETERS = {
    "application_name": "trimtab",
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""What the URL does not say; a connection that is idle is looked after by the kernel."""


class TimedConnection(psycopg.Connection[Any]):
    """A connection that gives a call up after `TIMEOUT` seconds, with an `OperationalError`.

    It keeps no state on the server, neither settings nor prepared statements: a pooler such as
    PgBouncer may give each transaction another server's connection.
    """

    @classmethod
    def open(cls, conninfo: str) -> TimedConnection:
        """Connect; parameters of `conninfo` win over ours."""
        given = psycopg.conninfo.conninfo_to_dict(conninfo)
        parameters: dict[str, Any] = {**PARAMETERS, **given}
        return cls.connect(autocommit=True, prepare_threshold=None, **parameters)

    def wait(self, gen: Generator[Any, Any, Any], *how: Any, **kwargs: Any) -> Any:
        """As psycopg waits for a call, but not longer than `TIMEOUT`."""
        try:
            return super().wait(_limited(gen, LEASE_CLOCK.monotonic() + TIMEOUT), *how, **kwargs)
        except CallTimeout:
            self._cancel_later()
            raise

    def _cancel_later(self) -> None:
        """Ask the server to give the statement up too: it may wait for a lock."""

        def cancel() -> None:
            try:
                self.cancel_safe(timeout=CANCEL)
            except Exception as error:  # noqa: BLE001 - the server may be out of reach
                LOG.debug("a statement in Postgres could not be cancelled: %s", error)

        thread = threading.Thread(target=cancel, name="trimtab-postgres-cancel", daemon=True)
        thread.start()
        thread.join(CANCEL / 4)


class CallTimeout(psycopg.OperationalError):
    """A call took too long."""


def _limited(gen: Generator[Any, Any, Any], until: float) -> Generator[Any, Any, Any]:
    """Run psycopg's generator of one call, and raise when its time is over."""
    try:
        state = next(gen)
        while True:
            ready = yield state
            if LEASE_CLOCK.monotonic() >= until:
                raise CallTimeout(f"no answer for {TIMEOUT:g} seconds")
            state = gen.send(ready)
    except StopIteration as ended:
        return ended.value


def works(connection: TimedConnection) -> bool:
    """Return whether an idle connection is open, as far as the socket tells."""
    if connection.closed:
        return False
    for _ in range(2):  # the server's last words, then its end, which raises
        connection.pgconn.consume_input()
    return not connection.broken
