"""The providers of the project hold to the contract, tested as those of others are."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # minutes of work: once is enough

NAMES = (
    "consultation-prompt",
    "deadline-feedback",
    "diagnostic-signal",
    "doom-loop",
    "parallel-tool-reminder",
    "plan-based-checker",
    "tool-call-form",
    "plan-watch",
)


def test_every_provider_conforms(tmp_path):
    """With the settings that break most test suites of others."""
    chosen = [f"--trimtab={name}" for name in NAMES]
    strict = [
        "-W",
        "error",
        "--strict-markers",
        "--strict-config",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
    ]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *strict, *chosen],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout
    assert f"{5 * 10 + 2 * 9 + 10} passed" in done.stdout


def test_a_name_that_nothing_offers_is_an_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--trimtab=doom-lop"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert done.returncode != 0
    assert "doom-loop" in done.stdout + done.stderr
