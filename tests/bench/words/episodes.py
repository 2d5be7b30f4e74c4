"""Whole episodes: from a moment on, the agent goes on under each arm until it is done."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs

from words.arms import BLOCK, neutral_block, placed
from words.calls import Call, parse
from words.guided import Conversation, false_alarm, opened
from words.moments import Moment, Step
from words.world import Tool, World

ARMS = ("none", "shipped")
TURNS = 3


class Model(Protocol):
    """What an episode asks."""

    def ask(
        self, asked: Sequence[Sequence[Any]], tools: Sequence[Tool], seeds: Sequence[int]
    ) -> list[str]:
        """Return what is written after the beginning of a call, for each conversation."""


@attrs.define
class Episode:
    """What happens after one moment under one arm.

    Args:
        moment: where it begins.
        arm: ``"none"``, ``"placebo"`` or ``"shipped"``.
    """

    moment: Moment
    arm: str
    world: World = attrs.field(init=False)
    made: list[Step] = attrs.field(init=False, factory=list)
    progress: int = attrs.field(init=False, default=0)
    texts: int = attrs.field(init=False, default=0)
    _guided: Conversation = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        world = self.moment.world()
        assert world is not None
        self.world = world
        self._guided = opened(self.moment)
        for step in self.moment.steps:
            self._guided.request()
            self._guided.happened(step)

    @property
    def over(self) -> bool:
        """Whether the agent has reached its aim, ended, or written what is no call."""
        return self.success or self.world.finished or any(not step.tool for step in self.made)

    @property
    def success(self) -> bool:
        """Whether the task is solved; where it goes well anyway, also ended rightly."""
        return self.world.solved and (self.moment.due or self.world.finished)

    def request(self) -> list[Any]:
        """Return what is sent next under this arm."""
        sent, messages = self._guided.request(), self._guided.messages
        text = str(sent[-1]["content"]) if len(sent) > len(messages) else ""
        if not self.moment.due and not self.made:
            text = false_alarm(self.moment)
        if self.arm == "none":
            text = ""
        elif self.arm == "placebo":
            text = BLOCK.sub(neutral_block, text)
        self.texts += bool(text)
        return placed(messages, text, self.arm)

    def take(self, call: Call) -> None:
        """Carry out a call."""
        before = len(self.world.reached)
        answer = self.world.call(call.tool, call.arguments)
        self.progress += len(self.world.reached) - before
        step = Step(call.tool, call.arguments, answer.text, answer.ok)
        if call.tool:
            self._guided.happened(step)
        self.made.append(step)

    def row(self) -> dict[str, Any]:
        """Return the result."""
        seen = [step.call for step in self.moment.steps]
        wasted = sum(
            step.call in [*seen, *(s.call for s in self.made[:n])]
            for n, step in enumerate(self.made)
        )
        return {
            "moment": self.moment.id,
            "family": self.moment.family,
            "due": self.moment.due,
            "arm": self.arm,
            "solved": self.success,
            "given_up": self.world.finished and not self.world.solved,
            "calls": len(self.made),
            "wasted": wasted,
            "progress": self.progress,
            "texts": self.texts,
            "made": [[s.tool, dict(s.arguments), s.answer, s.ok] for s in self.made],
        }


def chosen(moments: Iterable[Moment]) -> list[Moment]:
    """Return the first moment of each family of worlds and kind: due, and of an easy run."""
    found: dict[tuple[str, bool], Moment] = {}
    for moment in moments:
        if moment.seed is not None and (moment.due or not moment.trap):
            found.setdefault((moment.family, moment.due), moment)
    return list(found.values())


def run(
    model: Model, moments: Iterable[Moment], turns: int = TURNS, arms: Sequence[str] = ()
) -> Iterator[Mapping[str, Any]]:
    """Play the episodes of one moment after the other, its arms side by side."""
    for moment in moments:
        episodes = [Episode(moment, arm) for arm in arms or ARMS]
        tools = moment.all_tools()
        for turn in range(turns):
            going = [episode for episode in episodes if not episode.over]
            if not going:
                break
            seeds = [zlib.crc32(moment.id.encode()) + 1000 + turn] * len(going)
            written = model.ask([episode.request() for episode in going], tools, seeds)
            for episode, text in zip(going, written, strict=True):
                episode.take(parse(text))
        yield from (episode.row() for episode in episodes)
