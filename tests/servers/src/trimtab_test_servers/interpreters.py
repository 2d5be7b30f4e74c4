"""Pythons that can run: pyenv has a shim for each, also for those that are not active."""

from __future__ import annotations

import shutil
import subprocess
import sys

_NEWEST = 20
_SAYS = "import sys; print(sys.executable)"


def find_python(minor: int) -> str | None:
    """Return the path of a Python 3 of this minor version or a later one, tried; None if none runs.

    Args:
        minor: e.g. 12.
    """
    if sys.version_info >= (3, minor):
        return sys.executable
    for number in range(minor, _NEWEST):
        program = shutil.which(f"python3.{number}")
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, "-c", _SAYS], capture_output=True, text=True, check=False, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return None
