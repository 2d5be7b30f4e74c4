"""``trimtab check``: what it builds, what it names, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # it builds in processes of their own

LOOP = """
import os, sys
class Loop:
    name = category = "loop"
    def __init__(self, size: int = 1, end: str = ""):
        if end == "hang":
            import time; time.sleep(60)
        if end:
            os._exit(3)
    def classify(self, *, context): ...
    def provide(self, *, context): ...
"""
ENTRIES = "[trimtab.guidance]\nloop = acme_loop:Loop\n"


@pytest.fixture
def acme(site: Any) -> Any:
    """Install a provider."""
    site.add("acme", entries=ENTRIES, acme_loop=LOOP)
    return site


def write(text: str) -> None:
    """Write the configuration."""
    Path("trimtab.toml").write_text(text, encoding="utf-8")


def problems(done: Any) -> list[tuple[str, str]]:
    """Return where each problem is, and what."""
    found = json.loads(done.stdout)["problems"]
    return [(problem["where"].partition(", ")[2], problem["message"]) for problem in found]


@pytest.mark.usefixtures("acme")
def test_all_that_can_be_built_is_counted(trimtab: Any) -> None:
    write("[prompts.'a/b']\nguidance = ['loop']\n[prompts.'a/c']\nguidance = ['acme:loop']\n")

    done = trimtab("check")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("trimtab.toml: 2 providers of 2 prompts, all are built.\n")


@pytest.mark.usefixtures("acme")
def test_each_problem_is_named_with_its_place(trimtab: Any, site: Any) -> None:
    site.add(
        "needy",
        entries="[trimtab.guidance]\nneedy = acme_needy:Needy\n",
        requires=("trimtab>=0.1,<0.2", "notthere-at-all>=2", "other; extra == 'x'", "attrs"),
        acme_needy="import notthere",
    )
    write(
        """
[prompts."a/b"]
guidance = [
    "loop",
    { use = "loop", options = { size = "3" } },
    { use = "loop", options = { end = "crash" } },
    "lop",
    "needy",
    { use = "needy", optional = true },
]
[prompts."a/c"]
guidance = ["loop", "acme:loop"]
"""
    )

    done = trimtab("check", "--json")
    found = problems(done)

    assert done.returncode == 1
    assert [where for where, _ in found] == [
        *(f'[prompts."a/b"], guidance[{index}]' for index in (1, 2, 3, 4, 5)),
        '[prompts."a/c"]',
    ]
    wrong, crashed, unknown, needs, optional, clash = (what for _, what in found)
    assert 'refuses its options: expected integer at size, not "3"' in wrong
    assert crashed.startswith("it can't be built: the process ended with status 3")
    assert "Did you mean 'loop'?" in unknown
    assert "No module named 'notthere'" in needs
    assert "needy needs notthere-at-all>=2, which is not installed: " in needs
    assert "other" not in needs
    assert optional == needs
    assert "'loop'" in clash
    severities = [problem["severity"] for problem in json.loads(done.stdout)["problems"]]
    assert severities == ["error"] * 4 + ["note", "error"]
    assert "needs notthere-at-all>=2" in trimtab("plugins", "doctor").stdout


@pytest.mark.usefixtures("acme")
def test_a_provider_that_hangs_is_named(trimtab: Any) -> None:
    write("[prompts.'a/b']\nguidance = [{ use = 'loop', options = { end = 'hang' } }]\n")

    done = trimtab("check", "--timeout", "3")

    assert done.returncode == 1
    assert "it can't be built: it was not done within 3 seconds" in done.stdout


@pytest.mark.usefixtures("acme")
def test_a_table_of_a_prompt_that_the_code_lacks_is_named(trimtab: Any) -> None:
    Path("my_agent.py").write_text(
        "from trimtab import PromptTemplate\nKEPT = {'it': [PromptTemplate('a', 'main')]}\n",
        encoding="utf-8",
    )
    tables = "\n".join(f"[prompts.'a/{key}']\nguidance = []" for key in ("main", "mian", "hooks"))
    write(f"{tables}\n[hosts.acme.agents]\nx = 'a/hooks'\n")

    assert trimtab("check").returncode == 0
    done = trimtab("check", "--import", "my_agent")

    assert done.returncode == 1
    assert done.stdout.count("no prompt is called") == 1
    assert "no prompt is called 'a/mian'. Did you mean 'a/main'?" in done.stdout
    assert "No module named 'my_agnt'" in trimtab("check", "--import", "my_agnt").stdout


def test_what_an_extra_brings_is_named_with_the_extra(trimtab: Any, site: Any) -> None:
    requires = ("trimtab>=0.1,<0.2", 'not-there>=2; python_version > "3" and extra == "look"')
    site.add(
        "acme",
        entries="[trimtab.guidance]\nloop = acme_loop:Loop\n",
        requires=requires,
        acme_loop="import not_there.part",
    )
    write("[prompts.'a/b']\nguidance = ['loop']\n")

    ((_, wrong),) = problems(trimtab("check", "--json"))

    assert "No module named 'not_there'. Install what it needs: " in wrong
    assert "acme[look]" in wrong


@pytest.mark.usefixtures("acme")
def test_a_wrong_switch_is_said_once(trimtab: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TRIMTAB_PLUGINS", "of")
    write("[prompts.'a/b']\nguidance = ['loop', 'loop']\n")

    assert [what for _, what in problems(trimtab("check", "--json"))] == [
        "TRIMTAB_PLUGINS='of': write 'on' or 'off'."
    ]


READS = """
from trimtab import ConfigurationError
def read(configuration):
    if "prompt" not in configuration.hosts["acme-run"]:
        raise ConfigurationError(f"{configuration.path}, [hosts.acme-run]: unknown key.")
"""


def test_tables_of_hosts_are_read_as_their_hosts_read_them(trimtab: Any, site: Any) -> None:
    site.add("acme", entries="[trimtab.tables]\nacme-run = acme_run:read\n", acme_run=READS)
    write("[hosts.acme-run]\npromt = 1\n[hosts.acme_run]\nx = 1\n[hosts.elsewhere]\nx = 1\n")

    done = trimtab("check", "--json")

    unread = "nothing that is installed reads this table."
    (_, first), (_, second), (_, third) = problems(done)
    assert done.returncode == 1
    assert [where for where, _ in problems(done)] == [
        f"[hosts.{name}]" for name in ("acme-run", "acme_run", "elsewhere")
    ]
    assert first == "unknown key."
    assert second.startswith(f"{unread} Did you mean 'acme-run'? Read here: 'acme-run'")
    assert third.startswith(f"{unread} Read here: 'acme-run'")
    severities = [problem["severity"] for problem in json.loads(done.stdout)["problems"]]
    assert severities == ["error", "error", "note"]
    write("[hosts.acme-run]\nprompt = 1\n")
    assert trimtab("check").returncode == 0


def test_without_a_configuration_there_is_nothing_to_check(trimtab: Any) -> None:
    done = trimtab("check")

    assert done.returncode == 2
    assert "There is no configuration" in done.stderr
