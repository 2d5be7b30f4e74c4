"""Plays cases that were changed in ways that leave their verdicts as they are.

Run it as `python tests/bench/transformed_cases.py [NAME ...]`: it changes every case about loops
and failures in each of the ways, plays it, and prints how many come out otherwise. The tests play
a part of them.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

from transformations import TRANSFORMATIONS, Case, transformed

from trimtab._cli import main as trimtab

DATA = Path(__file__).parents[1] / "data"
FILES = sorted(
    path
    for path in DATA.glob("*.jsonl")
    if path.stem not in ("chains", "claude-code-loop", "languages", "made-up")
)
ABOUT = ("DoomLoopDetector", "DiagnosticSignalProvider", "PlanBasedChecker")
NOT_HELD = frozenset({"error-in-text-only", "localised-failures", "long-banner"})
"""Transformations that hide what the verdict rests on: a text in an answer is no failure by
itself before others were told the same, and of an answer behind 4,000 equal characters the first
and last 1,500 are kept.
"""
KNOWN = frozenset(
    {
        "r5-commentary-then-idle~other-task",
        "r6-hermes-status-report~other-task",
        "end-lack-ja~answers-in-ar",
        "r8-tool-that-is-not-there~answers-in-ar",
        "v4-korean-other-tests~answers-in-ar",
        "r5-status-of-the-context~structured-as-text",
        "r4-background-agent~state-as-boolean",
        "r12-words-that-are-not-there-ja~time-on-each-line",
        "v4-diag-exit-code-in-output~nested~ticking-fields",
        "variant-ok-user-denied~error-as-exit-code",
        "r23-poll-failed-en~answers-in-tr",
        "r18-walks-while-the-box-is-open-ko~turns-of-a-second",
        "r23-chunks-again-cs~turns-of-9-seconds",
        "r20-redirect-pingpong-sq~turns-of-9-seconds",
        "r20-redirect-pingpong-sq~turns-of-25-seconds",
        "r15-still-scrolling-at-the-bottom-tr~turns-of-25-seconds",
        "r25-unknown-tool-rollout-en~answers-in-zh",
        # "Usually it takes ten minutes": at half the speed it is looked at every ten.
        "r19-waits-for-a-mute-translator-ko~other-times",
    }
)
"""Changed cases that come out otherwise, each alone in its kind or one of two."""
RIGHT = ("hit", "quiet")


def cases() -> list[Case]:
    """Return all cases about loops, failures and the gate."""
    lines = (line for path in FILES for line in path.read_text(encoding="utf-8").splitlines())
    found = [case for case in map(json.loads, lines) if case["concerns"] in ABOUT]
    for case in found:
        case["calls"] = [
            {"error": False, **item} if "tool" in item else item for item in case["calls"]
        ]
    return found


def changed(names: Iterable[str], part: int = 1) -> Iterator[Case]:
    """Yield the cases, each changed in the ways `names`.

    Args:
        names: of transformations.
        part: of so many only one, always the same.
    """
    known = cases()
    for name in names:
        for case in known:
            if crc32(f"{case['id']}~{name}".encode()) % part == 0:
                other = transformed(case, name)
                if other is not None:
                    yield other


def wrong(given: list[Case]) -> list[dict[str, Any]]:
    """Play cases and return those that did not come out as they should.

    Raises:
        RuntimeError: a case was not played.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "changed.jsonl")
        path.write_text("".join(json.dumps(case) + "\n" for case in given), encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            trimtab(["backtest", str(path), "--jobs", "1", "--json"])
    runs = json.loads(out.getvalue())["runs"]
    if len(runs) != len(given):
        raise RuntimeError(f"{len(given) - len(runs)} of {len(given)} cases were not played")
    return [run for run in runs if run["verdict"] not in RIGHT]


def broken(given: list[Case]) -> set[str]:
    """Return the ids of the changed cases that come out otherwise than their originals."""
    ids = {run["id"] for run in wrong(given)}
    if not ids:
        return ids
    names = {name.rpartition("~")[0] for name in ids}
    originals = {run["id"] for run in wrong([case for case in cases() if case["id"] in names])}
    return {name for name in ids if name.rpartition("~")[0] not in originals}


def main(names: list[str]) -> None:
    """Print a line for each transformation, and the ids of the cases that are wrong."""
    for name in names or TRANSFORMATIONS:
        given = list(changed([name]))
        found = broken(given)
        print(f"{name:28} {len(given):4} cases, {len(found):3} come out otherwise")
        for case in sorted(found):
            print(f"    {case}{'' if case in KNOWN else ' (not known)'}")


if __name__ == "__main__":
    main(sys.argv[1:])
