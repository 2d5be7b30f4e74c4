"""The import contract of core's layers holds, and fails when a forbidden import is added."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter")
pytestmark = pytest.mark.slow


def lint(root: Path, source: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()",
         "--config", str(root / "pyproject.toml"), "--no-cache"],
        env={"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin"},
        text=True, capture_output=True, check=False, cwd=source,
    )  # fmt: skip


@pytest.fixture
def source(root: Path, tmp_path: Path) -> Path:
    shutil.copytree(root / "core" / "src", tmp_path / "src")
    return tmp_path / "src"


def test_core_keeps_its_layers(root: Path, source: Path) -> None:
    done = lint(root, source)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("_session/state.py", "from trimtab._run.run import Run"),
        ("_types/text.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import trimtab._events.run"),
        ("_policy/guidance.py", "def later():\n    from trimtab.trajectory import Trajectory"),
    ],
    ids=["upwards", "annotation only", "sideways and late"],
)  # fmt: skip
def test_a_forbidden_import_breaks_the_contract(
    root: Path, source: Path, module: str, line: str
) -> None:
    path = source / "trimtab" / module
    path.write_text(f"{path.read_text()}\n{line}\n")

    done = lint(root, source)

    assert done.returncode == 1
    assert "BROKEN" in done.stdout
