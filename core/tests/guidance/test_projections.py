"""Projections are provider code: isolated, timed, recorded, and complete."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    GuidanceDelivered,
    GuidanceInjection,
    Prompt,
    PromptTemplate,
    Session,
    ToolInvoked,
    hookimpl,
)
from trimtab.events import ProviderFaulted, ProviderQuarantined, ProviderSlow
from trimtab.trajectory import BaseProjection

SELECT = DecisionPoint.PRE_TOOL_SELECTION


class Counting(BaseProjection):
    def __init__(self) -> None:
        self.calls = 0

    def call_ended(self, call: Any) -> None:
        self.calls += 1

    def state(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def load_state(self, state: dict[str, Any]) -> None:
        self.calls = state["calls"]


class Follower:
    """A guidance provider that works in a projection, and says how many calls it has seen."""

    category = "count"

    def __init__(self, projection: Any = Counting, name: str = "follower") -> None:
        self.name = name
        self.projection = projection

    @hookimpl
    def run_opened(self, context: Any) -> None:
        context.trajectory.attach(self.name, self.projection())

    def classify(self, *, context: Any) -> ClassificationResult:
        context.trajectory.projection(self.name)
        return ClassificationResult(relevant=True, episode=f"call-{context.tool_call_count}")

    def provide(self, *, context: Any) -> GuidanceInjection:
        seen = context.trajectory.projection(self.name)
        return GuidanceInjection("seen", f"saw {seen.calls} of {context.tool_call_count}")


class Raising(Counting):
    def turn_closed(self, turn: Any) -> None:
        raise ValueError("projection broke")


class Sleeping(Counting):
    def turn_closed(self, turn: Any) -> None:
        time.sleep(5.0)


class Slow(Counting):
    def turn_closed(self, turn: Any) -> None:
        time.sleep(0.06)


class Unsaveable(Counting):
    def state(self) -> dict[str, Any]:
        raise OSError("no state")


def play(kit: Any, run: Any, times: int = 1, **options: Any) -> Iterator[str]:
    for _ in range(times):
        kit.call(run)
        yield run.guide(SELECT, **options).text


def test_a_projection_that_raises_is_a_failure_of_its_provider(kit: Any) -> None:
    run = kit.run(guidance_providers=[Follower(Raising), kit.Speaker("other")])
    list(play(kit, run, 4))

    failures = kit.session[ProviderFaulted].all()
    assert [failure.source.name for failure in failures] == ["follower"] * 3
    assert "projection broke" in failures[0].error
    (gone,) = kit.session[ProviderQuarantined].all()
    assert gone.source.name == "follower"


@pytest.mark.waits
def test_a_timeout_reaches_a_projection_that_sleeps(kit: Any) -> None:
    run = kit.run(guidance_providers=[Follower(Sleeping), kit.Speaker("other", category="x")])
    began = time.monotonic()
    (text,) = play(kit, run, timeout=0.5)

    assert time.monotonic() - began < 4
    assert "other" in text
    assert "no answer within 0.5 s" in kit.session[ProviderFaulted].latest().error


def test_a_slow_projection_is_recorded(kit: Any) -> None:
    kit = type(kit)(kit.clock, Session())
    run = kit.run(guidance_providers=[Follower(Slow)])
    list(play(kit, run))

    assert kit.session[ProviderSlow].latest().source.name == "follower"


def test_recording_never_runs_a_projection_under_the_lock(kit: Any) -> None:
    inside: list[bool] = []

    class Watching(Counting):
        def call_ended(self, call: Any) -> None:
            inside.append(kit.session.lock.held)

    run = kit.run(guidance_providers=[Follower(Watching)])
    for _ in range(300):
        kit.call(run)
    run.guide(SELECT)
    kit.session.snapshot()

    assert len(inside) == 300
    assert not any(inside)


def test_calls_before_the_run_was_opened_reach_the_projection(kit: Any) -> None:
    prompt = Prompt(PromptTemplate("a", "b", guidance_providers=[Follower()]), config=None)
    for number in range(70):
        kit.session.dispatch(ToolInvoked(prompt_name="a/b", tool="read", params={"n": number}))
    run = kit.session.run_of(prompt)

    assert "saw 70 of 70" in run.guide(SELECT).text


def test_a_provider_that_joins_on_resume_sees_the_whole_run(kit: Any) -> None:
    run = kit.run(guidance_providers=[kit.Speaker()])
    for _ in range(5):
        kit.call(run)
    again = Session.restore(kit.session.snapshot(), clock=kit.clock)
    template = PromptTemplate("agent", "main", guidance_providers=[Follower()])
    resumed = again.open_run(Prompt(template, config=None), run_id=run.run_id)
    kit.call(resumed)

    assert "saw 6 of 6" in resumed.guide(SELECT).text


@pytest.mark.parametrize("projection", [Counting, Unsaveable])
def test_a_snapshot_can_always_be_taken_and_loses_nothing(kit: Any, projection: Any) -> None:
    run = kit.run(guidance_providers=[Follower(projection)])
    list(play(kit, run, 3))
    kit.call(run)
    again = Session.restore(kit.session.snapshot(), clock=kit.clock)
    template = PromptTemplate("agent", "main", guidance_providers=[Follower(projection)])
    resumed = again.open_run(Prompt(template, config=None), run_id=run.run_id)

    assert "saw 4 of 4" in resumed.guide(SELECT).text
    failed = {failure.hook for failure in kit.session[ProviderFaulted].all()}
    assert failed == ({"projection"} if projection is Unsaveable else set())


@pytest.mark.parametrize("name", ["close", "dispatch", "guide", "model_responded", "deadline"])
def test_a_provider_cannot_change_its_run(kit: Any, name: str) -> None:
    def meddle(context: Any) -> ClassificationResult:
        if name == "deadline":
            context.deadline = None
        getattr(context, name)()
        return ClassificationResult(relevant=True)

    run = kit.run(guidance_providers=[kit.Speaker(verdict=meddle)])
    list(play(kit, run))

    assert not run.state.closed
    error = kit.session[ProviderFaulted].latest().error
    assert error.startswith(("AttributeError", "FrozenInstanceError"))


def test_many_recent_calls_are_as_quick_as_few(kit: Any, seconds: Any) -> None:
    session = Session()
    run = session.open_run(kit.run().prompt)
    for number in range(20_000):
        run.tool_finished(f"c{number}", "text", tool="read", params={"n": number})

    few, many = (seconds(lambda n=n: run.recent_tool_calls(n)) for n in (64, 65))
    assert len(run.recent_tool_calls(65)) == 65
    assert many < 20 * few + 0.001


@pytest.mark.parametrize("counted", ["turns", "calls"])
def test_a_projection_that_nobody_asks_is_fed_many_events_at_a_time(kit: Any, counted: str) -> None:
    fed: list[int] = []

    class Fed(Counting):
        def call_ended(self, call: Any) -> None:
            fed.append(getattr(run.state, counted))

        responded = call_ended

    run = kit.run(guidance_providers=[Follower(Fed)])
    for number in range(400):
        if counted == "turns":
            run.model_responded(text="on")
        else:
            run.tool_finished(f"c{number}", "text", tool="read")

    assert len(fed) > 128
    assert {count % 32 for count in fed} == {1 if counted == "turns" else 0}


class Hushed(Counting):
    """Has something to say from the third call on."""

    quiet = True

    def call_ended(self, call: Any) -> None:
        super().call_ended(call)
        self.quiet = self.calls < 3


class Telling(Follower):
    """Counts how often it is asked."""

    def __init__(self, projection: Any = Hushed, name: str = "telling") -> None:
        super().__init__(projection, name)
        self.asked = 0

    def classify(self, *, context: Any) -> ClassificationResult:
        self.asked += 1
        return super().classify(context=context)


def test_a_provider_whose_projection_is_quiet_is_not_asked(kit: Any) -> None:
    provider = Telling()
    run = kit.run(guidance_providers=[provider])
    spoke = [bool(text) for text in play(kit, run, 3)]

    assert spoke == [False, False, True]
    assert provider.asked == 1


def test_a_provider_whose_projection_is_not_quiet_is_asked_beside_one_that_is(kit: Any) -> None:
    quiet, other = Telling(), Telling(Counting, "other")
    run = kit.run(guidance_providers=[quiet, other])
    list(play(kit, run))

    assert (quiet.asked, other.asked) == (0, 1)


def test_a_quiet_provider_is_asked_while_an_episode_is_open(kit: Any) -> None:
    quiet, other = Telling(), Telling(Counting, "other")
    run = kit.run(guidance_providers=[quiet, other])
    list(play(kit, run, 2))

    assert quiet.asked == 1


def test_a_quiet_provider_is_asked_where_there_is_a_timeout(kit: Any) -> None:
    provider = Telling()
    run = kit.run(guidance_providers=[provider])
    list(play(kit, run, timeout=30.0))

    assert provider.asked == 1


class RaisingWhileQuiet(Hushed):
    def turn_closed(self, turn: Any) -> None:
        raise ValueError("projection broke")


def test_a_projection_that_raises_while_it_is_quiet_is_its_providers_failure(kit: Any) -> None:
    run = kit.run(guidance_providers=[Telling(RaisingWhileQuiet)])
    list(play(kit, run, 4))

    failures = kit.session[ProviderFaulted].all()
    assert [failure.source.name for failure in failures] == ["telling"] * 3
    assert len(kit.session[ProviderQuarantined].all()) == 1


class QuietEachSecondTime(Counting):
    quiet = True

    def call_ended(self, call: Any) -> None:
        super().call_ended(call)
        self.quiet = self.calls % 2 == 0


class FailsAlways(Telling):
    def classify(self, *, context: Any) -> ClassificationResult:
        raise ValueError("classify broke")


def test_a_failure_is_not_forgotten_because_its_projection_is_quiet(kit: Any) -> None:
    run = kit.run(guidance_providers=[FailsAlways(QuietEachSecondTime)])
    list(play(kit, run, 3))

    assert len(kit.session[ProviderQuarantined].all()) == 1


class SlowWhileQuiet(Slow):
    quiet = True


def test_a_slow_projection_that_is_quiet_is_recorded(kit: Any) -> None:
    kit = type(kit)(kit.clock, Session())
    run = kit.run(guidance_providers=[Telling(SlowWhileQuiet)])
    list(play(kit, run))

    assert kit.session[ProviderSlow].latest().source.name == "telling"


class RaisingOnce(Hushed):
    def turn_closed(self, turn: Any) -> None:
        if self.calls == 1:
            raise self.error

    error: BaseException = ValueError("projection broke")


class ExitingOnce(RaisingOnce):
    error = SystemExit(1)


@pytest.mark.parametrize("projection", [RaisingOnce, ExitingOnce])
def test_a_projection_that_raised_while_it_was_quiet_can_be_used_by_other_threads(
    kit: Any, projection: Any
) -> None:
    run = kit.run(guidance_providers=[Telling(projection)])
    list(play(kit, run))
    list(play(kit, run, 2, timeout=5.0))

    assert "saw 3 of 3" in kit.session[GuidanceDelivered].latest().injection.content
    assert len(kit.session[ProviderFaulted]) == 1


class SlowAndRaising(Slow):
    quiet = True

    def turn_closed(self, turn: Any) -> None:
        super().turn_closed(turn)
        raise ValueError("projection broke")


@pytest.mark.waits
def test_a_slow_projection_that_raises_while_it_is_quiet_fails(kit: Any) -> None:
    kit = type(kit)(kit.clock, Session())
    run = kit.run(guidance_providers=[Telling(SlowAndRaising)])
    list(play(kit, run, 4))

    assert len(kit.session[ProviderFaulted]) == 3
    assert len(kit.session[ProviderQuarantined]) == 1
    assert not kit.session[ProviderSlow].all()


def test_only_the_slow_projection_is_recorded(kit: Any) -> None:
    kit = type(kit)(kit.clock, Session())
    names = ("before", "slow", "after")
    run = kit.run(
        guidance_providers=[
            Telling(SlowWhileQuiet if name == "slow" else Hushed, name) for name in names
        ]
    )
    list(play(kit, run))

    assert [slow.source.name for slow in kit.session[ProviderSlow].all()] == ["slow"]


class Interrupted(Hushed):
    """The user presses Ctrl-C while it takes its first turn."""

    def turn_closed(self, turn: Any) -> None:
        if self.calls == 1:
            signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_a_projection_is_met_by_leaves_the_run_usable(kit: Any) -> None:
    run = kit.run(guidance_providers=[Telling(Interrupted)])
    with pytest.raises(KeyboardInterrupt):
        list(play(kit, run))

    assert [bool(text) for text in play(kit, run, 3)][-1]
    assert not kit.session[ProviderFaulted].all()


class Shared(BaseProjection):
    """Counts, for those that need it; fails on calls of "broken"."""

    seen = 0

    def call_ended(self, call: Any) -> Any:
        if call.tool == "broken":
            raise ValueError("no")
        self.seen += 1


class Needing(Counting):
    needs = Shared


def test_what_providers_share_takes_a_call_when_it_ends(kit: Any) -> None:
    run = kit.run(guidance_providers=[Follower(Needing), Follower(Needing, "other")])
    kit.call(run)

    feeds = run.state.feeds.feeds
    shared = next(feed for feed in feeds.values() if isinstance(feed.projection, Shared))
    assert (shared.projection.seen, len(shared.pending)) == (1, 0)
    assert [feed.projection.calls for feed in feeds.values() if feed is not shared] == [0, 0]


def test_with_a_timeout_it_takes_it_when_a_provider_is_asked(kit: Any) -> None:
    run = kit.run(guidance_providers=[Follower(Needing)], timeout=5)
    kit.call(run)

    assert run.state.feeds.feeds[run.state.feeds.shared[0]].projection.seen == 0
    assert run.trajectory.follow(Shared).seen == 1


def test_a_shared_projection_that_fails_stops_no_call(kit: Any) -> None:
    run = kit.run(guidance_providers=[Follower(Needing)])
    kit.call(run, "broken")
    kit.call(run)

    assert [fault.hook for fault in kit.session[ProviderFaulted].all()] == ["projection"]
    assert run.state.calls == 2
    assert run.trajectory.follow(Shared).seen == 1


class Marking(BaseProjection):
    """Stirs those that rest on it where a call has failed."""

    stirs = False

    def call_ended(self, call: Any) -> None:
        self.stirs = call.failed


class Resting(Hushed):
    """Has something to say once a call has failed."""

    needs = Marking
    rests = True
    failed = False

    def call_ended(self, call: Any) -> None:
        super().call_ended(call)
        self.failed = self.failed or call.failed
        self.quiet = not self.failed


def test_a_projection_that_rests_takes_what_waited_once_its_source_stirs(kit: Any) -> None:
    provider = Telling(Resting)
    run = kit.run(guidance_providers=[provider])
    list(play(kit, run, 4))
    waited = run.state.feeds.feeds["telling"].projection.calls
    kit.call(run, outcome="error")
    text = run.guide(SELECT).text

    assert waited == 1
    assert "saw 5 of 5" in text
    assert provider.asked == 1


def test_a_projection_that_rests_is_up_to_date_for_who_asks_for_it(kit: Any) -> None:
    run = kit.run(guidance_providers=[Telling(Resting), Telling(Counting, "other")])
    list(play(kit, run, 1))
    run.user_message("go on")
    list(play(kit, run, 3))

    assert run.trajectory.projection("telling").calls == 4
    assert run.guide(SELECT, timeout=5.0) is not None
    run._save()
    assert run.state.feeds.feeds["telling"].is_saved


def test_nothing_rests_while_its_source_may_not_have_seen_the_last_call(kit: Any) -> None:
    run = kit.run(guidance_providers=[Telling(Resting)], timeout=5)
    list(play(kit, run, 3))
    kit.call(run, outcome="error")

    assert "saw 4 of 4" in run.guide(SELECT).text


def test_a_failure_between_two_decisions_of_one_turn_is_not_slept_through(kit: Any) -> None:
    provider = Telling(Resting)
    run = kit.run(guidance_providers=[provider])
    list(play(kit, run, 2))
    kit.call(run, outcome="error")
    first = run.guide(DecisionPoint.PRE_TOOL_EXECUTION)
    second = run.guide(SELECT)

    assert bool(first) or bool(second)
    assert not run.state.feeds.feeds["telling"].rests
