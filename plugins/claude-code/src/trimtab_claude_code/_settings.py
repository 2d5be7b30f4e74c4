"""Claude Code's settings files and plugin folders, read strictly, and the hooks in them."""

from __future__ import annotations

import codecs
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import attrs

from trimtab import TrimtabError, __version__
from trimtab_claude_code import _client
from trimtab_claude_code._breaker import EVENT_SECONDS
from trimtab_claude_code.hooks import EVENTS, STRUCTURED_OUTPUT

_INDENT = re.compile(r"^\{\r?\n([ \t]+)\"")
_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


class SettingsError(TrimtabError):
    """A settings file can't be edited safely; it was left untouched."""


@attrs.frozen
class Document:
    """A settings file as it is now, links followed; `raw` is None if there is none."""

    path: Path
    raw: bytes | None
    data: dict[str, Any]

    def render(self, data: dict[str, Any]) -> bytes:
        """Return the file's bytes with other data, in its own style of indent and line end."""
        old = (self.raw or b"").decode("utf-8")
        indent = _INDENT.match(old.removeprefix("\ufeff"))
        try:
            text = json.dumps(
                data, indent=indent[1] if indent else 2, ensure_ascii=False, allow_nan=False
            )
            text = f"{text}\n".replace("\n", "\r\n") if "\r\n" in old else f"{text}\n"
            return ("\ufeff" * old.startswith("\ufeff") + text).encode("utf-8")
        except ValueError as error:
            raise _untouched(self.path, f"it holds a value that can't be kept: {error}") from error

    def write(self, content: bytes | None) -> None:
        """Put `content` in the file's place; None removes the file."""
        _check_writable(self.path)
        if _bytes_of(self.path) != self.raw:
            raise _untouched(self.path, "it was changed just now by another program; try again")
        try:
            if content is None:
                self.path.unlink(missing_ok=True)
            else:
                _replace(self.path, content)
        except OSError as error:
            raise _untouched(self.path, f"it can't be written: {error.strerror}") from error


def read_document(path: Path) -> Document:
    """Read a settings file, if it can be written again without a loss; else a SettingsError."""
    real = Path(os.path.realpath(path))
    raw = _bytes_of(real)
    if raw is None or not raw.strip():
        return Document(real, raw, {})
    if raw.startswith(_BOMS):
        raise _untouched(real, "it is not in UTF-8; save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _untouched(real, f"byte {error.start} is not UTF-8; save it as UTF-8") from error
    return Document(real, raw, _parse(real, text))


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _untouched(path, f"it can't be read: {error.strerror}") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        data = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        comment = "//" in error.doc or "/*" in error.doc
        hint = " Comments and trailing commas can't be kept: take them out." if comment else ""
        raise _untouched(
            path, f"line {error.lineno}, column {error.colno} is no JSON ({error.msg}).{hint}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise _untouched(path, str(error)) from error
    if not isinstance(data, dict):
        raise _untouched(path, "it must hold a JSON object")
    return data


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands there twice, and one would be lost")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _check_writable(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    # Asked of the mode: root may write everything, and should not where the owner said no.
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise _untouched(path, "it is read-only; make it writable first, or name another file")


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, fresh)
        fresh.replace(path)
    except BaseException as error:
        fresh.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _untouched(path, f"it can't be written: {error.strerror}") from None
        raise


def _untouched(path: Path, what: str) -> SettingsError:
    return SettingsError(f"{path} was left untouched: {what.rstrip('.')}.")


Hook = dict[str, Any]
HookTable = dict[str, list[dict[str, Any]]]

_OUR_CLIENT = re.compile(r"\btrimtab_claude_code[./\\]_client\b")

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
        without_shell: whether the program starts the client itself; else a shell does.
    """
    client = Path(_client.__file__).resolve()
    words = [sys.executable, "-I", "-S", str(client), str(folder), f"{seconds:g}"]
    return {event: _groups(event, words, without_shell) for event in events}


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
    if not isinstance(hook, Mapping) or hook.get("type") != "command":
        return False
    arguments = hook.get("args")
    words = (hook.get("command"), *(arguments if isinstance(arguments, list) else ()))
    return any(isinstance(word, str) and _OUR_CLIENT.search(word) for word in words)


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
    events = {
        event: [left for group in groups for left in _without(group)]
        for event, groups in before.items()
    }
    kept = {event: groups for event, groups in events.items() if groups or not before[event]}
    if not kept and before:
        return {key: value for key, value in data.items() if key != "hooks"}
    return {**data, "hooks": kept}


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
    """Lay the folder out; a plugin of ours that is there is replaced."""
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
    """Return whether our plugin lies there; another's is a SettingsError."""
    name = read_document(folder / _MANIFEST).data.get("name")
    if name not in (None, NAME):
        raise SettingsError(f"{folder} holds the plugin {name!r}; name another folder.")
    return name == NAME


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
