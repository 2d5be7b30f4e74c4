"""Sessions on one server: each has its own variables, prompt, record and limits."""

import json
import os
import re
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest

from trimtab_claude_code._files import Problems
from trimtab_claude_code._journal import SUFFIXES
from trimtab_trace import JournalSettings, remove_old_journals

from .conftest import guidance, payload, server_pid

pytestmark = pytest.mark.slow

TURN = ("PreToolUse", "PostToolUse", "PostToolBatch")
QUIET = '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\nguidance = []\n'


def go(session_id="s", **fields):
    return payload("UserPromptSubmit", session_id=session_id, prompt="Go.", **fields)


def journal_of(user, session_id="s"):
    (file,) = user.state.rglob(f"{session_id}.jsonl")
    return file


def stored(user):
    """Everything that is kept on disk about sessions."""
    files = [file for file in user.state.rglob("*") if file.is_file() and file.name != "server.log"]
    return b"".join(file.read_bytes() for file in files)


# Variables of a session.


@pytest.mark.parametrize(
    "variables",
    [
        {"TRIMTAB_PLUGINS": "off"},
        {"TRIMTAB_DISABLE": "claude-code-canary"},
        {"TRIMTAB_CONFIG": "quiet.toml"},
        {"TRIMTAB_CLAUDE_CODE": "off"},
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_variables_hold_for_the_session_that_has_them(hook, user, variables, first):
    (user.project / "quiet.toml").write_text(QUIET)
    order = [("with", variables), ("without", {})]
    said = {
        name: guidance(hook(go(name), **values)) for name, values in order[:: 1 if first else -1]
    }
    more = guidance(hook(payload("PostToolBatch", session_id="without")))

    assert said["with"] == ""
    assert "main-after-0" in said["without"]
    assert "main-after-1" in more
    assert guidance(hook(payload("PostToolBatch", session_id="with"), **variables)) == ""


def test_a_process_that_goes_on_with_other_variables_is_heard(hook):
    assert guidance(hook(go()))
    silenced = payload("PostToolBatch", 1)
    assert guidance(hook(silenced, TRIMTAB_PLUGINS="off")) == ""

    assert "main-after-2" in guidance(hook(payload("PostToolBatch", 2)))


def test_a_variable_that_is_wrong_is_told_and_stops_nothing(hook):
    assert hook(go(), TRIMTAB_PLUGINS="maybe") == {}
    told = hook(payload("SessionStart", "x"))["systemMessage"]
    assert "TRIMTAB_PLUGINS='maybe'" in told


# Where nobody is guided.


def test_nothing_is_kept_where_no_prompt_is_assigned(hook, user):
    (user.project / "trimtab.toml").unlink()
    for event in (payload("SessionStart"), go(prompt_extra="SECRET"), payload("PreToolUse")):
        assert hook(event) == {}
    hook(payload("PostToolUse", tool_response={"stdout": "SECRET"}))

    assert b"SECRET" not in stored(user)
    assert list(user.state.rglob("*.jsonl")) == []


def test_nothing_is_kept_where_the_configuration_says_so(hook, user):
    toml = (user.project / "trimtab.toml").read_text()
    (user.project / "trimtab.toml").write_text(
        toml.replace('prompt = "agent/main"', 'prompt = "agent/main"\njournal = false', 1)
    )
    assert "main-after-0" in guidance(hook(go()))
    assert "main-after-1" in guidance(hook(payload("PostToolBatch")))

    assert list(user.state.rglob("*.jsonl")) == []


# Where a session began.


def test_a_session_keeps_its_prompt_wherever_the_agent_goes(hook, user, folder):
    nested = user.project / "nested"
    nested.mkdir()
    (nested / "trimtab.toml").write_text(QUIET)
    hook(go())
    os.kill(server_pid(folder), signal.SIGKILL)

    said = [guidance(hook(payload(name, cwd=str(nested)))) for name in TURN]
    assert "main-after-1" in said[-1]

    os.kill(server_pid(folder), signal.SIGKILL)
    there = {"CLAUDE_PROJECT_DIR": str(nested)}
    said = guidance(hook(payload("PostToolBatch", 2, cwd=str(nested)), **there))
    assert "main-after-2" in said


# What is kept.


def test_what_is_kept_holds_no_secret_is_private_and_bounded(hook, user):
    token, password = "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "password=correct-horse-battery"
    url, key = "https://me:correct-horse@example.org", "AKIAIOSFODNN7EXAMPLE"
    every = f"{token} {password} {url} {key}"
    hook(payload("UserPromptSubmit", prompt=f"Use {every}"))
    hook(payload("PreToolUse", tool_input={"command": every, "nested": [{"header": every}]}))
    hook(payload("PostToolUse", tool_response={"stdout": f"{every}\n{'x' * 1_000_000}"}))
    hook(payload("PreToolUse", 1, tool_input={"command": every}))
    hook(payload("PostToolUseFailure", 1, tool_input={"command": every}, error=f"No: {every}"))
    hook(payload("PostToolBatch", 1))
    hook(payload("SessionEnd", reason="other"))

    kept = stored(user)
    assert [part for part in (b"ghp_abc", b"correct-horse", b"IOSFODNN7") if part in kept] == []
    assert kept.count(b"[redacted") > 20
    assert len(kept) < 200_000
    files = [file for file in user.state.rglob("*") if file.suffix in SUFFIXES]
    assert [*user.state.rglob("journals/*.jsonl")]
    assert {oct(file.stat().st_mode & 0o777) for file in files} == {"0o600"}


def test_journals_are_limited_in_age_and_size(tmp_path):
    now = time.time()
    for number in range(10):
        file = tmp_path / f"{number}.jsonl"
        file.write_bytes(bytes(100_000))
        os.utime(file, (now - number * 86_400,) * 2)

    remove_old_journals(tmp_path, JournalSettings(keep_days=7.5), SUFFIXES)
    assert len(list(tmp_path.iterdir())) == 8

    remove_old_journals(tmp_path, JournalSettings(max_megabytes=0.35), SUFFIXES)
    assert {file.stem for file in tmp_path.iterdir()} == {"0", "1", "2"}


def test_a_new_session_removes_old_journals(hook, user):
    hook(go("old"))
    old = journal_of(user, "old")
    os.utime(old, (time.time() - 31 * 86_400,) * 2)

    hook(go("new"))

    assert not old.exists()


def test_uninstall_says_what_is_kept_and_removes_it(hook, trimtab, user):
    trimtab("install", "claude-code")
    hook(go("a"))
    hook(go("b"))

    remove = ("uninstall", "claude-code", "--remove-journals")
    assert "2 journals of sessions" in trimtab("uninstall", "claude-code")[1]
    assert "would be removed" in trimtab(*remove, "--dry-run")[1]
    assert len(list(user.state.rglob("sessions/*.jsonl"))) == 2
    assert "Removed 2 journals" in trimtab(*remove)[1]
    assert list(user.state.rglob("sessions/*.jsonl")) == []
    assert list(user.state.rglob("journals/*.jsonl")) == []


# What status reports.


def decided(trimtab):
    sessions = json.loads(trimtab("status", "--all", "--json")[1])["sessions"]
    return [(nudge["state"], nudge["words"]) for session in sessions for nudge in session["nudges"]]


@pytest.mark.parametrize("killed", [True, False])
def test_status_reports_what_was_delivered_whatever_is_configured_now(
    hook, trimtab, user, folder, killed
):
    hook(go())
    if killed:
        os.kill(server_pid(folder), signal.SIGKILL)
    (user.project / "trimtab.toml").write_text(QUIET)

    assert [what for what, _ in decided(trimtab)] == ["delivered"]
    hook(payload("PostToolBatch"))
    hook(payload("SessionEnd"))
    assert "main-after-0" in decided(trimtab)[0][1]


@pytest.mark.parametrize("killed", [True, False])
def test_status_reports_nothing_where_nothing_was_said(hook, trimtab, user, folder, killed):
    toml = (user.project / "trimtab.toml").read_text()
    (user.project / "trimtab.toml").write_text(QUIET)
    hook(go())
    for name in TURN:
        hook(payload(name))
    if killed:
        os.kill(server_pid(folder), signal.SIGKILL)
    (user.project / "trimtab.toml").write_text(toml.replace("agent/main", "a/b"))

    assert decided(trimtab) == []
    hook(payload("PreToolUse", 2))
    assert decided(trimtab) == []


@pytest.mark.parametrize("killed", [True, False])
def test_each_decision_stands_once_in_the_journal_of_the_machine(
    hook, trimtab, folder, killed, monkeypatch
):
    """Also where another server goes on, and wherever one looks from."""
    hook(go())
    for number in (1, 2):
        for name in TURN:
            hook(payload(name, number))
        if killed:
            os.kill(server_pid(folder), signal.SIGKILL)
    monkeypatch.chdir(folder)

    (session,) = json.loads(trimtab("status", "--json")[1])["sessions"]
    assert [nudge["words"][:12] for nudge in session["nudges"]] == [
        f"main-after-{calls}" for calls in (0, 1, 2)
    ]
    assert (session["host"], session["session"], session["title"]) == ("claude-code", "s", "Go.")
    assert session["calls"] == 2
    (file,) = (folder.parent / "journals").iterdir()
    assert oct(file.stat().st_mode & 0o777) == "0o600"


def test_the_user_is_shown_what_is_said_where_that_is_wanted(hook, user):
    toml = user.project / "trimtab.toml"
    assert "systemMessage" not in hook(go("quiet"))
    toml.write_text(
        toml.read_text().replace("[hosts.claude-code]", "[hosts.claude-code]\nnotify = true")
    )

    said = hook(go("told"))

    assert "main-after-0" in guidance(said)
    assert said["systemMessage"].startswith("trimtab: claude-code-canary said: main-after-0")
    assert "systemMessage" not in hook(payload("PreToolUse", session_id="told"))


def test_a_switched_off_session_is_reported_as_silent(hook, trimtab):
    hook(go(), TRIMTAB_DISABLE="claude-code-canary")

    assert [what for what, _ in decided(trimtab)] == ["left out"]


def test_sessions_with_other_variables_do_not_wait_for_each_other(hook, user, tmp_path):
    hook(go(), TRIMTAB_DISABLE="claude-code-canary")
    assert "main-after-0" in guidance(hook(payload("UserPromptSubmit", session_id="b", prompt="x")))
    assert guidance(hook(payload("PostToolBatch"), TRIMTAB_DISABLE="claude-code-canary")) == ""


def test_status_shows_the_server_and_its_problems(hook, trimtab, folder):
    hook(go())
    status, printed = trimtab("status", "claude-code")
    assert (status, printed.count("\n")) == (0, 1)
    assert "hook server: running, process" in printed
    assert "sessions in memory: 1" in printed

    Problems(folder).add("a problem")
    status, listed = trimtab("status", "claude-code")
    assert status == 1
    noted = re.fullmatch(r"problem, noted (.{16}) UTC: a problem\n", listed.removeprefix(printed))
    assert noted and datetime.fromisoformat(noted[1])


def test_a_broken_configuration_is_told_where_sessions_begin_and_end(hook, user):
    (user.project / "trimtab.toml").write_text("[")
    for _ in range(2):
        told = hook(payload("SessionStart"), CLAUDE_CODE_ENTRYPOINT="cli")["systemMessage"]
        assert "trimtab.toml" in told
        assert hook(payload("SessionEnd"), CLAUDE_CODE_ENTRYPOINT="cli") == {}

    assert "systemMessage" in hook(payload("SessionStart"), CLAUDE_CODE_ENTRYPOINT="sdk-cli")
    status, text = hook(payload("SessionEnd"), fails=True, CLAUDE_CODE_ENTRYPOINT="sdk-cli")
    assert (status, "trimtab.toml" in text) == (1, True)


# A deadline.


def timed(user, line):
    (user.project / "trimtab.toml").write_text(
        f'[hosts.claude-code]\nprompt = "a/b"\n{line}\n'
        '[prompts."a/b"]\nfeedback = [{ use = "deadline-feedback", every_n_calls = 1 }]\n'
    )


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("timeout = 60", {}),
        ("", {"TRIMTAB_TIMEOUT": "60"}),
        ("timeout = 9999", {"TRIMTAB_TIMEOUT": "60"}),
    ],
)
def test_a_session_has_the_deadline_that_its_user_gives(hook, user, line, variables):
    pytest.importorskip("trimtab_deadline_feedback")
    timed(user, line)
    hook(payload("SessionStart", source="startup"), **variables)

    said = "".join(guidance(hook(payload(name), **variables)) for name in TURN)

    assert "seconds remaining" in said


def test_feedback_that_needs_a_deadline_is_named_where_there_is_none(hook, user, trimtab):
    pytest.importorskip("trimtab_deadline_feedback")
    timed(user, "")

    words = "never speaks, since sessions have no deadline"
    assert words in hook(payload("SessionStart"))["systemMessage"]
    assert words in trimtab("install", "claude-code")[1]
    assert words in trimtab("doctor", "claude-code", "--program", "/none")[1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("timeout = 0", "timeout must be a number above 0"),
        ("timeout = inf", "timeout must be a number above 0"),
        ('journal = "x"', "journal must be a table, or false"),
        ("timeout = 1e308", "timeout must be a number above 0"),
        ("journal = { keep_days = 1e308 }", "journal.keep_days must be a number above 0"),
        (f"redact = {['x'] * 51}", "redact must be an array of at most 50 texts"),
        ("journal = { keep_day = 1 }", "unknown key 'journal.keep_day'"),
        ("redact = [1]", "redact must be an array of at most 50 texts"),
        ('promt = "x"', "unknown key 'promt'. Did you mean 'prompt'?"),
        ("[hosts.claude_code]", "[hosts.claude_code] is not read"),
    ],
)
def test_what_is_wrong_in_the_table_is_named(user, trimtab, line, words):
    (user.project / "trimtab.toml").write_text(f"[hosts.claude-code]\n{line}\n")

    status, printed = trimtab("install", "claude-code")

    assert (status, words in printed) == (2, True), printed
    assert not user.settings.exists()
    assert words in trimtab("doctor", "claude-code", "--program", "/none")[1]


WRONG = (
    "unknown key 'promt'",
    "prompt must be a prompt's name",
    "agents.Explore names 'none'",
    "timeout must be a number",
    "unknown key 'journal.keep_day'",
    "journal.enabled must be true or false",
    "journal.max_megabytes must be a number",
    "redact must be an array",
    "notify must be true or false",
)


def test_all_that_is_wrong_in_the_table_is_named_at_once(user, trimtab):
    (user.project / "trimtab.toml").write_text(
        '[hosts.claude-code]\nprompt = 1\npromt = "x"\ntimeout = 0\nnotify = 1\n'
        'redact = [1]\nagents = { Explore = "none" }\n'
        "journal = { keep_day = 1, enabled = 1, max_megabytes = 0 }\n"
    )

    _, printed = trimtab("check", "--json")

    (problem,) = json.loads(printed)["problems"]
    assert [word in problem["message"] for word in WRONG] == [True] * len(WRONG), problem


def test_paths_of_variables_are_relative_to_the_project(hook, user):
    (user.project / "conf").mkdir()
    (user.project / "conf" / "t.toml").write_text((user.project / "trimtab.toml").read_text())
    (user.project / "trimtab.toml").unlink()

    assert "main-after-0" in guidance(hook(go(), TRIMTAB_CONFIG="conf/t.toml"))
    assert Path.cwd() == user.project


def test_a_project_holds_nothing_of_its_sessions(hook, user, monkeypatch):
    monkeypatch.delenv("TRIMTAB_HOME")

    assert "main-after-0" in guidance(hook(go()))

    assert [file.name for file in user.project.iterdir()] == ["trimtab.toml"]


def test_a_problem_holds_nothing_that_moves_a_terminal(folder):
    problems = Problems(folder)
    problems.add("failed: \x1b]0;title\x07\x1b[2J\r\nsecond line \u202e" + "x" * 10_000)

    (problem,) = problems.all()
    assert problem.message.isprintable()
    assert len(problem.message) <= 500


# Recorders.


def test_a_trace_goes_on_when_the_server_is_killed(hook, user, folder):
    trace = pytest.importorskip("trimtab_trace")
    toml = (user.project / "trimtab.toml").read_text()
    recording = '[prompts."agent/main"]\nrecorders = ["jsonl-trace"]\n'
    (user.project / "trimtab.toml").write_text(toml.replace('[prompts."agent/main"]\n', recording))
    hook(go())
    for number in range(6):
        for name in TURN:
            hook(payload(name, number, tool_response={"stdout": f"line {number}"}))
        if number % 2:
            os.kill(server_pid(folder), signal.SIGKILL)
    hook(payload("SessionEnd"))

    (file,) = user.state.glob("traces/*.jsonl")
    events = list(trace.open_trace(file))
    returned = [e.payload for e in events if e.event_type == "ToolReturned"]
    assert len(returned) == 6
    assert len({e.event_id for e in events}) == len(events)
    assert trace.replay(trace.open_trace(file)).difference is None
