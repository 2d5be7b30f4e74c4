"""The hooks that trimtab has in a settings file or plugin, and how they are told from others."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab_claude_code.hooks import EVENTS
from trimtab_claude_code.hooks.agent import STRUCTURED_OUTPUT
from trimtab_claude_code.service.endpoint import FILE, URL_PATH, Endpoint

Hook = dict[str, Any]
HookTable = dict[str, list[dict[str, Any]]]

_OUR_URL = re.compile(rf"http://127\.0\.0\.1:\d+{URL_PATH}")
_OUR_MODULE = re.compile(r"\btrimtab_claude_code\.(command|client)\b")
_STARTING = frozenset({"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"})
"""Events that go through a command, which starts the resident process where it is not there."""

_SECONDS = 10
_SECONDS_TO_STOP = 150
_STOPPING = frozenset({"Stop", "SubagentStop"})
"""Events at which checkers are asked: these may take their time, as a call that is the end may."""
_BEFORE_CALL = "PreToolUse"
_OTHER_CALLS = f"^(?!{STRUCTURED_OUTPUT}$)"


def http_hooks(endpoint: Endpoint, folder: Path) -> HookTable:
    """Return the hooks by event that ask the resident process.

    Args:
        endpoint: where it listens.
        folder: the user's own folder, which holds the endpoint too.
    """
    client = _command("client", str(folder / FILE))
    headers = {"Authorization": f"Bearer {endpoint.token}"}
    http = {"type": "http", "url": endpoint.url, "headers": headers}
    starter = {"type": "command", "command": client}
    return {event: _alone(event, starter if event in _STARTING else http) for event in EVENTS}


def command_hooks(folder: Path) -> HookTable:
    """Return the hooks by event that are processes of their own.

    Args:
        folder: the user's own folder.
    """
    command = {"type": "command", "command": _command("command", str(folder))}
    return {event: _alone(event, command) for event in EVENTS}


def _alone(event: str, hook: Hook) -> list[dict[str, Any]]:
    long, short = {**hook, "timeout": _SECONDS_TO_STOP}, {**hook, "timeout": _SECONDS}
    if event != _BEFORE_CALL:
        return [{"hooks": [long if event in _STOPPING else short]}]
    return [
        {"matcher": STRUCTURED_OUTPUT, "hooks": [long]},
        {"matcher": _OTHER_CALLS, "hooks": [short]},
    ]


def _command(module: str, *arguments: str) -> str:
    words = [sys.executable, "-P", "-m", f"trimtab_claude_code.{module}", *arguments]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def is_ours(hook: object) -> bool:
    """Tell whether a hook is one that trimtab has put there."""
    if not isinstance(hook, Mapping):
        return False
    command, url = hook.get("command"), hook.get("url")
    if hook.get("type") == "command":
        return isinstance(command, str) and bool(_OUR_MODULE.search(command))
    return isinstance(url, str) and bool(_OUR_URL.fullmatch(url))


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
