"""Host runtimes and bound prompts, as contexts and tools see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import attrs

from trimtab._events.provenance import DecisionPoint, Delivery

if TYPE_CHECKING:
    from trimtab._types.resources import Resources
    from trimtab.trajectory import ToolProfile


def _everywhere() -> Mapping[DecisionPoint, Delivery]:
    return dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)


@attrs.frozen
class Host:
    """A runtime, described.

    Args:
        name: e.g. ``"openai"``.
        delivery: how text is placed, point by point; a missing point is `Delivery.NONE`.
        tools: names of the tools that the agent has; None if unknown.
        parallel_calls: whether one response may hold several calls; None if unknown.
        tool_profiles: what the host knows of its own tools.
    """

    name: str = "local"
    delivery: Mapping[DecisionPoint, Delivery] = attrs.field(factory=_everywhere)
    tools: frozenset[str] | None = None
    parallel_calls: bool | None = None
    tool_profiles: tuple[ToolProfile, ...] = ()

    def delivers(self, point: DecisionPoint) -> Delivery:
        """Return how text is placed at `point`."""
        return self.delivery.get(point, Delivery.NONE)


LOCAL_HOST = Host()


class BoundPrompt(Protocol):
    """What contexts and tools need of a prompt."""

    @property
    def name(self) -> str:
        """The prompt's name, ``ns/key`` unless given."""
        ...

    @property
    def resources(self) -> Resources:
        """Resources bound to the prompt."""
        ...
