"""Where the agents on this machine keep their sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import attrs

from trimtab.inspection import state_home
from trimtab_replay._corpus import Found
from trimtab_replay._recording import ReplayError

MAX_FILES = 100_000
"""At most so many files of one agent are looked at."""

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_EXTENSIONS = {
    "Cline": "saoudrizwan.claude-dev",
    "Roo Code": "rooveterinaryinc.roo-cline",
    "Kilo Code": "kilocode.kilo-code",
}
_HISTORY = "*/api_conversation_history.json"


@attrs.frozen
class Place:
    """A folder in which an agent keeps sessions."""

    agent: str
    folder: Path
    patterns: tuple[str, ...]


@attrs.frozen
class LocalSession:
    """One file of sessions on this machine."""

    agent: str
    found: Found
    modified: float


def places(home: Path, env: Mapping[str, str]) -> Iterator[Place]:
    """Yield the folders where known agents keep sessions, whether or not they exist."""
    yield Place("trimtab", state_home(environment=env) / "journals", ("*.jsonl",))
    config = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    data = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    yield Place("Claude Code", claude / "projects", ("*/**/*.jsonl",))
    codex = Path(env.get("CODEX_HOME") or home / ".codex")
    yield Place("Codex", codex / "sessions", ("**/rollout-*.jsonl",))
    yield Place("Codex", codex / "archived_sessions", ("**/rollout-*.jsonl",))
    gemini = Path(env.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"
    yield Place("Gemini CLI", gemini, ("*/chats/**/session-*.json*", "*/checkpoint*.json"))
    yield Place("OpenCode", data / "opencode" / "storage" / "session", ("*/ses_*.json",))
    yield Place("OpenCode", data / "opencode", ("opencode.db",))
    copilot = Path(env.get("COPILOT_HOME") or home / ".copilot")
    yield Place("Copilot CLI", copilot / "session-state", ("*.jsonl", "*/events.jsonl"))
    yield Place("pi", home / ".pi" / "agent" / "sessions", ("**/*.jsonl",))
    yield Place("goose", data / "goose" / "sessions", ("*.jsonl", "sessions.db"))
    yield Place("Qwen Code", home / ".qwen" / "tmp", ("*/chats/session-*.json*",))
    yield Place("Cline", home / ".cline" / "data" / "tasks", (_HISTORY,))
    for editor in _EDITORS:
        for storage in _editor_storages(home, config, env, editor):
            for agent, extension in _EXTENSIONS.items():
                yield Place(agent, storage / extension / "tasks", (_HISTORY,))


def own_journals() -> Path:
    """Return the folder of the journals of this user."""
    folder = state_home() / "journals"
    if not folder.is_dir():
        raise ReplayError(f"no session is recorded in {folder}: name a file or folder")
    return folder


def _editor_storages(
    home: Path, config: Path, env: Mapping[str, str], editor: str
) -> Iterator[Path]:
    below = Path(editor) / "User" / "globalStorage"
    yield config / below
    yield home / "Library" / "Application Support" / below
    if env.get("APPDATA"):
        yield Path(env["APPDATA"]) / below


def local_sessions(
    home: Path | None = None, env: Mapping[str, str] | None = None
) -> list[LocalSession]:
    """Return the sessions on this machine, the newest first; of two records of one, the journal."""
    chosen = places(home or Path.home(), os.environ if env is None else env)
    found = {session.found.file: session for place in chosen for session in _sessions_in(place)}
    own = {path for path, one in found.items() if one.agent == "trimtab"}
    recorded = {path.stem.removeprefix("claude-code-") for path in own}
    kept = [one for path, one in found.items() if path in own or path.stem not in recorded]
    return sorted(kept, key=lambda session: session.modified, reverse=True)


def _sessions_in(place: Place) -> Iterator[LocalSession]:
    number = 0
    for file in _files(place):
        with suppress(OSError):
            status = file.stat()
            number += status.st_size > 0
            if number > MAX_FILES:
                return
            if status.st_size:
                found = Found(file, str(file), named=False)
                yield LocalSession(place.agent, found, status.st_mtime)


def _files(place: Place) -> Iterator[Path]:
    with suppress(OSError):
        for pattern in place.patterns:
            yield from place.folder.glob(pattern)
