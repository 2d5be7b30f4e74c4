"""Which hooks are written for which program; older ones must not lose their settings.

`TRIMTAB_OLDER_CLAUDE` names real programs of other versions, separated like the ``PATH``; the tox
environment ``older-claude`` sets it.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab_claude_code._program import (
    MINIMUM,
    Place,
    ProgramError,
    Version,
    find_program,
    harmless,
    run_trial,
    version_of,
)
from trimtab_claude_code.hooks import EVENTS

pytestmark = pytest.mark.slow

PROGRAMS = [
    Path(name) for name in os.environ.get("TRIMTAB_OLDER_CLAUDE", "").split(os.pathsep) if name
]
DENY = {"permissions": {"deny": ["Bash(cat:*)"]}}
older = pytest.mark.parametrize("program", PROGRAMS, ids=[p.parent.name for p in PROGRAMS])


def fake(tmp_path, version, program="/bin/false"):
    """A program that says it has a version, and does what another does."""
    file = tmp_path / "claude"
    file.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\nexec {program} "$@"\n'
    )
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("2.1.332 (Claude Code)\n", (2, 1, 332)),
        ("Claude Code v3.0.1-beta", (3, 0, 1)),
        ("10.20.30", (10, 20, 30)),
    ],
)
def test_versions_are_read(text, parts):
    assert Version.parse(text).parts == parts


@pytest.mark.parametrize("text", ["", "unknown", "2.1", "command not found: v1", "9" * 5000])
def test_what_is_no_version_is_an_error(text):
    with pytest.raises(ProgramError, match="holds no version"):
        Version.parse(text)


def test_a_version_gets_the_events_that_it_knows():
    assert Version(MINIMUM).events == EVENTS
    assert set(EVENTS) - set(Version((2, 1, 85)).events) == {"PostToolBatch"}


@pytest.mark.parametrize(("version", "shell"), [("2.1.119", True), ("2.1.332", False)])
def test_a_program_that_needs_no_shell_starts_the_client_itself(user, trimtab, version, shell):
    trimtab("install", "claude-code", "--assume-version", version)

    table = json.loads(user.settings.read_text())["hooks"]
    hooks = [hook for groups in table.values() for group in groups for hook in group["hooks"]]
    words = [shlex.split(h["command"]) if shell else [h["command"], *h["args"]] for h in hooks]
    assert {tuple(each[:3]) for each in words} == {(sys.executable, "-I", "-S")}
    assert {len(each) for each in words} == {6, 7}  # folder and seconds; longer for checkers


def test_doctor_finds_hooks_that_an_older_program_would_start_wrongly(user, trimtab, tmp_path):
    trimtab("install", "claude-code", "--assume-version", "2.1.332")

    printed = trimtab("doctor", "claude-code", "--program", str(fake(tmp_path, "2.1.119")))[1]

    assert f"the hooks in {user.settings} need a later version than 2.1.119" in printed


@pytest.mark.parametrize("version", ["2.1.118", "2.0.53", "1.9.999"])
@pytest.mark.parametrize("how", ["--program", "--assume-version"])
def test_install_refuses_what_is_too_old_and_touches_nothing(user, trimtab, tmp_path, version, how):
    path = user.write(DENY)
    before = path.read_bytes()
    value = str(fake(tmp_path, version)) if how == "--program" else version

    status, printed = trimtab("install", "claude-code", how, value)

    assert (status, f"Claude Code {version} is too old" in printed) == (2, True)
    assert "2.1.119 or later" in printed
    assert path.read_bytes() == before


def test_install_refuses_a_program_that_does_not_say_its_version(user, trimtab, tmp_path):
    status, printed = trimtab("install", "claude-code", "--program", str(fake(tmp_path, "?")))
    assert (status, "holds no version" in printed) == (2, True)

    status, printed = trimtab("install", "claude-code", "--program", "/no/such/program")
    assert (status, "can't be asked for its version" in printed) == (2, True)
    assert not user.settings.exists()


@pytest.mark.parametrize("before", [None, DENY])
def test_a_file_that_is_not_in_force_gets_its_content_back(user, trimtab, tmp_path, before):
    raw = user.write(before).read_bytes() if before else None

    status, printed = trimtab("install", "claude-code", "--program", str(fake(tmp_path, "2.1.999")))

    assert (status, "does not use these settings" in printed) == (1, True)
    assert (user.settings.read_bytes() if user.settings.exists() else None) == raw
    assert trimtab("uninstall", "claude-code")[0] == 0
    assert (user.settings.read_bytes() if user.settings.exists() else None) == raw


def test_a_trial_runs_nothing_of_the_user(tmp_path):
    mark = tmp_path / "mark"
    theirs = {"type": "command", "command": f"touch {mark}"}
    direct = {"type": "command", "command": "touch", "args": [f"touched {mark}"]}
    settings = {
        "hooks": {
            "Stop": [{"hooks": [theirs, direct, {"type": "http", "url": "https://example.org"}]}],
            "PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "touch x"}]}],
        },
        "availableModels": ["touch"],
        "env": {"ANTHROPIC_BASE_URL": "https://example.org"},
        "apiKeyHelper": "touch x",
        "awsAuthRefresh": "touch x",
        "statusLine": {"type": "command", "command": "touch x"},
        "permissions": {"deny": ["Bash"]},
    }

    text = json.dumps(harmless(settings))

    assert "touch" not in text
    assert "example.org" not in text
    assert "deny" in text


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", Place)
def test_the_program_here_reads_the_hooks_wherever_they_are(place):
    program = find_program()
    if program is None:
        pytest.skip("the claude program is not here")
    version = version_of(program)

    assert version.supported
    assert run_trial(program, DENY, place, version).passed


@pytest.mark.e2e
@pytest.mark.timeout(300)
@older
def test_an_older_program_is_served_or_refused_and_its_rules_hold(user, trimtab, program, tmp_path):
    servers = pytest.importorskip("trimtab_test_servers")
    path = user.write(DENY)
    before = path.read_bytes()

    status, printed = trimtab("install", "claude-code", "--program", str(program))

    supported = version_of(program).supported
    assert status == (0 if supported else 2), printed
    assert (path.read_bytes() == before) is not supported
    (user.project / "file.txt").write_text("kept-secret-4711")
    cat = servers.Call("Bash", {"command": "cat file.txt", "description": "x"})
    with servers.AnthropicServer([servers.say(cat), servers.say("Done.")]) as server:
        subprocess.run(
            [program, "-p", "Go.", "--model", "claude-sonnet-4-5"],
            cwd=user.project,
            env={**os.environ, **servers.claude_code_environment(server, user.home)},
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )
        last = "".join(server.requests[-1].texts)
    assert "kept-secret-4711" not in last
    assert ("main-after-1" in last) is supported
    trimtab("uninstall", "claude-code")


@pytest.mark.e2e
@pytest.mark.timeout(300)
@older
def test_a_trial_finds_out_what_a_program_ignores(user, trimtab, program, tmp_path):
    if version_of(program).supported:
        pytest.skip("it knows all hooks")
    path = user.write(DENY)
    before = path.read_bytes()
    boasting = fake(tmp_path, "2.1.999", program)

    status, printed = trimtab("install", "claude-code", "--program", str(boasting))

    assert (status, "does not use these settings" in printed) == (1, True)
    assert path.read_bytes() == before


def test_the_readme_names_the_minimum():
    readme = Path(__file__).parents[2] / "README.md"

    assert f"Needs Claude Code\n{Version(MINIMUM)} or later" in readme.read_text()
