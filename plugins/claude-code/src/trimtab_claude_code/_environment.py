"""The variables of one session, in a server that serves many."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

Variables = Mapping[str, str]

_READ_BY_CORE = ("TRIMTAB_CONFIG", "TRIMTAB_DISABLE", "TRIMTAB_HOME", "TRIMTAB_PLUGINS")
_PATHS = frozenset({"TRIMTAB_CONFIG", "TRIMTAB_HOME"})
_LOCK = RLock()
TIMEOUT = 4.0


@contextmanager
def session_environment(variables: Variables, project: Path) -> Iterator[None]:
    """Let configuration and plugins be looked up with the variables of a session.

    They are the process's own meanwhile, so only one session is loaded at a time.

    Args:
        variables: of the session's process; what is missing is unset.
        project: the folder to which its paths are relative.

    Raises:
        TimeoutError: another session is being loaded, and takes long.
    """
    if not _LOCK.acquire(timeout=TIMEOUT):
        raise TimeoutError("another session is still being loaded; see its providers")
    try:
        before = {name: os.environ.get(name) for name in _READ_BY_CORE}
        _set({name: _absolute(name, variables.get(name), project) for name in _READ_BY_CORE})
        try:
            yield
        finally:
            _set(before)
    finally:
        _LOCK.release()


def _absolute(name: str, value: str | None, project: Path) -> str | None:
    return str(project / value) if value and name in _PATHS else value


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)
