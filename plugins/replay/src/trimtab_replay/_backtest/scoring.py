"""Reads labels, one JSON object a line, replays what is labelled and judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from trimtab.inspection import did_you_mean, quoted_list
from trimtab.text import sanitize
from trimtab_replay._backtest import (
    TOGETHER,
    Judged,
    Label,
    Scores,
    judge_case,
    judge_label,
    score_all,
)
from trimtab_replay._file import Job, ReadStats, names_of, replay_all
from trimtab_replay._recording import ReplayError
from trimtab_replay._results import Replayed
from trimtab_replay._selection import Selection, SelectionError, provider_names
from trimtab_replay._transcript import Skipped, Transcript

BORDERLINE = "borderline"


def read_labels(path: str) -> tuple[Label, ...]:
    """Read the labels that count: borderline ones are left out."""
    found: dict[tuple[str, str], Label] = {}
    for where, value in _rows(path):
        label = _label(value, where)
        if (label.path, label.id) in found:
            raise ReplayError(f"{where}: run {label.id!r} of {label.path} is labelled twice")
        found[label.path, label.id] = label
    return tuple(label for label in found.values() if label.confidence != BORDERLINE)


def _source(path: str) -> Transcript:
    return Transcript(Path(path), path, _refuse)


def _refuse(skipped: Skipped) -> None:
    line = f":{skipped.line}" if skipped.line else ""
    raise ReplayError(f"{skipped.path}{line}: {skipped.message}")


def _rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in _source(path).rows():
        where = f"{path}:{row.line}"
        if not isinstance(row.value, dict):
            raise ReplayError(f"{where}: a label is an object with path, id, loop and evident_at")
        yield where, row.value


def _label(row: dict[str, Any], where: str) -> Label:
    path, identity, loop, evident = (row.get(k) for k in ("path", "id", "loop", "evident_at"))
    if not (isinstance(path, str) and isinstance(identity, str) and isinstance(loop, bool)):
        raise ReplayError(f"{where}: a label needs path and id (text) and loop (true or false)")
    if evident is not None and (type(evident) is not int or evident < 0):
        raise ReplayError(f"{where}: evident_at is the index of a call, from 0, or null")
    return Label(
        path=path,
        id=identity,
        loop=loop,
        evident_at=evident,
        confidence=str(row.get("confidence") or ""),
    )


CASES, LABELS = "cases", "labels"


@attrs.frozen(kw_only=True)
class Exam:
    """What is scored.

    Args:
        paths: files of cases, or files of labels.
        runs: folder of the labelled runs; that of the file of labels where empty.
        provider: whose first nudge the labels are about.
        shard: this part of how many, ``(i, n)`` with i from 0.
        jobs: processes; None chooses by the size of the files.
    """

    paths: tuple[str, ...]
    runs: str = ""
    provider: str = "doom-loop"
    shard: tuple[int, int] = (0, 1)
    jobs: int | None = 1

    @property
    def kind(self) -> str:
        """``"labels"`` or ``"cases"``."""
        kinds = {_kind(path) for path in self.paths}
        if len(kinds) > 1:
            raise ReplayError("give files of cases or files of labels, not both at once")
        return kinds.pop()


def _kind(path: str) -> str:
    source = _source(path)
    rows = source.first_rows
    if any("loop" in row and "path" in row for row in rows):
        return LABELS
    # A folder may hold cases.
    if not Path(path).is_file() or any(isinstance(row.get("calls"), list) for row in rows):
        return CASES
    if not rows and source.document is None and source.fault:
        source.skip(*source.fault)
    raise ReplayError(
        f"{sanitize(path, 300)} holds neither cases nor labels. A line is a case with calls and "
        "expected, or a label with path, id and loop. `trimtab replay` reads recorded runs."
    )


@attrs.frozen
class Part:
    """What came of an exam, as just made or as read back; what tables and gates are made of.

    Args:
        kind: ``"cases"`` or ``"labels"``.
        providers: whom the selection asks and how, JSON-like.
        judged: sorted by path and id.
        unscored: runs or cases that none of the selected providers is about.
        shards: which parts of how many it holds, as pairs.
    """

    kind: str
    providers: Sequence[Mapping[str, Any]]
    judged: tuple[Judged, ...]
    unscored: int
    shards: tuple[tuple[int, int], ...]

    @property
    def scores(self) -> list[Scores]:
        return score_all(self.judged)


Replays = Callable[[Sequence[str], Job], Iterable[Replayed]]


def sit(
    exam: Exam,
    selection: Selection,
    stats: ReadStats,
    *,
    after_file: Callable[[int, int], None] = lambda _done, _all: None,
    warn: Callable[[str], None] = lambda _message: None,
) -> Part:
    """Let the providers of `selection` sit `exam`."""

    def replays(paths: Sequence[str], job: Job) -> Iterable[Replayed]:
        return replay_all(paths, job, stats, jobs=exam.jobs, after_file=after_file, warn=warn)

    kind = exam.kind
    if kind == CASES:
        judged = list(_cases(exam, selection, replays))
    else:
        judged = list(_labels(exam, selection, stats, replays))
    scored = sorted((row for row in judged if row is not None), key=lambda row: (row.path, row.id))
    facts = [_facts(config) for config in selection.configs]
    return Part(kind, facts, tuple(scored), len(judged) - len(scored), (exam.shard,))


def _cases(exam: Exam, selection: Selection, replays: Replays) -> Iterator[Judged | None]:
    for replayed in replays(exam.paths, Job(selection=selection, reader="cases", pick=exam.shard)):
        concerned = provider_names(str(replayed.meta.get("concerns")))
        about = next((name for name in concerned if name in selection.names), None)
        if about is None:
            yield None
        else:
            speakers = {about}.union(*(group for group in TOGETHER if about in group))
            yield judge_case(replayed, about, speakers)


def _labels(
    exam: Exam, selection: Selection, stats: ReadStats, replays: Replays
) -> Iterator[Judged]:
    if exam.provider not in selection.names:
        raise SelectionError(
            f"the labels are about {exam.provider!r}, which is not selected: name another with "
            f"--provider.{did_you_mean(exam.provider, selection.names)} "
            f"Selected: {quoted_list(selection.names)}."
        )
    place, of = exam.shard
    for path in exam.paths:
        labels = read_labels(path)
        root = Path(exam.runs) if exam.runs else Path(path).parent
        files = sorted({label.path for label in labels})[place::of]
        here = frozenset(files)
        wanted = {(str(root / one.path), one.id): one for one in labels if one.path in here}
        job = Job(selection=selection, only=frozenset(identity for _, identity in wanted))
        for replayed in replays([str(root / file) for file in files], job):
            for name in names_of(replayed):
                label = wanted.pop((replayed.path, name), None)
                if label is not None:
                    yield judge_label(replayed, label, exam.provider)
        stats.skipped += map(_missing, wanted.values())


def _missing(label: Label) -> Skipped:
    return Skipped(label.path, None, f"labelled, but there is no run {label.id!r} in it")


def _facts(config: Any) -> dict[str, Any]:
    """Return whom a setting asks and how, JSON-like: equal for equal settings."""
    reference = config.provider
    settings = {
        field.name: getattr(config, field.name)
        for field in attrs.fields(type(config))
        if field.name != "provider" and getattr(config, field.name) != field.default
    }
    trigger = settings.pop("trigger", None)
    return {
        "kind": config.kind.value,
        "use": getattr(reference, "name", type(reference).__name__),
        "options": dict(getattr(reference, "options", {})),
        "settings": settings | (attrs.asdict(trigger) if trigger else {}),
    }
