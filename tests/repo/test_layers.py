"""The import contract of core's layers holds, and fails when a forbidden import is added."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter")
pytestmark = pytest.mark.slow
ONLY_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:"


LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(root: Path, source: Path) -> subprocess.CompletedProcess[str]:
    config = ["--config", str(root / "pyproject.toml"), "--no-cache"]
    return subprocess.run(
        [sys.executable, "-c", LINT, *config],
        env={"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin"},
        text=True,
        capture_output=True,
        check=False,
        cwd=source,
    )


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
        ("_types/text.py", f"{ONLY_TYPES}\n    import trimtab._events"),
        (
            "_policy/guidance.py",
            "def later():\n    from trimtab._session.state import Trajectory",
        ),
    ],
    ids=["upwards", "annotation only", "sideways and late"],
)
def test_a_forbidden_import_breaks_the_contract(
    root: Path, source: Path, module: str, line: str
) -> None:
    path = source / "trimtab" / module
    path.write_text(f"{path.read_text()}\n{line}\n")

    done = lint(root, source)

    assert done.returncode == 1
    assert "BROKEN" in done.stdout
