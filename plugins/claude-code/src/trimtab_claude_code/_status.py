"""``trimtab claude-code status`` and ``report``: what was decided, how the server is."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import SHUT_WR
from tempfile import TemporaryFile
from typing import Any

import attrs

from trimtab import (
    SYSTEM_CLOCK,
    Event,
    Feedback,
    GuidanceDelivered,
    Session,
    SnapshotError,
    find_configuration,
)
from trimtab.events import (
    CompletionChecked,
    GuidanceSuppressed,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
)
from trimtab.inspection import say, say_json, state_home
from trimtab.text import plural, sanitize
from trimtab_claude_code._files import Problem, Problems
from trimtab_claude_code._guided_session import DECISIONS, restore
from trimtab_claude_code._journal import (
    Journal,
    Recorded,
    ReplayClock,
    sessions_folder,
    user_folder,
)
from trimtab_claude_code._server import FLUSH
from trimtab_claude_code._settings_edit import Change
from trimtab_claude_code._transport import STATUS, connect
from trimtab_claude_code.hooks import HookFailed


def runs_of(session: Session) -> list[dict[str, Any]]:
    """Return the runs of a session with what was decided in each."""
    decided = list(_decisions(session))
    return [
        {
            "run_id": run_id,
            "prompt": state.prompt_name,
            "agent": state.agent_id,
            "open": not state.closed,
            "turns": state.turns,
            "calls": state.calls,
            "decided": [said for owner, said in decided if owner == run_id],
        }
        for run_id, state in session.runs().items()
    ]


def _decisions(session: Session) -> Iterator[tuple[str, dict[str, Any]]]:
    events: list[Event] = [event for kind in DECISIONS for event in session[kind].all()]
    for event in sorted(events, key=lambda event: event.at.isoformat() if event.at else ""):
        at = event.at.isoformat() if event.at else None
        yield event.run_id, {"at": at, **_facts(event)}


def _facts(event: Event) -> dict[str, Any]:
    match event:
        case GuidanceDelivered():
            return {
                "event": "delivered",
                "provider": event.provider_name,
                "point": event.decision_point.value,
                "delivery": event.delivery.value,
                "level": event.level,
                "text": event.injection.content,
                "reason": event.classification.reason or "",
            }
        case GuidanceSuppressed():
            return {
                "event": "suppressed",
                "provider": event.provider_name,
                "point": event.decision_point.value,
                "text": event.counted.content if event.counted else "",
                "reason": event.reason,
            }
        case Feedback():
            return {"event": "feedback", "provider": event.provider_name, "text": event.summary}
        case CompletionChecked():
            return {
                "event": f"completion {event.status.value}",
                "provider": ", ".join(source.name for source in event.sources),
                "text": event.feedback or "",
                "reason": event.reason or "",
            }
        case HookFailed():
            return {"event": "hook failed", "reason": f"{event.event}: {event.error}"}
        case _:
            return _about_provider(event)


def _about_provider(event: Event) -> dict[str, Any]:
    match event:
        case ProviderFaulted():
            name, reason = "fault", event.error
        case ProviderQuarantined():
            name, reason = "quarantined", f"{event.faults} faults in a row"
        case ProviderSkipped():
            name, reason = "skipped", event.reason
        case _:
            return {"event": type(event).__name__}
    return {"event": name, "provider": event.source.name, "reason": reason}


_TIMEOUT = 5.0


@attrs.frozen(kw_only=True)
class ServerState:
    """What the hook server does; none runs where it has no process."""

    process: int | None = None
    sessions: int = 0
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"can't be asked: {self.problem}"
        if self.process is None:
            return "not running; the next event starts it"
        return f"running, process {self.process}, sessions in memory: {self.sessions}"


def ask_server(folder: Path, *, save: bool = False) -> ServerState:
    """Ask the hook server what it does."""
    try:
        with connect(folder, _TIMEOUT) as connection:
            connection.sendall(FLUSH if save else STATUS)
            connection.shutdown(SHUT_WR)
            answer = bytearray()
            while part := connection.recv(65_536):
                answer += part
        state = json.loads(answer.removeprefix(b"+"))
    except (FileNotFoundError, ConnectionRefusedError):
        return ServerState()
    except (OSError, ValueError) as error:
        return ServerState(problem=str(error))
    return ServerState(process=state["pid"], sessions=state["sessions"])


_RECENT = timedelta(days=1)
_A_BLOCK = 4096


def register_status(parser: argparse.ArgumentParser) -> None:
    """Show what was decided in the sessions of Claude Code."""
    parser.description = "What was decided, delivered and held back in the running sessions."
    parser.add_argument("--all", action="store_true", help="also sessions that have ended")
    parser.add_argument("--config", metavar="FILE", help="the configuration, else the one found")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_status, all=False, config=None, json=False)


def run_status(options: argparse.Namespace) -> int:
    """Show the sessions; 1 where there is a problem."""
    report = _report(options)
    if options.json:
        say_json({**report, "server": attrs.asdict(report["server"])})
    else:
        _show(report)
    return int(bool(report["problems"]))


def _report(options: argparse.Namespace) -> dict[str, Any]:
    found = options.config or find_configuration()
    path = Path(found).absolute() if found else None
    folder = user_folder(make=False)
    server = ask_server(folder, save=True)
    problems = (*_unwritable((folder, sessions_folder(state_home(path)))), *Problems(folder).all())
    sessions = [_session(file) for file in _journals(path)]
    return {
        "server": server,
        "problems": [problem._asdict() for problem in problems],
        "sessions": [each for each in sessions if options.all or each["running"]],
    }


def _unwritable(folders: Iterable[Path]) -> Iterator[Problem]:
    """Yield a problem for each folder in which nothing can be noted, not even a problem."""
    for folder in filter(Path.is_dir, dict.fromkeys(folders)):
        try:
            with TemporaryFile(dir=folder) as file:
                file.write(bytes(_A_BLOCK))
        except OSError as error:
            yield Problem(f"{folder} can't be written to: {error.strerror}")


def _journals(configuration: Path | None) -> list[Path]:
    if configuration is None:
        return []
    files = sessions_folder(state_home(configuration)).glob("*.jsonl")
    return sorted(files, key=lambda file: file.stat().st_mtime)


def _session(file: Path) -> dict[str, Any]:
    recorded = Journal(file).read()
    at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    runs, problems = _runs(recorded)
    recent = SYSTEM_CLOCK.now() - at < _RECENT
    names = [each.payload.get("hook_event_name") for each in recorded.received]
    is_open = any(run["open"] and not run["agent"] for run in runs) or not runs
    return {
        "session_id": recorded.origin.session_id or file.stem,
        "project": recorded.origin.project,
        "last_event": at.isoformat(timespec="seconds"),
        "running": recent and is_open and "SessionEnd" not in names,
        "unsaved_events": len(recorded.received),
        "problems": problems,
        "runs": runs,
    }


def _runs(recorded: Recorded) -> tuple[list[dict[str, Any]], list[str]]:
    if recorded.snapshot is None:
        return [], []
    try:
        return runs_of(restore(recorded.snapshot, ReplayClock())), []
    except SnapshotError as error:
        return [], [str(error)]


def _show(report: dict[str, Any]) -> None:
    say(f"hook server: {report['server']}")
    for problem in report["problems"]:
        say(f"problem: {sanitize(problem['message'], 500)}")
    if not report["sessions"]:
        say("no session is running")
    for session in report["sessions"]:
        say(f"\nsession {sanitize(session['session_id'], 80)}, last event {session['last_event']}")
        for problem in session["problems"]:
            say(f"  problem: {sanitize(problem, 300)}")
        if session["unsaved_events"]:
            say(f"  received since the last save: {plural(session['unsaved_events'], 'event')}")
        for run in session["runs"]:
            _show_run(run)


def _show_run(run: dict[str, Any]) -> None:
    agent = f"agent {sanitize(run['agent'], 60)}" if run["agent"] else "main agent"
    ended = "" if run["open"] else ", ended"
    counts = f"{plural(run['turns'], 'turn')}, {plural(run['calls'], 'call')}{ended}"
    say(f"  {agent}, prompt {sanitize(run['prompt'], 80)}: {counts}")
    for said in run["decided"]:
        parts = [said["event"], said.get("provider", ""), said.get("point", "")]
        head = " ".join(filter(None, parts))
        tail = " | ".join(filter(None, (said.get("text", ""), said.get("reason", ""))))
        say(f"    {(said['at'] or '')[11:19]} {sanitize(head, 120)}: {sanitize(tail, 300)}")


def report_change(change: Change, *, dry: bool) -> None:
    """Say what was done to a file, or show what would be."""
    path = change.document.path
    if not change.needed:
        say(f"{path} needs no change.")
    elif dry:
        say("".join(_difference(change, str(path))))
    else:
        say(f"{'Removed' if change.content is None else 'Wrote'} {path}")


def _difference(change: Change, name: str) -> list[str]:
    old, new = (
        (raw or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for raw in (change.document.raw, change.content)
    )
    return list(difflib.unified_diff(old, new, name, f"{name} (would be)"))
