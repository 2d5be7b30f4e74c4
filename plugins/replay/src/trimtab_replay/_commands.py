"""The verbs that this package adds to ``trimtab`` (entry points of group ``trimtab.commands``)."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from trimtab.inspection import others_to_stderr, output, say
from trimtab.text import plural, sanitize
from trimtab_replay._command_line import (
    add_reading,
    add_selection,
    complain,
    report_stats,
    selection_of,
)
from trimtab_replay._corpus import Found
from trimtab_replay._file import Job, ReadStats
from trimtab_replay._local_sessions import by_agent, local_sessions
from trimtab_replay._pool import collect_rarely, replay_all
from trimtab_replay._recording import ReplayError
from trimtab_replay._results import Replayed, as_json
from trimtab_replay._terminal import Progress, Screen
from trimtab_replay._timeline import LEGEND, Summary, show

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


def run_replay(options: argparse.Namespace) -> int:
    """Replay what the arguments name; 1 if something was not read or a provider failed."""
    with others_to_stderr():
        return _replay(options)


def _replay(options: argparse.Namespace) -> int:
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
    """Look for the sessions of agents on this machine, say what is there, and choose the newest.

    Raises:
        ReplayError: none is found.
    """
    sessions = local_sessions()
    if not sessions:
        raise ReplayError(
            "No sessions of agents found on this machine. Name a file or folder: "
            f"trimtab {command} PATH --all"
        )
    for agent, count in by_agent(sessions).items():
        folder = next(each.found.path for each in sessions if each.agent == agent)
        complain(f"found {count:,} of {agent}, the newest {sanitize(folder, 200)}")
    chosen = sessions[: options.limit or NEWEST]
    if len(chosen) < len(sessions):
        complain(f"replaying the newest {len(chosen)} of {len(sessions):,}; --limit N for more")
    return [session.found for session in chosen]


def job_of(
    options: argparse.Namespace, *, keep_calls: bool = False, default_all: bool = False
) -> Job:
    """Return what the shared arguments ask for."""
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
