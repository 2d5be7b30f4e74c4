"""The Claude Code program: where it is, its version, runs of it with a script as its model."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

from trimtab import TrimtabError
from trimtab_claude_code._canary import (
    FILE as CANARY_FILE,
    NAME,
    CanaryModel,
    install_canary,
    spoken,
)
from trimtab_claude_code._files import Problems, make_private
from trimtab_claude_code._host_config import HOST
from trimtab_claude_code._settings import hook_table, is_ours, plugin_files, with_hooks
from trimtab_claude_code._transport import remove_endpoint
from trimtab_claude_code.hooks import EVENTS

MINIMUM = (2, 1, 119)
"""The first version that knows PostToolBatch, without which guidance has no place."""

_SINCE: dict[str, tuple[int, int, int]] = {
    "PostToolUseFailure": (2, 1, 1),
    "StopFailure": (2, 1, 85),
    "PostCompact": (2, 1, 85),
    "PostToolBatch": MINIMUM,
}
"""Where a name is unknown, the program rejects the whole file; versions in which it was seen."""

_WITHOUT_SHELL = (2, 1, 211)
"""A version in which hooks with ``args``, which are started without a shell, were seen to work."""

_VERSION = re.compile(r"(?<![\d.])(\d{1,5})\.(\d{1,5})\.(\d{1,6})")
_TIMEOUT = 30.0


class ProgramError(TrimtabError):
    """The program is missing, too old, or does not say its version."""


@attrs.frozen
class Version:
    """A version of the program: major, minor and patch."""

    parts: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read the first version in a text, e.g. ``2.1.332 (Claude Code)``."""
        found = _VERSION.search(text)
        if found is None:
            raise ProgramError(f"{text.strip()[:80]!r} holds no version such as 2.1.119")
        return cls((int(found[1]), int(found[2]), int(found[3])))

    def __str__(self) -> str:
        return ".".join(map(str, self.parts))

    @property
    def supported(self) -> bool:
        """Whether the hooks can do their work."""
        return self.parts >= MINIMUM

    @property
    def events(self) -> tuple[str, ...]:
        """The hook events of ours that it knows."""
        return tuple(event for event in EVENTS if self.parts >= _SINCE.get(event, (0, 0, 0)))

    @property
    def without_shell(self) -> bool:
        """Whether it can start the program of a hook without a shell."""
        return self.parts >= _WITHOUT_SHELL

    def require(self) -> None:
        """Make sure that it is supported."""
        if not self.supported:
            minimum = Version(MINIMUM)
            raise ProgramError(
                f"Claude Code {self} is too old: the hooks need {minimum} or later, and an older "
                "version would ignore the whole settings file, permission rules included. "
                "Update it with: claude update"
            )


def find_program() -> Path | None:
    """Return the program on the PATH, else the one that the Agent SDK brings along."""
    found = shutil.which("claude")
    if found:
        return Path(found)
    sdk = importlib.util.find_spec("claude_agent_sdk")
    for folder in (sdk and sdk.submodule_search_locations) or ():
        bundled = Path(folder) / "_bundled" / "claude"
        if bundled.is_file():
            return bundled
    return None


def version_of(program: Path) -> Version:
    """Ask the program for its version."""
    try:
        done = subprocess.run(
            [str(program), "--version"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{program} can't be asked for its version: {error}") from error
    return Version.parse(done.stdout)


TIMEOUT = 60.0
_EVENT_SECONDS = 8.0
"""More than a session has: here a server that starts slowly must not look like one that is dead."""
_OTHERS = ("ANTHROPIC_", "CLAUDE_", "TRIMTAB_", "CLAUDECODE")
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_LEFT_OUT = (
    "env",
    "agent",
    "model",
    "modelOverrides",
    "availableModels",
    "fallbackModel",
    "statusLine",
    "subagentStatusLine",
    "fileSuggestion",
    "enabledPlugins",
    "extraKnownMarketplaces",
    "sandbox",
)
_LEFT_OUT_ENDINGS = ("Helper", "Refresh", "Export", "Method", "UUID")
"""Settings that would run programs of the user, or lead to another model than the script."""

_TOML = """
[hosts.claude-code]
prompt = "doctor/canary"
[prompts."doctor/canary"]
guidance = [{{ use = "{name}", options = {{ word = "{word}" }} }}]
"""


class Place(Enum):
    """Where the settings under trial lie."""

    USER = "user"
    PROJECT = "project"
    FILE = "file"
    PLUGIN = "plugin"


@attrs.frozen
class Trial:
    """What came of a run.

    Args:
        before: whether guidance after the prompt was in the next request.
        after: whether guidance after a tool call was in the next request.
        stays: whether the first guidance was still in the last request.
    """

    error: str = ""
    before: bool = False
    after: bool = False
    stays: bool = False
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the hooks are in force."""
        return not self.error and self.before and self.after


def run_trial(program: Path, settings: Mapping[str, Any], place: Place, version: Version) -> Trial:
    """Run the program once in a folder of its own; nothing goes to the network.

    Args:
        settings: what the file under trial says; hooks of others are not run, and settings that
            would lead to another model are left out.
    """
    word = f"canary-{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory(prefix="trimtab-trial-") as name:
        folder, model = Path(name), CanaryModel()
        work, state = folder / "work", make_private(folder / "state" / HOST)
        work.mkdir()
        install_canary(folder / "site")
        (work / "trimtab.toml").write_text(_TOML.format(name=NAME, word=word), encoding="utf-8")
        (work / CANARY_FILE).write_text("tweet\n", encoding="utf-8")
        table = hook_table(
            state, version.events, without_shell=version.without_shell, seconds=_EVENT_SECONDS
        )
        options = _lay_out(folder, with_hooks(harmless(settings), table), place)
        with model.serving():
            error = _run(program, folder, model.url, options)
        remove_endpoint(state)
        problems = tuple(problem.message for problem in Problems(state).all())
    return _judged(error, model.requests, word, problems)


def harmless(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of the same shape by which nothing of the user's is run or reached."""
    kept = {
        key: value
        for key, value in settings.items()
        if key not in _LEFT_OUT and not key.endswith(_LEFT_OUT_ENDINGS)
    }
    hooks = kept.get("hooks")
    if isinstance(hooks, Mapping):
        kept["hooks"] = {event: _idle(groups) for event, groups in hooks.items()}
    return kept


def _idle(value: Any) -> Any:
    """Return hooks that do nothing when they are run."""
    if isinstance(value, list):
        return [_idle(each) for each in value]
    if not isinstance(value, Mapping) or is_ours(value):
        return value
    if isinstance(value.get("type"), str) and value["type"] not in ("command", "http"):
        return {"type": "command", "command": "exit 0"}  # others ask a model, or run tools
    idle = {key: _idle(item) for key, item in value.items()}
    if isinstance(idle.get("command"), str):
        idle["command"] = "exit 0"
        idle.pop("args", None)  # with them, no shell reads the command
    if isinstance(idle.get("url"), str):
        idle["url"] = "http://127.0.0.1:9/"
    return idle


def _lay_out(folder: Path, settings: Mapping[str, Any], place: Place) -> list[str]:
    """Write the settings where the program finds them; return its options."""
    home = folder / "claude"
    files = {
        Place.USER: home / "settings.json",
        Place.PROJECT: folder / "work" / ".claude" / "settings.local.json",
        Place.FILE: folder / "settings.json",
    }
    if place is Place.PLUGIN:
        for name, text in plugin_files(settings["hooks"]).items():
            _write(folder / "plugin" / name, text)
        return ["--plugin-dir", str(folder / "plugin")]
    _write(files[place], json.dumps(settings))
    return ["--settings", str(files[place])] if place is Place.FILE else []


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _run(program: Path, folder: Path, url: str, options: list[str]) -> str:
    """Run the program; return what went wrong, empty if nothing did."""
    try:
        done = subprocess.run(
            [program, "-p", f"Read {CANARY_FILE}.", *options, "--model", "canary"],
            check=False,
            cwd=folder / "work",
            env=_environment(folder, url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return f"{done.stdout}{done.stderr}"[-300:] if done.returncode else ""


def _environment(folder: Path, url: str) -> dict[str, str]:
    """Return the user's variables without those that would lead elsewhere."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OTHERS) and name.lower() not in _PROXIES
    }
    path = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return {
        **inherited,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "canary",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([str(folder / "site"), *path]),
        "TRIMTAB_HOME": str(folder / "state"),
    }


def _judged(error: str, requests: list[str], word: str, problems: tuple[str, ...]) -> Trial:
    if error or len(requests) < 2:
        return Trial(error or "it asked its model too seldom", problems=problems)
    first, second = spoken(word, 0), spoken(word, 1)
    return Trial(
        before=first in requests[0],
        after=second in requests[1] and second not in requests[0],
        stays=first in requests[-1],
        problems=problems,
    )
