"""Replay a moment through trimtab, and take the text that its providers place there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import attrs

from trimtab import (
    DecisionPoint,
    GuidanceContext,
    GuidanceProviderConfig,
    Outcome,
    Prompt,
    Session,
    enable,
)
from trimtab._run import ProviderInvoker
from trimtab_doom_loop import DoomLoopDetector
from trimtab_doom_loop._loop import Loop, LoopKind, loop_of
from trimtab_openai import HOST, LoopHooks, Settings
from trimtab_signals import Calls
from words.moments import Moment, Step, exchange
from words.world import Tool

PROVIDERS: Mapping[str, Mapping[str, Any]] = {
    "doom-loop": {},
    "diagnostic-signal": {},
    "consultation-prompt": {},
}
SECONDS_PER_TURN = 5.0


class TurnClock:
    """Advances by the same time in each turn, however slow the model is."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        """Return the time of day."""
        return datetime.fromtimestamp(1.8e9 + self.seconds, UTC)

    def monotonic(self) -> float:
        """Return seconds."""
        return self.seconds


class Conversation:
    """One agent's conversation, guided by trimtab.

    Args:
        messages: that begin the conversation.
        tools: of the agent.
        options: of each provider, by name.
        settings: where guidance is placed.
    """

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool],
        *,
        options: Mapping[str, Mapping[str, Any]] = PROVIDERS,
        settings: Settings | None = None,
    ) -> None:
        self.messages: list[Any] = list(messages)
        self._clock = TurnClock()
        providers = [
            GuidanceProviderConfig(enable(name, **given)) for name, given in options.items()
        ]
        prompt = Prompt("bench", "words", guidance_providers=providers)
        told = {tool.name: tool.description for tool in tools}
        host = attrs.evolve(HOST, tools=frozenset(told), tool_descriptions=told)
        run = Session(clock=self._clock).open_run(prompt, host=host)
        self.run = run
        self._hooks = LoopHooks(run, settings or Settings(role="system", timeout=None))
        self._hooks.user_said(str(self.messages[-1]["content"]))
        self._turns = 0

    def request(self) -> list[Any]:
        """Return what is sent next: the messages, and guidance if any is due."""
        self._clock.seconds += SECONDS_PER_TURN
        return self._hooks.before_request(self.messages)

    def happened(self, step: Step) -> None:
        """Record a call and its answer."""
        asked, answered = exchange(step, self._turns)
        choice = {"message": asked, "finish_reason": "tool_calls"}
        (call,) = self._hooks.after_response({"choices": [choice]})
        outcome = Outcome.OK if step.ok else Outcome.ERROR
        content = self._hooks.after_tool(call, step.answer, outcome=outcome)
        self.messages += [asked, {**answered, "content": content}]
        self._turns += 1


def opened(moment: Moment, **settings: Any) -> Conversation:
    """Return the conversation of a moment before its first call."""
    return Conversation(moment.messages()[:2], moment.all_tools(), **settings)


def spoken_at(moment: Moment) -> int | None:
    """Return before which call the providers first speak; None if they don't.

    The number of steps stands for the call that comes next.
    """
    conversation = opened(moment)
    for number in range(len(moment.steps) + 1):
        if conversation.request() != conversation.messages:
            return number
        if number < len(moment.steps):
            conversation.happened(moment.steps[number])
    return None


def request_at(moment: Moment, **settings: Any) -> list[Any]:
    """Return what is sent at the moment, guidance included."""
    conversation = opened(moment, **settings)
    for step in moment.steps:
        conversation.request()
        conversation.happened(step)
    return conversation.request()


def context_at(moment: Moment) -> GuidanceContext:
    """Return what providers see where they first speak, else at the moment."""
    at = spoken_at(moment)
    conversation = opened(moment)
    for step in moment.steps[:at]:
        conversation.request()
        conversation.happened(step)
    return conversation.run.guidance_context(DecisionPoint.PRE_TOOL_SELECTION)


def false_alarm(moment: Moment) -> str:
    """Return the text that would be given if the last call were taken for a loop."""
    again = attrs.evolve(moment, steps=(*moment.steps[2:-1], *[moment.steps[-1]] * 3))
    conversation = opened(again, options={"doom-loop": {}})
    for step in again.steps:
        conversation.request()
        conversation.happened(step)
    asked = patch.object(ProviderInvoker, "not_quiet", lambda _, entries: list(entries))
    with asked, patch.object(DoomLoopDetector, "_loop", _mistaken):
        sent = conversation.request()
    if len(sent) == len(conversation.messages):
        raise ValueError(f"{moment.id}: nothing is said")
    return str(sent[-1]["content"])


def _mistaken(_: DoomLoopDetector, context: GuidanceContext) -> Loop:
    """Take the last call for a loop, whatever came of it."""
    (last,) = context.trajectory.follow(Calls).recent(1)
    return loop_of(LoopKind.REPEAT, last, times=3, members=frozenset())
