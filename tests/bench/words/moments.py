"""Recorded moments: what had happened when the model was asked for its next call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from words.world import Tool, World
from words.worlds import WORLDS

SYSTEM = "You are an agent. Reach the goal with the tools, one call per turn."
MOMENTS = Path(__file__).with_name("moments.jsonl")


@attrs.frozen
class Step:
    """A call that was made, and what came of it."""

    tool: str
    arguments: Mapping[str, Any]
    answer: str
    ok: bool = True

    @property
    def call(self) -> str:
        """The call in one canonical form."""
        return canonical(self.tool, self.arguments)


@attrs.frozen
class Right:
    """A next call that makes progress, where no world can tell.

    Args:
        tool: its name.
        args: an expression for each argument that matters; the whole value must match, in
            capitals or not.
    """

    tool: str
    args: Mapping[str, str] = attrs.field(factory=dict)

    def fits(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call is this one."""
        return tool == self.tool and all(
            re.fullmatch(wanted, str(arguments.get(name, "")).strip(), re.IGNORECASE | re.DOTALL)
            for name, wanted in self.args.items()
        )


@attrs.frozen
class Moment:
    """What the model has before it, and whether guidance is due.

    Args:
        id: unique.
        family: the world, or where the run was recorded.
        due: whether the providers speak here.
        task: what the user asked for.
        steps: the calls so far.
        seed: of the world; None for a run recorded elsewhere.
        trap: of the world.
        tools: of a run recorded elsewhere; a world knows its own.
        source: where that run was published.
        kind: of the way on: ``"other-right"``, ``"other-wrong"`` or ``"quiet"``; empty if unknown.
        right: the calls that make progress, of a moment without a world.
        harm: tools whose call has an effect that nobody asked for.
    """

    id: str
    family: str
    due: bool
    task: str
    steps: tuple[Step, ...]
    seed: int | None = None
    trap: bool = True
    tools: tuple[Tool, ...] = ()
    source: str = ""
    kind: str = ""
    right: tuple[Right, ...] = ()
    harm: tuple[str, ...] = ()

    def all_tools(self) -> tuple[Tool, ...]:
        """Return the tools that the model may call."""
        return self.tools or WORLDS[self.family].tools()

    def world(self) -> World | None:
        """Return the world as it is at this moment; None for a run recorded elsewhere."""
        if self.seed is None:
            return None
        world = WORLDS[self.family](self.seed, trap=self.trap)
        for step in self.steps:
            world.call(step.tool, step.arguments)
        return world

    def messages(self) -> list[dict[str, Any]]:
        """Return the conversation in the form of Chat Completions."""
        begin = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": self.task}]
        pairs = (exchange(step, n) for n, step in enumerate(self.steps))
        return begin + [message for pair in pairs for message in pair]


def exchange(step: Step, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the message of the assistant and of the tool."""
    function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    return asked, {"role": "tool", "tool_call_id": call["id"], "content": step.answer}


def canonical(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return one text for equal calls."""
    return json.dumps([tool, arguments], sort_keys=True)


def read(path: Path = MOMENTS) -> Iterator[Moment]:
    """Read the moments of a file, one a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        steps = tuple(Step(*step) for step in found.pop("steps"))
        tools = tuple(
            Tool(**{**tool, "params": tuple(tool["params"])}) for tool in found.pop("tools", ())
        )
        right = tuple(Right(**call) for call in found.pop("right", ()))
        harm = tuple(found.pop("harm", ()))
        yield Moment(**found, steps=steps, tools=tools, right=right, harm=harm)


def append(moments: Iterable[Moment], path: Path) -> None:
    """Add moments to a file, one a line; what has its default is left out."""
    with path.open("a", encoding="utf-8") as file:
        for moment in moments:
            file.write(json.dumps(_compact(moment), ensure_ascii=False) + "\n")


def _compact(moment: Moment) -> dict[str, Any]:
    kept = {
        field.name: getattr(moment, field.name)
        for field in attrs.fields(Moment)
        if field.default is attrs.NOTHING or getattr(moment, field.name) != field.default
    }
    kept["steps"] = [[s.tool, s.arguments, s.answer, s.ok] for s in moment.steps]
    for field in ("tools", "right"):
        if field in kept:
            kept[field] = [attrs.asdict(one) for one in kept[field]]
    return kept
