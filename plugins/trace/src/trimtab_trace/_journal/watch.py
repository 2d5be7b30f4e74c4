"""``trimtab watch``: the sessions of this machine as they go on, in a terminal."""

from __future__ import annotations

import argparse
import sys

from trimtab import TrimtabError
from trimtab_trace._journal.files import journal_folder
from trimtab_trace._journal.sessions import Tail

_PAUSE = 0.3


def watch(parser: argparse.ArgumentParser) -> None:
    """Watch the sessions of this machine, and what is said in them, as they go on."""
    parser.description = (
        "A live view of the journals of this machine: sessions on the left, calls and decisions of "
        "one on the right, the words below. Needs trimtab-trace[watch]."
    )
    parser.set_defaults(run=run_watch)


def run_watch(_: argparse.Namespace) -> int:
    """Show the sessions until ``q`` is pressed.

    Raises:
        TrimtabError: there is no terminal, or rich is not installed.
    """
    try:
        from rich.console import Console
        from rich.live import Live

        from trimtab_trace._journal.view import KEEP_CALLS, WatchView
    except ImportError as error:
        raise TrimtabError(
            f"trimtab watch needs {error.name}: pip install 'trimtab-trace[watch]'. "
            "trimtab status --follow does without."
        ) from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TrimtabError("trimtab watch needs a terminal; see trimtab status --follow")
    from trimtab_trace._journal.keys import raw_keys, read_keys

    console = Console()
    view = WatchView(Tail(journal_folder(), keep_calls=KEEP_CALLS))
    with raw_keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        going_on = True
        while going_on:
            view.tail.poll()
            live.update(view.draw(*console.size), refresh=True)
            going_on = all(view.press(key) for key in read_keys(_PAUSE))
    return 0
