"""Discovery: the first scan of a process, imports aside, beside the library's.

300 distributions of strangers and 8 of ours, in a folder on the path of fresh processes.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import row

STRANGERS, OURS, ROUNDS = 300, 8, 15
TIMED = """
import time
{setup}
began = time.perf_counter_ns()
found = {call}
print((time.perf_counter_ns() - began) / 1e6)
"""
YARDSTICK = TIMED.format(setup="from importlib.metadata import entry_points", call="entry_points()")
SCAN = TIMED.format(
    setup="from trimtab.inspection import discover; discover([])", call="discover()"
)
AGAIN = TIMED.format(setup="from trimtab.inspection import discover; discover()", call="discover()")


def install(site: Path) -> None:
    chance = random.Random(STRANGERS)
    for number in range(STRANGERS):
        requires = "".join(f"Requires-Dist: pkg-{n} >=1\n" for n in range(chance.randint(0, 12)))
        entries = f"[console_scripts]\npkg-{number} = pkg_{number}.cli:main\n"
        add(site, f"pkg-{number}", requires, entries if chance.random() < 0.45 else "", chance)
    for number in range(OURS):
        entries = f"[trimtab.guidance]\nnudge-{number} = ours_{number}:Nudge\n"
        add(site, f"ours-{number}", "Requires-Dist: trimtab>=0.1\n", entries, chance)


def add(site: Path, name: str, requires: str, entries: str, chance: random.Random) -> None:
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    words = "Long description. " * chance.randint(20, 400)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (info / "METADATA").write_text(f"{head}{requires}\n{words}")
    (info / "RECORD").write_text("".join(f"{name}/m{n}.py,sha256=x,{n}\n" for n in range(30)))
    if entries:
        (info / "entry_points.txt").write_text(entries)


def milliseconds(code: str, site: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    return float(done.stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder))
        codes = (YARDSTICK, SCAN, AGAIN)
        rounds = [[milliseconds(code, Path(folder)) for code in codes] for _ in range(ROUNDS + 1)]
    yard, scan, again = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
    row(
        f"discovery at {STRANGERS} installed distributions",
        f"{scan / yard:.2f} ×",
        "≤ 1.1 ×",
        f"entry_points() {yard:.1f} ms",
    )
    row("  asked again in the same process", f"{again / scan:.4f} ×", "≤ 0.01 ×")


if __name__ == "__main__":
    main()
