"""Deterministic replay: the same providers are asked the same questions at the same moments."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import attrs

from trimtab import (
    Deadline,
    Event,
    Feedback,
    GuidanceDelivered,
    Prompt,
    RenderedPrompt,
    Run,
    Session,
    TaskCompletionContext,
    TaskCompletionResult,
)
from trimtab.events import (
    CompletionAsked,
    CompletionChecked,
    CompletionStatus,
    FeedbackAsked,
    FeedbackSuppressed,
    GuidanceAsked,
    GuidanceSuppressed,
    ObserverFaulted,
    PromptRendered,
    ProviderFaulted,
    ProviderQuarantined,
    ProviderSkipped,
    ProviderSlow,
    Question,
    RunClosed,
    RunOpened,
    StopRequested,
)
from trimtab_trace._envelope import TraceEvent, misfits_named
from trimtab_trace._recorder import with_origin
from trimtab_trace._session import Rebuilder
from trimtab_trace._settings import RunConfigured, prompt_of
from trimtab_trace._types import EVENT_TYPES, EventTypes, payload_of


@attrs.frozen
class _StandIn:
    """Says at a stop what a checker of the client said when the trace was recorded."""

    name: str
    answer: Callable[[], TaskCompletionResult]

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:  # noqa: ARG002
        return self.answer()


def stand_in(name: str, verdict: CompletionChecked | None, faults: list[Any]) -> _StandIn:
    """Return a checker that answers as the client's own did when the trace was recorded."""
    errors = [
        one.error for one in faults if isinstance(one, ProviderFaulted) and one.source.name == name
    ]
    if errors:
        return _StandIn(name, lambda: _raise(errors[0]))
    if verdict is None or not verdict.sources or verdict.sources[-1].name != name:
        return _StandIn(name, TaskCompletionResult.ok)
    feedback, progress = verdict.feedback or "", verdict.progress
    if verdict.status is CompletionStatus.UNVERIFIED:
        return _StandIn(name, lambda: TaskCompletionResult.unverified(verdict.reason or ""))
    if verdict.status is CompletionStatus.OK:
        return _StandIn(name, lambda: TaskCompletionResult.ok(verdict.feedback))
    return _StandIn(name, lambda: TaskCompletionResult.incomplete(feedback, progress=progress))


def _raise(error: str) -> TaskCompletionResult:
    """Raise what describes itself as `error`."""
    name, _, message = error.partition(": ")
    kind = type(name if name.isidentifier() else "RecordedError", (Exception,), {})
    raise kind(message)


DECISIONS = (
    GuidanceDelivered,
    GuidanceSuppressed,
    StopRequested,
    Feedback,
    FeedbackSuppressed,
    CompletionChecked,
    ProviderFaulted,
    ProviderQuarantined,
)
_DURING_A_STOP = (ProviderFaulted, ProviderQuarantined, ProviderSlow)
_NOT_REPEATED = (ProviderSlow, ProviderSkipped, ObserverFaulted)
_LOOK_AHEAD = 32
_TIMES = ("elapsed",)


@attrs.frozen
class Difference:
    """Where a replay first decided otherwise than the trace.

    Args:
        seq: the event of the trace at which it shows; its end where the trace ended before.
        recorded: what the trace holds there, `event_type` and payload; None for nothing.
        replayed: what the replay decided; None for nothing.
    """

    seq: int
    recorded: tuple[str, Mapping[str, Any]] | None
    replayed: tuple[str, Mapping[str, Any]] | None

    def __str__(self) -> str:
        return f"event {self.seq}: recorded {_said(self.recorded)}, replayed {_said(self.replayed)}"


def _said(decision: tuple[str, Mapping[str, Any]] | None) -> str:
    if decision is None:
        return "no decision"
    name, payload = decision
    return f"{name} {json.dumps(payload, sort_keys=True, ensure_ascii=True, default=str)}"


@attrs.frozen
class Replayed:
    """What became of a replay.

    Args:
        session: the session, rebuilt up to the end or the first difference.
        decisions: decisions that were the same.
        events: events that were replayed.
        unknown: events left out because no installed package offers their type.
        difference: the first difference; None if all decisions were the same.
    """

    session: Session
    decisions: int
    events: int
    unknown: int
    difference: Difference | None

    @property
    def identical(self) -> bool:
        """Whether all decisions were the same, in the same order."""
        return self.difference is None


def replay(
    trace: Iterable[TraceEvent],
    *,
    prompts: Mapping[str, Prompt[Any]] | None = None,
    types: EventTypes = EVENT_TYPES,
) -> Replayed:
    """Replay a trace: the decisions must come out as they were recorded.

    The recorded events happen again at their recorded times; at each recorded question the
    providers are asked again. The replay ends at the first difference. Of a run that was forked,
    what it has in common with its parent is replayed first: the parent's trace lies beside it.

    Args:
        trace: its events, in order.
        prompts: the prompts by name; those that are missing are built with the providers and
            options that the trace names.
        types: the registry of types.

    Raises:
        TraceError: the trace is damaged, or holds a provider that was given as an object.
        ProviderError: a provider is not installed, or refuses its options.
    """
    replayer = _Replayer(types, dict(prompts or {}))
    events = 0
    for event, upcoming in _with_next(with_origin(trace)):
        with misfits_named(event):
            difference = replayer.happen(event, upcoming)
        events += 1
        if difference is not None:
            return replayer.result(events, difference)
    return replayer.result(events, replayer.end())


def _with_next(trace: Iterable[TraceEvent]) -> Iterator[tuple[TraceEvent, Sequence[TraceEvent]]]:
    """Yield each event with the few that come behind it."""
    window: deque[TraceEvent] = deque()
    for event in trace:
        window.append(event)
        if len(window) > _LOOK_AHEAD:
            yield window.popleft(), window
    while window:
        yield window.popleft(), window


class _Replayer:
    """Feeds a trace to a session with providers, and compares what they decide."""

    def __init__(self, types: EventTypes, prompts: dict[str, Prompt[Any]]) -> None:
        self._prompts = {name: _without_recorders(one) for name, one in prompts.items()}
        self._rebuilder = Rebuilder(self._prompt, types)
        self._types = types
        self._decided: deque[Event] = deque()
        self._decisions = 0
        self._last = -1
        self._upcoming: Sequence[TraceEvent] = ()
        self._listening = False
        self._asked: CompletionAsked | None = None
        self._waiting: list[tuple[TraceEvent, Any]] = []

    def _prompt(self, name: str, settings: RunConfigured | None) -> Prompt[Any]:
        found = self._prompts.get(name)
        if found is None:
            found = prompt_of(settings or RunConfigured(name, {}))
            self._prompts[name] = found
        return found

    def result(self, events: int, difference: Difference | None) -> Replayed:
        return Replayed(
            self._rebuilder.session,
            self._decisions,
            events,
            self._rebuilder.unknown,
            difference,
        )

    def happen(self, event: TraceEvent, upcoming: Sequence[TraceEvent]) -> Difference | None:
        self._last, self._upcoming = event.seq, upcoming
        record = self._types.load(event)
        if self._asked is not None:
            return self._answer(event, record)
        return self._next(event, record)

    def _next(self, event: TraceEvent, record: Any) -> Difference | None:
        if isinstance(record, DECISIONS):
            return self._compare(event, record)
        if isinstance(record, _NOT_REPEATED):
            self._rebuilder.fold(event, record)
            return None
        if self._decided and not self._comes_later(self._decided[0]):
            return Difference(event.seq, None, self._shown(self._decided[0]))
        self._rebuilder.load(event)
        self._apply(event, record)
        return None

    def _comes_later(self, decided: Event) -> bool:
        """Return whether a decision stands a little further on: threads record side by side."""
        for event in self._upcoming:
            one = self._types.named(event.event_type)
            if event.run_id == decided.run_id and one is not None and one.kind in DECISIONS:
                return self._shown(self._types.load(event)) == self._shown(decided)
        return False

    def end(self) -> Difference | None:
        """Return the difference that shows at the end of the trace."""
        difference = self._check_stop()
        if difference is None and self._decided:
            return Difference(self._last + 1, None, self._shown(self._decided[0]))
        return difference

    def _listen(self) -> None:
        if not self._listening:
            self._listening = True
            for kind in DECISIONS:
                self._rebuilder.session.observe(kind, self._decided.append)

    def _apply(self, event: TraceEvent, record: Any) -> None:
        run = self._rebuilder.run_of(record) if isinstance(record, Event) else None
        if isinstance(record, RunConfigured):
            self._rebuilder.configure(event, record)
            self._listen()
        elif isinstance(record, RunOpened):
            self._listen()
            self._rebuilder.open(record)
        elif run is None or not isinstance(record, Question | PromptRendered | RunClosed):
            self._rebuilder.fold(event, record)
        elif isinstance(record, RunClosed):
            run.close(record.reason)
        elif isinstance(record, PromptRendered):
            run.rendered = RenderedPrompt(record.text, (), None)
        else:
            self._ask(run, record)

    def _ask(self, run: Run, question: Question) -> None:
        if question.deadline is not None:
            total, used = question.deadline
            clock = self._rebuilder.clock
            run.deadline = Deadline(total, clock, started=clock.seconds - used)
        if isinstance(question, GuidanceAsked):
            run.guide(
                question.decision_point,
                pending=question.pending,
                delivery=question.delivery,
                replayed=question.replayed,
            )
        elif isinstance(question, FeedbackAsked):
            run.feedback(replayed=question.replayed)
        elif isinstance(question, CompletionAsked):
            self._asked = question
            if not question.extra:
                self._check_stop()

    # A stop at which the client's own checkers were asked: what they said shows in the events
    # that follow, so the question waits for those.

    def _answer(self, event: TraceEvent, record: Any) -> Difference | None:
        if isinstance(record, _DURING_A_STOP):
            self._waiting.append((event, record))
            return None
        return self._check_stop(record) or self._next(event, record)

    def _check_stop(self, record: Any = None) -> Difference | None:
        question, self._asked = self._asked, None
        waiting, self._waiting = self._waiting, []
        if question is None:
            return None
        run = self._rebuilder.run_of(question)
        assert run is not None
        verdict = record if isinstance(record, CompletionChecked) else None
        faults = [one for _, one in waiting]
        run.check_completion(
            output=question.output,
            stop_reason=question.stop_reason,
            background_work=question.background_work,
            awaiting_user=question.awaiting_user,
            api_error=question.api_error,
            final=question.final,
            extra=tuple(stand_in(name, verdict, faults) for name in question.extra),
        )
        differences = (self._next(event, one) for event, one in waiting)
        return next((one for one in differences if one is not None), None)

    def _compare(self, event: TraceEvent, record: Event) -> Difference | None:
        recorded = self._shown(record)
        if not self._decided:
            return Difference(event.seq, recorded, None)
        replayed = self._shown(self._decided.popleft())
        if recorded != replayed:
            return Difference(event.seq, recorded, replayed)
        self._decisions += 1
        return None

    def _shown(self, record: Event) -> tuple[str, Mapping[str, Any]]:
        """Return what counts of a decision: everything but its times."""
        one = self._types.of(type(record))
        payload = payload_of(one, record)
        for name in _TIMES:
            payload.pop(name, None)
        return one.name, {**payload, "run_id": record.run_id}


def _without_recorders(prompt: Prompt[Any]) -> Prompt[Any]:
    """A replay writes no trace of its own, and what a recorder added is in the trace already."""
    if not prompt.table.recorders:
        return prompt
    bare = copy(prompt)
    bare.table = attrs.evolve(prompt.table, recorders=())
    return bare
