"""The public face: every name is there, and nothing is imported before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import trimtab
from trimtab import events, hosting, inspection, text, trajectory

NAMES = [name for name in trimtab.__all__ if name != "__version__"]


EVENTS = ["trimtab", "trimtab.events"]
PUBLIC_MODULES = [trimtab, events, hosting, inspection, text]


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_stubs_declare_exactly_the_names_that_are_there(module) -> None:
    tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    declared = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.name != "__version__"
    }

    assert sorted(declared) == sorted(set(module.__all__) - {"__version__"})
    for name, home in declared.items():
        assert getattr(module, name) is getattr(import_module(home), name)


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = trimtab.Nonsense
    assert set(NAMES) <= set(dir(trimtab))


HEAVY = (
    "cattrs",
    "importlib_metadata",
    "importlib.metadata",
    "asyncio",
    "tomllib",
    "argparse",
    "email",
)


@pytest.mark.waits
@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import trimtab", (*HEAVY, "attrs", "pluggy")),
        ("import trimtab; trimtab.PromptTemplate; trimtab.Run; trimtab.Session", HEAVY),
    ],
)
def test_importing_touches_nothing_heavy(code: str, absent: tuple[str, ...]) -> None:
    probe = f"import sys; old = set(sys.modules); {code}; print(*(set(sys.modules) - old))"
    done = subprocess.run(
        [sys.executable, "-c", probe], text=True, capture_output=True, check=True, timeout=60
    )

    assert set(done.stdout.split()).isdisjoint(absent)


def test_the_surface_is_small_enough_to_promise() -> None:
    """Users read `trimtab`; what only some need has a module of its own."""
    assert len(NAMES) <= 90


def test_a_name_has_one_home() -> None:
    """Records that the specifications name are in `trimtab` and, as records, in its `events`."""
    homes: dict[str, list[str]] = {}
    for module in (*PUBLIC_MODULES, trajectory):
        for name in set(module.__all__) - {"__version__"}:
            homes.setdefault(name, []).append(module.__name__)
    twice = {name: found for name, found in homes.items() if len(found) > 1}

    assert twice == {
        **dict.fromkeys(["Event", "Feedback", "GuidanceDelivered", "Plan", "ToolInvoked"], EVENTS),
        "ToolProfile": ["trimtab", "trimtab.trajectory"],
    }
