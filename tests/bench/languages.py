"""What tools say in nine languages, and agents in eighteen; all sentences are made up here.

`phrases.tsv` has a line for a phrase of tools in English and eight other languages, longer phrases
before what they hold; `courtesies.txt` a line for what agents end with.
"""

from __future__ import annotations

import csv
from pathlib import Path

_HERE = Path(__file__).parent

with (_HERE / "phrases.tsv").open(encoding="utf-8", newline="") as _file:
    PHRASES = {row.pop("en"): row for row in csv.DictReader(_file, delimiter="\t")}
"""English phrase → language → translation, in the order in which they are to be replaced."""

LANGUAGES = tuple(next(iter(PHRASES.values())))
COURTESIES = tuple((_HERE / "courtesies.txt").read_text(encoding="utf-8").splitlines())

BUSY = (
    "Installing dependencies: ",
    "Running the build step, pending checks: ",
    "Waiting for the registry, still starting: ",
    "Processing (in progress): ",
)
"""Words of progress that a failure may hold."""

TASKS = (
    "Fix the retry logic. ",
    "Add a watch mode. ",
    "The poll interval is wrong. ",
    "Do not read it again and again. ",
    "monitor.py crashes on start. ",
)
"""Tasks of users in which no repeat is asked for."""
