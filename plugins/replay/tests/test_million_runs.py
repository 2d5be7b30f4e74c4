"""The example on Dask runs: on two processes, and goes on where it stood."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import call
from .speakers import install

pytestmark = pytest.mark.e2e

SCRIPT = Path(__file__).parents[1] / "examples" / "million_runs" / "replay_on_dask.py"


@pytest.fixture
def example(tmp_path):
    """Run the script on a folder; return what it printed."""
    lacking = [n for n in ("distributed", "duckdb", "pyarrow") if not importlib.util.find_spec(n)]
    if lacking:
        message = f"not installed: {', '.join(lacking)}"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    install(tmp_path / "site")

    def run(folder, out):
        command = [sys.executable, SCRIPT, folder, out, "--workers", "2"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONUTF8": "1"},
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_rows_are_summed_and_a_second_run_adds_nothing_though_files_came(
    example, write_cases, tmp_path
):
    folder = tmp_path / "runs"
    folder.mkdir()
    for number in range(25):
        loop = {"id": "loop", "calls": [call(turn=turn) for turn in range(3)]}
        write_cases(loop, name=f"runs/{number}.jsonl")
    first = example(folder, tmp_path / "out")
    write_cases(loop, name="runs/00.jsonl")
    second = example(folder, tmp_path / "out")
    row = next(line for line in first.splitlines() if " repeats " in line)

    assert [cell.strip() for cell in row.split("│")[2:4]] == ["25", "25"]
    assert first == second
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 2
