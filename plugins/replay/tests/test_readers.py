"""Every reader knows its own format and tells what happened in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from trimtab import ToolInvoked
from trimtab_replay._corpus import Corpus, Found
from trimtab_replay._recording import RecordedItem, TranscriptReader
from trimtab_replay._transcript import Skipped, Transcript

from .telling import DATA, all_readers, told

TOLD = json.loads((DATA.parent / "told.json").read_text())
READERS = all_readers()


def entries_of(name: str) -> list[RecordedItem]:
    corpus = Corpus(list(READERS.values()))
    found = Found(DATA / name, name, named=True)
    return [entry for recording in corpus.read(found) for entry in recording.entries]


def calls_of(name: str) -> list[ToolInvoked]:
    items = (entry.item for entry in entries_of(name))
    return [item for item in items if isinstance(item, ToolInvoked)]


@pytest.mark.parametrize("name", sorted(TOLD))
def test_reader_tells_what_happened(name):
    expected = TOLD[name]
    assert told(DATA / name, READERS[expected["reader"]]) == expected["recordings"]


@pytest.mark.parametrize("name", sorted(TOLD))
def test_the_surest_reader_is_the_right_one(name):
    skipped: list[Skipped] = []
    source = Transcript(DATA / name, name, skipped.append)
    scores = {reader.name: reader.sniff(source) for reader in READERS.values()}
    surest, second = sorted(scores, key=lambda each: scores[each])[:-3:-1]
    assert surest == TOLD[name]["reader"]
    assert scores[surest] > scores[second], second
    assert skipped == []


def test_every_reader_has_a_fixture_and_satisfies_the_protocol():
    databases = {"goose-db", "opencode-db"}  # made by a test of their own
    assert {each["reader"] for each in TOLD.values()} == set(READERS) - databases
    assert all(isinstance(reader, TranscriptReader) for reader in READERS.values())
    assert {name: reader.name for name, reader in READERS.items()} == {
        name: name for name in READERS
    }


def test_calls_are_numbered_as_they_were_asked_for():
    calls = [e.call for e in entries_of("claude-code.jsonl") if isinstance(e.item, ToolInvoked)]
    assert calls == [0, 1, 2, 3, 4, 5, 0]


def test_times_are_aware_utc():
    first = calls_of("copilot.jsonl")[0]
    assert first.started == datetime(2026, 3, 2, 9, 0, 4, tzinfo=UTC)
    assert first.at == datetime(2026, 3, 2, 9, 0, 7, tzinfo=UTC)


def test_failures_carry_their_text_and_successes_do_not():
    calls = calls_of("codex.jsonl")
    assert [call.error is None for call in calls] == [True, False, True, False, False, True]
    assert "no such file" in (calls[1].error or "")


def test_cases_pass_the_monotonic_time_and_the_agent():
    calls = calls_of("cases.jsonl")
    assert (calls[0].elapsed, calls[0].at) == (4.0, datetime(2000, 1, 1, 0, 0, 5, tzinfo=UTC))
    assert [call.agent_id for call in calls] == [None, None, None, "s1"]


def test_a_case_keeps_its_verdict_and_its_tools():
    corpus = Corpus(list(READERS.values()))
    (case,) = corpus.recordings([DATA / "cases.jsonl"])
    assert case.meta["concerns"] == "DoomLoopDetector"
    assert "calls" not in case.meta
    assert case.tools == frozenset({"pour"})


def test_hosts_facts_are_told():
    corpus = Corpus(list(READERS.values()))
    facts = {each.path: each for each in corpus.recordings([DATA])}
    assert facts[str(DATA / "openai-chat.json")].tools == frozenset({"fill", "call_cat"})
    assert facts[str(DATA / "swe-agent.traj")].parallel_calls is False
    assert facts[str(DATA / "codex.jsonl")].parallel_calls is True
    assert facts[str(DATA / "atif.jsonl")].parallel_calls is None
    assert facts[str(DATA / "claude-code.jsonl")].profile == "claude-code"


def test_an_answer_whose_call_is_missing_is_passed_through(tmp_path):
    path = tmp_path / "chat.json"
    messages = [
        {"role": "user", "content": "go"},
        {"role": "tool", "tool_call_id": "lost", "content": "found"},
    ]
    path.write_text(json.dumps(messages))
    recordings = told(path, READERS["openai-chat"])
    stray = "Unknown kind='answer without a call' data={'call_id': 'lost', 'result': 'found'}"
    assert recordings["chat"][-1] == f"-1 {stray}"


def test_older_sidechains_are_told_apart_by_their_first_row(tmp_path):
    def row(uuid, parent, text):
        message = {"role": "user", "content": text}
        return {
            "type": "user",
            "uuid": uuid,
            "parentUuid": parent,
            "isSidechain": parent != "main",
            "sessionId": "s",
            "message": message,
        }

    rows = [
        row("m", "main", "start"),
        row("a", None, "first helper"),
        row("b", None, "second helper"),
        row("a2", "a", "more for the first"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    recordings = told(path, READERS["claude-code"])
    assert recordings["s/a a"] == ["-1 user 'first helper'", "-1 user 'more for the first'"]
    assert recordings["s/b b"] == ["-1 user 'second helper'"]
