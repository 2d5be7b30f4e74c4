"""Recorded sessions of trimtab's own, and what happened after moments of one provider.

All three hold the same events. A file is read without importing the package that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from hashlib import blake2b
from statistics import median
from typing import Any

import attrs

from trimtab_replay._corpus import Argument, Found, find
from trimtab_replay._transcript import Skipped, Transcript
from trimtab_replay._values import as_dict, as_int, as_list, as_text, dicts, named, parse

IN_SHADOW = "in shadow"
DROPPED = "calls dropped"
_CALLS = {"ToolInvoked", "ToolReturned"}
_NEEDED = {
    *_CALLS,
    "GuidanceDelivered",
    "GuidanceSuppressed",
    "CompletionChecked",
    "RunClosed",
    "RunTerminated",
    "UserMessage",
    "JournalFull",
}
_MODEL = {"", "model"}


@attrs.frozen
class RecordedCall:
    """One ended tool call: its turn, what was asked, what came back, and whether it went well."""

    turn: int
    action: str
    output: str
    is_ok: bool


@attrs.frozen
class Moment:
    """A decision of one provider to speak.

    Args:
        provider: its entry name.
        turn: the turn after which it spoke, or would have spoken.
        is_nudged: whether the agent read the text; False if the run was held out.
    """

    provider: str
    turn: int
    is_nudged: bool


@attrs.define
class RecordedRun:
    """What is compared of one run.

    Attributes:
        calls: of the model, in the order in which they ended.
        moments: in the order in which they were decided.
        completion: the status of the last completion check; empty if there was none.
        is_closed: whether the run has ended.
        is_partial: whether its oldest calls may be missing.
        task: what the user asked first; runs of one task are alike. Empty if unknown.
    """

    run_id: str
    calls: list[RecordedCall] = attrs.field(factory=list)
    moments: list[Moment] = attrs.field(factory=list)
    completion: str = ""
    is_closed: bool = False
    is_partial: bool = False
    task: str = ""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """What makes one record of a run better than another: it tells more of it."""
        return not self.is_partial, self.is_closed, len(self.calls) + len(self.moments)

    def knows(self, moment: Moment) -> bool:
        """Whether the calls around `moment` are still on record."""
        return not self.is_partial or any(call.turn <= moment.turn for call in self.calls)

    def add(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind in _CALLS:
            self._add_call(event)
        elif kind == "GuidanceDelivered":
            self._add_moment(event, is_nudged=True)
        elif kind == "GuidanceSuppressed" and event.get("reason") == IN_SHADOW:
            self._add_moment(event, is_nudged=False)
        elif kind == "CompletionChecked":
            self.completion = named(event.get("status"))
        elif kind in {"RunClosed", "RunTerminated"}:
            self.is_closed = True
        elif kind in {DROPPED, "JournalFull"}:
            self.is_partial = True
        elif kind == "UserMessage" and not self.task:
            asked = as_text(event.get("text")).encode("utf-8", "replace")
            self.task = blake2b(asked, digest_size=16).hexdigest()

    def _add_call(self, event: Mapping[str, Any]) -> None:
        if named(event.get("caller")) in _MODEL:
            params = event.get("params", event.get("input"))  # as traces call it
            action = f"{named(event.get('tool'))} {as_text(params)}"
            is_ok = event.get("outcome", "ok") == "ok"
            turn, output = (
                as_int(event.get("turn")),
                as_text(event.get("result", event.get("output"))),
            )
            self.calls.append(RecordedCall(turn, action, output, is_ok))

    def _add_moment(self, event: Mapping[str, Any], *, is_nudged: bool) -> None:
        name = named(event.get("provider_name"))
        self.moments.append(Moment(name, as_int(event.get("turn")), is_nudged))


@attrs.define
class Records:
    """Reads runs from files and folders, and keeps count of what it can't read."""

    files: int = 0
    other_files: int = 0
    skipped: list[Skipped] = attrs.field(factory=list)

    def runs(self, arguments: Iterable[Argument]) -> Iterator[RecordedRun]:
        for found in find(arguments):
            yield from self._of_file(found)

    def _of_file(self, found: Found) -> Iterator[RecordedRun]:
        try:
            if not found.file.is_file():
                is_folder = found.file.is_dir()
                raise OSError("the folder holds no file" if is_folder else "no such file")
            source = Transcript(found.file, found.path, self.skipped.append)
            runs: dict[str, RecordedRun] = {}
            for kind, event in _events(source):
                run_id = named(event.get("run_id"))
                runs.setdefault(run_id, RecordedRun(run_id)).add(kind, event)
        except OSError as error:
            self.skipped.append(Skipped(found.path, None, str(error)))
            return
        if runs:
            self.files += 1
        elif found.named and not source.has_skipped:
            source.skip("no snapshot, journal or trace of trimtab")
        else:
            self.other_files += not source.has_skipped
        source.finish()
        yield from runs.values()


def _events(source: Transcript) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield type and fields of the events that are compared, those of one type in order."""
    for row in source.documents():
        value = as_dict(row.value)
        snapshot = _snapshot_in(value)
        if snapshot is not None:
            yield from _snapshot_events(snapshot["slices"])
        elif named(value.get("event_type", value.get("type"))) in _NEEDED:
            kind = named(value.get("event_type", value.get("type")))
            fields = as_dict(value.get("payload"))
            yield kind, {"run_id": value.get("run_id"), **fields}


def _snapshot_events(slices: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the events of a snapshot, in which fields with their default are left out."""
    for kind in _NEEDED & slices.keys():
        kept = as_dict(slices[kind])
        items = kept.get("items", slices[kind])
        yield from ((kind, event) for event in _old_calls(as_dict(kept.get("old"))))
        yield from ((kind, event) for event in dicts(items))
        if kind in _CALLS and as_int(kept.get("dropped")):
            run_ids = {named(event.get("run_id")) for event in dicts(items)}
            yield from ((DROPPED, {"run_id": run_id}) for run_id in run_ids)


def _old_calls(old: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield calls that are kept as rows: what many have in common, and the rest."""
    head, facts, heads, rows = (as_list(old.get(key)) for key in ("head", "facts", "heads", "rows"))
    for row in rows:
        number, values = as_list(row) if len(as_list(row)) == 2 else (-1, ())
        if not isinstance(number, int) or not 0 <= number < len(heads):
            continue
        common = zip(head, as_list(heads[number]), strict=False)
        event = {**dict(common), **dict(zip(facts, as_list(values), strict=False))}
        for name, digest in (("result", "result"), ("params", "params_digest")):
            if event.get(digest) is not None:
                event[name] = {"$digest": event[digest]}
        yield event


def _snapshot_in(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the snapshot that a document is, or that a journal's line holds."""
    if isinstance(value.get("slices"), dict):
        return value
    held = value.get("snapshot")
    if isinstance(held, str):
        try:
            held = parse(held.encode("utf-8", "replace")).value
        except ValueError:
            return None
    return held if isinstance(held, dict) and isinstance(held.get("slices"), dict) else None


TURNS = 3
"""Turns after a moment within which something must happen to count, by default."""


class Measure(Enum):
    """What is counted; the value is its name in JSON, in snake case."""

    LEFT = "left"
    PROGRESS = "progress"
    COMPLETED = "completed"
    GAVE_UP = "gave_up"

    @property
    def words(self) -> str:
        return _WORDS[self]

    @property
    def is_good(self) -> bool:
        return self is not Measure.GAVE_UP


_WORDS = {
    Measure.LEFT: "a call not made before",
    Measure.PROGRESS: "a call that went well with a new answer",
    Measure.COMPLETED: "completed at the end",
    Measure.GAVE_UP: "no further call",
}


@attrs.frozen
class Aftermath:
    """What followed the first moment of a provider in one run; None is unknown.

    Args:
        calls_to_end: calls from the moment to the end of the run, if the run has ended.
        task: of the run, empty if unknown.
    """

    left: bool
    progress: bool
    gave_up: bool
    completed: bool | None
    calls_to_end: int | None
    task: str = ""

    def of(self, measure: Measure) -> bool | None:
        value: bool | None = getattr(self, measure.value)
        return value


@attrs.define
class Arm:
    """The nudged or the held-out runs of one provider, one moment each."""

    aftermaths: list[Aftermath] = attrs.field(factory=list)

    def count(self, measure: Measure) -> tuple[int, int]:
        """Return in how many runs it happened, and of how many it is known."""
        values = [value for each in self.aftermaths if (value := each.of(measure)) is not None]
        return sum(values), len(values)

    def by_task(self, measure: Measure) -> list[tuple[str, bool]]:
        """Return task and value of each run of which it is known; a run of no task is its own."""
        known = ((n, each, each.of(measure)) for n, each in enumerate(self.aftermaths))
        return [(each.task or f"run {n}", value) for n, each, value in known if value is not None]

    @property
    def calls_to_end(self) -> float | None:
        """The median of the runs that have ended; None if there is none."""
        counts = [each.calls_to_end for each in self.aftermaths if each.calls_to_end is not None]
        return median(counts) if counts else None

    def __len__(self) -> int:
        return len(self.aftermaths)


@attrs.define
class Comparison:
    """Both arms of one provider."""

    provider: str
    nudged: Arm = attrs.field(factory=Arm)
    held_out: Arm = attrs.field(factory=Arm)


@attrs.define
class Comparing:
    """Sorts the first moment of each provider in each run into its arm.

    Later moments of the same run depend on the first, so they are not counted. A run may be
    recorded several times (its trace, a copy, a snapshot of each turn): the record that tells
    most of it counts.

    Args:
        turns: within how many turns after the moment something must happen to count.

    Attributes:
        runs: how many were added.
        copies: records of runs that were there already.
    """

    turns: int = TURNS
    runs: int = 0
    copies: int = 0
    _best: dict[str, tuple[tuple[bool, bool, int], list[tuple[Moment, Aftermath]]]] = attrs.field(
        factory=dict
    )

    def add(self, run: RecordedRun) -> None:
        key = run.run_id or f"record {self.runs + self.copies}"
        known = self._best.get(key)
        if known is None:
            self.runs += 1
        else:
            self.copies += 1
        if known is None or run.rank > known[0]:
            self._best[key] = run.rank, list(_firsts(run, self.turns))

    def comparisons(self) -> list[Comparison]:
        found: dict[str, Comparison] = {}
        for _, firsts in self._best.values():
            for moment, aftermath in firsts:
                comparison = found.setdefault(moment.provider, Comparison(moment.provider))
                arm = comparison.nudged if moment.is_nudged else comparison.held_out
                arm.aftermaths.append(aftermath)
        return list(found.values())


def _firsts(run: RecordedRun, turns: int) -> Iterator[tuple[Moment, Aftermath]]:
    first: dict[str, Moment] = {}
    for moment in run.moments:
        first.setdefault(moment.provider, moment)
    for moment in first.values():
        if run.knows(moment):
            yield moment, after(moment, run, turns)


_KNOWN = {"ok": True, "incomplete": False}
"""What a completion check says; one that was skipped, or that failed, says nothing."""


def after(moment: Moment, run: RecordedRun, turns: int) -> Aftermath:
    """Return what followed `moment` in `run`."""
    before = [call for call in run.calls if call.turn <= moment.turn]
    rest = run.calls[len(before) :]
    window = [call for call in rest if call.turn <= moment.turn + turns]
    actions, seen = {call.action for call in before}, {call.output for call in before}
    return Aftermath(
        left=any(call.action not in actions for call in window),
        progress=any(call.is_ok and call.output not in seen for call in window),
        gave_up=not rest and run.is_closed,
        completed=_KNOWN.get(run.completion),
        calls_to_end=len(rest) if run.is_closed else None,
        task=run.task,
    )
