"""What a replay is to do, and replaying the recordings of one file, each traced if asked for."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import blake2b
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

import attrs

from trimtab import ConfigurationError, ProviderError, TrimtabError
from trimtab.inspection import pip_install
from trimtab.text import describe_error
from trimtab_replay._corpus import Corpus, Found, chosen, installed_readers
from trimtab_replay._driver import RECORDED_CHECKER, replay
from trimtab_replay._recording import Recording, ReplayError
from trimtab_replay._results import Replayed
from trimtab_replay._selection import Prompts, Selection, keeps_nothing
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


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def trace_of(folder: str, recording: Recording, place: int) -> Any:
    """Return a recorder that writes the trace of one recording; an earlier one is replaced.

    Args:
        folder: where traces go.
        recording: what is replayed.
        place: of the recording in its file, from 0.

    Raises:
        ReplayError: trimtab-trace is not installed, or the file can't be written.
    """
    try:
        from trimtab_trace import SessionTrace
    except ImportError:
        raise ReplayError(
            f"--trace needs the package trimtab-trace: {pip_install('trimtab-trace')}"
        ) from None
    path = Path(folder) / trace_name(recording, place)
    try:
        path.unlink(missing_ok=True)
        return SessionTrace(path)
    except (OSError, TrimtabError) as error:
        raise ReplayError(f"can't write traces to {folder}: {error}") from None


def trace_name(recording: Recording, place: int) -> str:
    """Return the name of a trace's file: the recording's id, made unique by where it was read."""
    where = f"{recording.path}\0{place}".encode("utf-8", "surrogatepass")
    unique = blake2b(where, digest_size=5).hexdigest()
    name = _UNSAFE.sub("_", recording.id)[:80].strip(".") or "run"
    return f"{name}-{unique}.jsonl"


_COLLECT_BETWEEN_RUNS = 3_000


def replay_file(found: Found, job: Job) -> Part:
    """Replay the recordings of one file: what to map over files on an engine of your own.

    Args:
        found: the file, as `find` yields it.

    Returns:
        the runs, and the account of what was read; both can be pickled.

    Raises:
        ProviderError: a provider can't be used.
    """
    corpus, part = job.corpus(lambda _: None), ReadStats()
    replayed = list(runs_of(corpus, found, job, part))
    return replayed, settled(corpus, part)


def shared_prompts(job: Job) -> Prompts | None:
    """Return prompts that all files may share; None if a provider might keep something.

    Raises:
        ProviderError: a provider can't be used.
    """
    return Prompts(job.selection) if keeps_nothing(job.selection) else None


def runs_of(
    corpus: Corpus, found: Found, job: Job, part: ReadStats, shared: Prompts | None = None
) -> Iterator[Replayed]:
    # Otherwise shared within a file only: results must not depend on the number of processes.
    prompts = shared or Prompts(job.selection)
    for place, recording in enumerate(corpus.read(found)):
        if not job.wants(place, recording):
            continue
        wanted = _if_recent(recording, job.since)
        if wanted is None:
            part.left_out += 1
            continue
        replayed = _contained(wanted, prompts, job, corpus, place)
        _free_session()
        if replayed is not None:
            yield replayed


def _contained(
    recording: Recording, prompts: Prompts, job: Job, corpus: Corpus, place: int
) -> Replayed | None:
    """Replay one recording; what its reader made up is not to end the work on all the others."""
    trace = trace_of(job.trace, recording, place) if job.trace else None
    try:
        return replay(
            recording, prompts, deadline=job.deadline, keep_calls=job.keep_calls, trace=trace
        )
    except (ConfigurationError, ProviderError, ReplayError):
        raise
    except Exception as error:  # noqa: BLE001 - a reader is a plugin: its faults stay its own
        what = f"run {recording.id!r} can't be replayed: {describe_error(error)}"
        corpus.skipped.append(Skipped(recording.path, None, what))
        return None
    finally:
        if trace is not None:
            trace.close()


def _if_recent(recording: Recording, since: datetime | None) -> Recording | None:
    if since is None:
        return recording
    entries = iter(recording.entries)
    first = next(entries, None)
    at = getattr(first.item, "at", None) if first is not None else None
    if first is None or at is None or at < since:
        return None
    return attrs.evolve(recording, entries=chain([first], entries))


def settled(corpus: Corpus, part: ReadStats) -> ReadStats:
    """Take over what the corpus counted for one file."""
    part.files, part.other_files, part.skipped = corpus.files, corpus.other_files, corpus.skipped
    part.without_calls = corpus.without_calls
    corpus.files, corpus.other_files, corpus.without_calls, corpus.skipped = 0, 0, 0, []
    return part


def _free_session() -> None:
    """Free the session of a run that has ended: it is a circle, and still in the cache."""
    if gc.get_count()[0] > _COLLECT_BETWEEN_RUNS:
        gc.collect(0)
