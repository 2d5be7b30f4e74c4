"""The verbs that this package adds to ``trimtab`` (entry points of group ``trimtab.commands``)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from trimtab import sanitize
from trimtab_replay._arguments import add_reading, add_selection, selection_of
from trimtab_replay._output import as_json
from trimtab_replay._pool import Job, ReadStats, replay_all
from trimtab_replay._reporting import complain, report_stats
from trimtab_replay._results import Replayed
from trimtab_replay._summary import Summary
from trimtab_replay._terminal import Progress, Screen
from trimtab_replay._timeline import LEGEND, show


def replay(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab replay``."""
    parser.description = "Feed recorded runs through providers; show who would have spoken."
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a transcript, or a folder")
    add_selection(parser)
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="one line of JSON per run")
    parser.set_defaults(run=run_replay)


def run_replay(options: argparse.Namespace) -> int:
    """Replay what the arguments name; 1 where something was not read."""
    job = job_of(options, keep_calls=not options.json)
    stats = ReadStats()
    runs = replayed_runs(options, job, stats)
    if options.json:
        for one in runs:
            print(as_json(one))  # noqa: T201
    else:
        _show_all(runs, Summary(job.selection.names))
    return report_stats(stats)


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
    screen = Screen.of(sys.stdout)
    for one in runs:
        if not summary.runs:
            screen.say(screen.paint(LEGEND, "dim"))
        show(one, screen)
        summary.add(one)
    show_summary(summary, screen)


def show_summary(summary: Summary, screen: Screen) -> None:
    """Write what each provider did, and what did not reach the agent."""
    screen.say()
    spoken = f"someone spoke in {summary.touched:,} of {summary.runs:,} recorded runs"
    screen.say(f"{spoken}, {summary.calls:,} calls in all")
    screen.table(tuple(summary.rows()))
    for (what, provider, reason), count in sorted(summary.notes.items()):
        runs = f"{count:,} run{'' if count == 1 else 's'}"
        screen.say(f"{what} in {runs}: {sanitize(provider, 60)}: {sanitize(reason, 300)}")
