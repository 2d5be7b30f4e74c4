"""``trimtab status claude-code``: read from the journals, whoever wrote them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from trimtab import (
    SYSTEM_CLOCK,
    Configuration,
    find_configuration,
    load_configuration,
    sanitize,
)
from trimtab.inspection import say, say_json
from trimtab_claude_code.account import runs_of
from trimtab_claude_code.conversation import Conversation
from trimtab_claude_code.prompts import Prompts
from trimtab_claude_code.service.control import state_of_resident
from trimtab_claude_code.state.folders import sessions_folder, user_folder
from trimtab_claude_code.state.journal import Journal
from trimtab_claude_code.state.troubles import Trouble, Troubles

_RECENT = timedelta(days=1)
_A_BLOCK = 4096


def register_status(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab status claude-code``."""
    parser.description = "What was decided, delivered and held back in the running sessions."
    parser.add_argument("--all", action="store_true", help="also sessions that have ended")
    parser.add_argument("--config", metavar="FILE", help="the configuration, else the one found")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_status, all=False, config=None, json=False)


def run_status(options: argparse.Namespace) -> int:
    """Show the sessions; 1 where there is trouble."""
    with _apart():
        report = _report(options)
    if options.json:
        say_json(report)
    else:
        _show(report)
    return int(bool(report["troubles"]))


@contextmanager
def _apart() -> Iterator[None]:
    """Lead what providers print away from the report: they relive what the journals tell."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _report(options: argparse.Namespace) -> dict[str, Any]:
    path = options.config or find_configuration()
    configuration = load_configuration(path) if path else Configuration()
    sessions = [found for found in _sessions(configuration) if options.all or found["running"]]
    folders = (user_folder(), sessions_folder(configuration.path))
    troubles = (*_off(configuration), *_unwritable(folders), *Troubles(user_folder()).all())
    return {
        "resident": state_of_resident(user_folder()),
        "troubles": [trouble._asdict() for trouble in troubles],
        "sessions": sessions,
    }


def _off(configuration: Configuration) -> list[Trouble]:
    """Return a trouble for each prompt that can't be built."""
    prompts = Prompts(configuration, Path.cwd())
    prompts.build_all()
    return [Trouble(f"{name} is off: {why}") for name, why in prompts.failures.items()]


def _unwritable(folders: Iterable[Path]) -> Iterator[Trouble]:
    """Yield a trouble for each folder in which nothing can be noted, be it a trouble."""
    for folder in filter(Path.is_dir, dict.fromkeys(folders)):
        try:
            with TemporaryFile(dir=folder) as file:
                file.write(bytes(_A_BLOCK))
        except OSError as error:
            yield Trouble(f"{folder} can't be written to: {error.strerror}")


def _sessions(configuration: Configuration) -> Iterator[dict[str, Any]]:
    base = configuration.path.parent if configuration.path else Path.cwd()
    prompts = Prompts(configuration, base)
    files = sessions_folder(configuration.path).glob("*.jsonl")
    for file in sorted(files, key=lambda found: found.stat().st_mtime):
        yield _session(file, prompts)


def _session(file: Path, prompts: Prompts) -> dict[str, Any]:
    troubles: list[str] = []
    conversation = Conversation(Journal(file), prompts, troubles.append)
    runs = runs_of(conversation.session)
    conversation.release()
    at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    recent = SYSTEM_CLOCK.now() - at < _RECENT
    return {
        "session_id": file.stem,
        "last_event": at.isoformat(timespec="seconds"),
        "running": recent and any(run["open"] and not run["agent"] for run in runs),
        "troubles": troubles,
        "runs": runs,
    }


def _show(report: dict[str, Any]) -> None:
    say(f"resident process: {report['resident']}")
    for trouble in report["troubles"]:
        say(f"trouble: {sanitize(trouble['what'], 500)}")
    if not report["sessions"]:
        say("no session is running")
    for session in report["sessions"]:
        say(f"\nsession {session['session_id']}, last event {session['last_event']}")
        for run in session["runs"]:
            _show_run(run)


def _show_run(run: dict[str, Any]) -> None:
    agent = f"agent {sanitize(run['agent'], 60)}" if run["agent"] else "main agent"
    say(
        f"  {agent}, prompt {run['prompt']}: {run['turns']} turns, {run['calls']} calls"
        f"{'' if run['open'] else ', ended'}"
    )
    for said in run["decided"]:
        parts = [said["what"], said.get("provider", ""), said.get("point", "")]
        head = " ".join(filter(None, parts))
        tail = " | ".join(filter(None, (said.get("text", ""), said.get("why", ""))))
        say(f"    {(said['at'] or '')[11:19]} {head}: {sanitize(tail, 300)}")
