"""What goes to the error channel: what was not read, and why."""

from __future__ import annotations

import sys

from trimtab import sanitize
from trimtab_replay.pool import Account


def report_account(account: Account) -> int:
    """Say on the error channel what was not read; return the exit status."""
    for skipped in account.skipped:
        line = "" if skipped.line is None else f":{skipped.line}"
        complain(f"{sanitize(skipped.path, 300)}{line}: {sanitize(skipped.what, 300)}")
    if account.other_files:
        complain(f"other files, no transcripts: {account.other_files}")
    if account.left_out:
        complain(f"runs left out, older than asked for or without a time: {account.left_out}")
    if not account.runs:
        complain("no recorded run was replayed")
    return int(bool(account.skipped))


def complain(message: str) -> None:
    """Write one line to the error channel."""
    sys.stderr.write(f"trimtab: {message}\n")
