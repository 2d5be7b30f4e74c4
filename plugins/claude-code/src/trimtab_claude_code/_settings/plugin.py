"""A Claude Code plugin folder: the same hooks, for ``claude --plugin-dir``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab import __version__
from trimtab_claude_code._settings.document import SettingsError, read_document

NAME = "trimtab"
_MANIFEST = ".claude-plugin/plugin.json"
_HOOKS = "hooks/hooks.json"


def plugin_files(table: Mapping[str, list[Any]]) -> dict[str, str]:
    """Return the plugin's files by their paths in its folder."""
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": "Short nudges that keep the agent on course.",
    }
    return {_MANIFEST: _json(manifest), _HOOKS: _json({"hooks": table})}


def _json(data: object) -> str:
    return json.dumps(data, indent=2) + "\n"


def write_plugin(folder: Path, table: Mapping[str, list[Any]]) -> None:
    """Lay the folder out; a plugin of ours that is there is replaced.

    Raises:
        SettingsError: another plugin lies there, or a file can't be written.
    """
    is_plugin(folder)  # an error, where it is another's
    for name, text in plugin_files(table).items():
        document = read_document(folder / name)
        document.write(text.encode("utf-8"))


def remove_plugin(folder: Path) -> None:
    """Remove our plugin's files and what is empty without them."""
    for name in (_MANIFEST, _HOOKS):
        (folder / name).unlink(missing_ok=True)
        _remove_empty((folder / name).parent)
    _remove_empty(folder)


def is_plugin(folder: Path) -> bool:
    """Return whether our plugin lies there.

    Raises:
        SettingsError: another plugin lies there.
    """
    name = read_document(folder / _MANIFEST).data.get("name")
    if name not in (None, NAME):
        raise SettingsError(f"{folder} holds the plugin {name!r}; name another folder.")
    return name == NAME


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
