"""From the first event of a session to the session that answers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from trimtab import TrimtabError, find_configuration, load_configuration
from trimtab.hosting import SetAside
from trimtab.inspection import state_home
from trimtab_claude_code._guided_session import GuidedSession, SessionTime
from trimtab_claude_code._host_config import HOST, HostConfig, read_host_config
from trimtab_claude_code._prompts import Prompts
from trimtab_claude_code._state.files import Problems
from trimtab_claude_code._state.folders import SUFFIXES, StateError, journal_path
from trimtab_claude_code._state.journal import IndexEntry, Journal, Origin, SessionIndex
from trimtab_trace import JournalOpened, SessionJournal, journal_folder, remove_old_journals

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
        variables: those of its process.
        guided: None if no prompt is assigned, or none can be used.
        without: names of providers that are left out of it.
    """

    variables: Variables
    guided: GuidedSession | None = None
    without: frozenset[str] = frozenset()

    def outdated(
        self, variables: Variables, payload: Mapping[str, Any], without: frozenset[str]
    ) -> bool:
        """Whether the session must be loaded again: another process goes on with it, or else.

        Args:
            variables: of the process that the event comes from.
            payload: the event.
            without: names of providers that are to be left out now.
        """
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
    """Find the configuration and the journal of a session.

    Args:
        session_id: the session.
        variables: of its process.
        payload: the event at hand.
        problems: where it is noted what goes wrong.
        time: counts what providers take of it; those that are too slow are left out.
    """
    without = time.too_slow
    index = SessionIndex(problems.folder)
    known = index.find(session_id)
    project = Path(known.project) if known else _project(variables, payload)
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
        journal = _journal(state_home(path, environment=environment), session_id, problems)
    origin = Origin(session_id, str(project), str(path), _stamp(path, variables, environment))
    timeout = _timeout(variables) or host.timeout
    guided = GuidedSession(
        journal,
        prompts,
        problems.add,
        origin=origin,
        redaction=host.redaction,
        recorder=recorder,
        timeout=timeout,
        time=time,
        notify=host.notify,
    )
    if journal is not None:
        _index(index, session_id, IndexEntry(str(journal.path), str(project)), problems)
        _tidy(journal.path.parent, host, problems)
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


def _journal(state: Path, session_id: str, problems: Problems) -> Journal | None:
    """Return the session's journal; a session without one is kept in memory."""
    try:
        return Journal(journal_path(state, session_id))
    except (OSError, StateError) as error:
        problems.add(f"A session can't be stored: {describe(error)}")
        return None


def _index(index: SessionIndex, session_id: str, entry: IndexEntry, problems: Problems) -> None:
    try:
        index.keep(session_id, entry)
    except OSError as error:
        problems.add(f"A session can't be found again after a restart: {describe(error)}")


def _project(variables: Variables, payload: Mapping[str, Any]) -> Path:
    """Return the folder in which the session began, wherever the agent is now."""
    cwd = payload.get("cwd")
    return Path(variables.get("CLAUDE_PROJECT_DIR") or (cwd if isinstance(cwd, str) else "/"))


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


def _tidy(folder: Path, host: HostConfig, problems: Problems) -> None:
    try:
        remove_old_journals(folder, host.journal, SUFFIXES)
    except OSError as error:
        problems.add(f"Old journals can't be removed: {error}")


def describe(error: BaseException) -> str:
    """Return an error in words for the user."""
    if isinstance(error, TrimtabError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def session_environment(variables: Variables, project: Path) -> Variables:
    """Return the variables that core reads, as the session's process has them.

    Args:
        variables: of the session's process; what is missing is unset.
        project: the folder to which its paths are relative.
    """
    found = {name: variables[name] for name in _READ_BY_CORE if variables.get(name)}
    return {
        name: str(project / value) if name in _PATHS else value for name, value in found.items()
    }
