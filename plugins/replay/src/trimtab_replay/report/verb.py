"""``trimtab report``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trimtab import sanitize
from trimtab_replay.arguments import add_reading, add_selection
from trimtab_replay.commands import job_of, replayed_runs
from trimtab_replay.pool import Account
from trimtab_replay.recording import ReplayError
from trimtab_replay.report.data import ReportData
from trimtab_replay.report.page import page
from trimtab_replay.reporting import report_account
from trimtab_replay.summary import Summary


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab report``."""
    parser.description = "Replay recorded runs, and write one HTML file that shows them."
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a transcript, or a folder")
    add_selection(parser)
    add_reading(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("report.html"), help="the file"
    )
    parser.add_argument("--title", default="Nudges on recorded runs", help="the page's title")
    parser.set_defaults(run=run_report)


def run_report(options: argparse.Namespace) -> int:
    """Write the report; 1 where something was not read."""
    job = job_of(options, keep_steps=True, default_all=True)
    folder = options.output.parent
    if not folder.is_dir() or options.output.is_dir():
        raise ReplayError(f"can't write {options.output}: name a file in a folder that is there")
    account = Account()
    data = ReportData(Summary(job.selection.names))
    for one in replayed_runs(options, job, account):
        data.add(one)
    text = page(data.as_dict(options.title, account))
    size = options.output.write_text(text, encoding="utf-8")
    sys.stdout.write(
        f"{sanitize(str(options.output))}: {account.runs:,} runs, {size / 1e3:,.0f} kB\n"
    )
    return report_account(account)
