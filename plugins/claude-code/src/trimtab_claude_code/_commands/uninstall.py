"""``trimtab uninstall claude-code``."""

from __future__ import annotations

import argparse
from pathlib import Path

from trimtab.inspection import say
from trimtab_claude_code._commands.report import report_change
from trimtab_claude_code._commands.targets import add_target, settings_file
from trimtab_claude_code._host_config import HOST
from trimtab_claude_code._settings.edit import plan_uninstall, uninstall
from trimtab_claude_code._settings.plugin import is_plugin, remove_plugin
from trimtab_claude_code._settings.receipt import Receipts
from trimtab_claude_code._state.folders import user_folder
from trimtab_claude_code._state.index import SessionIndex
from trimtab_claude_code._transport import remove_endpoint
from trimtab_trace import journal_folder, journals_of


def register_uninstall(parser: argparse.ArgumentParser) -> None:
    """Remove the hooks from Claude Code's settings."""
    parser.description = "Take trimtab's hooks out again; other entries are kept."
    add_target(parser)
    parser.add_argument(
        "--remove-journals",
        action="store_true",
        help="also remove what was recorded of all sessions",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change; no more")
    parser.set_defaults(run=run_uninstall)


def run_uninstall(options: argparse.Namespace) -> int:
    """Take the hooks out."""
    if options.plugin_dir:
        _uninstall_plugin(options.plugin_dir, dry=options.dry_run)
    else:
        receipts = Receipts(user_folder(make=not options.dry_run))
        change = plan_uninstall(settings_file(options), receipts)
        if not options.dry_run:
            uninstall(change, receipts)
        report_change(change, dry=options.dry_run)
    if not options.dry_run:
        _end_unneeded()
    _journals(remove=options.remove_journals, dry=options.dry_run)
    return 0


def _end_unneeded() -> None:
    """End the hook server, unless another settings file has hooks."""
    if not Receipts(user_folder()).any():
        remove_endpoint(user_folder())


def _uninstall_plugin(folder: Path, *, dry: bool) -> None:
    if not is_plugin(folder):
        say(f"There is no plugin in {folder}")
    elif dry:
        say(f"Would remove the plugin in {folder}")
    else:
        remove_plugin(folder)
        say(f"Removed the plugin in {folder}")


def _journals(*, remove: bool, dry: bool) -> None:
    """Remove the journals of all sessions, or say where they are."""
    folder = user_folder(make=False)
    index = SessionIndex(folder)
    saved, journals = index.journals(), journals_of(HOST, journal_folder(folder.parent))
    if not saved and not journals:
        return
    if remove and not dry:
        index.remove_journals()
        for journal in journals:
            journal.unlink(missing_ok=True)
        say(f"Removed {len(journals)} journals of sessions.")
        return
    files = (*saved, *journals)
    size = sum(file.stat().st_size for file in files) / 1e6
    folders = ", ".join(sorted({str(file.parent) for file in files}))
    would = "would be removed" if remove else "stay; remove them with --remove-journals"
    say(f"{len(journals)} journals of sessions ({size:.1f} MB, in {folders}) {would}.")
