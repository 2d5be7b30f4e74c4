"""An environment of its own with built wheels, and a package from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
import venv
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).resolve().parents[2]

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-breather"
version = "2.3"
description = "Reminds an agent to take stock."
requires-python = ">=3.11"
dependencies = ["attrs", "trimtab>=0.1,<0.2"]

[project.entry-points."trimtab.guidance"]
breather = "acme_breather:Breather"

[tool.hatch.build.targets.wheel]
packages = ["acme_breather"]
"""
SOURCE = """
import attrs
from trimtab import ClassificationResult, GuidanceInjection

@attrs.frozen
class Breather:
    after: int = attrs.field(default=50, validator=attrs.validators.ge(1))
    name = "breather"
    category = "pace"

    def classify(self, *, context):
        return ClassificationResult(relevant=context.tool_call_count >= self.after)

    def provide(self, *, context):
        return GuidanceInjection("breather", f"{context.tool_call_count} calls: take stock.")
"""
CONFIGURATION = """
[prompts."agent/main"]
guidance = [{ use = "breather", options = { after = 2 } }]
"""
PROGRAM = """
import json
from trimtab import DecisionPoint, Prompt, PromptTemplate, Session

session = Session()
said = {}
for key in ("main", "other"):
    run = session.open_run(Prompt(PromptTemplate("agent", key)))
    for number in range(3):
        run.model_responded()
        run.tool_started("read", {"path": str(number)}, f"c{number}")
        run.tool_finished(f"c{number}", "done")
        said.setdefault(key, []).append(run.guide(DecisionPoint.PRE_TOOL_SELECTION).text)
print(json.dumps(said))
"""


@attrs.frozen
class Environment:
    """A virtual environment and a folder to work in."""

    path: Path
    work: Path

    @property
    def python(self) -> Path:
        return self.path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def run(
        self, *arguments: str, environment: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python in the folder, with nothing of this process's setup."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TRIMTAB"))}
        return subprocess.run(
            [self.python, *arguments],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=100,
            cwd=self.work,
            env={**clean, "PYTHONUTF8": "1", **environment},
        )

    def pip(self, *arguments: str) -> None:
        """Run its pip, which must succeed."""
        done = self.run("-m", "pip", "--disable-pip-version-check", *arguments)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def core_wheel() -> Path:
    """The wheel of core, as the tests of all environments use it."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    return next(dev.wheels().glob("trimtab-*.whl"))


@pytest.fixture(scope="session")
def third_party(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a package that enables itself nowhere and speaks after some calls."""
    folder = tmp_path_factory.mktemp("acme")
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "acme_breather").mkdir()
    (folder / "acme_breather" / "__init__.py").write_text(SOURCE)
    build = [sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", "dist"]
    subprocess.run(build, check=True, cwd=folder, timeout=100)
    return next((folder / "dist").glob("*.whl"))


@pytest.fixture(scope="session")
def environment(core_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh environment with core, a program with two prompts, and a configuration for one."""
    folder = tmp_path_factory.mktemp("environment")
    found = Environment(folder / "venv", folder / "work")
    venv.create(found.path, with_pip=True)
    found.work.mkdir()
    (found.work / "trimtab.toml").write_text(CONFIGURATION)
    (found.work / "program.py").write_text(textwrap.dedent(PROGRAM))
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", found.python]
    subprocess.run([*install, core_wheel], check=True, timeout=100)
    return found


@pytest.fixture
def with_breather(environment: Environment, third_party: Path) -> Environment:
    """The environment with the package in it."""
    environment.pip("install", "--quiet", "--no-index", "--no-deps", str(third_party))
    return environment
