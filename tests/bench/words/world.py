"""What a tool world is: tools, a task, and milestones that say how far the agent has come."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

F = TypeVar("F", bound=Callable[..., Any])
FINISH = "finish"


@attrs.frozen
class Tool:
    """A tool as the model sees it; every parameter is a required string."""

    name: str
    description: str
    params: tuple[str, ...]

    def schema(self) -> dict[str, Any]:
        """Return the declaration that is sent to the model."""
        properties = {param: {"type": "string"} for param in self.params}
        parameters = {"type": "object", "properties": properties, "required": list(self.params)}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def short_schema(self) -> dict[str, Any]:
        """Return a declaration of half the length, for a model that reads any JSON."""
        parameters = dict.fromkeys(self.params, "string")
        return {"name": self.name, "description": self.description, "parameters": parameters}


@attrs.frozen
class Answer:
    """What a tool answered, and whether it counts as success for the host."""

    text: str
    ok: bool = True


def failed(text: str) -> Answer:
    """Return an answer that the host records as an error."""
    return Answer(text, ok=False)


def tool(description: str) -> Callable[[F], F]:
    """Make a method a tool of its world; its parameters are the tool's."""

    def mark(method: F) -> F:
        method.description = description  # type: ignore[attr-defined]
        return method

    return mark


class World:
    """One task with its tools; deterministic by `seed`.

    A milestone is a fact that the task needs or a change that brings it nearer to the goal.
    Progress is a new milestone, whatever the agent says about itself.

    Args:
        seed: chooses names and numbers.
        trap: whether the first way that comes to mind fails.

    Attributes:
        task: what the user asks for.
        reached: the milestones so far.
        finished: whether the agent called `finish`.
        said: the answer that it finished with.
    """

    task = ""

    def __init__(self, seed: int, *, trap: bool = True) -> None:
        self.random = random.Random(f"{type(self).__name__} {seed}")
        self.trap = trap
        self.reached: set[str] = set()
        self.finished = False
        self.said = ""
        self.set_up()

    def set_up(self) -> None:
        """Choose names, and set `task`."""
        raise NotImplementedError

    @property
    def solved(self) -> bool:
        """Whether the state is what the task asks for."""
        raise NotImplementedError

    @classmethod
    def tools(cls) -> tuple[Tool, ...]:
        """Return the tools in the order in which they are written, `finish` last."""
        found = [
            Tool(name, method.description, tuple(inspect.signature(method).parameters)[1:])
            for name, method in vars(cls).items()
            if hasattr(method, "description")
        ]
        return (*found, Tool(FINISH, "Say that the task is done, with its result.", ("answer",)))

    def reach(self, milestone: str, text: str) -> Answer:
        """Note a milestone and answer."""
        self.reached.add(milestone)
        return Answer(text)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Carry out a call, also one that makes no sense."""
        known = {tool.name: tool for tool in self.tools()}
        if name not in known:
            return failed(f"error: no tool named {name!r}")
        missing = [param for param in known[name].params if param not in arguments]
        if missing:
            return failed(f"error: argument {missing[0]!r} is missing")
        given = {param: str(arguments[param]).strip() for param in known[name].params}
        if name == FINISH:
            self.finished, self.said = True, given["answer"]
            return Answer("finished")
        answer: Answer = getattr(self, name)(**given)
        if self.solved:
            self.reached.add("solved")
        return answer
