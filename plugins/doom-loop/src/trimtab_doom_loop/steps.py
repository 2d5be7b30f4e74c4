"""The last steps of a run: what was done, what it brought, and which step is which again."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

import attrs

from trimtab.session.events import Caller, Outcome
from trimtab.trajectory import CallRecord, TurnRecord
from trimtab.trajectory.shell import goes_on, reads_only
from trimtab.trajectory.waiting import is_wait
from trimtab_doom_loop.answers import acknowledges
from trimtab_doom_loop.likeness import answer_key

_STILL_RUNNING = re.compile(
    r"(?i)\b(?:running in (?:the )?background|still running|running with session id)\b"
    r"|\brunning=true\b|\bstatus=\"running\""
)


def counted(turn: TurnRecord) -> tuple[CallRecord, ...]:
    """Return the calls that can be part of a loop: the model's, unless they were cancelled."""
    return tuple(
        [c for c in turn.calls if c.caller is Caller.MODEL and c.outcome is not Outcome.INTERRUPTED]
    )


def waits(call: CallRecord) -> bool:
    """Tell whether a call waits, or moves a screen that answers nothing."""
    return is_wait(call) or (call.profile.opaque and not call.failed and acknowledges(call.said))


def goes_on_behind(call: CallRecord) -> bool:
    """Tell whether a call leaves something running that may change what later calls answer."""
    if call.command is not None and goes_on(call.command):
        return True
    return _STILL_RUNNING.search(call.said) is not None


def would_change(call: CallRecord) -> bool:
    """Tell whether a call, if it succeeds, may change what later calls answer."""
    if call.profile.read_only:
        return False
    return call.command is None or not reads_only(call.command)


def may_change(call: CallRecord) -> bool:
    """Tell whether a call may have changed what later calls answer."""
    return not call.failed and call.outcome is Outcome.OK and would_change(call)


@attrs.define(eq=False)
class Step:
    """One turn that counts.

    Attributes:
        number: position in the run.
        kind: the same for two steps that made the same calls and learnt the same.
        brought: the same for two steps that got the same answers of the same tools.
        fresh: no earlier step that is kept was of this kind.
        calls: its calls that count.
        turn: the whole turn.
    """

    number: int
    kind: int
    brought: int
    fresh: bool
    calls: tuple[CallRecord, ...]
    turn: TurnRecord
    _waits: bool | None = None
    _changes: bool | None = None

    @property
    def waits(self) -> bool:
        """Whether any of its calls waits."""
        if self._waits is None:
            self._waits = any(waits(call) for call in self.calls)
        return self._waits

    @property
    def changes(self) -> bool:
        """Whether it may have changed something: done the first time, by a tool that may."""
        if self._changes is None:
            self._changes = self.fresh and any(may_change(call) for call in self.calls)
        return self._changes


@attrs.define
class _Kept:
    """Answers that were got: by which step first, by how many of the kept steps."""

    first: int
    steps: int = 0


class Steps:
    """The last `keep` steps since anything from outside interfered."""

    def __init__(self, keep: int) -> None:
        self.kept: deque[Step] = deque()
        self._keep = keep
        self._number = 0
        self._answers: dict[str, _Kept] = {}
        self._kinds: dict[str, list[Step]] = {}
        self._calls: dict[str, deque[tuple[int, CallRecord]]] = {}

    def clear(self) -> None:
        """Forget all: someone else acted, or asked for something new."""
        self.kept.clear()
        self._answers.clear()
        self._kinds.clear()
        self._calls.clear()

    def add(self, turn: TurnRecord) -> Step | None:
        """Take a turn in; None where nothing in it counts."""
        calls = counted(turn)
        if not calls:
            return None
        key = calls[0].call if len(calls) == 1 else "+".join(sorted({c.call for c in calls}))
        known = self._kinds.setdefault(key, [])
        same = next((step for step in known if _same(step.calls, calls)), None)
        kind = same.kind if same else self._number
        step = Step(self._number, kind, self._brought(calls), same is None, calls, turn)
        self._number += 1
        if same:
            known.remove(same)
        known.append(step)
        self._remember(step)
        return step

    def _brought(self, calls: tuple[CallRecord, ...]) -> int:
        """Return the number of the step that first got these answers."""
        kept = self._answers.setdefault(_answers(calls), _Kept(self._number))
        kept.steps += 1
        return kept.first

    def _remember(self, step: Step) -> None:
        self.kept.append(step)
        for call in step.calls:
            seen = self._calls.get(call.call)
            if seen is None:
                seen = self._calls[call.call] = deque(maxlen=self._keep)
            seen.append((step.number, call))
        if len(self.kept) > self._keep:
            self._forget(self.kept.popleft())

    def _forget(self, step: Step) -> None:
        key = "+".join(sorted({c.call for c in step.calls}))
        known = [kept for kept in self._kinds.get(key, ()) if kept.number != step.number]
        if known:
            self._kinds[key] = known
        else:
            self._kinds.pop(key, None)
        answers = _answers(step.calls)
        self._answers[answers].steps -= 1
        if not self._answers[answers].steps:
            del self._answers[answers]
        for call in step.calls:
            seen = self._calls.get(call.call)
            while seen and seen[0][0] <= step.number:
                seen.popleft()
            if not seen:
                self._calls.pop(call.call, None)

    def occurrences(self, call: CallRecord) -> list[tuple[int, CallRecord]]:
        """Return where `call` was made with the same answer, oldest first, one a step; another
        answer in between ends the search.
        """
        found: list[tuple[int, CallRecord]] = []
        for number, earlier in reversed(self._calls.get(call.call, ())):
            if not call.answers_like(earlier):
                break
            if not found or found[-1][0] != number:
                found.append((number, earlier))
        return found[::-1]

    def since(self, number: int) -> Iterator[Step]:
        """Yield the steps from `number` on, latest first."""
        for step in reversed(self.kept):
            if step.number < number:
                return
            yield step


def _answers(calls: tuple[CallRecord, ...]) -> str:
    if len(calls) == 1:
        return answer_key(calls[0])
    return "\n\n".join(sorted({answer_key(call) for call in calls}))


def _same(earlier: tuple[CallRecord, ...], later: tuple[CallRecord, ...]) -> bool:
    if len(earlier) == 1 and len(later) == 1:
        return later[0].answers_like(earlier[0])
    before = {call.call: call for call in earlier}
    return all(call.answers_like(before[call.call]) for call in later)
