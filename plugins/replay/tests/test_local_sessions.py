"""`trimtab replay` without a path finds the sessions of the agents on this machine."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from trimtab_replay._corpus import Corpus
from trimtab_replay._local_sessions import local_sessions, places

from .telling import DATA, all_readers

_CLINE = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1"
KEPT = {
    "Claude Code": (".claude/projects/-w/s.jsonl", "claude-code.jsonl"),
    "Codex": (".codex/sessions/2026/01/02/rollout-1.jsonl", "codex.jsonl"),
    "Gemini CLI": (".gemini/tmp/hash/chats/session-1.json", "gemini-chat.json"),
    "Copilot CLI": (".copilot/session-state/one/events.jsonl", "copilot.jsonl"),
    "pi": (".pi/agent/sessions/w/1.jsonl", "pi.jsonl"),
    "goose": (".local/share/goose/sessions/1.jsonl", "goose.jsonl"),
    "Cline": (
        f"{_CLINE}/api_conversation_history.json",
        "cline-api_conversation_history.json",
    ),
}


def by_agent(sessions):
    return Counter(session.agent for session in sessions)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for age, (place, data) in enumerate(KEPT.values()):
        file = tmp_path / place
        file.parent.mkdir(parents=True)
        file.write_bytes((DATA / data).read_bytes())
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    return tmp_path


def test_sessions_of_each_agent_are_found_newest_first(home):
    sessions = local_sessions(home, {})

    assert list(by_agent(sessions)) == list(KEPT)
    assert [session.modified for session in sessions] == sorted(
        (session.modified for session in sessions), reverse=True
    )


def test_every_session_that_is_found_is_read(home):
    corpus = Corpus(list(all_readers().values()))
    for recording in corpus.recordings(session.found for session in local_sessions(home, {})):
        assert list(recording.entries)

    assert (corpus.files, corpus.skipped) == (len(KEPT), [])


def test_folders_named_by_the_environment_are_searched(home):
    (home / ".claude").rename(home / "elsewhere")

    assert "Claude Code" not in by_agent(local_sessions(home, {}))
    env = {"CLAUDE_CONFIG_DIR": str(home / "elsewhere")}
    assert "Claude Code" in by_agent(local_sessions(home, env))


def test_of_two_records_of_a_session_the_journal_is_read(home):
    journals = home / ".local/state/trimtab/journals"
    journals.mkdir(parents=True)
    (journals / "claude-code-s.jsonl").write_text("{}\n")

    agents = by_agent(local_sessions(home, {}))
    elsewhere = by_agent(local_sessions(home, {"TRIMTAB_HOME": str(home / "none")}))

    assert ("trimtab" in agents, "Claude Code" in agents) == (True, False)
    assert ("trimtab" in elsewhere, "Claude Code" in elsewhere) == (False, True)


def test_every_place_is_absolute(tmp_path):
    assert all(place.folder.is_absolute() for place in places(tmp_path, {}))


@pytest.fixture
def only_home(home, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


def test_replay_without_a_path_replays_the_newest_and_says_what_it_found(run, only_home):
    status, printed, said = run("replay", "--json", "--enable", "repeats")

    ids = [json.loads(line)["path"] for line in printed.splitlines()]
    assert status == 0, said
    assert ids[0].endswith("projects/-w/s.jsonl")
    assert {"found 1 of Claude Code", "found 1 of pi"} <= {
        part.removeprefix("trimtab: ").partition(",")[0] for part in said.splitlines()
    }


def test_without_a_path_the_limit_counts_files(run, only_home):
    _, printed, said = run("replay", "--json", "--limit", "1", "--enable", "repeats")

    assert len(printed.splitlines()) == 1
    assert f"the newest 1 of {len(KEPT)}" in said


def test_a_machine_without_sessions_is_told_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    status, _, said = run("replay")

    assert status == 2
    assert "trimtab replay PATH" in said


def read(file: Path) -> list[tuple[str, int]]:
    corpus = Corpus(list(all_readers().values()))
    runs = [(one.id, len(list(one.entries))) for one in corpus.recordings([file])]
    assert corpus.skipped == []
    return runs


MESSAGE = {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1}}
PART = {
    "id": "prt_1",
    "type": "tool",
    "tool": "bash",
    "callID": "c1",
    "state": {"status": "completed", "input": {"command": "ls"}, "output": "pan"},
}


def test_the_files_of_opencode_are_read_as_one_session(tmp_path):
    session = {"id": "ses_1", "projectID": "p", "title": "cake"}
    files = {
        "session/p/ses_1.json": session,
        "message/ses_1/msg_1.json": MESSAGE,
        "part/msg_1/prt_1.json": PART,
    }
    for name, value in files.items():
        file = tmp_path / "storage" / name
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(value))

    assert read(tmp_path / "storage/session/p/ses_1.json") == [("ses_1", 2)]


def test_the_database_of_opencode_is_read(tmp_path):
    file = tmp_path / "opencode.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE session (id)")
        database.execute("CREATE TABLE message (id, session_id, time_created, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, time_created, data)")
        message, part = json.dumps(MESSAGE), json.dumps(PART)
        database.execute("INSERT INTO message VALUES ('msg_1', 'ses_1', 1, ?)", (message,))
        database.execute("INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1, ?)", (part,))
        database.commit()

    assert read(file) == [("ses_1", 2)]


def test_the_database_of_goose_is_read(tmp_path):
    file = tmp_path / "sessions.db"
    rows = [json.loads(line) for line in (DATA / "goose.jsonl").read_text().splitlines()[1:]]
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE sessions (id)")
        database.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json, "
            "created_timestamp)"
        )
        for row in rows:
            values = (row["role"], json.dumps(row["content"]), row["created"])
            database.execute(
                "INSERT INTO messages (session_id, role, content_json, created_timestamp) "
                "VALUES ('20260101_1', ?, ?, ?)",
                values,
            )
        database.commit()

    from_lines = read(DATA / "goose.jsonl")
    assert read(file) == [("20260101_1", from_lines[0][1])]
