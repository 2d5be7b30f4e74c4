"""Plays a made-up run through the public engine and listens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from trimtab import (
    DecisionPoint,
    GuidanceDelivered,
    GuidanceProviderConfig,
    Host,
    ManualClock,
    Outcome,
    Prompt,
    PromptTemplate,
    Session,
    ToolCall,
    ToolProfile,
)
from trimtab_diagnostic_signal import DiagnosticSignalProvider


@attrs.frozen
class Call:
    """One call; it fails where `error` is given."""

    tool: str
    args: Any
    error: str | None = None
    result: Any = "fine"
    at: float | None = None
    outcome: Outcome | None = None


@attrs.frozen
class Say:
    """The user's word."""

    text: str
    notification: bool = False


Step = Call | Say | list[Call]


class Player:
    """One run; every step is a turn, a list of calls is a batch."""

    def __init__(
        self,
        options: dict[str, Any] | None = None,
        profiles: Iterable[ToolProfile] = (),
        host: Host | None = None,
    ) -> None:
        self.options = options or {}
        self.profiles = tuple(profiles)
        self.host = host
        self.clock = ManualClock()
        self.session = Session(clock=self.clock)
        self.run = self._open(None)
        self.steps = 0
        self.spoke: list[int] = []

    def _open(self, run_id: str | None):
        provider = DiagnosticSignalProvider(**self.options)
        template = PromptTemplate(
            "tests",
            "failures",
            guidance_providers=(GuidanceProviderConfig(provider=provider),),
            tool_profiles=self.profiles,
        )
        host = {} if self.host is None else {"host": self.host}
        return self.session.open_run(Prompt(template, config=None), run_id=run_id, **host)

    def restart(self) -> None:
        """Save everything, and go on from what was saved."""
        text = self.session.snapshot()
        self.session = Session.restore(text, clock=self.clock)
        self.run = self._open(self.run.run_id)

    def play(self, steps: Iterable[Step]) -> Player:
        """Take the steps; `spoke` holds the numbers of those after which a nudge came."""
        for step in steps:
            if isinstance(step, Say):
                self.run.user_message(step.text, notification=step.notification)
            elif self._batch(step if isinstance(step, list) else [step]):
                self.spoke.append(self.steps)
            self.steps += 1
        return self

    @property
    def delivered(self) -> list[GuidanceDelivered]:
        """Every nudge."""
        return list(self.session[GuidanceDelivered].all())

    def _batch(self, calls: list[Call]) -> bool:
        asked = [ToolCall(c.tool, c.args, f"{self.steps}-{i}") for i, c in enumerate(calls)]
        self.run.model_responded(tool_calls=asked)
        for call, name in zip(calls, asked, strict=True):
            if call.at is not None:
                self.clock.advance(call.at - self.clock.seconds)
            failed = call.error is not None
            self.run.tool_finished(
                name.call_id,
                call.error if failed else call.result,
                outcome=call.outcome or (Outcome.ERROR if failed else Outcome.OK),
                tool=call.tool,
                params=call.args,
            )
        return bool(self.run.guide(DecisionPoint.PRE_TOOL_SELECTION))


def first(steps: Iterable[Step], **options: Any) -> int | None:
    """Return the number of the step after which it first spoke, None where never."""
    spoke = Player(options).play(steps).spoke
    return spoke[0] if spoke else None
