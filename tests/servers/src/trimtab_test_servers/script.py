"""What a scripted model says: turns, faults, and how the next one is chosen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import attrs

from trimtab_test_servers.record import Request


class ScriptExhausted(Exception):
    """The program asked for one more answer than the script holds."""


@attrs.frozen
class Text:
    """Words of the model."""

    text: str


@attrs.frozen
class Thinking:
    """A thinking block (Messages API only); the server signs it."""

    text: str


@attrs.frozen
class Call:
    """One tool call.

    ``id`` is made up by the server where it is None. ``raw`` replaces the serialised
    arguments on OpenAI servers, so that a script can send arguments that are no JSON.
    """

    name: str
    params: Mapping[str, Any] = attrs.field(factory=dict)
    id: str | None = None
    raw: str | None = None

    @property
    def arguments(self) -> str:
        """The arguments as the text that OpenAI servers send."""
        return json.dumps(dict(self.params)) if self.raw is None else self.raw


Block: TypeAlias = Text | Thinking | Call


@attrs.frozen
class Turn:
    """One answer of the model: its blocks in order, sent after ``delay_seconds``.

    `stop_reason` is in the service's words; where None, it follows from the blocks.
    """

    blocks: tuple[Block, ...]
    delay_seconds: float = 0.0
    input_tokens: int = 100
    output_tokens: int = 20
    stop_reason: str | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(block for block in self.blocks if isinstance(block, Call))

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


@attrs.frozen
class Fault:
    """An error answer (429, 500, 529 …) in the service's own shape."""

    status: int
    message: str = "Injected by the script"
    retry_after_seconds: float | None = None
    delay_seconds: float = 0.0


@attrs.frozen
class Hang:
    """Say nothing for ``seconds`` (or until the server closes), then drop the connection."""

    seconds: float


Step: TypeAlias = Turn | Fault | Hang
Script: TypeAlias = Iterable[Step] | Callable[[Request], Step]


def say(
    *parts: str | Block,
    delay_seconds: float = 0.0,
    input_tokens: int = 100,
    output_tokens: int = 20,
) -> Turn:
    """A turn from strings (which become `Text`) and blocks."""
    blocks = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Turn(blocks, delay_seconds, input_tokens, output_tokens)


def choose(
    key: Callable[[Request], str], scripts: Mapping[str, Iterable[Step]]
) -> Callable[[Request], Step]:
    """A script that picks one of several by the request, each followed on its own.

    ``key`` names the script that answers a request, such as `claude_code_asker`.
    """
    iterators = {name: iter(steps) for name, steps in scripts.items()}

    def step(request: Request) -> Step:
        return _next(iterators[key(request)], f"script {key(request)!r}")

    return step


def as_function(script: Script) -> Callable[[Request], Step]:
    """Any script as a function of the request."""
    if callable(script):
        return script
    steps = iter(script)
    return lambda _request: _next(steps, "the script")


def _next(steps: Iterator[Step], what: str) -> Step:
    try:
        return next(steps)
    except StopIteration:
        raise ScriptExhausted(f"{what} has no further turn") from None
