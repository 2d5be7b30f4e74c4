"""The sessions that the resident process has in memory; the others wait in their journals."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from trimtab import SYSTEM_CLOCK, Clock
from trimtab_claude_code.hooks.answers import Answer
from trimtab_claude_code.opening import Guided, place_of, unanswered
from trimtab_claude_code.state.troubles import Troubles

MOST_SESSIONS = 32


class Desk:
    """Hands each event to its session. May be called from several threads.

    Args:
        folder: the user's own folder.
        clock: tells how long nothing has come.
        most: sessions kept in memory.
    """

    def __init__(
        self, folder: Path, *, clock: Clock = SYSTEM_CLOCK, most: int = MOST_SESSIONS
    ) -> None:
        self.folder = folder
        self.troubles = Troubles(folder)
        self._clock = clock
        self._most = most
        self._lock = Lock()
        self._sessions: OrderedDict[str, Guided] = OrderedDict()
        self._used = clock.monotonic()

    @property
    def idle_seconds(self) -> float:
        """How long nothing has come."""
        return self._clock.monotonic() - self._used

    def __len__(self) -> int:
        return len(self._sessions)

    def answer(self, payload: Mapping[str, Any]) -> Answer:
        """Return the answer to an event; never raises: what goes wrong is a trouble."""
        self._used = self._clock.monotonic()
        session_id = str(payload.get("session_id"))
        try:
            answer = self._guided(session_id, payload).answer(payload)
        except Exception as error:  # noqa: BLE001  # the agent goes on
            return unanswered(payload, error, self.troubles)
        if payload.get("hook_event_name") == "SessionEnd":
            self._forget(session_id)
        return answer

    def _guided(self, session_id: str, payload: Mapping[str, Any]) -> Guided:
        with self._lock:
            guided = self._sessions.get(session_id)
            if guided is None:
                guided = Guided(place_of(payload), self.troubles)
                self._sessions[session_id] = guided
            self._sessions.move_to_end(session_id)
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)[1].conversation.release()
        return guided

    def _forget(self, session_id: str) -> None:
        with self._lock:
            guided = self._sessions.pop(session_id, None)
        if guided:
            guided.conversation.release()
