"""What a session has waited is counted in one file, by clients and by the server."""

import json

import pytest

from trimtab_claude_code import _client
from trimtab_claude_code._breaker import EVENT_SECONDS, SESSION_SECONDS, Breaker, Cost
from trimtab_claude_code._guided_session import FREE_SECONDS, LOAD_SECONDS, SessionTime

EVENT = {"hook_event_name": "PostToolUse", "tool_name": "Bash"}


def passes(folder, session, monkeypatch):
    monkeypatch.chdir(folder)
    return _client.passes(json.dumps({"session_id": session}).encode())


def taken_up(seconds=0.0):
    """A session that is loaded: the time for that is used up."""
    time = SessionTime(Cost(answered=seconds))
    time.answered(0.0, LOAD_SECONDS + FREE_SECONDS, EVENT)
    return time


def test_what_clients_and_the_server_count_is_one_sum(tmp_path, monkeypatch):
    unanswered = Breaker(tmp_path).waited("a")
    assert (unanswered.seconds, passes(tmp_path, "a", monkeypatch)) == (EVENT_SECONDS, False)

    cost = Breaker(tmp_path).answered("a", SESSION_SECONDS - EVENT_SECONDS, {"slow": 0.9})

    assert cost.is_reached
    assert "slow 0.9 s" in str(cost)
    assert passes(tmp_path, "a", monkeypatch)
    assert not passes(tmp_path, "b", monkeypatch)
    assert [*Breaker(tmp_path).not_told()] == ["a"]
    Breaker(tmp_path).told("a")
    Breaker(tmp_path).close()
    assert Breaker(tmp_path).not_told() == {}
    assert passes(tmp_path, "a", monkeypatch)


def test_clients_that_wait_at_the_same_time_are_counted_once(tmp_path):
    for _ in range(10):
        cost = Breaker(tmp_path).waited("a")

    assert cost.seconds < EVENT_SECONDS + 1


def test_parallel_events_are_counted_once_and_quick_ones_not_at_all():
    time = taken_up()
    for number in range(10):
        time.answered(10.0 + number / 100, 11.0, EVENT)
    assert time.seconds == pytest.approx(1.0, abs=0.25)

    for number in range(1_000):
        time.answered(20.0 + number, 20.005 + number, EVENT)
    assert time.seconds == 0


@pytest.mark.parametrize(
    "event",
    [
        {"hook_event_name": "Stop"},
        {"hook_event_name": "PreToolUse", "tool_name": "StructuredOutput"},
    ],
)
def test_checkers_may_take_longer(event):
    time = taken_up()

    assert not time.answered(10.0, 40.0, event)
    assert time.seconds == 0


def test_what_a_client_has_counted_the_server_does_not(tmp_path):
    time = taken_up()

    assert time.answered(10.0, 10.1 + EVENT_SECONDS, EVENT)
    assert time.seconds == pytest.approx(0)


def test_who_held_the_server_is_named(tmp_path):
    Breaker(tmp_path).waited("a")
    Breaker(tmp_path).close(held_by="backtracking")

    assert Breaker(tmp_path).cost_of("a").providers == {"backtracking": EVENT_SECONDS}
    assert Breaker(tmp_path).cost_of("b") == Cost()


def test_sessions_whose_events_pass_are_kept_longest(tmp_path):
    Breaker(tmp_path).answered("out", SESSION_SECONDS, {})
    for number in range(250):
        Breaker(tmp_path).answered(f"s{number}", 0.2, {})

    assert Breaker(tmp_path).cost_of("out").is_reached
    assert Breaker(tmp_path).cost_of("s0").seconds == 0
    assert Breaker(tmp_path).cost_of("s249").seconds == 0.2


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a": 1}', '{"a": {}}', '{"a": {"providers": 1, "is_told": 0}}']
)
def test_a_damaged_file_counts_as_none(tmp_path, text):
    (tmp_path / "costs.json").write_text(text)

    assert Breaker(tmp_path).cost_of("a") == Cost()
    assert Breaker(tmp_path).waited("a").seconds == EVENT_SECONDS
