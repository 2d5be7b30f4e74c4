"""``trimtab claude-code install`` and ``uninstall``."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from trimtab import Configuration, find_configuration, load_configuration
from trimtab.inspection import say
from trimtab_claude_code._host_config import HOST, HostConfig, Prompts, read_host_config
from trimtab_claude_code._journal import user_folder
from trimtab_claude_code._program import (
    Place,
    ProgramError,
    Version,
    find_program,
    run_trial,
    version_of,
)
from trimtab_claude_code._settings import (
    HookTable,
    hook_table,
    is_plugin,
    plugin_files,
    remove_plugin,
    write_plugin,
)
from trimtab_claude_code._settings_edit import (
    Receipts,
    add_target,
    in_force,
    install,
    obstacle,
    place_of,
    plan_install,
    plan_uninstall,
    settings_file,
    uninstall,
    with_our_hooks,
    write_configuration,
)
from trimtab_claude_code._status import report_change
from trimtab_claude_code._transport import remove_endpoint
from trimtab_trace import journal_folder, journals_of

_GIT_TIMEOUT = 10.0


def register_install(parser: argparse.ArgumentParser) -> None:
    """Write hooks into Claude Code's settings, and try them."""
    parser.description = (
        "Run the program once with hooks for trimtab, against a script on this machine; where "
        "they are in force, write them into Claude Code's settings, or a plugin folder."
    )
    add_target(parser)
    parser.add_argument(
        "--enable",
        nargs="+",
        metavar="NAME",
        help="write a trimtab.toml here that enables these providers, unless one does",
    )
    parser.add_argument("--program", type=Path, metavar="FILE", help="the claude program")
    parser.add_argument(
        "--assume-version",
        metavar="VERSION",
        help="write the hooks of this version and don't run the program",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change; no more")
    parser.set_defaults(run=run_install)


def run_install(options: argparse.Namespace) -> int:
    """Install the hooks; 1 where they are not in force, or no prompt is assigned."""
    program, version = _program(options)
    forbidden = obstacle(in_force(options), plugin=place_of(options) is Place.PLUGIN)
    if forbidden:
        say(f"Nothing was written. {forbidden.message}; {forbidden.fix}, and install again.")
        return 1
    if options.enable:
        write_configuration(options.enable, dry=options.dry_run)
    configuration = _configuration()
    host = read_host_config(configuration)
    folder = user_folder(make=not options.dry_run)
    table = hook_table(folder, version.events, without_shell=version.without_shell)
    receipts = Receipts(folder)
    change = None if options.plugin_dir else plan_install(settings_file(options), table, receipts)
    wrong = _untried(program, options, change.document.data if change else {}, version)
    if wrong:
        say(f"Nothing was written. {wrong}")
        return 1
    if change is None:
        _install_plugin(options.plugin_dir, table, dry=options.dry_run)
    else:
        if not options.dry_run:
            install(change, receipts)
        report_change(change, dry=options.dry_run)
    if not options.dry_run:
        remove_endpoint(user_folder())
        _report_surroundings(options)
    return _report_prompts(configuration, host)


def _program(options: argparse.Namespace) -> tuple[Path | None, Version]:
    """Return the program that is to be tried, and the version whose hooks are written."""
    if options.assume_version:
        version = Version.parse(options.assume_version)
        version.require()
        return None, version
    program = options.program or find_program()
    if program is None:
        raise ProgramError(
            "the program claude was not found, and with it the hooks that it understands: name it "
            "with --program, or its version with --assume-version"
        )
    version = version_of(program)
    version.require()
    return program, version


def _configuration() -> Configuration:
    path = find_configuration()
    return load_configuration(path) if path else Configuration()


def _untried(
    program: Path | None, options: argparse.Namespace, settings: dict[str, Any], version: Version
) -> str:
    """Try the hooks in the program; return what is wrong, empty if nothing is."""
    if program is None or options.dry_run:
        return ""
    trial = run_trial(program, settings, place_of(options), version)
    if trial.passed:
        say(f"Claude Code {version} reads the hooks: a word arrived at its model.")
        return ""
    reason = trial.error or "; ".join(trial.problems) or "its hooks were not run"
    return (
        f"Claude Code {version} does not use these settings: {reason}. See what it says about "
        "them with: claude doctor"
    )


def _install_plugin(folder: Path, table: HookTable, *, dry: bool) -> None:
    if not dry:
        write_plugin(folder, table)
        say(f"Wrote the plugin. Use it with: claude --plugin-dir {shlex.quote(str(folder))}")
        return
    for name, text in plugin_files(table).items():
        say(f"Would write {folder / name}:\n{text}")


def _report_surroundings(options: argparse.Namespace) -> None:
    """Say what else the user should know about the file that was written."""
    others = [file for file in with_our_hooks() if file != settings_file(options)]
    if others and place_of(options) is not Place.PLUGIN:
        listed = ", ".join(map(str, others))
        say(f"The hooks are in {listed} too, so each event is handled twice: uninstall one.")
    if options.project and not _is_ignored(settings_file(options)):
        say(
            "Git does not ignore .claude/settings.local.json, which names this machine's Python. "
            "Keep it out with: echo .claude/settings.local.json >> .git/info/exclude"
        )


def _is_ignored(file: Path) -> bool:
    """Whether git leaves a file alone; also where there is no git, or no repository."""
    try:
        done = subprocess.run(
            ["git", "check-ignore", "-q", str(file)],  # noqa: S607
            check=False,
            cwd=file.parent,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
            capture_output=True,
            timeout=_GIT_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return done.returncode != 1


def _report_prompts(configuration: Configuration, host: HostConfig) -> int:
    """Say which prompts will guide, and what is wrong with them."""
    if not host.prompts:
        where = configuration.path or "No trimtab.toml was found here; without it"
        say(
            f"{where}{':' if configuration.path else ''} no prompt is configured for Claude Code, "
            "so trimtab does nothing. Write one with: "
            "trimtab install claude-code --enable doom-loop\n"
            f'or by hand:\n\n[hosts.{HOST}]\nprompt = "agent/main"\n\n[prompts."agent/main"]\n'
            'guidance = ["doom-loop"]'
        )
        return 1
    prompts = Prompts(configuration, host, Path.cwd())
    prompts.build_all()
    for name in host.prompts:
        say(f"{name}: {prompts.failures.get(name) or _providers(prompts, name)}")
    for name, warning in prompts.warnings(host.timeout).items():
        say(f"{name}: {warning}")
    return int(bool(prompts.failures))


def _providers(prompts: Prompts, name: str) -> str:
    prompt = prompts.named(name)
    names = [source.name for source in prompt.table.sources] if prompt else []
    return ", ".join(names) or "no provider"


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
    if not options.dry_run and not Receipts(user_folder()).any():
        remove_endpoint(user_folder())  # the hook server ends; no other settings file has hooks
    _journals(remove=options.remove_journals, dry=options.dry_run)
    return 0


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
    saved = sorted((folder / "sessions").glob("*.jsonl"))
    journals = journals_of(HOST, journal_folder(folder.parent))
    if not saved and not journals:
        return
    if remove and not dry:
        for file in (*saved, *journals):
            file.unlink(missing_ok=True)
        say(f"Removed {len(journals)} journals of sessions.")
        return
    files = (*saved, *journals)
    size = sum(file.stat().st_size for file in files) / 1e6
    folders = ", ".join(sorted({str(file.parent) for file in files}))
    would = "would be removed" if remove else "stay; remove them with --remove-journals"
    say(f"{len(journals)} journals of sessions ({size:.1f} MB, in {folders}) {would}.")
