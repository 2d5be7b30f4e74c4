"""Feeds one recording through a prompt's providers, as a host would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

import attrs

from trimtab import (
    Budget,
    Deadline,
    DecisionPoint,
    Host,
    Plan,
    PlanStep,
    Run,
    Session,
    TaskCompletionContext,
    ToolCall,
    ToolInvoked,
)
from trimtab.events import CompactionHappened, ModelResponded, UserMessage
from trimtab.text import shorten
from trimtab_replay._recording import (
    Idle,
    Item,
    RecordedItem,
    RecordedTime,
    Recording,
    ReplayError,
    RunBoundary,
    RunEnd,
    StopRequest,
    Unknown,
)
from trimtab_replay._results import CallView, DecisionCollector, Replayed
from trimtab_replay._selection import Prompts
from trimtab_replay._timeline import call_view
from trimtab_signals import Calls
from trimtab_signals.agents import PROFILES

_TITLES = ("title", "t", "content", "step", "subject", "description", "text", "name")
_STATUSES = ("status", "s", "state")


def plan_of(steps: Iterable[Any]) -> Plan:
    """Return recorded steps, whatever their shape, as a `Plan`."""
    return Plan(tuple(_step(step) for step in steps))


def _step(step: Any) -> PlanStep:
    if not isinstance(step, Mapping):
        return PlanStep(str(step))
    return PlanStep(_first(step, _TITLES) or "untitled", _first(step, _STATUSES) or "pending")


def _first(step: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((value for key in keys if isinstance(value := step.get(key), str) and value), "")


_LONGEST_TITLE = 200


def replay(
    recording: Recording,
    prompts: Prompts,
    *,
    deadline: float | None = None,
    keep_calls: bool = False,
    trace: Any = None,
) -> Replayed:
    """Replay one recording and return what was decided.

    Args:
        recording: its entries are read once.
        prompts: whom to ask; recordings that are given the same share their providers.
        deadline: seconds that the run has; a case's own goes before it.
        keep_calls: whether to keep the calls, to show them.
        trace: a recorder of all runs of the recording; None for none.

    Raises:
        ProviderError: a provider can't be used.
    """
    entries = iter(recording.entries)
    first = next(entries, None)
    driver = _Driver(recording, prompts.for_case(recording.meta), deadline, keep_calls)
    driver.recorders = () if trace is None else (trace,)
    if first is not None:
        driver.time.begin(first.item)
    driver.open()
    driver.feed(entries if first is None else chain([first], entries))
    return driver.result()


@attrs.define(eq=False)
class _Track:
    """One run and what a host remembers of it."""

    run: Run
    turns: list[int] = attrs.field(factory=list)
    waiting: set[str] = attrs.field(factory=set)
    in_batch: bool = False
    stopped: bool = False


@attrs.define(eq=False)
class _Driver:
    recording: Recording
    prompts: Prompts
    seconds: float | None
    keep_calls: bool
    call: int = -1
    recorders: tuple[Any, ...] = ()
    time: RecordedTime = attrs.field(factory=RecordedTime)
    session: Session = attrs.field(init=False)
    collector: DecisionCollector = attrs.field(init=False)
    _limit: Deadline | None = None
    _prompt: str = ""
    _title: str = ""
    _calls: int = 0
    _turns: int = 0
    _open: dict[str | None, _Track] = attrs.field(factory=dict)
    _tracks: dict[str, _Track] = attrs.field(factory=dict)
    _views: list[CallView] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.session = Session(clock=self.time.clock)
        self.collector = DecisionCollector(self.turn_of, lambda: self.call)
        self.collector.listen(self.session)

    def turn_of(self, run_id: str) -> int:
        track = self._tracks.get(run_id)
        return track.turns[-1] if track is not None and track.turns else -1

    def open(self) -> None:
        """Open the main agent's run; the deadline counts from here."""
        seconds = _number(self.recording.meta.get("deadline_s")) or self.seconds
        self._limit = Deadline(seconds, self.time.clock) if seconds else None
        self._track(self.recording.agent_id)

    def feed(self, entries: Iterable[RecordedItem]) -> None:
        last: RecordedItem | None = None
        for entry in entries:
            if last is not None:
                self._happen(last, entry.item)
            last = entry
        if last is not None:
            self._happen(last, None)
        self._end_runs()

    def result(self) -> Replayed:
        recording = self.recording
        return Replayed(
            id=recording.id,
            path=recording.path,
            reader=recording.reader,
            calls=self._calls,
            turns=self._turns,
            decisions=tuple(self.collector.decisions),
            notes=tuple(self.collector.notes),
            started=self.time.started,
            steps=tuple(self._views),
            title=self._title,
            said=recording.said,
            meta=recording.meta,
        )

    def _happen(self, entry: RecordedItem, following: Item | None) -> None:
        item = entry.item
        kind = type(item)
        if kind is Unknown:
            self.call = entry.call
            return
        track = self._track(getattr(item, "agent_id", None) or self.recording.agent_id)
        if kind is not ToolInvoked:
            self._end_batch(track)
        self.time.follow(item, following)
        self.call = entry.call
        _HANDLERS[kind](self, track, item)

    # Runs.

    def _track(self, agent: str | None) -> _Track:
        found = self._open.get(agent)
        if found is None:
            found = self._open[agent] = self._opened(agent)
        return found

    def _opened(self, agent: str | None) -> _Track:
        run = self.session.open_run(
            self.prompts.of(self._prompt),
            agent,
            host=Host(
                name=self.recording.reader,
                tools=self.recording.tools,
                parallel_calls=self.recording.parallel_calls,
                tool_profiles=PROFILES.get(self.recording.profile, ()),
            ),
            deadline=self._limit,
            budget=_budget(self.recording),
            recorders=self.recorders,
        )
        track = self._tracks[run.run_id] = _Track(run)
        run.render()
        return track

    def _end_runs(self, reason: str = "") -> None:
        for track in self._open.values():
            self._end_batch(track)
            track.run.close(reason)
        self._open.clear()

    def _count_turns(self, track: _Track) -> None:
        while len(track.turns) < track.run.state.turns:
            track.turns.append(self._turns)
            self._turns += 1

    def _end_batch(self, track: _Track) -> None:
        """Ask before the model's next response, whether or not all its calls were answered."""
        if track.in_batch:
            track.in_batch = False
            track.waiting.clear()
            track.run.guide(DecisionPoint.PRE_TOOL_SELECTION)

    # Items.

    def responded(self, track: _Track, item: ModelResponded) -> None:
        run, calls = track.run, item.tool_calls
        run.model_responded(
            text=item.text, reasoning=item.reasoning, tool_calls=calls, usage=item.usage
        )
        track.stopped = False
        self._count_turns(track)
        if not calls:
            _guide(run, DecisionPoint.PRE_RESPONSE)
            return
        _guide(run, DecisionPoint.PRE_TOOL_EXECUTION, calls)
        for call in calls:
            run.tool_started(call.tool, call.params, call.call_id)
        track.waiting = {call.call_id for call in calls}
        track.in_batch = True

    def invoked(self, track: _Track, item: ToolInvoked) -> None:
        run = track.run
        if item.call_id not in run.state.running:
            run.tool_started(item.tool, item.params, item.call_id, caller=item.caller)
            self._count_turns(track)
            track.in_batch = True
        event = run.tool_finished(
            item.call_id,
            item.result,
            outcome=item.outcome,
            evidence=item.evidence,
            error=item.error,
            duration=item.duration,
            poll=item.poll,
        )
        self._finished(track, event)

    def _finished(self, track: _Track, event: ToolInvoked) -> None:
        self._calls += 1
        track.stopped = False
        if self.keep_calls:
            turn = track.turns[event.turn or 0]
            calls = track.run.trajectory.follow(Calls)
            self._views.append(call_view(event, calls, turn=turn, call=self.call))
        _guide(track.run, DecisionPoint.POST_TOOL_RESULT)
        track.run.due_feedback()
        track.waiting.discard(event.call_id)
        if not track.waiting:
            self._end_batch(track)

    def said(self, track: _Track, item: UserMessage) -> None:
        if not self._title and not item.notification:
            self._title = shorten(item.text.strip(), _LONGEST_TITLE)
        track.run.user_message(item.text, notification=item.notification)

    def compacted(self, track: _Track, item: CompactionHappened) -> None:
        track.run.compacted(item.summary)

    def stop(self, track: _Track, item: StopRequest) -> None:
        self._plan(item.plan)
        if item.deadline_remaining is not None:
            track.run.deadline = Deadline(item.deadline_remaining, self.time.clock)
        crash = item.checker_error is not None and bool(track.run.prompt.table.checks)
        track.run.check_completion(
            extra=(_Crashing(item.checker_error or ""),) if crash else (),
            background_work=bool(item.background_tasks),
            awaiting_user=item.awaiting_user,
            api_error=item.api_error,
        )
        track.stopped = True

    def run_ended(self, track: _Track, item: RunEnd) -> None:
        self._plan(item.plan)
        if item.stop_seen is False or not track.stopped:
            track.run.check_completion(stop_reason=item.reason or None, final=True)
        track.stopped = True

    def _plan(self, steps: tuple[Any, ...] | None) -> None:
        if steps is not None:
            self.session.dispatch(plan_of(steps))

    def boundary(self, _: _Track, item: RunBoundary) -> None:
        self._end_runs("another prompt" if item.prompt else "")
        self._prompt = item.prompt or self._prompt
        self._track(self.recording.agent_id)

    def idle(self, _: _Track, item: Idle) -> None:
        self.time.clock.advance(max(0.0, item.seconds))


def _guide(run: Run, point: DecisionPoint, pending: tuple[ToolCall, ...] = ()) -> None:
    """Ask for guidance, where somebody may give some."""
    if run.prompt.table.guides.get(point):
        run.guide(point, pending=pending)


_HANDLERS: dict[type[Item], Callable[[_Driver, _Track, Any], None]] = {
    ModelResponded: _Driver.responded,
    ToolInvoked: _Driver.invoked,
    UserMessage: _Driver.said,
    CompactionHappened: _Driver.compacted,
    StopRequest: _Driver.stop,
    RunEnd: _Driver.run_ended,
    RunBoundary: _Driver.boundary,
    Idle: _Driver.idle,
}


class RecordedCheckerError(ReplayError):
    """The checker of the recorded host died at this point."""


RECORDED_CHECKER = "recorded-checker"
"""Name of the stand-in for a recorded host's checker that died; no provider of the user's."""


@attrs.frozen
class _Crashing:
    """Stands for the recorded host's checker, which died."""

    error: str
    name: str = RECORDED_CHECKER

    def check(self, context: TaskCompletionContext) -> Any:  # noqa: ARG002
        raise RecordedCheckerError(self.error)


def _budget(recording: Recording) -> Budget | None:
    seconds = _number(recording.meta.get("budget_s"))
    return Budget(max_active_seconds=seconds) if seconds else None


def _number(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if usable else None
