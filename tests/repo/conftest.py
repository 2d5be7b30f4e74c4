"""What the rules about the repository read."""

from __future__ import annotations

import configparser
import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session", params=["core", *(f"plugins/{name}" for name in PLUGINS)])
def folder(request: pytest.FixtureRequest) -> Path:
    """The folder of each distribution in turn."""
    return ROOT / request.param


@pytest.fixture(scope="session", params=PLUGINS)
def plugin(request: pytest.FixtureRequest) -> str:
    """The folder's name of each plugin in turn."""
    return request.param


@pytest.fixture
def metadata(folder: Path) -> dict[str, Any]:
    """The `[project]` table of a distribution."""
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="session")
def tox() -> configparser.ConfigParser:
    """tox.ini, read."""
    found = configparser.ConfigParser(interpolation=None)
    found.read(ROOT / "tox.ini")
    return found


@pytest.fixture(scope="session")
def dev() -> ModuleType:
    """The bootstrap script as a module."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
