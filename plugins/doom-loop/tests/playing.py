"""Plays a made-up run through the public engine and listens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from trimtab import (
    CallOrigin,
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
from trimtab_doom_loop import DoomLoopDetector


@attrs.frozen
class Call:
    """One call: what was asked, what came of it."""

    tool: str
    args: Any
    result: Any = "ok"
    error: bool = False
    at: float | None = None
    poll: bool | None = None
    outcome: Outcome | None = None
    caller: CallOrigin = CallOrigin.MODEL


@attrs.frozen
class Say:
    """A response of text, or a message."""

    text: str = ""
    reasoning: str = ""
    user: bool = False
    notification: bool = False


@attrs.frozen
class Compaction:
    """The history was shortened."""


Step = Call | Say | Compaction | list[Call]


class Player:
    """One run; every step is a turn, a list of calls is a batch."""

    def __init__(
        self,
        options: dict[str, Any],
        profiles: tuple[ToolProfile, ...] = (),
        host: Host | None = None,
    ) -> None:
        self.options = options
        self.host = host
        self.profiles = profiles
        self.clock = ManualClock()
        self.session = Session(clock=self.clock)
        self.run = self._open(self.session)
        self.steps = 0
        self.spoke: list[int] = []

    def _open(self, session: Session, run_id: str | None = None):
        config = GuidanceProviderConfig(provider=DoomLoopDetector(**self.options))
        template = PromptTemplate(
            "tests", "loop", guidance_providers=(config,), tool_profiles=self.profiles
        )
        return session.open_run(
            Prompt(template, config=None), run_id=run_id, host=self.host or Host()
        )

    def restart(self) -> None:
        """Save everything, and go on from what was saved."""
        text = self.session.snapshot()
        run_id = self.run.run_id
        self.session = Session.restore(text, clock=self.clock)
        self.run = self._open(self.session, run_id)

    def play(self, steps: Iterable[Step]) -> Player:
        """Take the steps; `spoke` holds the numbers of those after which a nudge came."""
        for step in steps:
            if self._take(step):
                self.spoke.append(self.steps)
            self.steps += 1
        return self

    @property
    def delivered(self) -> list[GuidanceDelivered]:
        """Every nudge."""
        return list(self.session[GuidanceDelivered].all())

    def _take(self, step: Step) -> bool:
        if isinstance(step, Compaction):
            self.run.compacted()
            return False
        if isinstance(step, Say):
            return self._say(step)
        return self._batch(step if isinstance(step, list) else [step])

    def _say(self, step: Say) -> bool:
        if step.user or step.notification:
            self.run.user_message(step.text, notification=step.notification)
            return False
        self.run.model_responded(text=step.text, reasoning=step.reasoning)
        return bool(self.run.guide(DecisionPoint.PRE_RESPONSE))

    def _batch(self, calls: list[Call]) -> bool:
        names = [f"{self.steps}-{i}" for i in range(len(calls))]
        asked = [
            ToolCall(call.tool, call.args, name)
            for call, name in zip(calls, names, strict=True)
            if call.caller is CallOrigin.MODEL
        ]
        if asked:
            self.run.model_responded(tool_calls=asked)
        for call, name in zip(calls, names, strict=True):
            self._end(call, name)
        return bool(self.run.guide(DecisionPoint.PRE_TOOL_SELECTION))

    def _end(self, call: Call, name: str) -> None:
        if call.at is not None:
            self.clock.advance(call.at - self.clock.seconds)
        outcome = call.outcome or (Outcome.ERROR if call.error else Outcome.OK)
        self.run.tool_finished(
            name,
            call.result,
            outcome=outcome,
            tool=call.tool,
            params=call.args,
            poll=call.poll,
            caller=call.caller,
        )


def play(
    steps: Iterable[Step],
    profiles: Iterable[ToolProfile] = (),
    host: Host | None = None,
    **options: Any,
) -> Player:
    """Return a player that has taken `steps`; `options` are the detector's."""
    return Player(options, tuple(profiles), host).play(steps)


def first(steps: Iterable[Step], **options: Any) -> int | None:
    """Return the number of the step after which the detector first spoke, None where never."""
    spoke = play(steps, **options).spoke
    return spoke[0] if spoke else None
