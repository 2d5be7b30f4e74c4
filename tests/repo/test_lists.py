"""Each plugin's folder stands in every list that has to name it."""

from __future__ import annotations

import re
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from trimtab._plugins import configuration as tables


def test_tox_has_every_environment_that_ci_must_run(tox: ConfigParser) -> None:
    promised = [
        "py311",
        "py312",
        "py313",
        "e2e",
        "min",
        "solo",
        "types",
        "lint",
        "docs",
        "coverage",
    ]

    assert set(promised) <= set(tox["tox"]["env_list"].split())


def test_every_folder_under_plugins_is_a_distribution(root: Path) -> None:
    folders = [path for path in (root / "plugins").iterdir() if any(path.rglob("*.py"))]

    assert [path.name for path in folders if not (path / "pyproject.toml").exists()] == []


def test_docs_have_a_line_for_each_plugin(root: Path, plugin: str) -> None:
    page = (root / "docs" / "reference" / "packages.md").read_text()

    assert f"`trimtab-{plugin}`" in page


def test_ci_runs_the_command_for_tests_of_the_readme(root: Path) -> None:
    command = "python3 dev.py test"

    assert command in (root / "README.md").read_text().splitlines()
    assert f"exec {command}" in (root / ".ci" / "run").read_text()


def test_the_readme_shows_the_recorded_run_that_the_demo_replays(
    root: Path, dev: ModuleType
) -> None:
    readme = (root / "README.md").read_text()

    assert "python3 dev.py demo" in readme.splitlines()
    assert f"trimtab replay {dev.RECORDED_RUN.as_posix()} --all" in readme
    assert (root / dev.RECORDED_RUN).is_file()


def test_docs_name_every_key_of_the_configuration(root: Path) -> None:
    page = (root / "docs" / "reference" / "configuration.md").read_text()
    records = (tables.Configuration, tables.PromptSettings, tables.Budget, tables.FeedbackTrigger)
    settings = (tables.GuidanceProviderConfig, tables.CompletionCheckerConfig)
    known = (tables.COMMON_KEYS, *map(tables.keys_of, (*records, *settings)))
    keys = {key for table in known for key in table}

    assert sorted(key for key in keys - {"use"} if not re.search(rf"`{key}[`.]", page)) == []


def test_docs_name_every_option_of_the_command_line(root: Path) -> None:
    page = (root / "docs" / "reference" / "command-line.md").read_text()
    sources = [
        *(root / "core/src/trimtab/_cli").glob("*.py"),
        *root.glob("plugins/replay/src/*/*.py"),
    ]
    text = "".join(path.read_text() for path in sources)
    options = set(re.findall(r'"(--[a-z-]+)"', text))

    assert sorted(name for name in options if name not in page) == []


@pytest.mark.parametrize(
    "module",
    [
        "trimtab",
        "trimtab.events",
        "trimtab.hosting",
        "trimtab.inspection",
        "trimtab_testing",
        "trimtab.text",
        "trimtab.trajectory",
        "trimtab_worker",
    ],
)
def test_the_reference_describes_every_published_name(root: Path, module: str) -> None:
    pages = "".join(path.read_text() for path in (root / "docs" / "reference").glob("*.md"))
    described = set(re.findall(r"auto\w+:: (\S+)", pages))
    names = set(import_module(module).__all__) - {"__version__", "LEASE_CLOCK"}

    missing = {name for name in names if not {f"{module}.{name}", f"trimtab.{name}"} & described}
    assert sorted(missing) == []
