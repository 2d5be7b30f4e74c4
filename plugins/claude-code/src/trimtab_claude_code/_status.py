"""``trimtab status claude-code``: how the hook server is; and the report of a changed file."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from socket import SHUT_WR
from tempfile import TemporaryFile

import attrs

from trimtab.inspection import say, say_json
from trimtab.text import sanitize
from trimtab_claude_code._files import Problem, Problems
from trimtab_claude_code._journal import user_folder
from trimtab_claude_code._settings_edit import Change
from trimtab_claude_code._transport import STATUS, connect

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


def ask_server(folder: Path) -> ServerState:
    """Ask the hook server what it does."""
    try:
        with connect(folder, _TIMEOUT) as connection:
            connection.sendall(STATUS)
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


_A_BLOCK = 4096


def register_status(parser: argparse.ArgumentParser) -> None:
    """Show how the hook server of Claude Code is."""
    parser.description = (
        "The hook server and its problems. What was said is shown by: trimtab status"
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_status, json=False)


def run_status(options: argparse.Namespace) -> int:
    """Show the server and its problems; 1 where there is a problem."""
    folder = user_folder(make=False)
    server = ask_server(folder)
    problems = (*_unwritable(folder), *Problems(folder).all())
    if options.json:
        listed = [problem._asdict() for problem in problems]
        say_json({"server": attrs.asdict(server), "problems": listed})
    else:
        say(f"hook server: {server}")
        for problem in problems:
            # Those that were shown last are listed too, and may have been mended since.
            noted = f", noted {problem.at[:16].replace('T', ' ')} UTC" if problem.at else ""
            say(f"problem{noted}: {sanitize(problem.message, 500)}")
    return int(bool(problems))


def _unwritable(folder: Path) -> Iterator[Problem]:
    """Yield a problem where nothing can be noted in the folder, not even a problem."""
    if not folder.is_dir():
        return
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_A_BLOCK))
    except OSError as error:
        yield Problem(f"{folder} can't be written to: {error.strerror}")


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
