"""Replays many recordings, in this process or in several, in one stable order."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from trimtab.inspection import others_to_stderr
from trimtab_replay._corpus import Argument, Found, find
from trimtab_replay._file import Job, Part, ReadStats, runs_of, settled, shared_prompts
from trimtab_replay._recording import ReplayError
from trimtab_replay._results import Replayed

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

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
    """Return how many processes finish first: several if the files take seconds.

    Args:
        limit: how many recordings to read at most; few are replayed in this process.
    """
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
    corpus, part = _process["corpus"], ReadStats()
    with others_to_stderr():
        replayed = list(runs_of(corpus, found, _process["job"], part, _process["shared"]))
    return replayed, settled(corpus, part)


def collect_rarely() -> None:
    """Let Python look for circles less often: a replay makes few, and many records."""
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)
