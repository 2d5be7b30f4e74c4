"""``trimtab install claude-code`` and ``trimtab uninstall claude-code``."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
from pathlib import Path

from trimtab import Configuration, TrimtabError, find_configuration, load_configuration
from trimtab.inspection import say
from trimtab_claude_code.assignment import assignment
from trimtab_claude_code.host import check_prompt
from trimtab_claude_code.preparing import prepare
from trimtab_claude_code.prompts import Prompts
from trimtab_claude_code.service.control import end_resident, renew_resident, usable_endpoint
from trimtab_claude_code.service.endpoint import FILE, Endpoint, read_endpoint
from trimtab_claude_code.settings.edit import (
    Change,
    install,
    plan_install,
    plan_uninstall,
    uninstall,
)
from trimtab_claude_code.settings.entries import HookTable, command_hooks, http_hooks
from trimtab_claude_code.settings.plugin import (
    is_plugin,
    plugin_files,
    remove_plugin,
    write_plugin,
)
from trimtab_claude_code.settings.receipt import Receipts
from trimtab_claude_code.state.folders import user_folder

_UNKNOWN = Endpoint(0, "your-token")
_TOKEN = re.compile(r"Bearer [\w-]+")


def register_install(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab install claude-code``."""
    parser.description = "Write hooks for trimtab into Claude Code's settings, or a plugin folder."
    _add_target(parser)
    parser.add_argument(
        "--command",
        action="store_true",
        help="one process for each event, instead of a resident one on 127.0.0.1",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change; no more")
    parser.set_defaults(run=run_install)


def register_uninstall(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab uninstall claude-code``."""
    parser.description = "Take trimtab's hooks out again; what else stands there stays."
    _add_target(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would change; no more")
    parser.set_defaults(run=run_uninstall)


def _add_target(parser: argparse.ArgumentParser) -> None:
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--user", action="store_true", help="settings.json of the user, for all projects (default)"
    )
    target.add_argument(
        "--project",
        action="store_true",
        help=".claude/settings.local.json of this project, which is not shared with others",
    )
    target.add_argument("--settings", type=Path, metavar="FILE", help="another settings file")
    target.add_argument("--plugin-dir", type=Path, metavar="DIR", help="a plugin folder")


def settings_file(options: argparse.Namespace) -> Path:
    """Return the settings file that the options mean."""
    if options.settings:
        named: Path = options.settings
        return named.absolute()
    if options.project:
        return Path.cwd() / ".claude" / "settings.local.json"
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(home) if home else Path.home() / ".claude") / "settings.json"


def run_install(options: argparse.Namespace) -> int:
    """Install the hooks; 1 where they are there and guide nobody yet."""
    table = _table(options)
    if options.plugin_dir:
        _install_plugin(options.plugin_dir, table, dry=options.dry_run)
    else:
        receipts = Receipts(_folder(options))
        change = plan_install(settings_file(options), table, receipts)
        if not options.dry_run:
            install(change, receipts)
        _report(change, dry=options.dry_run)
    if not options.dry_run:
        renew_resident(user_folder())
    return _report_prompts(dry=options.dry_run)


def _folder(options: argparse.Namespace) -> Path:
    return user_folder(make=not options.dry_run)


def _table(options: argparse.Namespace) -> HookTable:
    folder = _folder(options)
    if options.command:
        return command_hooks(folder)
    return http_hooks(_known(folder) if options.dry_run else usable_endpoint(folder), folder)


def _known(folder: Path) -> Endpoint:
    try:
        return read_endpoint(folder / FILE)
    except (OSError, ValueError):
        return _UNKNOWN


def _install_plugin(folder: Path, table: HookTable, *, dry: bool) -> None:
    if not dry:
        write_plugin(folder, table)
        say(f"Wrote the plugin. Use it with: claude --plugin-dir {shlex.quote(str(folder))}")
        return
    for name, text in plugin_files(table).items():
        say(f"Would write {folder / name}:\n{_masked(text)}")


def run_uninstall(options: argparse.Namespace) -> int:
    """Take the hooks out."""
    if options.plugin_dir:
        _uninstall_plugin(options.plugin_dir, dry=options.dry_run)
        return 0
    receipts = Receipts(_folder(options))
    change = plan_uninstall(settings_file(options), receipts)
    if not options.dry_run:
        uninstall(change, receipts)
        _end_unneeded()
    _report(change, dry=options.dry_run)
    return 0


def _end_unneeded() -> None:
    """End the resident process, where no other settings file has hooks that ask it."""
    if not Receipts(user_folder()).any():
        end_resident(user_folder())


def _uninstall_plugin(folder: Path, *, dry: bool) -> None:
    if not is_plugin(folder):
        say(f"There is no plugin in {folder}")
    elif dry:
        say(f"Would remove the plugin in {folder}")
    else:
        remove_plugin(folder)
        _end_unneeded()
        say(f"Removed the plugin in {folder}")


def _report(change: Change, *, dry: bool) -> None:
    path = change.document.path
    if not change.needed:
        say(f"{path} is as it should be.")
    elif dry:
        say(_masked("".join(_difference(change, str(path)))))
    else:
        say(f"{'Removed' if change.content is None else 'Wrote'} {path}")


def _masked(text: str) -> str:
    return _TOKEN.sub(f"Bearer {_UNKNOWN.token}", text)


def _difference(change: Change, name: str) -> list[str]:
    old, new = (
        (raw or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for raw in (change.document.raw, change.content)
    )
    return list(difflib.unified_diff(old, new, name, f"{name} (would be)"))


def _report_prompts(*, dry: bool) -> int:
    """Say which prompts will guide, and what is wrong with them."""
    path = find_configuration()
    configuration = load_configuration(path) if path else Configuration()
    names = assignment(configuration).prompts
    if not names:
        say(
            f"{path or 'No trimtab.toml here'} assigns no prompt, so nothing will be said. Write "
            'e.g.:\n\n[hosts.claude-code]\nprompt = "agent/main"\n\n[prompts."agent/main"]\n'
            'guidance = ["doom-loop"]'
        )
        return 1
    prompts = Prompts(configuration, Path.cwd())
    prompts.build_all()
    for name in names:
        say(f"{name}: {prompts.failures.get(name) or _speakers(prompts, name)}")
    if not prompts.failures and not dry:
        prepare(configuration, user_folder())
    return int(bool(prompts.failures))


def _speakers(prompts: Prompts, name: str) -> str:
    prompt = prompts.named(name)
    if prompt is None:
        return "can't be built"
    try:
        warnings = check_prompt(prompt)
    except TrimtabError as error:
        return str(error)
    speaking = ", ".join(source.name for source in prompt.table.sources) or "nobody speaks"
    return "\n  ".join((speaking, *warnings))
