"""What replay can't read, and who failed in it, is named and sets the status."""

from __future__ import annotations

import json

import pytest

CHAT = [
    {"role": "user", "content": "Fix it."},
    {"role": "assistant", "content": "I call <call name='ls'/> in a form of my own."},
    {"role": "user", "content": "result of ls: a b"},
    {"role": "assistant", "content": "Done."},
]


def test_a_chat_in_which_no_call_is_found_is_named(run, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    status, _, said = run("replay", path, "--enable", "repeats")

    assert status == 1
    assert "no tool call found in 2 responses" in said


@pytest.mark.parametrize(
    "value",
    [
        [{"speaker": "agent", "text": "ls"}, {"speaker": "env", "text": "a b"}],
        {"log": [{"author": "assistant", "body": "ls"}]},
        {"turns": [{"sender": "bot", "message": "ls"}]},
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_messages_in_an_unknown_format_are_named_in_a_folder_too(run, tmp_path, value, named):
    path = tmp_path / "unknown.json"
    path.write_text(json.dumps(value))
    status, _, said = run("replay", path if named else tmp_path, "--enable", "repeats")

    assert status == 1
    assert "messages in a format that no reader knows" in said
    assert "--reader NAME" in said


def test_other_json_in_a_folder_is_only_counted(run, tmp_path, write_cases):
    write_cases({"id": "a", "calls": [{"tool": "ls", "args": {}, "result": "a", "turn": 0}]})
    (tmp_path / "package.json").write_text('{"name": "x", "files": ["a"]}')
    status, _, said = run("replay", tmp_path, "--enable", "repeats")

    assert status == 0
    assert "other files, no transcripts: " in said


def test_a_quarantined_provider_is_named_and_sets_the_status(run, write_cases):
    calls = [{"tool": "ls", "args": {}, "result": "a", "turn": turn} for turn in range(5)]
    path = write_cases({"id": "a", "calls": calls})
    status, printed, said = run("replay", path, "--enable", "broken", "--json")

    notes = json.loads(printed)["notes"]
    assert status == 1
    assert [note["event"] for note in notes][-1] == "quarantined"
    assert notes[-1]["severity"] == "error"
    assert notes[-1]["fix"] == "trimtab plugins doctor broken"
    assert "the provider broken failed in 1 run: " in said


def test_a_projection_that_raises_is_named_and_sets_the_status(run, write_cases):
    calls = [{"tool": "ls", "args": {}, "result": "a", "turn": turn} for turn in range(5)]
    path = write_cases({"id": "a", "calls": calls})
    status, _, said = run("replay", path, "--enable", "fallen")

    assert status == 1
    assert "the provider fallen failed in 1 run: " in said
    assert "projection broke" in said


def test_a_report_of_nothing_leaves_the_old_one_alone(run, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("the last report")
    status, _, said = run("report", tmp_path / "nofile", "--all", "-o", report)

    assert status == 1
    assert report.read_text() == "the last report"
    assert "no report is written" in said


def test_a_folder_without_recordings_is_no_success(run, tmp_path):
    status, _, said = run("replay", tmp_path, "--enable", "repeats")

    assert status == 1
    assert "no recorded run was replayed" in said


@pytest.mark.parametrize("command", ["report", "effect", "backtest"])
def test_a_folder_without_files_is_named(run, tmp_path, command):
    (tmp_path / "runs" / "inner").mkdir(parents=True)
    status, _, complaints = run(command, tmp_path / "runs")

    assert status == 1
    assert f"{tmp_path / 'runs'}: the folder holds no file" in complaints


def test_a_call_without_a_name_loses_no_run(run, tmp_path):
    call = {"type": "tool_use", "id": "a", "name": [], "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    messages = [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
    ]
    path = tmp_path / "nameless.json"
    path.write_text(json.dumps({"messages": messages}))
    status, told, said = run("replay", path, "--enable", "repeats")

    assert (status, said) == (0, "")
    assert "1 call," in told
