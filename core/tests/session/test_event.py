"""Events are compared and shown by one definition for all of them."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import trimtab.events
from trimtab import (
    ClassificationResult,
    DecisionPoint,
    Event,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Host,
    Prompt,
    PromptTemplate,
    Session,
    ToolInvoked,
)
from trimtab.events import (
    ModelResponded,
    Provenance,
    ProviderFaulted,
    ProviderKind,
    RunClosed,
    ToolStarted,
)

EVENTS = (
    RunClosed(reason="done", run_id="r"),
    ToolInvoked(tool="read", params={"path": "a"}, call_id="c", turn=1),
    ProviderFaulted(source=Provenance("loud", ProviderKind.GUIDANCE), hook="provide", error="boom"),
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_are_equal_where_all_fields_are(event: Event) -> None:
    assert event == attrs.evolve(event)
    for field in attrs.fields(type(event)):
        assert event != attrs.evolve(event, **{field.name: object()})


def test_events_of_two_kinds_differ_though_their_fields_are_alike() -> None:
    fields = {"tool": "read", "call_id": "c"}
    assert ToolStarted(**fields) != ToolInvoked(**fields)
    assert Event() != object()


def test_equal_events_are_one_in_a_set() -> None:
    assert {RunClosed(reason="a"), RunClosed(reason="a"), RunClosed(reason="b")} == {
        RunClosed(reason="b"),
        RunClosed(reason="a"),
    }
    with pytest.raises(TypeError, match="unhashable"):
        hash(ToolInvoked(tool="read", params={}))


def test_an_event_is_shown_as_the_call_that_makes_it() -> None:
    event = RunClosed(reason="it's done", run_id="r", elapsed=1.5)
    assert eval(repr(event)) == event


@pytest.mark.parametrize("kind", [ModelResponded, ToolStarted, ToolInvoked])
def test_a_recorded_event_is_what_its_constructor_makes(kind: type[Event]) -> None:
    session = Session()
    run = session.open_run(Prompt(PromptTemplate("core", "events"), config=None))
    run.model_responded(text="hi")
    run.tool_started("read", {"of": {1, 2}, "most": float("inf")}, "c")
    run.tool_finished("c", {"found": (1, {3})})
    event = session[kind].latest()
    fields = {field.name: getattr(event, field.name) for field in attrs.fields(kind)}
    assert event == kind(**fields)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.run_id = "other"


def test_a_stranger_may_have_attrs_compare_a_kind_of_its_own() -> None:
    @attrs.frozen(kw_only=True)
    class Lit(Event):
        lamps: int

    assert Lit(lamps=1) == Lit(lamps=1)
    assert Lit(lamps=1) != Lit(lamps=2)
    assert "Lit(" in repr(Lit(lamps=1))


PLACED = {
    kind
    for kind in map(trimtab.events.__getattribute__, trimtab.events.__all__)
    if isinstance(kind, type) and attrs.has(kind) and "call_index" in attrs.fields_dict(kind)
}


def test_whatever_providers_do_is_recorded_with_the_turn_and_the_call_it_followed(kit: Any) -> None:
    def fail(context: Any) -> Any:
        raise ValueError("broken")

    stuck = kit.Speaker(
        "stuck",
        text=lambda context: f"turn {context.turn_count}",
        verdict=lambda context: ClassificationResult(True, 0.9, episode="e"),
    )
    run = kit.run(
        guidance_providers=[
            GuidanceProviderConfig(stuck, stop_after=1, cooldown_turns=1),
            GuidanceProviderConfig(kit.Speaker("shadow"), mode="shadow"),
            kit.Speaker("broken", verdict=fail),
        ],
        feedback_providers=[
            FeedbackProviderConfig(kit.Commentator(), FeedbackTrigger(every_n_calls=1)),
        ],
        completion_checkers=[kit.Checker("open", answer=fail)],
        host=Host(stops=True),
    )
    found: dict[Any, tuple[int, int]] = {}
    for turns in range(12):
        run.guide(DecisionPoint.PRE_TOOL_SELECTION)
        run.feedback()
        run.check_completion()
        for event in (event for kind in PLACED for event in kit.session[kind].all()):
            found.setdefault(event, (turns - 1, 2 * turns - 1))
        run.model_responded()
        for number in range(2):
            run.tool_finished(f"{turns}-{number}", "x", tool="t")

    assert {type(event) for event in found} == PLACED
    for event, (turn, call_index) in found.items():
        assert event.call_index == call_index, event
        assert getattr(event, "turn", turn) == turn, event  # feedback is given by calls alone
