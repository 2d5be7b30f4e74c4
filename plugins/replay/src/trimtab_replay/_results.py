"""What a replay found out about one recorded run, and its line of JSON: a stable interface."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import attrs

from trimtab import Event, Feedback, GuidanceDelivered, Outcome, Session, format_guidance
from trimtab.events import (
    CallOrigin,
    CompletionChecked,
    CompletionStatus,
    GuidanceSuppressed,
    Provenance,
    ProviderFaulted,
    ProviderKind,
    ProviderQuarantined,
    ProviderSkipped,
)
from trimtab_replay._recording import Said


@attrs.frozen(kw_only=True)
class Decision:
    """A text that would have reached the agent; the fields of one decision in the JSON.

    Args:
        provider: entry name.
        kind: ``"guidance"``, ``"feedback"`` or ``"completion"``.
        point: the decision point, for guidance.
        turn: index of the turn it was decided in, −1 before the first.
        call: index of the last recorded call, −1 before the first (cases: of the item).
        key, category, confidence, level: of guidance; None for other kinds.
        severity: of feedback; None for other kinds.
        reason: the provider's reason; None if it gives none.
        text: what the agent would have read.
        tokens: what that text costs, tags included; an estimate, four characters to a token.
        at: when, by the recording's clock; None if it tells no time.
    """

    provider: str
    kind: str
    point: str | None = None
    turn: int
    call: int
    key: str | None = None
    category: str | None = None
    severity: str | None = None
    confidence: float | None = None
    level: int | None = None
    reason: str | None = None
    text: str
    tokens: int = 0
    at: datetime | None = None


_SEVERITIES = {"unverified": "warning", "fault": "error", "quarantined": "error"}


@attrs.frozen(kw_only=True)
class Note:
    """What did not reach the agent, and why.

    Args:
        event: ``"suppressed"``, ``"skipped"``, ``"unverified"``, ``"fault"`` or
            ``"quarantined"``.
        provider, kind, point, turn, call: as in `Decision`.
        message: which rule held the text back, why the check was skipped, what failed.
    """

    event: str
    provider: str
    kind: str
    point: str | None = None
    turn: int
    call: int
    message: str

    @property
    def severity(self) -> str:
        """``"info"``, ``"warning"``, or ``"error"`` if the provider failed."""
        return _SEVERITIES.get(self.event, "info")

    @property
    def fix(self) -> str | None:
        """What to do about it; None if there is nothing to do."""
        is_error = self.severity == "error"
        return f"trimtab plugins doctor {self.provider}" if is_error else None


@attrs.frozen(kw_only=True)
class CallView:
    """One recorded call, bounded for showing.

    Args:
        turn, call: indexes as in `Decision`.
        tool: its name.
        params, result: as text, cut.
        outcome: how it ended.
        caller: who asked for it.
        agent: the subagent; None for the main agent.
        polling: whether the call was a wait, by its tool's profile or the host.
        failed: whether it failed, by the outcome or its tool's profile.
    """

    turn: int
    call: int
    tool: str
    params: str
    result: str
    outcome: Outcome
    caller: CallOrigin
    agent: str | None
    polling: bool
    failed: bool


@attrs.frozen(kw_only=True)
class Replayed:
    """One recorded run after its replay.

    Args:
        id: of the run.
        path: of the file.
        reader: name of the reader that read it.
        calls, turns: how many there were.
        decisions: what would have reached the agent.
        notes: what did not, and why.
        started: when the recording began; None if unknown.
        steps: its calls; empty unless they were asked for.
        title: the user's first words.
        said: what providers said when it was recorded.
        meta: further facts of the recording; of a case its verdict.
    """

    id: str
    path: str
    reader: str
    calls: int
    turns: int
    decisions: tuple[Decision, ...] = ()
    notes: tuple[Note, ...] = ()
    started: datetime | None = None
    steps: tuple[CallView, ...] = ()
    title: str = ""
    said: tuple[Said, ...] = ()
    meta: Mapping[str, Any] = attrs.field(factory=dict)


FORMAT = 1
"""Version of the JSON; keys may be added without changing it."""


def as_json(replayed: Replayed) -> str:
    """Return one line: plain ASCII, keys in a fixed order."""
    line = {
        "format": FORMAT,
        "id": replayed.id,
        "path": replayed.path,
        "reader": replayed.reader,
        "calls": replayed.calls,
        "turns": replayed.turns,
        "decisions": [
            attrs.asdict(one, filter=attrs.filters.exclude("tokens", "at"))
            for one in replayed.decisions
        ],
        "notes": [
            {"severity": one.severity, **attrs.asdict(one), "fix": one.fix}
            for one in replayed.notes
        ],
    }
    return json.dumps(line)


_CHARACTERS_PER_TOKEN = 4


@attrs.define
class DecisionCollector:
    """Turns events into decisions and notes.

    Args:
        turn_of: returns the index of the last turn of a run.
        call_now: returns the index of the last recorded call.
    """

    turn_of: Callable[[str], int]
    call_now: Callable[[], int]
    decisions: list[Decision] = attrs.field(factory=list)
    notes: list[Note] = attrs.field(factory=list)

    def listen(self, session: Session) -> None:
        for kind, listener in _LISTENERS.items():
            session.observe(kind, partial(listener, self))

    def guided(self, event: GuidanceDelivered) -> None:
        said, classified = event.injection, event.classification
        self._decide(
            event,
            said.content,
            format_guidance((said,)),
            provider=event.provider_name,
            kind="guidance",
            point=event.decision_point.value,
            key=said.key,
            category=said.category or None,
            confidence=classified.confidence,
            level=event.level,
            reason=classified.reason,
        )

    def fed_back(self, event: Feedback) -> None:
        facts = {"provider": event.provider_name, "severity": event.severity}
        self._decide(event, _text_of(event), event.render(), kind="feedback", **facts)

    def _decide(self, event: Event, text: str, whole: str, **facts: Any) -> None:
        turn, call = self.turn_of(event.run_id), self.call_now()
        tokens = -(-len(whole) // _CHARACTERS_PER_TOKEN)
        self.decisions.append(
            Decision(turn=turn, call=call, text=text, at=event.at, tokens=tokens, **facts)
        )

    def checked(self, event: CompletionChecked) -> None:
        if event.status is CompletionStatus.INCOMPLETE:
            reason = "final verification" if event.final else event.reason
            text, name = event.feedback or "", event.sources[-1].name
            self._decide(event, text, text, provider=name, kind="completion", reason=reason)
        elif event.status is not CompletionStatus.OK:
            names = ", ".join(one.name for one in event.sources)
            source = Provenance(names, ProviderKind.COMPLETION)
            self._note(event, event.status.value, source, event.reason)

    def suppressed(self, event: GuidanceSuppressed) -> None:
        point = event.decision_point.value
        self._note(event, "suppressed", event.source, event.reason, point=point)

    def skipped(self, event: ProviderSkipped) -> None:
        self._note(event, "skipped", event.source, event.reason)

    def faulted(self, event: ProviderFaulted) -> None:
        self._note(event, "fault", event.source, f"{event.hook}: {event.error}")

    def quarantined(self, event: ProviderQuarantined) -> None:
        self._note(event, "quarantined", event.source, f"{event.faults} faults in a row")

    def _note(
        self,
        event: Event,
        what: str,
        source: Provenance,
        reason: str | None,
        *,
        point: str | None = None,
    ) -> None:
        note = Note(
            event=what,
            provider=source.name,
            kind=source.kind.value,
            point=point,
            turn=self.turn_of(event.run_id),
            call=self.call_now(),
            message=reason or "",
        )
        self.notes.append(note)


def _text_of(feedback: Feedback) -> str:
    lines = [feedback.summary]
    lines += [f"• {seen.category}: {seen.description}" for seen in feedback.observations]
    lines += [f"→ {suggestion}" for suggestion in feedback.suggestions]
    return "\n".join(lines)


_LISTENERS: dict[type[Event], Callable[[DecisionCollector, Any], None]] = {
    GuidanceDelivered: DecisionCollector.guided,
    Feedback: DecisionCollector.fed_back,
    CompletionChecked: DecisionCollector.checked,
    GuidanceSuppressed: DecisionCollector.suppressed,
    ProviderSkipped: DecisionCollector.skipped,
    ProviderFaulted: DecisionCollector.faulted,
    ProviderQuarantined: DecisionCollector.quarantined,
}
