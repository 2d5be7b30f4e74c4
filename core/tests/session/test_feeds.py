"""What a run feeds its projections with."""

from __future__ import annotations

import attrs
import pytest

from trimtab import ToolInvoked
from trimtab._session.feeds import Feeds
from trimtab.events import CompactionHappened, ModelResponded, UserMessage
from trimtab.trajectory import BaseProjection, Trajectory


def call(tool="read", x=1, result="text", turn=None, **more):
    return ToolInvoked(tool=tool, params={"x": x}, result=result, turn=turn, **more)


def happen(kit, run, event):
    """Dispatch an event a second after the last: the record is in the order of times."""
    kit.clock.advance(1)
    run.session.dispatch(attrs.evolve(event, run_id=run.run_id))


class Listener(BaseProjection):
    """Writes down what it hears."""

    def __init__(self):
        self.heard = []

    def call_ended(self, call):
        self.heard.append(("call", call.tool, call.result))

    def turn_closed(self, turn):
        self.heard.append(("turn", len(turn.calls)))

    def responded(self, text):
        self.heard.append(("said", text.text, text.has_calls))

    def user_spoke(self, message):
        self.heard.append(("user", message.text, message.notification))

    def compacted(self):
        self.heard.append(("compacted",))

    def state(self):
        return {"heard": [list(item) for item in self.heard]}

    def load_state(self, state):
        self.heard = [tuple(item) for item in state["heard"]]


EVENTS = [
    ModelResponded(text="let me see"),
    call(turn=0),
    call(x=2, turn=0),
    CompactionHappened(),
    UserMessage(text="go on"),
]


def test_a_projection_hears_everything_in_order():
    listener = Listener()
    feeds = Feeds()
    trajectory = Trajectory(feeds)
    assert trajectory.attach("listener", listener) is listener
    for event in EVENTS:
        feeds.apply(event)
    assert listener.heard == []
    assert trajectory.projection("listener") is listener
    assert listener.heard == [
        ("said", "let me see", False),
        ("call", "read", "text"),
        ("call", "read", "text"),
        ("compacted",),
        ("turn", 2),
        ("user", "go on", False),
    ]


def test_a_name_keeps_its_first_projection():
    trajectory = Trajectory(Feeds())
    first = trajectory.attach("x", Listener())
    assert trajectory.attach("x", Listener()) is first
    assert trajectory.projection("x") is first
    assert trajectory.projection("y") is None


def test_a_projection_that_raises_does_so_for_its_own_provider_only():
    class Broken(BaseProjection):
        def turn_closed(self, turn):
            raise ValueError("no")

    feeds = Feeds()
    trajectory = Trajectory(feeds)
    trajectory.attach("broken", Broken())
    listener = Listener()
    trajectory.attach("listener", listener)
    feeds.apply(call())
    feeds.close_turn()

    with pytest.raises(ValueError, match="no"):
        trajectory.projection("broken")
    assert trajectory.projection("broken") is not None
    assert trajectory.projection("listener") is listener
    assert ("turn", 1) in listener.heard


class Numbers(BaseProjection):
    """Makes a text of each call, for those that need it."""

    made = 0

    @classmethod
    def of_run(cls, tool_profiles):
        numbers = cls()
        numbers.profiles = tool_profiles
        return numbers

    def call_ended(self, call):
        self.made += 1
        return f"{call.tool} {self.made}", call.result

    def turn_closed(self, turn):
        return (len(turn.calls),)

    def state(self):
        return {"made": self.made}

    def load_state(self, state):
        self.made = state["made"]


class Reader(Listener):
    needs = Numbers

    def call_ended(self, number, result):
        self.heard.append((number, result))

    def turn_closed(self, calls):
        self.heard.append(("turn", calls))


def test_a_projection_takes_what_the_one_that_it_needs_makes_of_facts():
    feeds = Feeds(profiles=("known",))
    trajectory = Trajectory(feeds)
    first, second = Reader(), Reader()
    trajectory.attach("first", first)
    for event in EVENTS[:2]:
        feeds.apply(event)
    trajectory.projection("first")
    trajectory.attach("second", second)
    for event in EVENTS[2:]:
        feeds.apply(event)

    assert trajectory.projection("first") is first
    assert first.heard == [
        ("said", "let me see", False),
        ("read 1", "text"),
        ("read 2", "text"),
        ("compacted",),
        ("turn", 2),
        ("user", "go on", False),
    ]
    numbers = trajectory.follow(Numbers)
    assert (numbers.made, numbers.profiles) == (2, ("known",))


@pytest.mark.parametrize("attached", range(len(EVENTS) + 1))
@pytest.mark.parametrize("caught_up", [True, False])
def test_a_projection_that_joins_late_takes_each_fact_once(kit, attached, caught_up):
    """Whether the one that it needs was there before, up to date or not, or comes with it."""
    run = kit.run()
    early, late, alone = Reader(), Reader(), Reader()
    run.trajectory.attach("early", early)
    for number, event in enumerate(EVENTS):
        if number == attached:
            if caught_up:
                run.trajectory.projection("early")
            run.trajectory.attach("late", late)
        happen(kit, run, event)
    run.state.close_turn()
    other = kit.run("other")
    for event in run.session.events_of(run.run_id):
        happen(kit, other, attrs.evolve(event, run_id=other.run_id, at=None))
    other.state.close_turn()
    other.trajectory.attach("alone", alone)

    if attached < len(EVENTS):
        assert run.trajectory.projection("late") is late
        assert late.heard == run.trajectory.projection("early").heard
    assert other.trajectory.projection("alone").heard == run.trajectory.projection("early").heard


def test_what_the_needed_projection_fails_on_reaches_nobody():
    class Broken(Numbers):
        def call_ended(self, call):
            if call.params["x"] == 2:
                raise ValueError("no")
            return super().call_ended(call)

    class Needing(Reader):
        needs = Broken

    feeds = Feeds()
    trajectory = Trajectory(feeds)
    reader = trajectory.attach("reader", Needing())
    for event in EVENTS:
        feeds.apply(event)

    with pytest.raises(ValueError, match="no"):
        trajectory.projection("reader")
    assert trajectory.projection("reader") is reader
    heard = [fact[0] for fact in reader.heard]
    assert heard == ["said", "read 1", "compacted", "turn", "user"]


def test_much_that_waits_is_counted_with_what_the_needed_projection_has_not_seen():
    feeds = Feeds()
    feeds.attach("reader", Reader())
    for number in range(200):
        feeds.apply(call(x=number))

    assert feeds.behind == ("reader",)
    feeds.feeds["reader"].catch_up()
    assert feeds.behind == ()


def restored(feeds):
    """Return feeds with the state of others, as a snapshot keeps it."""
    other = Feeds()
    other.restore(feeds.saved())
    return other


def test_saved_projections_get_their_state_when_they_are_attached():
    feeds = Feeds()
    feeds.attach("listener", Listener())
    feeds.apply(call())
    feeds.feeds["listener"].save()
    other = restored(feeds)

    assert other.saved() == feeds.saved()
    again = Listener()
    other.attach("listener", again)
    assert again.heard == [("call", "read", "text")]


@pytest.mark.parametrize("saved", [("both",), ("reader",), ()])
def test_a_projection_and_the_one_that_it_needs_are_restored_together(kit, saved):
    """With the state of one alone, both are rebuilt from the record."""
    run = kit.run()
    run.trajectory.attach("reader", Reader())
    for event in EVENTS:
        happen(kit, run, event)
    heard = run.trajectory.projection("reader").heard
    feeds = run.state.feeds
    for name in feeds.feeds:
        if saved == ("both",) or name in saved:
            feeds.feeds[name].save()
    other = Feeds(history=lambda: run.session.events_of(run.run_id))
    other.restore(attrs.evolve(feeds.saved(), open=()))
    other.attach("reader", Reader())
    other.feeds["reader"].catch_up()
    other.apply(call(x=3))

    other.feeds["reader"].catch_up()
    assert other.feeds["reader"].projection.heard == [*heard, ("read 3", "text")]


def test_a_state_is_not_taken_back_when_something_has_happened_since(kit):
    run = kit.run()
    run.trajectory.attach("listener", Listener())
    happen(kit, run, call())
    run.state.feeds.feeds["listener"].save()
    run.state.feeds.use_profiles(())
    happen(kit, run, call(result="more"))
    late = run.trajectory.attach("listener", Listener())

    run.trajectory.projection("listener")
    assert [heard[2] for heard in late.heard if heard[0] == "call"] == ["text", "more"]


def test_a_provider_can_not_change_the_record_of_a_run():
    public = {name for name in dir(Trajectory) if not name.startswith("_")}

    assert public - {"calls", "follow", "projection", "tool_profiles", "turns"} == {"attach"}


def test_a_turn_is_closed_before_a_checker_looks(kit):
    run = kit.run()
    run.trajectory.attach("listener", Listener())
    kit.call(run)
    run.check_completion()

    assert run.trajectory.projection("listener").heard[-1] == ("turn", 1)


def test_a_call_without_a_turn_is_a_turn_of_its_own(kit):
    run = kit.run()
    run.trajectory.attach("listener", Listener())
    run.session.dispatch(call(run_id=run.run_id))

    assert run.trajectory.projection("listener").heard == [("call", "read", "text"), ("turn", 1)]


def test_of_a_large_turn_a_projection_gets_the_first_64_calls(kit):
    run = kit.run()
    run.trajectory.attach("listener", Listener())
    for number in range(70):
        run.tool_started("read", {}, str(number))
        run.tool_finished(str(number), "text")
    run.model_responded()

    assert run.trajectory.projection("listener").heard[-1] == ("turn", 64)


def test_where_the_clock_stands_still_a_projection_that_joins_late_hears_turn_by_turn(kit):
    run = kit.run()
    heard = []
    for text in "ab":
        run.model_responded(text=text)
        run.tool_started("read", {}, text)
        run.tool_finished(text, text)
        heard += [("said", text, False), ("call", "read", text), ("turn", 1)]
    run.guide("pre_tool_selection")
    run.trajectory.attach("late", Listener())

    assert run.trajectory.projection("late").heard == heard


class Unrelated:
    def call_ended(self, call): ...


class Awaited(BaseProjection):
    async def turn_closed(self, turn): ...


class Misspelt(BaseProjection):
    def call_ends(self, call): ...


class SlipOfALetter(Listener):
    def turns_closed(self, turn): ...


@pytest.mark.parametrize(
    ("projection", "why"),
    [
        (Misspelt(), "Misspelt has a method 'call_ends', .* Did you mean 'call_ended'?"),
        (SlipOfALetter(), "'turns_closed', which is not called. Did you mean 'turn_closed'?"),
        (BaseProjection(), "takes nothing that happens: define one of 'call_ended', "),
        (Unrelated(), "Unrelated is no projection: derive it from BaseProjection"),
        (Listener, "type is no projection: derive it from BaseProjection"),
        (Awaited(), "turn_closed of the projection Awaited is async; write: def turn_closed"),
    ],
)
def test_what_can_not_follow_a_run_is_refused_with_the_reason(kit, projection, why):
    with pytest.raises(TypeError, match=why):
        kit.run().trajectory.attach("x", projection)
