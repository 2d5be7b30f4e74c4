"""The hooks that go into a settings file or a plugin folder, and how they are recognised."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trimtab import __version__
from trimtab_claude_code import _client
from trimtab_claude_code._breaker import EVENT_SECONDS
from trimtab_claude_code._settings.document import SettingsError, read_document
from trimtab_claude_code.hooks import EVENTS, STRUCTURED_OUTPUT

Hook = dict[str, Any]
HookTable = dict[str, list[dict[str, Any]]]

_OUR_CLIENT = re.compile(r"\btrimtab_claude_code[./\\](?:_client|client|command)\b")
_OLD_URL = re.compile(r"http://127\.0\.0\.1:\d{1,5}/trimtab/hook")

CHECK_SECONDS = 148.0
"""What it waits where checkers are asked, as long as the server says that it is at work."""

_MARGIN = 2
"""Seconds by which the client gives up before the program would end it."""

_TIMEOUT = 10

_CHECKING = frozenset({"Stop", "SubagentStop"})
"""Events at which checkers are asked: they may take longer, as a call that is the end may."""
_BEFORE_CALL = "PreToolUse"
_OTHER_CALLS = f"^(?!{STRUCTURED_OUTPUT}$)"


def hook_table(
    folder: Path,
    events: Iterable[str] = EVENTS,
    *,
    without_shell: bool = False,
    seconds: float = EVENT_SECONDS,
) -> HookTable:
    """Return the hooks by event.

    Args:
        folder: the user's own folder, in which the server listens.
        events: those that the program knows.
        without_shell: whether the program starts the client itself; else a shell does.
        seconds: how long an event may take.
    """
    words = [*_client_words(folder), f"{seconds:g}"]
    return {event: _groups(event, words, without_shell) for event in events}


def _client_words(folder: Path) -> list[str]:
    return [sys.executable, "-I", "-S", str(Path(_client.__file__).resolve()), str(folder)]


def _groups(event: str, client: list[str], without_shell: bool) -> list[dict[str, Any]]:
    patient = [*client, f"{CHECK_SECONDS:g}"]
    checking = _hook(patient, int(CHECK_SECONDS + _MARGIN), without_shell)
    other = _hook(client, _TIMEOUT, without_shell)
    if event != _BEFORE_CALL:
        return [{"hooks": [checking if event in _CHECKING else other]}]
    return [
        {"matcher": STRUCTURED_OUTPUT, "hooks": [checking]},
        {"matcher": _OTHER_CALLS, "hooks": [other]},
    ]


def _hook(words: list[str], timeout: int, without_shell: bool) -> Hook:
    if without_shell:
        command, *arguments = words
        return {"type": "command", "command": command, "args": arguments, "timeout": timeout}
    command = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    return {"type": "command", "command": command, "timeout": timeout}


def is_ours(hook: object) -> bool:
    """Tell whether a hook is one that trimtab has put there."""
    if not isinstance(hook, Mapping):
        return False
    url = hook.get("url")
    if hook.get("type") == "command":
        return any(_OUR_CLIENT.search(word) for word in _words(hook))
    return isinstance(url, str) and bool(_OLD_URL.fullmatch(url))


def _words(hook: Mapping[str, Any]) -> list[str]:
    """Return the texts of a hook that say what is run."""
    arguments = hook.get("args")
    listed = arguments if isinstance(arguments, list) else []
    return [word for word in (hook.get("command"), *listed) if isinstance(word, str)]


def our_hooks(data: Mapping[str, Any]) -> list[tuple[str, Any, Hook]]:
    """Return trimtab's hooks in settings: event, matcher and hook, in an order of their own."""
    found = [
        (event, group.get("matcher"), hook)
        for event, groups in data.get("hooks", {}).items()
        for group in groups
        if isinstance(group, Mapping) and isinstance(group.get("hooks"), list)
        for hook in group["hooks"]
        if is_ours(hook)
    ]
    return sorted(found, key=repr)


def with_hooks(data: Mapping[str, Any], table: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return settings in which `table` stands behind the hooks of others, ours of old gone."""
    rest = without_hooks(data)
    hooks = dict(rest.get("hooks", {}))
    for event, groups in table.items():
        hooks[event] = [*hooks.get(event, []), *groups]
    return {**rest, "hooks": hooks}


def without_hooks(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without trimtab's hooks, and without what is empty for want of them."""
    if "hooks" not in data:
        return dict(data)
    before = data["hooks"]
    events = {event: _others(groups) for event, groups in before.items()}
    kept = {event: groups for event, groups in events.items() if groups or not before[event]}
    if not kept and before:
        return {key: value for key, value in data.items() if key != "hooks"}
    return {**data, "hooks": kept}


def _others(groups: list[Any]) -> list[Any]:
    return [left for group in groups for left in _without(group)]


def _without(group: Any) -> list[Any]:
    """Return a group without our hooks, as a list of one; of none where it held no others."""
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    if not isinstance(hooks, list) or not any(is_ours(hook) for hook in hooks):
        return [group]
    others = [hook for hook in hooks if not is_ours(hook)]
    return [{**group, "hooks": others}] if others else []


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
