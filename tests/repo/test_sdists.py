"""Source archives hold their tests, and what these need: `dev.py solo` runs them there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

NEEDED = {"hypothesis", "pytest", "pytest-asyncio", "pytest-timeout", "sybil"}
SERVERS = "tests/servers/src/trimtab_test_servers"


def uses(folder: Path, package: str) -> bool:
    """Return whether tests of the distribution import a package."""
    return any(package in path.read_text() for path in folder.glob("tests/**/*.py"))


@pytest.fixture
def uses_servers(folder: Path) -> bool:
    """Whether tests of the distribution talk to scripted servers."""
    return uses(folder, "trimtab_test_servers")


def test_the_group_of_tests_has_what_conftest_and_pytest_ini_use(
    folder: Path, uses_servers: bool
) -> None:
    declared = tomllib.loads((folder / "pyproject.toml").read_text())
    group = {Requirement(line).name for line in declared["dependency-groups"]["tests"]}

    kit = {"trimtab-testing"} if uses(folder, "trimtab_testing") else set()
    assert group - {"trimtab-testing"} == NEEDED | ({"jsonschema"} if uses_servers else set())
    assert group & {"trimtab-testing"} == (set() if folder.name == "testing" else kit)


def test_the_source_archive_holds_its_tests_and_what_they_share(
    folder: Path, root: Path, uses_servers: bool
) -> None:
    declared = tomllib.loads((folder / "pyproject.toml").read_text())
    sdist = declared["tool"]["hatch"]["build"]["targets"]["sdist"]
    shared = {name for name, _ in _copied(folder, root, sdist)}

    assert "/tests" in sdist["include"]
    assert shared == {"conftest.py", "pytest.ini", *([SERVERS] if uses_servers else ())}
    assert all(name == source for name, source in _copied(folder, root, sdist))


def _copied(folder: Path, root: Path, sdist: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Return where each shared file or folder is put, and where it is in the repository."""
    return [
        (name, (folder / source).resolve().relative_to(root).as_posix())
        for source, name in sdist["force-include"].items()
    ]
