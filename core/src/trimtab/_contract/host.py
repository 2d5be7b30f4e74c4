"""Host runtimes, as providers and policy see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from trimtab._events.provenance import DecisionPoint, Delivery

if TYPE_CHECKING:
    from trimtab._contract.tools import Tool
    from trimtab.trajectory import ToolProfile


def _everywhere() -> Mapping[DecisionPoint, Delivery]:
    return dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)


@attrs.frozen
class Host:
    """A runtime, described.

    Args:
        name: e.g. ``"openai"``.
        delivery: how text is placed, point by point; a missing point is `Delivery.NONE`.
        tools: names of the tools that the agent has; None where unknown.
        parallel_calls: whether one response may hold several calls; None where unknown.
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

Output = TypeVar("Output")


@attrs.frozen
class RenderedPrompt(Generic[Output]):
    """A prompt with its parameters filled in.

    Args:
        text: all enabled sections, each under its ``## Title``.
        tools: the tools of the template and of the enabled sections.
        output_type: type of the structured output, None for free text.
    """

    text: str
    tools: tuple[Tool[Any, Any], ...] = ()
    output_type: type[Output] | None = None
