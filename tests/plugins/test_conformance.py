"""The providers of the project hold to the contract, tested as those of others are."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import pytest

from trimtab_testing import GuidanceConformance

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # minutes of work: once is enough

GUIDANCE = (
    "consultation-prompt",
    "current-plan",
    "diagnostic-signal",
    "doom-loop",
    "parallel-tool-reminder",
    "plan-drift",
    "tool-call-form",
)
OTHERS = ("deadline-feedback", "lease", "plan-based-checker")
RECORDERS = ("journal", "jsonl-trace", "otel", "plan-watch", "sqlite-trace")


class TestPlanActReflect(GuidanceConformance):
    name = "plan-act-reflect"
    most_time = 80.0  # it holds each call against the plan


class TestReminder(GuidanceConformance):
    options: ClassVar = {
        "rules": ("Run the tests.", {"text": "Be brief.", "after_compaction": True})
    }

    def factory(self):
        return pytest.importorskip("trimtab_reminder").Reminder


def test_every_provider_conforms(tmp_path):
    """With the settings that break most test suites of others."""
    chosen = [f"--trimtab={name}" for name in (*GUIDANCE, *OTHERS, *RECORDERS)]
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
    expected = len(GUIDANCE) * 10 + len(OTHERS) * 9 + len(RECORDERS) * 10
    assert f"{expected} passed" in done.stdout


def test_a_name_that_nothing_offers_is_an_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--trimtab=doom-lop"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert done.returncode != 0
    assert "doom-loop" in done.stdout + done.stderr
