"""A package from elsewhere: installed with pip, enabled by a table on one prompt of two."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow


def test_it_speaks_only_on_the_prompt_that_names_it(with_breather):
    done = with_breather.run("program.py")

    said = json.loads(done.stdout)
    assert said["other"] == ["", "", ""]
    assert said["main"][0] == ""
    assert "2 calls: take stock." in said["main"][1]
    assert 'source="breather"' in said["main"][1]


def test_it_is_listed_shown_explained_and_loads(with_breather):
    listed = with_breather.run("-m", "trimtab", "plugins", "list")
    explained = with_breather.run("-m", "trimtab", "explain", "agent/main")
    doctored = with_breather.run("-m", "trimtab", "plugins", "doctor", "acme-breather:breather")

    assert listed.stdout.splitlines() == [
        "acme-breather 2.3: Reminds an agent to take stock.",
        "  guidance     breather",
    ]
    assert "1. breather  acme-breather 2.3  after = 2" in explained.stdout
    assert "acme-breather:breather: loads, and is a valid guidance provider" in doctored.stdout
    assert [done.returncode for done in (listed, explained, doctored)] == [0, 0, 0]


def test_doctor_loads_all_that_is_installed(with_breather):
    done = with_breather.run("-m", "trimtab", "plugins", "doctor", "--all", "--json")

    assert json.loads(done.stdout)["valid"] == ["acme-breather:breather"]
    assert done.returncode == 0


def test_installed_and_not_named_it_changes_nothing(with_breather):
    (with_breather.work / "empty.toml").write_text("")

    done = with_breather.run("program.py", environment={"TRIMTAB_CONFIG": "empty.toml"})

    assert json.loads(done.stdout) == {"main": [""] * 3, "other": [""] * 3}


def test_uninstalled_it_makes_the_prompt_fail_with_the_remedy(with_breather):
    with_breather.pip("uninstall", "--quiet", "--yes", "acme-breather")

    done = with_breather.run("program.py")
    explained = with_breather.run("-m", "trimtab", "explain", "agent/main")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "trimtab.inspection.UnknownProvider: No guidance provider 'breather' is installed. "
        "Installed: none. Install the package that offers it, or correct the name."
    )
    assert explained.returncode == 1
    assert "1. breather  missing  No guidance provider 'breather' is installed." in explained.stdout


def test_the_kill_switch_silences_it_and_the_prompt_still_works(with_breather):
    done = with_breather.run("program.py", environment={"TRIMTAB_DISABLE": "breather"})

    assert json.loads(done.stdout) == {"main": [""] * 3, "other": [""] * 3}
