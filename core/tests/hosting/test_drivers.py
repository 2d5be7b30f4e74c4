"""One host object serves many conversations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trimtab import ManualClock, Prompt, Session, SessionError, ToolCall, ToolInvoked
from trimtab.events import RunClosed, RunOpened
from trimtab.hosting import Answer, Chat, Drivers
from trimtab_testing import Speaker

PROMPT = Prompt("agent", "main", config=None)


def play(drivers: Drivers, conversation: str, turns: int = 4) -> str:
    """Let one conversation make some calls, as a host does; return all text that it got."""
    said, answers = "", []
    for n in range(turns):
        chat = drivers.of(conversation)
        said += chat.request(answers, user="Go." if n == 0 else None)
        call = ToolCall("look", {"of": conversation, "n": n}, f"call_{n}")
        chat.response("", [call])
        answers = [*answers, Answer(call.call_id, f"{conversation} {n}")]
    drivers.of(conversation).request(answers)
    return said


def test_conversations_at_the_same_time_keep_their_own_record() -> None:
    session = Session()
    drivers = Drivers(PROMPT, session, strict=True)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: play(drivers, f"thread-{n % 8}"), range(8)))
    calls = session[ToolInvoked].all()
    assert len(calls) == 32
    assert all(call.run_id == f"agent/main/{call.params['of']}" for call in calls)
    assert {call.outcome.value for call in calls} == {"ok"}


def test_a_provider_speaks_to_the_conversation_that_it_is_about() -> None:
    speaker = Speaker(verdict=lambda context: context.tool_call_count == 2)
    drivers = Drivers(Prompt("agent", "main", guidance_providers=[speaker], config=None))
    assert "Look before" in play(drivers, "long", 4)
    assert play(drivers, "short", 1) == ""
    assert drivers.of("long").run.session is not drivers.of("short").run.session


def test_a_subagent_has_a_run_of_its_own_in_the_session_of_its_conversation() -> None:
    drivers = Drivers(PROMPT)
    main, sub = drivers.of("t"), drivers.of("t", "explore")
    assert main.run.session is sub.run.session
    assert (main.run.agent_id, sub.run.agent_id) == (None, "explore")
    assert sub.run.run_id == "agent/main/t/explore"
    assert drivers.of("t", "explore") is sub


def test_the_run_of_a_conversation_that_ended_is_opened_again() -> None:
    drivers = Drivers(PROMPT)
    first = drivers.of("t")
    play(drivers, "t", 2)
    first.close("completed")
    again = drivers.of("t")
    assert again is not first
    assert again.run.state.calls == 2
    assert [opened.resumed for opened in first.run.session[RunOpened].all()] == [False, True]


def test_a_saved_session_finds_its_conversation_again() -> None:
    saved: dict[str, str] = {}

    def session_of(conversation: str) -> Session:
        return Session.restore(saved[conversation]) if conversation in saved else Session()

    drivers = Drivers(PROMPT, session_of)
    play(drivers, "t", 3)
    saved["t"] = drivers.of("t").run.session.snapshot()
    elsewhere = Drivers(PROMPT, session_of)
    assert elsewhere.of("t").run.state.calls == 3


def test_idle_conversations_are_closed_and_forgotten() -> None:
    clock = ManualClock()
    session = Session(clock=clock)
    drivers = Drivers(PROMPT, session, idle=60, deadline=100)
    for n in range(50):
        play(drivers, f"t{n}", 1)
        clock.advance(10)
    assert len(drivers) <= 7
    assert {closed.reason for closed in session[RunClosed].all()} == {"idle"}
    assert drivers.of("t49").run.deadline.remaining().total_seconds() == 90
    assert drivers.of("t0").run.state.calls == 1
    drivers.close()
    assert len(drivers) == 0
    assert all(state.closed for state in session.runs().values())


@pytest.mark.asyncio
async def test_a_driver_is_found_off_the_event_loop_too() -> None:
    drivers = Drivers(PROMPT)
    chat: Any = await drivers.aof("t")
    assert isinstance(chat, Chat)
    assert await drivers.aof("t") is chat


def test_what_no_run_could_be_opened_with_is_named_before_an_agent_runs() -> None:
    with pytest.raises(SessionError, match="prompt must be a Prompt, not 'agent/main'"):
        Drivers("agent/main")  # type: ignore[arg-type]
    with pytest.raises(SessionError, match="host must be a Host, not 'mine'"):
        Drivers(PROMPT, host="mine")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"session": 5}, {"budget": {"max_turns": 3}}, {"timeout": "5"}, {"deadline": "5"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_no_run_can_be_opened_with_is_refused_before_an_agent_runs(wrong):
    with pytest.raises(SessionError, match=f"{next(iter(wrong))} must be"):
        Drivers(Prompt("agent", "main", config=None), **wrong)


@pytest.mark.parametrize(
    ("names", "what"), [((3,), "conversation"), ((None,), "conversation"), (("t", 4), "agent_id")]
)
def test_the_name_of_a_conversation_is_text(names: Any, what: str) -> None:
    with pytest.raises(SessionError, match=f"{what} must be text, not {type(names[-1]).__name__}"):
        Drivers(PROMPT).of(*names)


@pytest.mark.parametrize("answers", ["text", [("call_0", "text")], [{"tool_call_id": "call_0"}]])
def test_what_is_no_answer_is_named(answers: Any) -> None:
    chat = Drivers(PROMPT, strict=True).of("t")
    with pytest.raises(SessionError, match=r"answers must hold Answer\(call_id, result\), not "):
        chat.request(answers)
