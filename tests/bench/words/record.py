"""Let the model work in the worlds, and keep moments of it.

Each family of worlds is played with several seeds, with a trap and without. A prefix that ends
where the providers first speak is a moment at which guidance is due; a run with a trap may not
give up before. A prefix of a run without a
loop, after a call that made progress, is one at which nothing is due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from words.calls import Call, parse, step_of
from words.guided import spoken_at
from words.moments import Moment
from words.world import FINISH
from words.worlds import WORLDS

if TYPE_CHECKING:
    from words.engine import LocalModel

TRAPS = (1, 2)
EASY = (3, 4)
"""Seeds."""
LONGEST = 7
LONGEST_EASY = 3
"""Calls of a run with a trap, and of one without."""


@attrs.define
class Episode:
    """One run that is being recorded."""

    moment: Moment
    over: bool = False
    due: bool = False

    @property
    def avoids(self) -> str:
        """The tool that the model may not call: it may not give up in a trap."""
        return FINISH if self.moment.trap else ""

    def take(self, call: Call) -> None:
        """Carry out a call."""
        world = self.moment.world()
        assert world is not None
        answer = world.call(call.tool, call.arguments)
        step = step_of(call, answer.text, answer.ok)
        self.moment = attrs.evolve(self.moment, steps=(*self.moment.steps, step))
        self.due = spoken_at(self.moment) is not None
        enough = len(self.moment.steps) >= (LONGEST if self.moment.trap else LONGEST_EASY)
        self.over = self.due or world.finished or world.solved or enough


def recorded(model: LocalModel, family: str) -> Iterator[Moment]:
    """Play the worlds of one family, and return the moments of it that are worth keeping."""
    runs = [started(family, seed, trap=True) for seed in TRAPS]
    runs += [started(family, seed, trap=False) for seed in EASY]
    play(model, runs)
    model.save()
    for run in runs:
        yield from kept(run)


def started(family: str, seed: int, *, trap: bool) -> Episode:
    """Return an episode before its first call."""
    world = WORLDS[family](seed, trap=trap)
    name = f"{family}-{seed}{'' if trap else '-easy'}"
    return Episode(Moment(name, family, due=False, task=world.task, steps=(), seed=seed, trap=trap))


def play(model: LocalModel, episodes: Sequence[Episode]) -> None:
    """Let the episodes of one family go on, side by side."""
    for turn in range(LONGEST):
        going = [episode for episode in episodes if not episode.over]
        if not going:
            return
        tools = going[0].moment.all_tools()
        seeds = [1000 * (episode.moment.seed or 0) + turn for episode in going]
        asked = [episode.moment.messages() for episode in going]
        avoid = [episode.avoids for episode in going]
        for episode, text in zip(going, model.ask(asked, tools, seeds, avoid), strict=True):
            call = parse(text)
            if call.tool:
                episode.take(call)
            else:
                episode.over = True


def kept(episode: Episode) -> Iterator[Moment]:
    """Return the moments of a run that are worth keeping."""
    moment = episode.moment
    if episode.due:
        yield attrs.evolve(moment, id=f"{moment.id}-{len(moment.steps)}", due=True)
    reached: set[str] = set()
    for many in range(1, len(moment.steps) + 1):
        part = attrs.evolve(moment, id=f"{moment.id}-{many}", steps=moment.steps[:many])
        world = part.world()
        assert world is not None
        if world.finished or (episode.due and many == len(moment.steps)):
            return
        if world.reached - reached:
            yield part
        reached = set(world.reached)
