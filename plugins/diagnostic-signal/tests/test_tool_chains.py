"""What real tools say: four different failures fixed one after the other, and one that stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .playing import call, play

DATA = Path(__file__).parent / "chains.jsonl"
CHAINS = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
NAMES = ("adds", "subtracts", "rounds", "formats")


@pytest.fixture(params=CHAINS, ids=lambda chain: chain["chain"])
def chain(request):
    return request.param


def test_failures_that_are_repaired_one_after_the_other_are_left_alone(chain):
    steps = []
    for number, answer in enumerate(chain["answers"]):
        steps.append(call("bash", {"command": chain["command"]}, answer))
        steps.append(call("edit", {"path": "shop", "old": f"{number}", "new": "x"}))
    assert play(steps).spoke == []


def test_a_failure_that_stays_is_told_with_a_line_that_tells_it_apart(chain):
    steps = []
    for number in range(4):
        steps.append(call("bash", {"command": chain["command"]}, chain["answers"][0]))
        steps.append(call("edit", {"path": "shop", "old": f"{number}", "new": "x"}))
    player = play(steps)
    assert player.spoke[:1] == [4]
    said = player.delivered[0].injection.content.split('"', 1)[1]
    others = "\n".join(chain["answers"][1:]).replace('"', "'")
    assert said.split('"')[0].rstrip("….") not in others, said
