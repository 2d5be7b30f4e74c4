"""Live runs of every host, recorded and replayed: all decisions come out the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from trimtab_testing import HostKit, Played, Task

from .kits import kit_entries
from .recorded import Recorded, nearly_over

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("default"),  # those of the clients
]

SCENARIOS = {
    "guided": 1,
    "gate": 1,
    "parallel": 1,
    "cancelled": 1,
    "resumed": 1,
    "interrupted": 1,  # goes on in another process
    "shared_agent": 4,
    "subagent": 2,
}
"""Scenarios of the kit and how many runs each has; all get a deadline."""


def cases() -> list[Any]:
    """Return a case for each host of this project and each scenario that it claims."""
    return [
        pytest.param(entry, one, id=f"{entry.name}-{one}")
        for entry in kit_entries()
        for one in SCENARIOS
    ]


def test_every_framework_of_trimtab_hosts_has_a_kit() -> None:
    modules = (Path(__file__).parents[2] / "plugins/hosts/src/trimtab_hosts").glob("[a-z]*.py")
    together = [e.name for e in kit_entries() if e.value.startswith("trimtab_hosts.")]

    assert together == sorted(path.stem.replace("_", "-") for path in modules)


@pytest.mark.parametrize(("entry", "scenario"), cases())
def test_a_recorded_run_replays_identically(entry: Any, scenario: str, tmp_path: Path) -> None:
    try:
        kit: HostKit = entry.load()
    except ImportError as missing:
        pytest.skip(f"needs {missing.name}")
    if scenario not in kit.scenarios:
        pytest.skip("not claimed")
    recorded, missing = Recorded(tmp_path), [""]

    async def play(task: Task) -> Played:
        task.prompt, task.deadline = recorded.prompt(task.prompt), nearly_over()
        task.timeout = 30.0  # a provider that a busy machine delays is no fault
        try:
            return await kit.play(task)
        except ModuleNotFoundError as error:
            missing.append(str(error.name))
            raise

    try:
        attrs.evolve(kit, play=play).check(scenario)
    except Exception:
        # A framework that can't be installed beside the others has an environment of its own.
        if not missing[-1] or missing[-1].startswith("trimtab"):
            raise
        pytest.skip(f"needs {missing[-1]}")

    replays = recorded.check()
    assert len(replays) == SCENARIOS[scenario]
    # The proxy knows of no deadline, so nothing need be decided there.
    may_decide_nothing = scenario == "cancelled" or kit.name == "proxy"
    assert may_decide_nothing or all(each.decisions for each in replays)
