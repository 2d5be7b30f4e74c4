"""Replays the recordings of one file."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import datetime
from itertools import chain

import attrs

from trimtab import ConfigurationError, ProviderError
from trimtab.text import describe_error
from trimtab_replay._corpus import Corpus, Found
from trimtab_replay._driver import replay
from trimtab_replay._job import Job, Part, ReadStats
from trimtab_replay._recording import Recording, ReplayError
from trimtab_replay._results import Replayed
from trimtab_replay._selection import Prompts, keeps_nothing
from trimtab_replay._tracing import trace_of
from trimtab_replay._transcript import Skipped

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
