"""Print what real answers ask for, as texts take it from them, to be read by eye.

``python tests/bench/ways_out.py FOLDER`` reads the recorded runs below a folder and prints fifty
answers of failed calls that are said to ask for something, each tool's each failure once, spread
evenly over the runs, with the sentence that a text would give.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from trimtab import ToolInvoked
from trimtab_replay import Corpus
from trimtab_signals import ToolProfiles, advice, asked_by
from trimtab_signals._records import record_of

SHOWN = 50
LONGEST = 300


def asking(folder: Path) -> Iterator[str]:
    """Yield what failed calls got, with the sentence about it; each failure of a tool once."""
    readers = [entry.load()() for entry in entry_points(group="trimtab.transcripts")]
    profiles, known = ToolProfiles(), set()
    for recording in Corpus(readers).recordings([folder]):
        for entry in recording.entries:
            if not isinstance(entry.item, ToolInvoked):
                continue
            call = record_of(entry.item, profiles.of(entry.item.tool))
            asked = asked_by(call.output, command=call.command is not None) if call.failed else None
            if asked is not None and (call.tool, call.signature) not in known:
                known.add((call.tool, call.signature))
                said = " ".join(call.output[:LONGEST].split())
                yield f"{asked.way}: {advice(asked, call.tool)}\n   {said}"


def main(folder: str) -> None:
    """Print the answers."""
    found = list(asking(Path(folder)))
    step = max(1, len(found) // SHOWN)
    for number, text in enumerate(found[::step][:SHOWN], 1):
        print(f"{number}. {text}")
    print(f"{len(found)} in all")


if __name__ == "__main__":
    main(sys.argv[1])
