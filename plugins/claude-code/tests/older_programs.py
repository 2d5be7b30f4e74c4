"""Run the tests of older programs: ``python older_programs.py FOLDER [OPTION…]``.

The programs come with older releases of the Agent SDK: the first that the hooks support, and the
last that they don't.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RELEASES = ("0.1.66", "0.1.64")
TESTS = Path(__file__).parent / "commandline" / "test_versions.py"


def program_of(release: str, folder: Path) -> Path:
    """Install a release of the SDK into a folder of its own; return its program."""
    target = folder / release
    program = target / "claude_agent_sdk" / "_bundled" / "claude"
    if not program.exists():
        install = ["-m", "uv", "pip", "install", "--quiet", "--no-deps", "--python", sys.executable]
        package = f"claude-agent-sdk=={release}"
        subprocess.run([sys.executable, *install, "--target", target, package], check=True)
    return program


def main(folder: Path, options: list[str]) -> int:
    programs = [str(program_of(release, folder)) for release in RELEASES]
    environment = {**os.environ, "TRIMTAB_OLDER_CLAUDE": os.pathsep.join(programs)}
    command = [sys.executable, "-m", "pytest", "-m", "e2e", *options, str(TESTS)]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
