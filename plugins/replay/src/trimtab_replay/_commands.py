"""The verbs that this package adds to ``trimtab``, and what they share: arguments, notes."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab import SYSTEM_CLOCK, find_configuration
from trimtab.hosting import read_seconds
from trimtab.inspection import others_to_stderr, output, say
from trimtab.text import plural, sanitize
from trimtab_replay._corpus import Found
from trimtab_replay._file import Job, ReadStats, collect_rarely, replay_all
from trimtab_replay._local_sessions import local_sessions
from trimtab_replay._recording import ReplayError
from trimtab_replay._results import Replayed, as_json
from trimtab_replay._selection import Selection, SelectionError, configured, enabled, everything
from trimtab_replay._timeline import LEGEND, Progress, Screen, Summary, show
from trimtab_replay._transcript import Skipped

MAX_FAILURES = 20


def report_stats(stats: ReadStats) -> int:
    """Say on the error channel what was not read and who failed; return the exit status."""
    status = report_skipped(stats.skipped, stats.other_files)
    if stats.without_calls:
        complain(f"files whose runs hold no tool call: {stats.without_calls}")
    if stats.left_out:
        complain(f"runs left out, older than asked for or without a time: {stats.left_out}")
    for (provider, message), runs in sorted(stats.failures.items())[:MAX_FAILURES]:
        name = sanitize(provider, 100)
        complain(f"the provider {name} failed in {plural(runs, 'run')}: {sanitize(message, 300)}")
    if not stats.runs:
        complain("no recorded run was replayed")
        status = status or int(not stats.left_out)
    return status or int(bool(stats.failures))


def report_skipped(skipped: Iterable[Skipped], other_files: int) -> int:
    """Say which files were not read; return the exit status, 1 if one should have been."""
    status = 0
    for each in skipped:
        status = 1
        line = "" if each.line is None else f":{each.line}"
        complain(f"{sanitize(each.path, 300)}{line}: {sanitize(each.message, 1_000)}")
    if other_files:
        complain(f"other files, no transcripts: {other_files}")
    return status


def complain(message: str) -> None:
    sys.stderr.write(f"trimtab: {message}\n")


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("providers")
    group.add_argument("--enable", metavar="NAME", action="append", help="ask this provider")
    group.add_argument("--all", action="store_true", help="ask every installed provider")
    group.add_argument("--config", metavar="FILE", help="ask the providers of a configured prompt")
    group.add_argument("--prompt", metavar="NAME", help="the prompt in the configuration")
    group.add_argument(
        "--set",
        metavar="NAME.OPTION=VALUE",
        action="append",
        default=[],
        dest="options",
        help="an option of a provider, as a TOML value",
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--reader", metavar="NAME", default="", help="read every file with this reader"
    )
    group.add_argument(
        "--deadline", metavar="SECONDS", type=_seconds, help="time limit of each run"
    )
    add_jobs(group)
    group.add_argument("--limit", metavar="N", type=count, help="read at most N recordings")
    group.add_argument(
        "--since",
        metavar="TIME",
        type=_moment,
        help="only runs that began at TIME or later, e.g. 7d",
    )


def add_jobs(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--jobs", metavar="N", type=count, help="number of processes; chosen for you if not given"
    )


def selection_of(options: argparse.Namespace, *, default_all: bool = False) -> Selection:
    """Return whom the arguments select."""
    chosen = _chosen(options, default_all=default_all)
    for note in chosen.left_out:
        complain(note)
    for text in options.options:
        provider, option, value = assignment(text)
        chosen = chosen.with_option(provider, option, value)
    return chosen


def _chosen(options: argparse.Namespace, *, default_all: bool) -> Selection:
    ways = [bool(options.enable), options.all, bool(options.config or options.prompt)]
    if sum(ways) > 1:
        raise SelectionError("choose one: --enable NAME, --all, or --config FILE --prompt NAME")
    if options.enable:
        return enabled(options.enable)
    if options.config or options.prompt:
        found = options.config or find_configuration()
        if found is None:
            raise SelectionError("there is no configuration here or above; name one with --config")
        return configured(str(found), options.prompt or "")
    if options.all or default_all:
        return everything()
    raise SelectionError(
        "say whom to ask: --all, --enable NAME (see `trimtab plugins list`), or "
        "--config FILE --prompt NAME"
    )


def assignment(text: str) -> tuple[str, str, Any]:
    """Read ``NAME.OPTION=VALUE``."""
    target, equals, value = text.partition("=")
    provider, dot, option = target.strip().rpartition(".")
    if not (equals and dot and provider and option):
        raise SelectionError(f"{text!r} is not of the form NAME.OPTION=VALUE")
    try:
        return provider, option, tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError) as error:  # also of numbers that are too long for an int
        what = f"{value!r:.100} is not a TOML value (quote text): {error}"
        raise SelectionError(what) from error


def _seconds(text: str) -> float:
    try:
        return read_seconds(text, "this option")
    except ValueError as error:
        what = f"{text!r} is not a number of seconds above 0"
        raise argparse.ArgumentTypeError(what) from error


def count(text: str) -> int:
    """Read a number from 1 on, as an argument's type."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _moment(text: str) -> datetime:
    """Read a date, a time, or how long ago: ``2026-01-31``, ``7d``."""
    number, unit = text[:-1], text[-1:]
    try:
        if unit in _UNITS and number.isdecimal():
            return SYSTEM_CLOCK.now() - timedelta(**{_UNITS[unit]: int(number)})
        moment = datetime.fromisoformat(text)
    except (OverflowError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time: write e.g. 2026-01-31, 2026-01-31T12:00 or 7d"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


NEWEST = 50
"""How many files are replayed if neither PATH nor --limit says it."""


def replay(parser: argparse.ArgumentParser) -> None:
    """Replay recorded runs and show which providers would have spoken."""
    parser.description = (
        "Replay recorded runs through providers and show which would have spoken. Without PATH, "
        "replay the sessions of the agents on this machine, newest first, through all providers."
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a transcript, or a folder")
    add_selection(parser)
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="one line of JSON per run")
    parser.add_argument(
        "--trace", metavar="DIR", default="", help="write a trace of each run (trimtab-trace)"
    )
    parser.set_defaults(run=run_replay)


@others_to_stderr()
def run_replay(options: argparse.Namespace) -> int:
    """Replay what the arguments name; 1 if something was not read or a provider failed."""
    collect_rarely()
    job = job_of(options, keep_calls=not options.json, default_all=not options.paths)
    if not options.paths:
        options.paths = found_here(options)
    stats = ReadStats()
    runs = replayed_runs(options, job, stats)
    if options.json:
        for one in runs:
            say(as_json(one))
    else:
        _show_all(runs, Summary(job.selection.names))
    return report_stats(stats)


def found_here(options: argparse.Namespace, command: str = "replay") -> list[Found]:
    """Look for the sessions of agents on this machine, say what is there, and choose the newest."""
    sessions = local_sessions()
    if not sessions:
        raise ReplayError(
            "No sessions of agents found on this machine. Name a file or folder: "
            f"trimtab {command} PATH --all"
        )
    for agent, count in Counter(session.agent for session in sessions).items():
        folder = next(each.found.path for each in sessions if each.agent == agent)
        complain(f"found {count:,} of {agent}, the newest {sanitize(folder, 200)}")
    chosen = sessions[: options.limit or NEWEST]
    if len(chosen) < len(sessions):
        complain(f"replaying the newest {len(chosen)} of {len(sessions):,}; --limit N for more")
    return [session.found for session in chosen]


def job_of(
    options: argparse.Namespace, *, keep_calls: bool = False, default_all: bool = False
) -> Job:
    return Job(
        selection=selection_of(options, default_all=default_all),
        reader=options.reader,
        deadline=options.deadline,
        since=options.since,
        keep_calls=keep_calls,
        trace=getattr(options, "trace", ""),
    )


def replayed_runs(options: argparse.Namespace, job: Job, stats: ReadStats) -> Iterable[Replayed]:
    """Replay what the shared arguments name, with a progress bar."""
    progress = Progress()
    for one in replay_all(
        options.paths,
        job,
        stats,
        jobs=options.jobs,
        limit=options.limit,
        after_file=progress.files,
        warn=complain,
    ):
        progress.clear()
        yield one
    progress.clear()


def _show_all(runs: Iterable[Replayed], summary: Summary) -> None:
    screen = Screen.of(output())
    for one in runs:
        if not summary.runs:
            screen.say(screen.paint(LEGEND, "dim"))
        show(one, screen)
        summary.add(one)
    show_summary(summary, screen)


def show_summary(summary: Summary, screen: Screen) -> None:
    """Write what each provider did, and what did not reach the agent."""
    screen.say()
    runs = plural(summary.runs, "recorded run")
    calls = plural(summary.calls, "call")
    screen.say(f"nudges in {summary.touched:,} of {runs}, {calls} in all")
    screen.table(tuple(summary.rows()))
    for (what, provider, reason), count in sorted(summary.notes.items()):
        runs = plural(count, "run")
        screen.say(f"{what} in {runs}: {sanitize(provider, 60)}: {sanitize(reason, 300)}")
