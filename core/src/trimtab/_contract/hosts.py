"""A runtime, described: `Host`, and what its fields accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs.validators import deep_mapping, optional

from trimtab._events import DecisionPoint, Delivery
from trimtab._types.options import (
    as_frozenset,
    as_mapping,
    as_tuple,
    instance_of,
    items_of,
    member,
    names_known,
    text,
    whole_number,
    yes_or_no,
)
from trimtab._types.resources import ToolProfile
from trimtab._types.text import shown


def _as_delivery(value: Any) -> Mapping[DecisionPoint, Delivery]:
    if not isinstance(value, Mapping):
        raise TypeError(f"delivery must be a mapping of points to deliveries, not {shown(value)}")
    return {
        member("a point of delivery", DecisionPoint, point): member("a delivery", Delivery, way)
        for point, way in value.items()
    }


def _as_feedback_delivery(value: Any) -> Delivery | None:
    if value is None:
        return None
    way = member("feedback", Delivery, value)
    if way is Delivery.REFUSAL:
        raise ValueError("feedback follows a call that has run: it can't be a refusal")
    return way


def _check_exceptions(_: object, attribute: Any, value: Any) -> None:
    for kind in value if isinstance(value, tuple) else (value,):
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError(f"{attribute.name} must hold classes of exceptions, not {shown(kind)}")


@names_known()
@attrs.frozen
class Host:
    """A runtime, described.

    Args:
        name: e.g. ``"openai"``.
        delivery: how text is placed, point by point; a missing point is `Delivery.NONE`.
        tools: names of the tools that the agent has; None if unknown.
        parallel_calls: whether one response may hold several calls; None if unknown.
        tool_profiles: what the host knows of its own tools.
        tool_descriptions: what its tools say of themselves, by name, as far as known.
        feedback: how feedback is placed: `Delivery.PERSISTED` behind the result of a call,
            `Delivery.EPHEMERAL` in the next request, `Delivery.NONE` not at all. If None, behind
            results where POST_TOOL_RESULT text can be placed, else in the next request.
        control_flow: exceptions by which the runtime leaves a tool without an end of the call: to
            ask the user, to run it elsewhere, to end the agent.
        max_turns: responses after which the runtime itself ends a request of the user; None if
            it has no such limit, or it is unknown.
        stops: whether the host ends the turn when nudges have no effect (`StopRequested`).

    Raises:
        TypeError, ValueError: a field has the wrong type; plain strings are accepted for points
            and deliveries.
    """

    name: str = attrs.field(default="local", validator=text(needed=True))
    delivery: Mapping[DecisionPoint, Delivery] = attrs.field(
        default=dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL), converter=_as_delivery
    )
    tools: frozenset[str] | None = attrs.field(
        default=None, converter=as_frozenset, validator=optional(items_of(str))
    )
    parallel_calls: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    tool_profiles: tuple[ToolProfile, ...] = attrs.field(
        default=(), converter=as_tuple, validator=items_of(ToolProfile)
    )
    tool_descriptions: Mapping[str, str] = attrs.field(
        factory=dict,
        converter=as_mapping,
        validator=deep_mapping(text(), text(), instance_of(Mapping)),
    )
    feedback: Delivery | None = attrs.field(default=None, converter=_as_feedback_delivery)
    control_flow: tuple[type[BaseException], ...] = attrs.field(
        default=(), converter=as_tuple, validator=_check_exceptions
    )
    max_turns: int | None = attrs.field(default=None, validator=whole_number(1, optional=True))
    stops: bool = attrs.field(default=False, validator=yes_or_no())

    def delivers(self, point: DecisionPoint) -> Delivery:
        """Return how text is placed at `point`."""
        return self.delivery.get(point, Delivery.NONE)

    @property
    def feedback_delivery(self) -> Delivery:
        """How feedback is placed."""
        if self.feedback is not None:
            return self.feedback
        if self.delivers(DecisionPoint.POST_TOOL_RESULT) is not Delivery.NONE:
            return Delivery.PERSISTED
        fixed = self.delivers(DecisionPoint.PRE_TOOL_SELECTION) is Delivery.NONE
        return Delivery.NONE if fixed else Delivery.EPHEMERAL


LOCAL_HOST = Host()
