"""What holds before litellm is there: it is imported late, and hosts can be asked about."""

from __future__ import annotations

import subprocess
import sys

from trimtab import DecisionPoint, Delivery
from trimtab_litellm import HOST


def test_importing_the_package_imports_no_client(unmeasured):
    probe = "import sys, trimtab_litellm; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", probe],
        text=True,
        capture_output=True,
        check=True,
        timeout=60,
        env=unmeasured,
    )

    assert {"litellm", "openai"}.isdisjoint(done.stdout.split())


def test_what_the_host_declares():
    assert HOST.name == "litellm"
    assert {HOST.delivers(point) for point in DecisionPoint} == {Delivery.EPHEMERAL}
