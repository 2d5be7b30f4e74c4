"""The public face: every name is there, and nothing is imported before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import trimtab

NAMES = [name for name in trimtab.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_what_its_home_calls_so(name: str) -> None:
    home = import_module(f"trimtab.{trimtab._HOMES[name]}")

    assert getattr(trimtab, name) is getattr(home, name)


def test_type_checkers_see_the_same_names_in_the_same_homes() -> None:
    tree = ast.parse(Path(trimtab.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {
        alias.asname: node.module.removeprefix("trimtab.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    assert declared == trimtab._HOMES


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
