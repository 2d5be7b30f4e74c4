"""The bus of the specification."""

from __future__ import annotations

import logging

import pytest

from trimtab.events import UserMessage
from trimtab_trace import InProcessEventBus


def test_subscribers_get_events_of_their_type_in_order() -> None:
    bus, heard = InProcessEventBus(), []
    bus.subscribe(dict, lambda event: heard.append(("dict", event)))
    bus.subscribe(object, lambda event: heard.append(("object", event)))
    bus.publish({"event_type": "PlanAuthored"})
    bus.publish(UserMessage(text="x"))
    assert [name for name, _ in heard] == ["dict", "object", "object"]


def test_a_subscription_ends() -> None:
    bus, heard = InProcessEventBus(), []
    end = bus.subscribe(dict, heard.append)
    end()
    bus.publish({})
    assert heard == []


def test_a_subscriber_that_raises_is_logged_and_the_others_are_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus, heard = InProcessEventBus(), []

    def broken(event: object) -> None:
        raise ValueError("broken")

    bus.subscribe(dict, broken)
    bus.subscribe(dict, heard.append)
    with caplog.at_level(logging.ERROR, "trimtab.trace"):
        bus.publish({"a": 1})
    assert heard == [{"a": 1}]
    assert "broken" in caplog.text
