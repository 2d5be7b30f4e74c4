"""The whole corpus of recorded runs: every run is read, every call is found.

Its folder comes from TRIMTAB_CORPUS (with ``trajectories/`` and ``cases/``); the numbers are
those of its own table.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from trimtab import ToolInvoked
from trimtab.events import CallOrigin
from trimtab_replay._corpus import Corpus

from .telling import all_readers

RUNS_AND_CALLS = {
    "claude-code-entire-cli": (15, 2086),
    "claude-code-oh-my-posh": (11, 2297),
    "claude-code-packmind": (9, 516),
    "claude-code-entire-skills": (2, 101),
    "codex-agentv": (20, 4139),
    "codex-entire-skills": (3, 607),
    "copilot-agentv": (3, 129),
    "opencode-openagents": (5, 110),
    "gemini-cli": (1, 45),
    "atif-openagents": (7, 5),
    "swe-agent-sonnet35": (82, 2810),
    "swe-agent-demos": (5, 76),
    "mini-swe-agent-deepseek": (54, 4745),
    "tau-bench": (200, 1164),
    "tau2-bench": (264, 3633),
    "pi": (2, 845),
    "inspect": (8, 74),
    "openhands": (5, 113),
    "who-and-when": (58, 689),
    "intercode": (91, 611),
}
CALLS_BY_USERS = {"tau2-bench": 902}


@pytest.fixture(scope="module")
def corpus_folder() -> Path:
    folder = os.environ.get("TRIMTAB_CORPUS")
    if not folder or not (Path(folder) / "trajectories").is_dir():
        pytest.skip("TRIMTAB_CORPUS names no folder with trajectories/")
    return Path(folder)


def test_every_run_and_every_call_is_read(corpus_folder):
    root = corpus_folder / "trajectories"
    corpus = Corpus(list(all_readers().values()))
    runs: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    by_users: Counter[str] = Counter()
    for recording in corpus.recordings([root]):
        folder = Path(recording.path).relative_to(root).parts[0]
        runs[folder] += 1
        for entry in recording.entries:
            calls[folder] += isinstance(entry.item, ToolInvoked)
            by_users[folder] += getattr(entry.item, "caller", None) is CallOrigin.USER
    assert {folder: (runs[folder], calls[folder]) for folder in runs} == RUNS_AND_CALLS
    assert +by_users == CALLS_BY_USERS
    assert corpus.skipped == []


def test_every_public_label_names_a_run_with_its_number_of_calls(corpus_folder):
    root = corpus_folder / "trajectories"
    corpus = Corpus(list(all_readers().values()))
    lines = (root / "labels-public.jsonl").read_text().splitlines()
    labels = [json.loads(line) for line in lines]
    for label in labels:
        recordings = {
            each.id: sum(isinstance(entry.item, ToolInvoked) for entry in each.entries)
            for each in corpus.recordings([root / label["path"]])
        }
        only = next(iter(recordings.values())) if len(recordings) == 1 else None
        assert recordings.get(label["id"], only) == label["calls"], label["path"]


def test_every_public_case_is_read(corpus_folder):
    path = corpus_folder / "cases" / "public.jsonl"
    corpus = Corpus(list(all_readers().values()))
    lengths = {
        each.id: max(entry.call for entry in each.entries) for each in corpus.recordings([path])
    }
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    assert lengths == {case["id"]: len(case["calls"]) - 1 for case in cases}
    assert corpus.skipped == []
