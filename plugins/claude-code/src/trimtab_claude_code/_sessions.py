"""The sessions that the hook server has in memory, and those that wait in their journals."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import attrs

from trimtab import SYSTEM_CLOCK, TrimtabError, find_configuration, load_configuration
from trimtab_claude_code._breaker import Breaker, Cost
from trimtab_claude_code._files import Problems, make_private
from trimtab_claude_code._guided_session import GuidedSession, SessionTime
from trimtab_claude_code._host_config import HOST, HostConfig, Prompts, payload_of, read_host_config
from trimtab_claude_code._journal import SUFFIXES, Journal, session_file
from trimtab_claude_code.hooks import HookOutput
from trimtab_trace import (
    JournalOpened,
    SessionJournal,
    SetAside,
    journal_folder,
    remove_old_journals,
)

Variables = Mapping[str, str]

_DISABLE = "TRIMTAB_DISABLE"
_READ_BY_CORE = ("TRIMTAB_CONFIG", "TRIMTAB_DISABLE", "TRIMTAB_HOME", "TRIMTAB_PLUGINS")
_PATHS = frozenset({"TRIMTAB_CONFIG", "TRIMTAB_HOME"})

MAX_TIMEOUT = 1_000_000.0
_FIXED = ("TRIMTAB_CONFIG", "TRIMTAB_DISABLE", "TRIMTAB_HOME", "TRIMTAB_PLUGINS", "TRIMTAB_TIMEOUT")


@attrs.frozen
class LoadedSession:
    """A session as it was found at an event.

    Args:
        guided: None if no prompt is assigned, or none can be used.
        without: names of providers that are left out of it.
    """

    variables: Variables
    guided: GuidedSession | None = None
    without: frozenset[str] = frozenset()

    def outdated(
        self, variables: Variables, payload: Mapping[str, Any], without: frozenset[str]
    ) -> bool:
        """Whether the session must be loaded again: another process goes on with it, or else."""
        if without != self.without:
            return True
        if any(self.variables.get(name) != variables.get(name) for name in _FIXED):
            return True
        begins = payload.get("hook_event_name") == "SessionStart"
        return self.guided is None and begins and payload.get("source") != "compact"

    def release(self) -> None:
        """Save it; it goes on from its journal."""
        if self.guided is not None:
            self.guided.release()


def load_session(
    session_id: str,
    variables: Variables,
    payload: Mapping[str, Any],
    problems: Problems,
    time: SessionTime,
) -> LoadedSession:
    """Find the configuration and the journal of a session."""
    without = time.too_slow
    file = session_file(problems.folder, session_id)
    project = Path(_began_in(file) or _project(variables, payload))
    environment = _left_out(problems.folder, session_environment(variables, project), without)
    try:
        path = find_configuration(project, environment=environment)
        configuration = load_configuration(path) if path else None
        host = read_host_config(configuration) if configuration else HostConfig()
    except TrimtabError as error:
        problems.add(f"trimtab is off in {project}: {error}")
        return LoadedSession(variables, without=without)
    if configuration is None or not host.prompts:
        return LoadedSession(variables, without=without)
    prompts = Prompts(configuration, host, project, environment)
    prompts.build_all()
    journal, recorder = None, None
    if host.journal.enabled:
        recorder = _recorder(session_id, project, host, problems)
        journal = _journal(file, project, _stamp(path, variables, environment), problems)
    timeout = _timeout(variables) or host.timeout
    guided = GuidedSession(
        journal,
        prompts,
        problems.add,
        session_id=session_id,
        redaction=host.redaction,
        recorder=recorder,
        timeout=timeout,
        time=time,
        notify=host.notify,
    )
    if journal is not None:
        try:
            remove_old_journals(journal.path.parent, host.journal, SUFFIXES)
        except OSError as error:
            problems.add(f"Old journals can't be removed: {error}")
    for name, why in {**prompts.failures, **prompts.warnings(timeout)}.items():
        problems.add(f"{path}: {name} is off: {why}")
    return LoadedSession(variables, guided, without)


def _recorder(
    session_id: str, project: Path, host: HostConfig, problems: Problems
) -> SessionJournal:
    """Return what writes the session's journal."""
    return SessionJournal(
        f"{HOST}-{session_id}",
        JournalOpened(host=HOST, project=str(project), session=session_id),
        folder=journal_folder(problems.folder.parent),
        settings=host.journal,
        redact=host.redact,
    )


def _journal(path: Path, project: Path, stamp: str, problems: Problems) -> Journal | None:
    """Return the file that keeps a session; a session without one is kept in memory."""
    try:
        make_private(path.parent)
        return Journal(path, str(project), stamp)
    except OSError as error:
        problems.add(f"A session can't be stored: {describe(error)}")
        return None


def _began_in(path: Path) -> str:
    """Return the folder in which a saved session began."""
    try:
        return Journal(path).read().project
    except OSError:
        return ""


def _project(variables: Variables, payload: Mapping[str, Any]) -> str:
    """Return the folder in which a new session begins, wherever the agent is."""
    cwd = payload.get("cwd")
    return variables.get("CLAUDE_PROJECT_DIR") or (cwd if isinstance(cwd, str) else "/")


def _left_out(folder: Path, environment: Variables, without: Iterable[str]) -> Variables:
    """Return variables that turn off what is set aside, and what else is left out."""
    names = ",".join(filter(None, (environment.get(_DISABLE), *without)))
    return SetAside(folder.parent).environment({**environment, _DISABLE: names})


def _stamp(path: Path | None, variables: Variables, environment: Variables) -> str:
    """Return what is the same as long as the same providers would decide the same."""
    found = path.stat() if path else None
    file = (str(path), found.st_mtime_ns, found.st_size) if found else ()
    off = environment.get(_DISABLE, "")
    return repr((file, off, *(variables.get(name, "") for name in _FIXED)))


def _timeout(variables: Variables) -> float | None:
    try:
        seconds = float(variables.get("TRIMTAB_TIMEOUT", ""))
    except ValueError:
        return None
    return seconds if 0 < seconds <= MAX_TIMEOUT else None


def describe(error: BaseException) -> str:
    """Return an error in words for the user."""
    if isinstance(error, TrimtabError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def session_environment(variables: Variables, project: Path) -> Variables:
    """Return the variables that core reads, as the session's process in `project` has them."""
    found = {name: variables[name] for name in _READ_BY_CORE if variables.get(name)}
    return {
        name: str(project / value) if name in _PATHS else value for name, value in found.items()
    }


MAX_SESSIONS = 32
LOAD_TIMEOUT = 1.0
"""Seconds that the events of a session wait in all while another event loads it."""

_INTERACTIVE = "cli"


def _nothing() -> None:
    """Do nothing after a reply."""


@attrs.frozen
class Reply:
    """What a client gets.

    Args:
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

    def __init__(self, cost: Cost) -> None:
        self.lock = Lock()
        self.time = SessionTime(cost)
        self.is_stopped = cost.is_reached
        self.loaded: LoadedSession | None = None
        self._patience = LOAD_TIMEOUT

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock."""
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
    """Hands each event to its session. May be called from several threads."""

    def __init__(self, folder: Path, *, max_sessions: int = MAX_SESSIONS) -> None:
        self.folder = folder
        self.problems = Problems(folder)
        self._max_sessions = max_sessions
        self._lock = Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def answer(self, variables: Variables, body: bytes) -> Reply:
        """Return the reply to an event; never raises: what goes wrong is noted as a problem."""
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
        """Count what an event has cost its session, which goes on without guidance at some time."""
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
        with self._lock:
            entry = self._entries.pop(session_id, None)
        if entry is not None:
            entry.release()

    def close(self) -> None:
        """Save and release all sessions."""
        with self._lock:
            entries, self._entries = tuple(self._entries.values()), OrderedDict()
        for entry in entries:
            entry.release()
