"""What every distribution declares, and what its wheel holds."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement


@pytest.fixture
def wheel_names(dev: ModuleType, folder: Path) -> list[str]:
    """What lies in the wheel of a distribution, apart from its metadata."""
    with zipfile.ZipFile(dev.wheel(folder)) as wheel:
        return [name for name in wheel.namelist() if ".dist-info/" not in name]


def import_name(folder: Path) -> str:
    return "trimtab" if folder.name == "core" else f"trimtab_{folder.name.replace('-', '_')}"


def test_name_and_version(folder: Path, metadata: dict[str, Any]) -> None:
    expected = "trimtab" if folder.name == "core" else f"trimtab-{folder.name}"

    assert (expected, "0.1.0") == (metadata["name"], metadata["version"])


def test_the_range_on_core(folder: Path, metadata: dict[str, Any]) -> None:
    required = [Requirement(line) for line in metadata["dependencies"]]
    ranges = [str(line.specifier) for line in required if line.name == "trimtab"]

    assert ([] if folder.name == "core" else ["<0.2,>=0.1"]) == ranges


def test_every_sibling_is_required_in_a_range(metadata: dict[str, Any]) -> None:
    siblings = [Requirement(line) for line in metadata["dependencies"] if "trimtab-" in line]

    assert [str(line) for line in siblings if line.specifier != ">=0.1,<0.2"] == []


def test_the_pythons(metadata: dict[str, Any]) -> None:
    versions = [
        line.rsplit(" ", 1)[1]
        for line in metadata["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    ]

    assert (metadata["requires-python"], versions) == (">=3.11", ["3.11", "3.12", "3.13"])


def test_the_wheel_has_one_import_name(wheel_names: list[str], folder: Path) -> None:
    assert {import_name(folder)} == {name.split("/")[0] for name in wheel_names}


def test_the_wheel_is_typed(wheel_names: list[str], folder: Path) -> None:
    assert f"{import_name(folder)}/py.typed" in wheel_names


def test_the_wheel_holds_no_tests(wheel_names: list[str]) -> None:
    assert [name for name in wheel_names if re.search(r"(^|/)(tests?/|test_|conftest)", name)] == []


def test_core_requires_no_more_than_it_says(root: Path, dev: ModuleType) -> None:
    with zipfile.ZipFile(dev.wheel(root / "core")) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        lines = wheel.read(name).decode().splitlines()
    required = [Requirement(line.split(": ")[1]) for line in lines if line.startswith("Requires-D")]

    assert {"attrs", "cattrs", "importlib-metadata", "packaging", "pluggy"} == {
        line.name for line in required if "extra" not in str(line.marker)
    }


def test_every_folder_has_a_readme_that_names_it(folder: Path, metadata: dict[str, Any]) -> None:
    first = (folder / "README.md").read_text().splitlines()[0]

    assert f"# {metadata['name']}" == first
