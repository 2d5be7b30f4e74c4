"""The sessions that the hook server has in memory; the others wait in their journals."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import attrs

from trimtab import SYSTEM_CLOCK
from trimtab_claude_code._breaker import Breaker, Cost
from trimtab_claude_code._guided_session import SessionTime
from trimtab_claude_code._host_config import payload_of
from trimtab_claude_code._session_loader import LoadedSession, describe, load_session
from trimtab_claude_code._state.files import Problems
from trimtab_claude_code.hooks import HookOutput

MAX_SESSIONS = 32
LOAD_TIMEOUT = 1.0
"""Seconds that the events of a session wait in all while another event loads it."""

_INTERACTIVE = "cli"
Variables = Mapping[str, str]


def _nothing() -> None:
    """Do nothing after a reply."""


@attrs.frozen
class Reply:
    """What a client gets.

    Args:
        output: the hook's output.
        error: text for standard error instead; the client then ends with status 1.
        after: to be called when the reply is sent.
    """

    output: HookOutput = attrs.field(factory=dict)
    error: str = ""
    after: Callable[[], None] = _nothing

    @property
    def encoded(self) -> bytes:
        """The bytes that are sent."""
        if self.error:
            return b"!" + f"{self.error}\n".encode("utf-8", "replace")
        return b"=" + (json.dumps(self.output).encode() if self.output else b"")


class _Entry:
    """One session, loaded at its first event; `lock` is held while it is loaded.

    Args:
        cost: what it had waited before.
    """

    def __init__(self, cost: Cost) -> None:
        self.lock = Lock()
        self.time = SessionTime(cost)
        self.is_stopped = cost.is_reached
        self.loaded: LoadedSession | None = None
        self._patience = LOAD_TIMEOUT

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock.

        Raises:
            TimeoutError: another thread loads the session, and takes long.
        """
        if not self.lock.acquire(timeout=self._patience):
            self._patience = 0.0
            raise TimeoutError("the session is still being loaded; see its providers")
        try:
            yield
        finally:
            self.lock.release()

    def release(self) -> None:
        with self.lock:
            if self.loaded is not None:
                self.loaded.release()
            self.loaded = None


class SessionCache:
    """Hands each event to its session. May be called from several threads.

    Args:
        folder: the user's own folder.
        max_sessions: how many are kept in memory.
    """

    def __init__(self, folder: Path, *, max_sessions: int = MAX_SESSIONS) -> None:
        self.folder = folder
        self.problems = Problems(folder)
        self._max_sessions = max_sessions
        self._lock = Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def answer(self, variables: Variables, body: bytes) -> Reply:
        """Return the reply to an event; never raises: what goes wrong is noted as a problem.

        Args:
            variables: of the session's process: `_client.NAMES`.
            body: the event, JSON.
        """
        payload: Mapping[str, Any] = {}
        reply, began = Reply(), SYSTEM_CLOCK.monotonic()
        try:
            payload = payload_of(body)
            reply = self._answer(variables, payload)
        except Exception as error:  # noqa: BLE001  # the agent goes on
            self.problems.add(f"A hook event could not be handled: {describe(error)}")
        reply = self._counted(reply, payload, began)
        return self._with_problems(reply, variables, payload)

    def _answer(self, variables: Variables, payload: Mapping[str, Any]) -> Reply:
        session_id = payload.get("session_id")
        if not isinstance(session_id, str) or not session_id:
            return Reply()
        entry = self._entry(session_id)
        if entry.is_stopped:  # on a full disk its client does not know
            return Reply()
        reply = Reply()
        guided = self._loaded(entry, session_id, variables, payload).guided
        if guided is not None:
            reply = Reply(guided.answer(payload), after=lambda: guided.after(payload))
        if payload.get("hook_event_name") == "SessionEnd":
            return attrs.evolve(reply, after=partial(self._end, session_id, reply.after))
        return reply

    def _loaded(
        self, entry: _Entry, session_id: str, variables: Variables, payload: Mapping[str, Any]
    ) -> LoadedSession:
        with entry.held():
            loaded, time = entry.loaded, entry.time
            if loaded is not None and loaded.outdated(variables, payload, time.too_slow):
                loaded.release()
                loaded = entry.loaded = None
            if loaded is None:
                loaded = load_session(session_id, variables, payload, self.problems, time)
                entry.loaded = loaded
            return loaded

    def _counted(self, reply: Reply, payload: Mapping[str, Any], began: float) -> Reply:
        """Count what an event has cost its session, which goes on without guidance at some time.

        Args:
            reply: to the event.
            payload: the event.
            began: when it came, monotonic seconds.
        """
        session_id = str(payload.get("session_id"))
        entry = self._entries.get(session_id)
        if entry is None or not entry.time.answered(began, SYSTEM_CLOCK.monotonic(), payload):
            return reply
        time, breaker = entry.time, Breaker(self.folder)
        cost = breaker.answered(session_id, time.seconds, time.providers)
        time.kept()
        if not cost.is_reached or entry.is_stopped:
            return reply
        entry.is_stopped = True
        self.problems.add(str(cost))
        output = {**reply.output, "systemMessage": f"trimtab: {cost}"}
        stop = partial(self._stop, session_id, entry, cost, reply.after)
        return attrs.evolve(reply, output=output, after=stop)

    def _stop(self, session_id: str, entry: _Entry, cost: Cost, after: Callable[[], None]) -> None:
        after()
        with entry.lock:
            if entry.loaded is not None and entry.loaded.guided is not None:
                entry.loaded.guided.stop(cost)
        Breaker(self.folder).told(session_id)
        entry.release()

    def _entry(self, session_id: str) -> _Entry:
        dropped = []
        with self._lock:
            entry = self._entries.get(session_id)
            if entry is None:
                entry = _Entry(Breaker(self.folder).cost_of(session_id))
                self._entries[session_id] = entry
            self._entries.move_to_end(session_id)
            while len(self._entries) > self._max_sessions:
                dropped.append(self._entries.popitem(last=False)[1])
        for each in dropped:
            each.release()
        return entry

    def _with_problems(
        self, reply: Reply, variables: Variables, payload: Mapping[str, Any]
    ) -> Reply:
        """Tell the user what went wrong where a session begins, else where it ends.

        What hooks say at the beginning is not shown by ``claude -p``, except as JSON.
        """
        event = payload.get("hook_event_name")
        if event == "SessionStart":
            shown = variables.get("CLAUDE_CODE_ENTRYPOINT") == _INTERACTIVE
            found = self.problems.take_new() if shown else self.problems.new()
            if found:
                message = "\n".join(("trimtab", *(problem.message for problem in found)))
                return attrs.evolve(reply, output={**reply.output, "systemMessage": message})
        if event == "SessionEnd":
            text = "\n".join(problem.message for problem in self.problems.take_new())
            return attrs.evolve(reply, error=f"trimtab: {text}") if text else reply
        return reply

    def _end(self, session_id: str, after: Callable[[], None]) -> None:
        after()
        self._forget(session_id)

    def _forget(self, session_id: str) -> None:
        with self._lock:
            entry = self._entries.pop(session_id, None)
        if entry is not None:
            entry.release()

    def save_all(self) -> None:
        """Save every session that has news."""
        with self._lock:
            entries = tuple(self._entries.values())
        for entry in entries:
            if entry.loaded is not None and entry.loaded.guided is not None:
                entry.loaded.guided.save()

    def close(self) -> None:
        """Save and release all sessions."""
        self.save_all()
        with self._lock:
            entries, self._entries = tuple(self._entries.values()), OrderedDict()
        for entry in entries:
            entry.release()
