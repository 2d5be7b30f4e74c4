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

from trimtab_claude_code._limits import payload_of
from trimtab_claude_code._session_loader import LoadedSession, describe, load_session
from trimtab_claude_code._state.problems import Problems
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
    """One session, loaded at its first event; `lock` is held while it is loaded."""

    def __init__(self) -> None:
        self.lock = Lock()
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
        try:
            payload = payload_of(body)
            return self._answer(variables, payload)
        except Exception as error:  # noqa: BLE001  # the agent goes on
            self.problems.add(f"A hook event could not be handled: {describe(error)}")
            return self._with_problems(Reply(), variables, payload)

    def _answer(self, variables: Variables, payload: Mapping[str, Any]) -> Reply:
        session_id = payload.get("session_id")
        if not isinstance(session_id, str) or not session_id:
            return Reply()
        loaded = self._loaded(session_id, variables, payload)
        reply = Reply()
        guided = loaded.guided
        if guided is not None:
            reply = Reply(guided.answer(payload), after=lambda: guided.after(payload))
        reply = self._with_problems(reply, variables, payload)
        if payload.get("hook_event_name") == "SessionEnd":
            return attrs.evolve(reply, after=partial(self._end, session_id, reply.after))
        return reply

    def _loaded(
        self, session_id: str, variables: Variables, payload: Mapping[str, Any]
    ) -> LoadedSession:
        entry = self._entry(session_id)
        with entry.held():
            without: frozenset[str] = frozenset()
            if entry.loaded is not None and entry.loaded.outdated(variables, payload):
                entry.loaded.release()
                without, entry.loaded = entry.loaded.too_slow, None
            if entry.loaded is None:
                entry.loaded = load_session(
                    session_id, variables, payload, self.problems, without=without
                )
            return entry.loaded

    def _entry(self, session_id: str) -> _Entry:
        dropped = []
        with self._lock:
            entry = self._entries.setdefault(session_id, _Entry())
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
