"""``trimtab report``."""

from __future__ import annotations

import argparse
from pathlib import Path

from trimtab.inspection import others_to_stderr, say, writing
from trimtab.text import plural, sanitize
from trimtab_replay._arguments import add_reading, add_selection
from trimtab_replay._commands import found_here, job_of, replayed_runs
from trimtab_replay._job import ReadStats
from trimtab_replay._recording import ReplayError
from trimtab_replay._report.data import ReportData
from trimtab_replay._report.page import page
from trimtab_replay._reporting import complain, report_stats
from trimtab_replay._summary import Summary


def register(parser: argparse.ArgumentParser) -> None:
    """Write an HTML page of recorded runs with every nudge in its place."""
    parser.description = (
        "Replay recorded runs, and write one HTML file that shows what was said beside what the "
        "providers of today would say. Without PATH, of the newest sessions on this machine."
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a transcript, or a folder")
    add_selection(parser)
    add_reading(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("report.html"),
        help="the file to write",
    )
    parser.add_argument("--title", default="Nudges on recorded runs", help="the title of the page")
    parser.set_defaults(run=run_report)


def run_report(options: argparse.Namespace) -> int:
    """Write the report; 1 if something was not read, a provider failed, or no run was found."""
    with others_to_stderr():
        return _report(options)


def _report(options: argparse.Namespace) -> int:
    job = job_of(options, keep_calls=True, default_all=True)
    folder = options.output.parent
    if not folder.is_dir() or options.output.is_dir():
        raise ReplayError(f"can't write {options.output}: name a file in a folder that is there")
    if not options.paths:
        options.paths = found_here(options, "report")
    stats = ReadStats()
    data = ReportData(Summary(job.selection.names))
    for one in replayed_runs(options, job, stats):
        data.add(one)
    if not stats.runs:
        report_stats(stats)
        complain(f"no report is written to {sanitize(str(options.output))}")
        return 1
    text = page(data.as_dict(options.title, stats))
    with writing(options.output) as file:
        size = file.write(text)
    say(f"{sanitize(str(options.output))}: {plural(stats.runs, 'run')}, {size / 1e3:,.0f} kB")
    return report_stats(stats)
