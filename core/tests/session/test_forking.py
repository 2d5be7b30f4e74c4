"""A run that branches off another starts as that was, and leaves it alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Session,
    SessionError,
)
from trimtab.events import RunOpened, UserMessage


@pytest.fixture
def parent(kit: Any) -> Any:
    """Return a run of six calls, with guidance and feedback."""
    speaker = GuidanceProviderConfig(
        kit.Speaker(text=lambda c: f"after {c.tool_call_count}"), cooldown_turns=2
    )
    every = FeedbackProviderConfig(kit.Commentator(), FeedbackTrigger(every_n_calls=2))
    run = kit.run(guidance_providers=[speaker], feedback_providers=[every])
    run.user_message("go")
    states: list[Any] = []
    for n in range(6):
        kit.clock.advance(1)
        run.guide("pre_tool_selection")
        kit.clock.advance(1)
        kit.call(run, "read", {"n": n})
        kit.clock.advance(1)
        run.feedback()
        states.append(comparable(run))
    run.known_states = states
    return run


def comparable(run: Any) -> dict[str, Any]:
    """Return what decides about a run's future, without its identity."""
    run.state.close_turn()
    runs = json.loads(run.session.snapshot())["runs"]
    state = next(state for state in runs if state["run_id"] == run.run_id)
    for name in ("run_id", "agent_id", "origin", "active_seconds", "faults", "running"):
        state.pop(name)
    for episode in state["guidance"]["episodes"].get("open", {}).values():
        episode.pop("seen_at")  # a fork takes an open episode for seen
    return state


@pytest.mark.parametrize("calls", [1, 2, 3, 5])
def test_a_fork_at_a_call_starts_as_the_run_was_after_it(parent: Any, calls: int) -> None:
    fork = parent.session.fork_run(parent, calls=calls)
    assert comparable(fork) == parent.known_states[calls - 1]
    assert [call.params["n"] for call in fork.recent_tool_calls(9)] == list(range(calls))


def test_a_fork_of_now_starts_as_the_run_is(parent: Any, kit: Any) -> None:
    fork = parent.session.fork_run(parent, agent_id="explore", run_id="other")
    assert (fork.run_id, fork.agent_id) == ("other", "explore")
    assert comparable(fork) == comparable(parent)
    kit.call(fork)
    assert (parent.state.calls, fork.state.calls) == (6, 7)
    assert len(fork.recent_tool_calls(70)) == 7
    opened = parent.session[RunOpened].latest()
    assert (opened.forked_from, opened.forked_at) == (parent.run_id, 6)


def test_a_fork_of_a_fork_knows_the_whole_past(parent: Any, kit: Any) -> None:
    first = parent.session.fork_run(parent, calls=3)
    kit.clock.advance(1)
    kit.call(first, "write", {"n": "new"})
    second = parent.session.fork_run(first, calls=4)
    assert [call.params["n"] for call in second.recent_tool_calls(9)] == [0, 1, 2, "new"]
    third = parent.session.fork_run(first, calls=2)
    assert [call.params["n"] for call in third.recent_tool_calls(9)] == [0, 1]
    assert comparable(third) == parent.known_states[1]


def test_a_closed_run_can_be_forked_and_a_snapshot_keeps_the_origin(parent: Any, kit: Any) -> None:
    parent.close("rewound")
    fork = parent.session.fork_run(parent, calls=4)
    assert not fork.state.closed
    restored = Session.restore(parent.session.snapshot(), clock=kit.clock)
    resumed = restored.open_run(fork.prompt, run_id=fork.run_id)
    assert resumed.state.origin == fork.state.origin
    assert len(resumed.recent_tool_calls(70)) == 4
    events = list(restored.events_of(fork.run_id))
    assert isinstance(events[0], UserMessage)


def test_a_projection_of_a_fork_sees_the_calls_before_it(parent: Any) -> None:
    from trimtab.trajectory import BaseProjection

    class Counter(BaseProjection):
        seen = 0

        def call_ended(self, call: Any) -> None:
            self.seen += 1

    fork = parent.session.fork_run(parent, calls=4)
    fork.trajectory.attach("late", Counter())
    assert fork.trajectory.projection("late").seen == 4


@pytest.mark.parametrize("calls", [-1, 7, "3", 2.0, True])
def test_a_fork_that_makes_no_sense_is_refused(parent: Any, calls: Any) -> None:
    with pytest.raises(SessionError, match="calls must be a whole number from 0 to 6"):
        parent.session.fork_run(parent, calls=calls)


def test_a_fork_needs_an_identifier_of_its_own(parent: Any) -> None:
    with pytest.raises(SessionError, match="is known already"):
        parent.session.fork_run(parent, run_id=parent.run_id)


def test_a_provider_that_leaves_a_fork_stays_in_its_parent(kit: Any) -> None:
    speaker = kit.Speaker(verdict=lambda c: 1 / 0 if c.agent_id == "fork" else True)
    run = kit.run(guidance_providers=[speaker])
    kit.call(run)
    fork = kit.session.fork_run(run, agent_id="fork")
    for _ in range(3):
        kit.call(fork)
        fork.guide("pre_tool_selection")

    assert fork.state.quarantined
    assert run.guide("pre_tool_selection")


def test_a_fork_at_a_call_does_not_know_what_was_checked_after_it(kit: Any) -> None:
    run = kit.run(completion_checkers=[kit.Checker()])
    kit.call(run)
    kit.clock.advance(1)
    run.check_completion()
    kit.clock.advance(1)
    kit.call(run)
    fork = kit.session.fork_run(run, calls=1)

    assert fork.check_completion().attempt == 0
