"""Listens to a session and keeps what was decided, with the recording's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import attrs

from trimtab import Event, Feedback, GuidanceDelivered, Session, format_guidance
from trimtab.events import (
    CompletionChecked,
    CompletionStatus,
    GuidanceSuppressed,
    Provenance,
    ProviderFaulted,
    ProviderKind,
    ProviderQuarantined,
    ProviderSkipped,
)
from trimtab_replay._results import Decision, Note

_CHARACTERS_PER_TOKEN = 4


class Position(Protocol):
    """Where the replay stands."""

    @property
    def call(self) -> int:
        """Index of the last recorded call."""
        ...

    def turn_of(self, run_id: str) -> int:
        """Index of the last turn of a run."""
        ...


@attrs.define
class DecisionCollector:
    """Turns events into decisions and notes."""

    position: Position
    decisions: list[Decision] = attrs.field(factory=list)
    notes: list[Note] = attrs.field(factory=list)

    def listen(self, session: Session) -> None:
        """Keep what happens in `session`, where it says something about a provider."""
        for kind, listener in _LISTENERS.items():
            session.observe(kind, partial(listener, self))

    def _turn(self, event: Event) -> int:
        return self.position.turn_of(event.run_id)

    def guided(self, event: GuidanceDelivered) -> None:
        said = event.injection
        self.decisions.append(
            Decision(
                provider=event.provider_name,
                kind="guidance",
                point=event.decision_point.value,
                turn=self._turn(event),
                call=self.position.call,
                key=said.key,
                category=said.category or None,
                confidence=event.classification.confidence,
                level=event.level,
                reason=event.classification.reason,
                text=said.content,
                at=event.at,
                tokens=_tokens(format_guidance((said,))),
            )
        )

    def fed_back(self, event: Feedback) -> None:
        self.decisions.append(
            Decision(
                provider=event.provider_name,
                kind="feedback",
                turn=self._turn(event),
                call=self.position.call,
                severity=event.severity,
                text=_text_of(event),
                at=event.at,
                tokens=_tokens(event.render()),
            )
        )

    def checked(self, event: CompletionChecked) -> None:
        if event.status is CompletionStatus.INCOMPLETE:
            self._sent_back(event)
        elif event.status is not CompletionStatus.OK:
            source = Provenance(
                ", ".join(one.name for one in event.sources), ProviderKind.COMPLETION
            )
            self._note(event, event.status.value, source, event.reason)

    def _sent_back(self, event: CompletionChecked) -> None:
        text = event.feedback or ""
        self.decisions.append(
            Decision(
                provider=event.sources[-1].name,
                kind="completion",
                turn=self._turn(event),
                call=self.position.call,
                reason="final verification" if event.final else event.reason,
                text=text,
                at=event.at,
                tokens=_tokens(text),
            )
        )

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
            turn=self._turn(event),
            call=self.position.call,
            message=reason or "",
        )
        self.notes.append(note)


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


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
