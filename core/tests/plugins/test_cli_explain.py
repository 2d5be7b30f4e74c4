"""``trimtab explain``: who speaks on a prompt, from which package, in what order, and why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFIG = """
allow = ["acme*", "trimtab-*"]

[prompts."agent/main"]
guidance = [
    { use = "loop", max_per_turn = 1, options = { window_size = 7 } },
    "acme-gone:signal",
    { use = "signal", optional = true },
    "stranger:odd",
]
feedback = [{ use = "clock", every_n_seconds = 30 }]

[prompts."agent/fine"]
guidance = ["loop"]
completion = []
"""


@pytest.fixture(autouse=True)
def _installed(site):
    site.add(
        "acme",
        entries="[trimtab.guidance]\nloop = acme_m:Loop\n[trimtab.feedback]\nclock = acme_m:C\n",
        acme_m="raise SystemExit(3)",
    )
    site.add("stranger", entries="[trimtab.guidance]\nodd = acme_m:Odd\n")
    Path("trimtab.toml").write_text(CONFIG)


def test_providers_stand_in_the_prompt_s_order_with_their_package(trimtab):
    done = trimtab("explain", "agent/fine")

    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == [
        "guidance:",
        "  1. loop  acme 1.0",
        "feedback: as the code declares",
        "completion: none",
        "recorders: as the code declares",
    ]
    assert str(Path("trimtab.toml").absolute()) in done.stdout


def test_what_is_missing_is_explained(trimtab):
    done = trimtab("explain", "agent/main")

    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[2].split(maxsplit=4)[2:] == ["acme", "1.0", "max_per_turn = 1, window_size = 7"]
    assert lines[3].split(maxsplit=3)[1:3] == ["acme-gone:signal", "missing"]
    assert "Install the package that offers it" in lines[3]
    assert lines[4].split(maxsplit=3)[1:3] == ["signal", "skipped"]
    assert "may not be loaded: the configuration's 'allow'" in lines[5]
    assert lines[7].split(maxsplit=4)[1:] == ["clock", "acme", "1.0", "every_n_seconds = 30"]


def test_two_of_one_name_can_not_be_built(trimtab):
    Path("trimtab.toml").write_text('[prompts."agent/main"]\nguidance = ["loop", "acme:loop"]\n')
    done = trimtab("explain", "agent/main")

    assert done.returncode == 1
    assert done.stdout.count("missing  two providers of this prompt are called 'loop'") == 2


def test_the_same_as_json(trimtab):
    done = trimtab("explain", "agent/main", "--json")
    found = json.loads(done.stdout)

    assert (found["format"], found["prompt"], found["unmet"]) == (1, "agent/main", None)
    assert [one["status"] for one in found["guidance"]] == [
        "ready",
        "missing",
        "skipped",
        "missing",
    ]
    assert found["guidance"][0] == {
        "use": "loop",
        "status": "ready",
        "reason": None,
        "full_name": "acme:loop",
        "version": "1.0",
        "target": "acme_m:Loop",
        "settings": {"max_per_turn": 1},
        "options": {"window_size": 7},
    }
    assert found["feedback"][0]["settings"] == {"every_n_seconds": 30}
    assert found["completion"] is None


def test_switches_are_explained(trimtab):
    disabled = trimtab("explain", "agent/fine", TRIMTAB_DISABLE="acme:loop")
    off = trimtab("explain", "agent/fine", TRIMTAB_PLUGINS="off")

    assert "1. loop  off  TRIMTAB_DISABLE names it" in disabled.stdout
    assert "1. loop  off  TRIMTAB_PLUGINS=off" in off.stdout
    assert (disabled.returncode, off.returncode) == (0, 0)


def test_an_unmet_requirement_is_explained(trimtab):
    Path("other.toml").write_text("require = ['acme>=9']\n[prompts.x]\n")

    done = trimtab("explain", "x", "--config", "other.toml")

    assert done.returncode == 1
    assert "can't be built: The configuration requires 'acme>=9', and version 1.0" in done.stdout


def test_a_prompt_that_the_file_lacks_is_bad_input(trimtab):
    done = trimtab("explain", "agent/man")

    assert done.returncode == 2
    assert "no table for the prompt 'agent/man'" in done.stderr
    assert "Did you mean 'agent/main'? Prompts there: 'agent/main', 'agent/fine'." in done.stderr


def test_no_configuration_is_bad_input(trimtab):
    Path("trimtab.toml").unlink()

    done = trimtab("explain", "agent/main")

    assert done.returncode == 2
    assert "Name one with --config" in done.stderr
