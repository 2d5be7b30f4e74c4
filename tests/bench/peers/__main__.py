"""The public cases through other projects' detectors, in one table beside ours.

``python tests/bench/peers [FILE]``: installs the peers into an environment of their own (``--keep
FOLDER`` keeps it for the next time), runs them, and scores them and trimtab by the same rules: the
cases about a loop or a repeated failure, at everyone's defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from trimtab_replay._backtest import Judged, Scores, Verdict, judge_case, score
from trimtab_replay._file import Job, ReadStats, replay_all
from trimtab_replay._results import Decision, Replayed
from trimtab_replay._selection import everything
from trimtab_test_servers.interpreters import find_python

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "data" / "cases.jsonl"
ABOUT = ("DoomLoopDetector", "DiagnosticSignalProvider")
OURS = ("doom-loop", "diagnostic-signal")
NEEDED = 12  # OpenHands


def environment(folder: Path) -> Path:
    """Return the interpreter of an environment with the peers, made where it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        install = ["--quiet", "--requirement", str(HERE / "requirements.txt")]
        found = find_python(NEEDED)
        if found is None:
            raise SystemExit(
                f"the peers need Python 3.{NEEDED} or newer, and none that runs was found"
            )
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--python", found, folder], check=True)
        subprocess.run([*uv, "pip", "install", "--python", str(python), *install], check=True)
    return python


def peers(python: Path, cases: Path) -> dict[str, dict[str, list[int]]]:
    """What each peer does on each case, in a process of its own."""
    quiet = {"OPENHANDS_SUPPRESS_BANNER": "1", "LOG_LEVEL": "CRITICAL"}
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [str(python), str(HERE / "adapters.py"), str(cases)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env={**os.environ, **quiet, **offline}
    )
    return json.loads(done.stdout)


def as_replayed(case: Replayed, items: Iterable[int]) -> Replayed:
    """The case as if a peer had spoken after these items."""
    decisions = tuple(
        Decision(provider="peer", kind="guidance", turn=0, call=item, text="…") for item in items
    )
    return Replayed(
        id=case.id,
        path=case.path,
        reader=case.reader,
        calls=case.calls,
        turns=case.turns,
        decisions=decisions,
        meta=case.meta,
    )


def judged(cases: Sequence[Replayed], told: dict[str, list[int]]) -> list[Judged]:
    """Hold a peer against the verdicts."""
    return [judge_case(as_replayed(case, told[case.id]), "peer", {"peer"}) for case in cases]


def show(name: str, found: Scores) -> None:
    counts = (found.counts[verdict] for verdict in Verdict if verdict is not Verdict.EARLY)
    accuracy = found.balanced_accuracy.value if found.balanced_accuracy else 0.0
    print(f"{name:<22}" + "".join(f"{count:>13}" for count in counts) + f"{accuracy:>20.2f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="folder of the environment, kept")
    parser.add_argument("file", type=Path, nargs="?", default=CASES, help="cases with verdicts")
    asked = parser.parse_args()
    job = Job(selection=everything(), reader="cases")
    cases = [
        case
        for case in replay_all([str(asked.file)], job, ReadStats())
        if case.meta.get("concerns") in ABOUT
    ]
    with tempfile.TemporaryDirectory() as made:
        told = peers(environment(asked.keep or Path(made) / "peers"), asked.file)
    names = [verdict.value for verdict in Verdict if verdict is not Verdict.EARLY]
    print(
        f"{len(cases)} cases\n{'':<22}"
        + "".join(f"{n:>13}" for n in names)
        + f"{'balanced accuracy':>20}"
    )
    show("trimtab", score("trimtab", (judge_case(case, "ours", set(OURS)) for case in cases)))
    for name, by_case in told.items():
        show(name, score(name, judged(cases, by_case)))


if __name__ == "__main__":
    main()
