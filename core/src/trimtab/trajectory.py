"""For authors of providers that follow a run: projections, the facts they take, tool profiles."""

from trimtab._contract.providers import Following
from trimtab._session.projection import BaseProjection, MessageRecord, TextRecord, Turn
from trimtab._session.state import Trajectory
from trimtab._types.resources import ToolProfile

__all__ = [
    "BaseProjection",
    "Following",
    "MessageRecord",
    "TextRecord",
    "ToolProfile",
    "Trajectory",
    "Turn",
]
