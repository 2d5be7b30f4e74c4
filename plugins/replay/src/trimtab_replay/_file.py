"""Replaying the recordings of one file, or of many in several processes, in one stable order."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import ConfigurationError, ProviderError, TrimtabError
from trimtab.inspection import others_to_stderr, pip_install
from trimtab.text import describe_error
from trimtab_replay._corpus import Argument, Corpus, Found, chosen, find, installed_readers
from trimtab_replay._driver import RECORDED_CHECKER, replay
from trimtab_replay._recording import Recording, ReplayError
from trimtab_replay._results import Replayed
from trimtab_replay._selection import Prompts, Selection, keeps_nothing
from trimtab_replay._transcript import Skipped

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor


@attrs.frozen(kw_only=True)
class Job:
    """What is to be done with each recording; goes to the processes as it is.

    Args:
        selection: whom to ask.
        reader: reads every file, unasked; the surest one where empty.
        deadline: seconds that each run has.
        since: aware; recordings that began earlier, or don't tell when, are left out.
        keep_calls: whether to keep the calls, to show them.
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
    """Return a recorder that writes the trace of one recording; an earlier one is replaced."""
    try:
        from trimtab_trace import SessionTrace
    except ImportError:
        raise ReplayError(
            f"--trace needs the package trimtab-trace: {pip_install('trimtab-trace')}"
        ) from None
    where = f"{recording.path}\0{place}".encode("utf-8", "surrogatepass")
    unique = blake2b(where, digest_size=5).hexdigest()  # ids are not: two files may hold the same
    name = _UNSAFE.sub("_", recording.id)[:80].strip(".") or "run"
    path = Path(folder) / f"{name}-{unique}.jsonl"
    try:
        path.unlink(missing_ok=True)
        return SessionTrace(path)
    except (OSError, TrimtabError) as error:
        raise ReplayError(f"can't write traces to {folder}: {error}") from None


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
    return _part(job.corpus(lambda _: None), found, job)


def _part(corpus: Corpus, found: Found, job: Job, shared: Prompts | None = None) -> Part:
    part = ReadStats()
    replayed = list(runs_of(corpus, found, job, part, shared))
    return replayed, settled(corpus, part)


def shared_prompts(job: Job) -> Prompts | None:
    """Return prompts that all files may share; None if a provider might keep something."""
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


_AHEAD = 16
_COLLECT_EVERY = 50_000
_FEW_RUNS = 50
_BYTES_A_SECOND = 10e6
_PACKED = 6
_WORTHWHILE = {"fork": 0.5, "spawn": 2.0}
"""Seconds of work for which another process pays, by how it is started."""


def replay_all(
    arguments: Iterable[Argument],
    job: Job,
    stats: ReadStats,
    *,
    jobs: int | None = 1,
    limit: int | None = None,
    after_file: Callable[[int, int], None] = lambda _done, _all: None,
    warn: Callable[[str], None] = lambda _message: None,
) -> Iterator[Replayed]:
    """Yield every recording under `arguments`, replayed; the same for any number of jobs.

    Args:
        arguments: files and folders.
        job: readers, prompts and options.
        stats: what was read is counted here.
        jobs: processes; None chooses by the size of the files.
        limit: how many recordings to read at most.
        after_file: receives the number of files done and the number of all.
        warn: receives a message about each reader that can't be loaded.

    Raises:
        ProviderError: a provider can't be used.
        ReplayError: no reader has the name that was asked for.
    """
    files = list(find(arguments))
    job.corpus(warn)
    jobs = min(jobs or suitable_jobs(files, limit), len(files)) or 1
    runs = (
        _run_serial(files, job, stats, after_file)
        if jobs == 1
        else _run_parallel(files, job, stats, after_file, jobs)
    )
    for replayed in islice(runs, None if limit is None else min(limit, sys.maxsize)):
        stats.count(replayed)
        yield replayed


def suitable_jobs(files: Sequence[Found], limit: int | None = None) -> int:
    """Return how many processes finish first: several if the files take seconds."""
    cores = _cores()
    if cores == 1 or (limit is not None and limit < _FEW_RUNS):
        return 1
    seconds = sum(map(_seconds, files))
    return max(1, min(cores, int(seconds / _WORTHWHILE[_way_to_start()])))


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def _seconds(found: Found) -> float:
    """Return about how long a file takes; a packed one holds several times its size."""
    try:
        size = found.file.stat().st_size
    except OSError:
        return 0.0
    return size * (_PACKED if found.file.suffix == ".gz" else 1) / _BYTES_A_SECOND


def _run_serial(
    files: list[Found], job: Job, stats: ReadStats, after_file: Callable[[int, int], None]
) -> Iterator[Replayed]:
    corpus, shared = job.corpus(lambda _: None), shared_prompts(job)
    for number, found in enumerate(files, 1):
        part = ReadStats()
        yield from runs_of(corpus, found, job, part, shared)
        stats.add(settled(corpus, part))
        after_file(number, len(files))


def _run_parallel(
    files: list[Found],
    job: Job,
    stats: ReadStats,
    after_file: Callable[[int, int], None],
    jobs: int,
) -> Iterator[Replayed]:
    import multiprocessing  # with what follows a twentieth of starting a small replay
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    if _way_to_start() == "fork":
        _prepare(job)  # the processes inherit it, unless a provider has started a thread
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context(_way_to_start())
    executor = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(job,))
    waiting = iter(files)
    running: deque[Future[Part]] = deque()
    try:
        running += _submitted(executor, islice(waiting, jobs * _AHEAD))
        for number in range(1, len(files) + 1):
            replayed, part = running.popleft().result()
            running += _submitted(executor, islice(waiting, 1))
            yield from replayed
            stats.add(part)
            after_file(number, len(files))
    except BrokenProcessPool as error:
        raise ReplayError(
            "a process died: a provider or a reader crashed it, or memory ran out. "
            "Name fewer files or providers to find out which"
        ) from error
    except (
        BaseException
    ):  # an interrupt, or nobody wants the rest: files in work are not waited for
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        _process.clear()


def _way_to_start() -> str:
    """Return how to start processes: a copy of one with threads, of any language, is not safe."""
    try:
        threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names only
    except OSError:  # not on Linux
        return "spawn"
    return "fork" if threads == 1 else "spawn"


def _submitted(executor: ProcessPoolExecutor, files: Iterable[Found]) -> list[Future[Part]]:
    """Hand files to the processes, and start those that are missing without Ctrl-C reaching them.

    A process that is interrupted while it imports would print a traceback. It inherits the mask
    of its parent, in which the signal only waits.
    """
    if not hasattr(signal, "pthread_sigmask"):
        return [executor.submit(_in_process, found) for found in files]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return [executor.submit(_in_process, found) for found in files]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_process: dict[str, Any] = {}


def _begin(job: Job) -> None:
    collect_rarely()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends the work
    if not _process:
        with others_to_stderr():
            _prepare(job)


def _prepare(job: Job) -> None:
    _process.update(job=job, corpus=job.corpus(lambda _: None), shared=shared_prompts(job))


def _in_process(found: Found) -> Part:
    with others_to_stderr():
        return _part(_process["corpus"], found, _process["job"], _process["shared"])


def collect_rarely() -> None:
    """Let Python look for circles less often: a replay makes few, and many records."""
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)
