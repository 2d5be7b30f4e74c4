"""The variables of one session, in a server that serves many."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

Variables = Mapping[str, str]

_READ_BY_CORE = ("TRIMTAB_CONFIG", "TRIMTAB_DISABLE", "TRIMTAB_HOME", "TRIMTAB_PLUGINS")
_PATHS = frozenset({"TRIMTAB_CONFIG", "TRIMTAB_HOME"})


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
