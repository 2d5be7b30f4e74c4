"""Print what real answers ask for, as texts take it from them, to be read by eye.

``python tests/bench/ways_out.py FOLDER`` reads the recorded runs below a folder and prints fifty
answers of failed calls that are said to ask for something, each tool's each failure once, spread
evenly over the runs, with the sentence that a text would give. With ``--all`` those of calls that
succeeded are among them, for a call that is repeated may have succeeded: each tool's each frame of
an answer once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from trimtab import ToolInvoked
from trimtab_replay import Corpus
from trimtab_signals import CallRecord, ToolProfiles, advice, asked_of
from trimtab_signals._records import record_of

SHOWN = 50
LONGEST = 300


def asking(folder: Path, *, succeeded: bool = False) -> Iterator[str]:
    """Yield what calls got, with the sentence about it; each failure of a tool once.

    Args:
        folder: of recorded runs.
        succeeded: whether calls that succeeded are read, too.
    """
    readers = [entry.load()() for entry in entry_points(group="trimtab.transcripts")]
    profiles, known = ToolProfiles(), set()
    for recording in Corpus(readers).recordings([folder]):
        for entry in recording.entries:
            if not isinstance(entry.item, ToolInvoked):
                continue
            call = record_of(entry.item, profiles.of(entry.item.tool))
            told = _told(call) if call.failed or succeeded else ""
            kind = (call.tool, call.signature or call.shape.frame) if told else None
            if kind is not None and kind not in known:
                known.add(kind)
                yield told


def _told(call: CallRecord) -> str:
    asked = asked_of(call)
    if asked is None:
        return ""
    said = " ".join(call.output[:LONGEST].split())
    return f"{asked.way}: {advice(asked, call.tool)}\n   {said}"


def main(folder: str, *options: str) -> None:
    """Print the answers."""
    found = list(asking(Path(folder), succeeded="--all" in options))
    step = max(1, len(found) // SHOWN)
    for number, text in enumerate(found[::step][:SHOWN], 1):
        print(f"{number}. {text}")
    print(f"{len(found)} in all")


if __name__ == "__main__":
    main(*sys.argv[1:])
