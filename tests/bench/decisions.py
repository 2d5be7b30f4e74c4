"""Freezes what the providers decide on recorded runs, to compare before and after a redesign.

    python tests/bench/decisions.py write before.json [PATH ...]
    python tests/bench/decisions.py compare before.json [--traces]

Without PATH: all cases of `tests/data`, and the recorded runs and cases in the folder that
`TRIMTAB_CORPUS` names. For each run there are two digests: of its decisions and notes as
`trimtab replay --json` prints them, texts included, and of its trace with ids in order of
appearance. `compare` replays the same paths and prints the runs that differ; with ``--traces``
it compares the traces too, which a change of their format alters.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parents[2]
# By name, not --all: a provider that is added later changes no decision of these.
PROVIDERS = (
    "consultation-prompt",
    "deadline-feedback",
    "diagnostic-signal",
    "doom-loop",
    "parallel-tool-reminder",
    "plan-act-reflect",
    "plan-based-checker",
    "tool-call-form",
)
_RANDOM = re.compile(
    r"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{16})\b"
)
_CHECKSUM = re.compile(r',"_crc":"[0-9a-f]+"')  # of a line with its random ids


def main(arguments: list[str] | None = None) -> int:
    """Write or compare the digests; return 1 if a run differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    for name in ("write", "compare"):
        command = commands.add_parser(name)
        command.add_argument("file", type=Path)
        command.add_argument("--traces", action="store_true", help="compare the traces too")
        if name == "write":
            command.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "write":
        options.file.write_text(json.dumps(digests(options.paths or everything()), indent=0))
        return 0
    return compare(json.loads(options.file.read_text()), traces=options.traces)


def everything() -> list[Path]:
    """Return the cases of the repository and, where there is a corpus, what it holds."""
    data = (ROOT / "tests" / "data").glob("*.jsonl")
    found = sorted(path for path in data if path.stem != "chains")  # no cases, but parts of them
    corpus = os.environ.get("TRIMTAB_CORPUS")
    if corpus:
        found += sorted(Path(corpus, "cases").glob("*.jsonl"))
        found += sorted(path for path in Path(corpus, "trajectories").iterdir() if path.is_dir())
    return found


def digests(paths: list[Path]) -> dict[str, dict[str, list[str]]]:
    """Return two digests for each run of each path."""
    return {str(path): replayed(path) for path in paths}


def replayed(path: Path) -> dict[str, list[str]]:
    """Return the digests of the runs of one file or folder."""
    with tempfile.TemporaryDirectory() as folder:
        enabled = [part for name in PROVIDERS for part in ("--enable", name)]
        command = [sys.executable, "-m", "trimtab", "replay", *enabled, "--json"]
        lines = subprocess.run(
            [*command, "--trace", folder, str(path)], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        traces = sorted(trace_digest(trace) for trace in Path(folder).rglob("*.jsonl"))
    found: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    for line in lines:
        run = json.loads(line)
        name = f"{Path(run.pop('path')).name} {run['id']}"
        seen[name] += 1
        found[f"{name} {seen[name]}"] = [digest(json.dumps(run, sort_keys=True))]
    # A trace is named by chance, so that all traces of a path are compared as one.
    return found | {"traces": [digest("\n".join(traces))]}


def trace_digest(path: Path) -> str:
    """Return the digest of a trace in which random ids are numbered as they appear."""
    numbers: dict[str, str] = {}
    text = _CHECKSUM.sub("", path.read_text(encoding="utf-8"))
    return digest(_RANDOM.sub(lambda m: numbers.setdefault(m[0], f"#{len(numbers)}"), text))


def digest(text: str) -> str:
    """Return a short digest of a text."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def compare(before: dict[str, dict[str, list[str]]], *, traces: bool) -> int:
    """Print which runs differ from those written earlier."""
    differ = runs = 0
    for path, earlier in before.items():
        now = replayed(Path(path))
        names = [name for name in earlier.keys() | now.keys() if traces or name != "traces"]
        runs += len(names)
        wrong = sorted(name for name in names if earlier.get(name) != now.get(name))
        differ += len(wrong)
        for name in wrong:
            print(f"differs: {path}: {name}", flush=True)
    print(f"{runs} runs, {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
