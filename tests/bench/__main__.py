"""Run the measurements: ``python tests/bench [NAME …]``, e.g. ``engine``; all without a name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(wanted: list[str]) -> int:
    """Run each script in a process of its own; its lines are the result."""
    scripts = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in wanted if name not in scripts]
    if unknown:
        print(f"no measurement {unknown[0]!r}; there are: {', '.join(scripts)}", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted or scripts:
        print(f"== {name}", flush=True)
        failed |= subprocess.run([sys.executable, scripts[name]], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
