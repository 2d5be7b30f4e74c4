"""What keeps hooks from running: settings of this and of all other files that Claude Code reads.

The names and their order were read from the program, version 2.1.332, and its documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from trimtab_claude_code._settings.document import SettingsError
from trimtab_claude_code._settings.edit import read_settings

_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:/Program Files/ClaudeCode",
}
MANAGED = Path(_MANAGED.get(sys.platform, "/etc/claude-code"))
"""The folder of whoever manages the machine."""

_ASK = "ask who manages this machine"


@attrs.frozen
class Obstacle:
    """A setting by which hooks of the user are not run.

    Args:
        message: which setting, where, and what follows.
        fix: what to do.
    """

    message: str
    fix: str


def obstacle(files: Sequence[Path], *, plugin: bool = False) -> Obstacle | None:
    """Return why hooks are not run; None where nothing forbids them.

    Args:
        files: the settings that the program reads, each before those that count for more; files
            that can't be read count as empty.
        plugin: whether the hooks are those of a plugin.
    """
    for file, data in _read(_managed_files()):
        found = _managed(file, data, plugin=plugin)
        if found is not None:
            return found
    for file, data in _read(reversed(files)):
        value = data.get("disableAllHooks")
        if value is not None:  # the first that says anything decides
            what = f"disableAllHooks is set in {file}: no hook is run"
            return Obstacle(what, "take it out") if value else None
    return None


def _managed(file: Path, data: Mapping[str, Any], *, plugin: bool) -> Obstacle | None:
    if data.get("disableAllHooks"):
        return Obstacle(f"disableAllHooks is set in {file}: no hook is run", _ASK)
    if data.get("allowManagedHooksOnly"):
        what = f"allowManagedHooksOnly is set in {file}: hooks of users and projects are not run"
        return Obstacle(what, _ASK)
    locked = data.get("strictPluginOnlyCustomization")
    if not plugin and (locked is True or (isinstance(locked, list) and "hooks" in locked)):
        what = f"strictPluginOnlyCustomization is set in {file}: only hooks of plugins are run"
        return Obstacle(what, "install a plugin, with --plugin-dir")
    return None


def _managed_files() -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted((MANAGED / "managed-settings.d").glob("*.json"))
    yield MANAGED / "managed-settings.json"


def _read(files: Iterator[Path]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for file in files:
        with suppress(SettingsError):
            yield file, read_settings(file).data
