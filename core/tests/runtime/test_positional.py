from __future__ import annotations

import attrs
import pytest

from trimtab import Event, ToolInvoked
from trimtab._events.run import model_responded, tool_invoked, tool_started
from trimtab._types.positional import positional
from trimtab.events import ModelResponded, ToolStarted


@attrs.frozen(weakref_slot=False)
class Point:
    x: int
    y: int = 0


def test_a_record_that_is_made_quickly_is_like_any_other() -> None:
    made = positional(Point)(1, 2)

    assert made == Point(1, 2)
    assert type(made) is Point
    assert hash(made) == hash(Point(1, 2))
    assert attrs.evolve(made, y=3) == Point(1, 3)


def test_a_record_that_is_made_quickly_is_frozen() -> None:
    made = positional(Point)(1, 2)

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.x = 3
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del made.x


@pytest.mark.parametrize(
    ("kind", "make"),
    [(ModelResponded, model_responded), (ToolStarted, tool_started), (ToolInvoked, tool_invoked)],
)
def test_the_frequent_events_take_their_fields_in_order(
    kind: type[Event], make: type[Event]
) -> None:
    names = [field.name for field in attrs.fields(kind)]
    made = make(*range(len(names)))

    assert made == kind(**{name: number for number, name in enumerate(names)})
    assert isinstance(made, kind)
