"""``trimtab doctor claude-code``: does the real program carry words to the model?"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from trimtab import Configuration, TrimtabError, find_configuration, load_configuration
from trimtab.inspection import HOME, say, say_json
from trimtab_claude_code.assignment import HOST, assignment
from trimtab_claude_code.canary import (
    FILE as CANARY_FILE,
    NAME,
    CanaryModel,
    install_canary,
    spoken,
)
from trimtab_claude_code.prompts import Prompts
from trimtab_claude_code.service.control import end_resident, state_of_resident
from trimtab_claude_code.service.endpoint import FILE, make_endpoint, read_endpoint
from trimtab_claude_code.settings.edit import read_settings
from trimtab_claude_code.settings.entries import (
    HookTable,
    command_hooks,
    http_hooks,
    our_hooks,
)
from trimtab_claude_code.settings.errors import SettingsError
from trimtab_claude_code.state.folders import user_folder
from trimtab_claude_code.state.troubles import Troubles

_SECONDS = 60.0
_OTHERS = ("ANTHROPIC_", "CLAUDE_", "TRIMTAB_")
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_TOML = """
[hosts.claude-code]
prompt = "doctor/canary"
[prompts."doctor/canary"]
guidance = [{{ use = "{name}", options = {{ word = "{word}" }} }}]
"""


@attrs.frozen
class Finding:
    """One thing that was looked at.

    Args:
        what: in words.
        well: whether it is as it should be.
        remedy: what to do where it is not.
    """

    what: str
    well: bool = True
    remedy: str = ""


def register_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab doctor claude-code``."""
    parser.description = (
        "Look at hooks and configuration, then send a word through the real program, whose model "
        "is a script on loopback. Nothing goes to the network, and your settings are not used."
    )
    parser.add_argument("--program", type=Path, metavar="FILE", help="the claude program")
    parser.add_argument("--command", action="store_true", help="try command hooks")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    """Report what was found; 1 where something is wrong."""
    findings = [*_about_settings(), _about_resident(), *_about_configuration()]
    program = options.program or find_program()
    if program is None:
        remedy = "name it with --program, or put it on the PATH"
        findings.append(Finding("the program claude was not found", well=False, remedy=remedy))
    else:
        findings += prove(program, command=options.command)
    if options.json:
        say_json({"findings": [attrs.asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            say(f"{'ok   ' if finding.well else 'wrong'}  {finding.what}{remedy}")
    return int(not all(finding.well for finding in findings))


def find_program() -> Path | None:
    """Return the program on the PATH, else the one that the Agent SDK brings along."""
    found = shutil.which("claude")
    if found:
        return Path(found)
    sdk = importlib.util.find_spec("claude_agent_sdk")
    for folder in (sdk and sdk.submodule_search_locations) or ():
        bundled = Path(folder) / "_bundled" / "claude"
        if bundled.is_file():
            return bundled
    return None


def _about_settings() -> Iterator[Finding]:
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    user = (Path(home) if home else Path.home() / ".claude") / "settings.json"
    project = Path.cwd() / ".claude"
    files = (user, project / "settings.json", project / "settings.local.json")
    try:
        settings = {file: read_settings(file).data for file in files}
    except SettingsError as error:
        yield Finding(str(error), well=False, remedy="correct the file")
        return
    found = [file for file, data in settings.items() if our_hooks(data)]
    current = [our_hooks({"hooks": table}) for table in _tables(user_folder())]
    for file in found:
        holds = our_hooks(settings[file]) in current
        yield Finding(f"hooks are in {file}") if holds else _outdated(file)
    for file, data in settings.items():
        if data.get("disableAllHooks"):
            off = f"disableAllHooks is set in {file}: no hook is run"
            yield Finding(off, well=False, remedy="take it out")
    if not found:
        yield Finding(
            "no settings file has the hooks (a plugin folder may)",
            remedy="run: trimtab install claude-code",
        )
    if len(found) > 1:
        remedy = "uninstall from all but one: each event is told twice"
        yield Finding("two settings files have the hooks", well=False, remedy=remedy)


def _tables(folder: Path) -> Iterator[HookTable]:
    yield command_hooks(folder)
    try:
        yield http_hooks(read_endpoint(folder / FILE), folder)
    except (OSError, ValueError):
        pass  # `_about_resident` tells of it


def _outdated(file: Path) -> Finding:
    what = f"the hooks in {file} are those of another Python, port or version"
    return Finding(what, well=False, remedy="install them again")


def _about_resident() -> Finding:
    state = state_of_resident(user_folder())
    return Finding(f"resident process: {state}", well=not state.startswith("can't"))


def _about_configuration() -> Iterator[Finding]:
    path = find_configuration()
    try:
        configuration = load_configuration(path) if path else Configuration()
        names = assignment(configuration).prompts
    except TrimtabError as error:
        yield Finding(str(error), well=False, remedy="correct it")
        return
    if not names:
        yield Finding(f"no prompt is assigned here, in [hosts.{HOST}]", remedy="see the README")
    prompts = Prompts(configuration, Path.cwd())
    prompts.build_all()
    for name in names:
        wrong = prompts.failures.get(name)
        yield Finding(f"prompt {name}: {wrong or 'all providers load'}", well=not wrong)


def prove(program: Path, *, command: bool) -> list[Finding]:
    """Send words through the program and say which arrived; nothing of the user's is touched."""
    word = f"canary-{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory(prefix="trimtab-doctor-") as name:
        folder, model = Path(name), CanaryModel()
        work, state = folder / "work", folder / "state" / HOST
        work.mkdir()
        state.mkdir(parents=True)
        install_canary(folder / "site")
        (work / "trimtab.toml").write_text(_TOML.format(name=NAME, word=word), encoding="utf-8")
        (work / CANARY_FILE).write_text("tweet\n", encoding="utf-8")
        table = command_hooks(state) if command else http_hooks(make_endpoint(state), state)
        (folder / "settings.json").write_text(json.dumps({"hooks": table}), encoding="utf-8")
        with model.serving():
            said = _run(program, folder, model.url)
        end_resident(state)
        troubles = [Finding(one.what, well=False) for one in Troubles(state).all()]
    return [*_judge(said, model.requests, word), *troubles]


def _run(program: Path, folder: Path, url: str) -> str:
    """Run the program once; return what went wrong, empty where nothing did."""
    settings = str(folder / "settings.json")
    try:
        done = subprocess.run(
            [program, "-p", f"Read {CANARY_FILE}.", "--settings", settings, "--model", "canary"],
            check=False,
            cwd=folder / "work",
            env=_environment(folder, url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return f"{done.stdout}{done.stderr}"[-300:] if done.returncode else ""


def _environment(folder: Path, url: str) -> dict[str, str]:
    """Return the program's variables: of the user's own, none that would lead elsewhere."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OTHERS) and name.lower() not in _PROXIES
    }
    return {
        **inherited,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "canary",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([str(folder / "site"), *_path()]),
        HOME: str(folder / "state"),
    }


def _path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


def _judge(said: str, requests: list[str], word: str) -> list[Finding]:
    if said or len(requests) < 2:
        what = f"the program did not come to its end: {said or 'it asked its model too seldom'}"
        return [Finding(what, well=False, remedy="run it by hand and see")]
    first, second = spoken(word, 0), spoken(word, 1)
    before = first in requests[0]
    after = second in requests[1] and second not in requests[0]
    stays = first in requests[-1]
    return [
        Finding("words after a prompt are in the request that follows", before),
        Finding("words after a tool call are in the request that follows", after),
        Finding("they stay in the conversation, as declared", stays),
    ]
