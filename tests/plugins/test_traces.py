"""Recordings become traces (``replay --trace``); traces replay, and read like recordings."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trimtab.__main__ import main
from trimtab_trace import TraceDamaged, open_trace, replay, verify

DATA = Path(__file__).parents[1] / "data"
FOLDERS = (
    "atif-openagents",
    "claude-code-entire-cli",
    "claude-code-entire-skills",
    "claude-code-oh-my-posh",
    "claude-code-packmind",
    "codex-agentv",
    "codex-entire-skills",
    "copilot-agentv",
    "gemini-cli",
    "inspect",
    "intercode",
    "mini-swe-agent-deepseek",
    "opencode-openagents",
    "openhands",
    "pi",
    "swe-agent-demos",
    "swe-agent-sonnet35",
    "tau-bench",
    "tau2-bench",
    "who-and-when",
)


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, object]]:
    """Run ``trimtab replay --json`` and return its lines."""
    assert main(["replay", *map(str, arguments), "--json", "--all"]) in (0, 1)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def replayed(folder: Path) -> tuple[int, int]:
    """Replay all traces of a folder; return how many there are, and their decisions."""
    count = decisions = 0
    for path in sorted(folder.iterdir()):
        done = replay(open_trace(path))
        assert done.difference is None, f"{path}: {done.difference}"
        assert not done.unknown
        count, decisions = count + 1, decisions + done.decisions
    return count, decisions


def test_a_trace_of_a_recording_replays_and_reads_like_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (one,) = shown(capsys, DATA / "claude-code-loop.jsonl", "--trace", tmp_path / "traces")
    (path,) = (tmp_path / "traces").iterdir()
    assert verify(open_trace(path, strict=False)).intact
    assert replayed(tmp_path / "traces")[1] >= 3
    (again,) = shown(capsys, path)
    assert again["reader"] == "trace"
    assert (again["calls"], again["turns"]) == (one["calls"], one["turns"])
    assert again["decisions"] == one["decisions"]


def test_a_second_replay_replaces_the_traces_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        shown(capsys, DATA / "claude-code-loop.jsonl", "--trace", tmp_path)
    (path,) = tmp_path.iterdir()
    assert {event.epoch for event in open_trace(path)} == {0}


def test_a_report_shows_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, DATA / "claude-code-loop.jsonl", "--trace", tmp_path / "traces")
    page = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "traces"), "-o", str(page)]) == 0
    assert "5f0c7a52" in page.read_text(encoding="utf-8")


def test_damage_in_a_trace_is_reported_and_the_rest_is_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(capsys, DATA / "claude-code-loop.jsonl", "--trace", tmp_path)
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    with pytest.raises(TraceDamaged):
        replay(open_trace(path))
    assert main(["replay", str(path), "--all"]) == 1
    assert "checksum" in capsys.readouterr().err


def test_traces_go_where_they_can_be_written_or_the_command_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    status = main(
        ["replay", str(DATA / "claude-code-loop.jsonl"), "--all", "--trace", str(tmp_path / "file")]
    )
    assert status == 2
    assert "can't write traces to" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("folder", FOLDERS)
def test_recorded_runs_replay_from_their_traces_identically(
    folder: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three small files of each folder; all with ``TRIMTAB_WHOLE_CORPUS=1``, which takes long."""
    files = sorted(
        (path for path in (corpus / "trajectories" / folder).rglob("*") if path.is_file()),
        key=lambda path: path.stat().st_size,
    )
    chosen = files if os.environ.get("TRIMTAB_WHOLE_CORPUS") else files[:3]
    runs = shown(capsys, *chosen, "--trace", tmp_path)
    count, _ = replayed(tmp_path)
    assert count == len(runs) > 0
