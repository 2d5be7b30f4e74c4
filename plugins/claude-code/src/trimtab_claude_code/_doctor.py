"""``trimtab doctor claude-code``: does the real program carry guidance to the model?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from trimtab import Configuration, TrimtabError, find_configuration, load_configuration
from trimtab.inspection import others_to_stderr, say, say_json
from trimtab_claude_code._host_config import HOST, Prompts, read_host_config
from trimtab_claude_code._journal import user_folder
from trimtab_claude_code._program import (
    Place,
    ProgramError,
    Version,
    find_program,
    run_trial,
    version_of,
)
from trimtab_claude_code._settings import SettingsError, hook_table, our_hooks
from trimtab_claude_code._settings_edit import (
    add_target,
    in_force,
    obstacle,
    read_by_program,
    read_settings,
    settings_file,
)
from trimtab_claude_code._status import ask_server


@attrs.frozen
class Check:
    """One thing that was examined, and what to do where it is not as it should be."""

    message: str
    ok: bool = True
    fix: str = ""


def register_doctor(parser: argparse.ArgumentParser) -> None:
    """Check hooks, configuration and the Claude Code program."""
    parser.description = (
        "Examine hooks and configuration, then run the real program once, whose model is a "
        "script on this machine. Nothing goes to the network, and your settings are not used."
    )
    add_target(parser, plugin=False)
    parser.add_argument("--program", type=Path, metavar="FILE", help="the claude program")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(
        run=run_doctor, user=False, project=False, settings=None, program=None, json=False
    )


def run_doctor(options: argparse.Namespace) -> int:
    """Report what was found; 1 where something is wrong."""
    with others_to_stderr():
        server = ask_server(user_folder(make=False))
        checks = [
            *_about_settings(options),
            Check(f"hook server: {server}", ok=not server.problem),
            *_about_configuration(),
            *_about_program(options),
        ]
    if options.json:
        say_json({"checks": [attrs.asdict(check) for check in checks]})
    else:
        for check in checks:
            what = f"{check.message.removesuffix('.')}; {check.fix}" if check.fix else check.message
            say(f"{'ok   ' if check.ok else 'wrong'}  {what}")
    return int(not all(check.ok for check in checks))


def _about_settings(options: argparse.Namespace) -> Iterator[Check]:
    named = options.user or options.project or options.settings
    try:
        settings = _settings(options)
    except SettingsError as error:
        yield Check(str(error), ok=False, fix="correct the file")
        return
    found = [file for file, data in settings.items() if our_hooks(data)]
    folder = user_folder(make=False)
    current = [
        our_hooks({"hooks": hook_table(folder, without_shell=without)}) for without in (True, False)
    ]
    for file in found:
        same = our_hooks(settings[file]) in current
        of_another = f"the hooks in {file} are those of another Python or version"
        outdated = Check(of_another, ok=False, fix="install them again")
        yield Check(f"hooks are in {file}") if same else outdated
    forbidden = obstacle(in_force(options))
    if forbidden:
        yield Check(forbidden.message, ok=False, fix=forbidden.fix)
    if not found:
        where = settings_file(options) if named else "no settings file"
        message = f"{where} has no hooks" if named else f"{where} has the hooks (a plugin may)"
        yield Check(message, ok=not named, fix="run: trimtab install claude-code")
    if len(found) > 1:
        fix = "uninstall from all but one: each event is handled twice"
        yield Check("two settings files have the hooks", ok=False, fix=fix)


def _settings(options: argparse.Namespace) -> dict[Path, dict[str, Any]]:
    """Return the settings that the options name, else those that the program reads."""
    named = options.user or options.project or options.settings
    files = (settings_file(options),) if named else read_by_program()
    return {file: read_settings(file).data for file in files}


def _about_configuration() -> Iterator[Check]:
    path = find_configuration()
    try:
        configuration = load_configuration(path) if path else Configuration()
        host = read_host_config(configuration)
    except TrimtabError as error:
        yield Check(str(error), ok=False, fix="correct it")
        return
    if not host.prompts:
        fix = "run: trimtab install claude-code --enable NAME"
        yield Check(f"no prompt is configured here, in [hosts.{HOST}]", fix=fix)
    prompts = Prompts(configuration, host, Path.cwd())
    prompts.build_all()
    for name in host.prompts:
        wrong = prompts.failures.get(name)
        yield Check(f"prompt {name}: {wrong or 'all providers load'}", ok=not wrong)
    for name, warning in prompts.warnings(host.timeout).items():
        yield Check(f"{name}: {warning}", ok=False)


def _about_program(options: argparse.Namespace) -> Iterator[Check]:
    program = options.program or find_program()
    if program is None:
        fix = "name it with --program, or put it on the PATH"
        yield Check("the program claude was not found", ok=False, fix=fix)
        return
    try:
        version = version_of(program)
        version.require()
    except ProgramError as error:
        yield Check(str(error), ok=False)
        return
    yield Check(f"the program is Claude Code {version}")
    yield from _about_form(options, version)
    trial = run_trial(program, {}, Place.FILE, version)
    if trial.error:
        message = f"the program did not come to its end: {trial.error}"
        yield Check(message, ok=False, fix="run it by hand and see")
    else:
        yield Check("test run: guidance after a prompt is in the next request", ok=trial.before)
        yield Check("test run: guidance after a call is in the next request", ok=trial.after)
        yield Check("test run: it stays in the conversation, as declared", ok=trial.stays)
    yield from (Check(problem, ok=False) for problem in trial.problems)


def _about_form(options: argparse.Namespace, version: Version) -> Iterator[Check]:
    """Find hooks that an older program than they were written for would start wrongly."""
    if version.without_shell:
        return
    with suppress(SettingsError):  # said before
        for file, data in _settings(options).items():
            if any("args" in hook for _, _, hook in our_hooks(data)):
                message = f"the hooks in {file} need a later version than {version}"
                yield Check(message, ok=False, fix="install them again")
