"""What every distribution declares, and what its wheel holds."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import readme_renderer.markdown
from packaging.requirements import Requirement

from trimtab import __version__


def wheel_of(folder: Path, dev: ModuleType) -> Path:
    name = dev.distribution_name(folder).replace("-", "_")
    (wheel,) = dev.wheels().glob(f"{name}-{__version__}-*.whl")
    return Path(wheel)


@pytest.fixture
def wheel_names(dev: ModuleType, folder: Path) -> list[str]:
    """What lies in the wheel of a distribution, apart from its metadata."""
    with zipfile.ZipFile(wheel_of(folder, dev)) as wheel:
        return [name for name in wheel.namelist() if ".dist-info/" not in name]


def import_name(folder: Path) -> str:
    return "trimtab" if folder.name == "core" else f"trimtab_{folder.name.replace('-', '_')}"


def test_a_distribution_is_named_after_its_folder(folder: Path, metadata: dict[str, Any]) -> None:
    assert metadata["name"] == ("trimtab" if folder.name == "core" else f"trimtab-{folder.name}")


def test_every_distribution_has_the_version_of_core(folder: Path, root: Path) -> None:
    declared = tomllib.loads((folder / "pyproject.toml").read_text())
    source = folder / declared["tool"]["hatch"]["version"]["path"]

    assert declared["project"]["dynamic"] == ["version"]
    assert source.resolve() == root / "core/src/trimtab/_version.py"


@pytest.mark.slow
def test_a_plugin_is_built_in_its_own_folder(root: Path, tmp_path: Path) -> None:
    uv_build = [sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", str(tmp_path)]
    subprocess.run(uv_build, cwd=root / "plugins/doom-loop", check=True)
    built = f"trimtab_doom_loop-{__version__}"  # a source archive, and the wheel made from it

    assert {f"{built}.tar.gz", f"{built}-py3-none-any.whl"} <= {p.name for p in tmp_path.iterdir()}


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


def test_the_wheel_holds_the_licence(folder: Path, root: Path, dev: ModuleType) -> None:
    with zipfile.ZipFile(wheel_of(folder, dev)) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
        text = wheel.read(name)

    assert text == (root / "LICENSE").read_bytes()


def test_a_package_index_links_to_the_project(metadata: dict[str, Any], root: Path) -> None:
    core = tomllib.loads((root / "core/pyproject.toml").read_text())["project"]

    assert {"Documentation", "Source", "Changelog", "Issues"} == set(metadata["urls"])
    assert metadata["urls"] == core["urls"]


def test_a_package_index_shows_the_readme(folder: Path) -> None:
    """Blocks with directives are shown as they are there, and pasting them is an error."""
    page = readme_renderer.markdown.render((folder / "README.md").read_text())

    assert page is not None
    assert "{code-block}" not in page
    assert ":caption:" not in page


def test_the_wheel_is_typed(wheel_names: list[str], folder: Path) -> None:
    assert f"{import_name(folder)}/py.typed" in wheel_names


def test_the_wheel_holds_no_tests(wheel_names: list[str]) -> None:
    assert [name for name in wheel_names if re.search(r"(^|/)(tests?/|test_|conftest)", name)] == []


def test_core_requires_no_more_than_it_says(root: Path, dev: ModuleType) -> None:
    with zipfile.ZipFile(wheel_of(root / "core", dev)) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        lines = wheel.read(name).decode().splitlines()
    required = [Requirement(line.split(": ")[1]) for line in lines if line.startswith("Requires-D")]

    assert {"attrs", "cattrs", "packaging", "pluggy"} == {
        line.name for line in required if "extra" not in str(line.marker)
    }


def test_every_folder_has_a_readme_that_names_it(folder: Path, metadata: dict[str, Any]) -> None:
    first = (folder / "README.md").read_text().splitlines()[0]

    assert f"# {metadata['name']}" == first
