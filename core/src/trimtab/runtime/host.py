"""What an agent runtime can do with the words of a provider (study: runtimes)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from trimtab.trajectory import ToolProfile


class DecisionPoint(Enum):
    """Where guidance can be asked for (seed 000)."""

    PRE_RENDER = "pre_render"
    PRE_TOOL_SELECTION = "pre_tool_selection"
    PRE_TOOL_EXECUTION = "pre_tool_execution"
    POST_TOOL_RESULT = "post_tool_result"
    PRE_RESPONSE = "pre_response"


class Delivery(StrEnum):
    """How a host can place text at a point."""

    EPHEMERAL = "ephemeral"
    PERSISTED = "persisted"
    REFUSAL = "refusal"
    NONE = "none"


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
