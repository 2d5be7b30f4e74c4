"""What a replay is to do, and the account of what it read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import PurePath

import attrs

from trimtab_replay._corpus import Corpus, chosen
from trimtab_replay._driver import RECORDED_CHECKER
from trimtab_replay._installed import installed_readers
from trimtab_replay._recording import Recording
from trimtab_replay._results import Replayed
from trimtab_replay._selection import Selection
from trimtab_replay._transcript import Skipped


@attrs.frozen(kw_only=True)
class Job:
    """What is to be done with each recording; goes to the processes as it is.

    Args:
        selection: whom to ask.
        reader: reads every file, unasked; the surest one where empty.
        deadline: seconds that each run has.
        since: aware; recordings that began earlier, or don't tell when, are left out.
        keep_steps: whether to keep the calls, to show them.
        pick: which recordings to replay, by their place in their file from 0, as ``(i, n)``:
            those whose place is `i` modulo `n`.
        only: ids of the recordings to replay, or stems of their files; None for all.
        trace: folder where a trace of each recording is written; none where empty.
    """

    selection: Selection
    reader: str = ""
    deadline: float | None = None
    since: datetime | None = None
    keep_calls: bool = False
    pick: tuple[int, int] = (0, 1)
    only: frozenset[str] | None = None
    trace: str = ""

    def wants(self, place: int, recording: Recording) -> bool:
        """Tell whether to replay the recording at this place in the order of its file."""
        if place % self.pick[1] != self.pick[0]:
            return False
        return self.only is None or not self.only.isdisjoint(names_of(recording))

    def corpus(self, warn: Callable[[str], None]) -> Corpus:
        """Return a corpus with the installed readers.

        Args:
            warn: receives a message about each reader that can't be loaded.
        """
        readers = installed_readers(warn)
        return Corpus(readers, chosen(readers, self.reader) if self.reader else None)


@attrs.define
class ReadStats:
    """What was read, what was not, and which providers failed.

    Args:
        files: files that were read.
        other_files: files that are no transcripts.
        without_calls: files whose runs hold no tool call.
        left_out: runs that are older than asked for, or have no time.
        runs: runs that were replayed.
        calls: their tool calls.
        failures: in how many runs, by provider and message.
        skipped: parts of files that were not read.
    """

    files: int = 0
    other_files: int = 0
    without_calls: int = 0
    left_out: int = 0
    runs: int = 0
    calls: int = 0
    failures: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    skipped: list[Skipped] = attrs.field(factory=list)

    def add(self, part: ReadStats) -> None:
        """Add the numbers of one file.

        Args:
            part: its numbers.
        """
        self.files += part.files
        self.other_files += part.other_files
        self.without_calls += part.without_calls
        self.left_out += part.left_out
        self.skipped += part.skipped

    def count(self, replayed: Replayed) -> None:
        """Count one run.

        Args:
            replayed: the run after its replay.
        """
        self.runs += 1
        self.calls += replayed.calls
        failed = {
            (note.provider, note.message)
            for note in replayed.notes
            if note.severity == "error" and note.provider != RECORDED_CHECKER
        }
        self.failures.update(failed)


def names_of(run: Recording | Replayed) -> tuple[str, str]:
    """Return by which names people may call a run: its id, and the stem of its file."""
    return run.id, PurePath(PurePath(run.path).name.removesuffix(".gz")).stem


Part = tuple[list[Replayed], ReadStats]
"""The runs of one file, and the account of what was read; both can be pickled."""
