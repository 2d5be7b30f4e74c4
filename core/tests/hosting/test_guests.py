"""A driver is a guest: whatever a runtime does, it raises nothing and the record is complete."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from trimtab import (
    DecisionPoint,
    Delivery,
    FeedbackProviderConfig,
    FeedbackTrigger,
    Host,
    Outcome,
    Prompt,
    Session,
    SessionError,
    ToolCall,
    ToolInvoked,
)
from trimtab.events import Evidence, ToolStarted, UserMessage
from trimtab.hosting import Answer, Chat, Driver
from trimtab_testing import Commentator, Speaker

CALLS = [ToolCall("read", {"path": "a"}, "c1"), ToolCall("read", {"path": "b"}, "c2")]


class Interrupt(Exception):
    """How a runtime leaves a tool to ask the user."""


EVERYWHERE = dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)
HOST = Host("guest", EVERYWHERE, control_flow=(Interrupt,))


def open_driver(kind: type[Driver] = Driver, host: Host = HOST, **prompt: Any) -> Any:
    run = Session().open_run(Prompt("agent", "main", config=None, **prompt), host=host)
    return kind(run, timeout=None)


def ends(driver: Driver) -> list[tuple[str, str]]:
    return [(c.call_id, c.outcome.value) for c in driver.run.session[ToolInvoked].all()]


def ended(driver: Driver) -> list[tuple[str, Evidence, str | None]]:
    return [(c.call_id, c.evidence, c.error) for c in driver.run.session[ToolInvoked].all()]


def test_open_calls_end_as_interrupted_with_the_next_response_and_the_close() -> None:
    driver = open_driver()
    driver.responded("", CALLS)
    with driver.running("c1"):
        pass
    assert driver.open_calls == tuple(CALLS)
    driver.responded("", [ToolCall("read", {}, "c3")])
    assert ended(driver) == [(f"c{n}", Evidence.DERIVED, "no answer") for n in (1, 2)]
    assert [call.call_id for call in driver.open_calls] == ["c3"]
    driver.close()
    driver.close()
    assert ends(driver) == [(f"c{n}", "interrupted") for n in (1, 2, 3)]
    assert not driver.run.state.running


def test_a_call_that_the_run_itself_recorded_is_not_open() -> None:
    driver = open_driver()
    driver.responded("", CALLS)
    driver.run.tool_started("read", {"path": "a"}, "c1")
    driver.run.tool_finished("c1", "done")
    assert driver.open_calls == (CALLS[1],)
    driver.close()
    assert ends(driver) == [("c1", "ok"), ("c2", "interrupted")]


def test_an_answer_that_comes_late_does_not_end_a_call_twice() -> None:
    driver = open_driver()
    driver.responded("", CALLS[:1])
    driver.responded("")
    assert driver.answered(CALLS[0], "done") == driver.answered("c1", "done") == ""
    assert ends(driver) == [("c1", "interrupted")]


def test_a_retry_that_succeeds_replaces_the_failed_end() -> None:
    driver = open_driver()
    driver.responded("", CALLS[:1])
    for _ in range(2):
        with pytest.raises(OSError, match="try"), driver.running("c1"):
            raise OSError("try again")
    with driver.running("c1"):
        pass
    driver.answered("c1", "fine")
    assert ends(driver) == [("c1", "ok")]
    assert len(driver.run.session[ToolStarted]) == 1


@pytest.mark.parametrize("report", ["next_request", "responded", "may_stop", "close"])
def test_an_error_that_no_retry_mends_is_on_record_with_the_next_report(report: str) -> None:
    driver = open_driver()
    driver.responded("", CALLS[:1])
    with pytest.raises(OSError, match="disk"), driver.running("c1"):
        raise OSError("disk on fire")
    getattr(driver, report)()
    [call] = driver.run.session[ToolInvoked].all()
    assert (call.outcome, call.error) == (Outcome.ERROR, "OSError: disk on fire")
    assert call.duration is not None


def test_control_flow_is_no_end_of_a_call() -> None:
    driver = open_driver()
    driver.responded("", CALLS)
    with pytest.raises(Interrupt), driver.running("c1"):
        raise Interrupt
    with pytest.raises(KeyError), driver.running("c2", passes=(KeyError,)):
        raise KeyError
    assert ends(driver) == []
    for call in CALLS:
        with driver.running(call):
            pass
        driver.answered(call, "done")
    assert ends(driver) == [("c1", "ok"), ("c2", "ok")]
    assert len(driver.run.session[ToolStarted]) == 2


def test_a_call_that_was_interrupted_goes_on_in_another_process() -> None:
    driver = open_driver(host=HOST)
    driver.responded("", CALLS)
    driver.answered("c2", "done")
    with pytest.raises(Interrupt), driver.running("c1"):
        raise Interrupt
    session = Session.restore(driver.run.session.snapshot())
    prompt = Prompt("agent", "main", config=None)
    again = Driver(session.open_run(prompt, run_id=driver.run.run_id, host=HOST), strict=True)
    assert [call.call_id for call in again.open_calls] == ["c1"]
    with again.running("c1"):
        pass
    again.answered("c1", "done")
    assert ends(again) == [("c2", "ok"), ("c1", "ok")]
    assert len(session[ToolStarted]) == 1


def test_threads_that_ask_for_one_request_get_one_text() -> None:
    ready = threading.Barrier(4)
    speaker = Speaker(decision_points=[DecisionPoint.PRE_TOOL_SELECTION])
    for _ in range(20):
        driver, got = open_driver(guidance_providers=[speaker]), []

        def ask(driver: Any = driver, got: Any = got) -> None:
            ready.wait()
            got.append(driver.next_request())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(got)) == 1
        assert "Look before" in driver.next_request()


@pytest.mark.parametrize("point", [Delivery.EPHEMERAL, Delivery.PERSISTED, Delivery.NONE])
@pytest.mark.parametrize("way", [Delivery.EPHEMERAL, Delivery.PERSISTED, Delivery.NONE])
def test_feedback_goes_where_the_host_declares(way: Delivery, point: Delivery) -> None:
    every = FeedbackProviderConfig(Commentator(), FeedbackTrigger(every_n_calls=1))
    delivery = {**EVERYWHERE, DecisionPoint.POST_TOOL_RESULT: point}
    driver = open_driver(host=Host("h", delivery, feedback=way), feedback_providers=[every])
    driver.responded("", CALLS[:1])
    behind, carried = driver.answered("c1", "done"), driver.next_request()
    assert bool(behind) == (way is Delivery.PERSISTED)
    assert bool(carried) == (way is Delivery.EPHEMERAL)


def test_a_wrong_declaration_is_refused() -> None:
    with pytest.raises(ValueError, match="can't be a refusal"):
        Host(feedback=Delivery.REFUSAL)
    with pytest.raises(TypeError, match="classes of exceptions"):
        Host(control_flow=(Interrupt(),))  # type: ignore[arg-type]
    persisted = dict.fromkeys(DecisionPoint, Delivery.PERSISTED)
    host = Host("h", persisted, feedback=Delivery.EPHEMERAL)
    with pytest.raises(SessionError, match="persisted and feedback ephemeral"):
        open_driver(host=host)


def test_what_goes_wrong_is_logged_and_not_raised(caplog: Any) -> None:
    driver = open_driver()
    driver.responded("", "no calls")
    assert driver.next_request(delivery="no delivery") == ""
    assert driver.answered(7) == ""
    assert driver.may_stop(final="yes")
    assert [record.message.split()[0] for record in caplog.records] == [
        "heard",
        "next_request",
        "answered",
        "may_stop",
    ]
    strict = Driver(driver.run, strict=True)
    with pytest.raises(SessionError):
        strict.responded("", "no calls")  # type: ignore[arg-type]


def test_a_chat_takes_the_same_answers_again_and_again() -> None:
    every = FeedbackProviderConfig(Commentator(), FeedbackTrigger(every_n_calls=2))
    chat = open_driver(Chat, feedback_providers=[every])
    assert chat.request(user="Go.") == ""
    chat.response("", CALLS)
    answers = [Answer("c1", "done"), Answer("c2", "no", Outcome.ERROR), Answer("c0", "old")]
    said = chat.request(answers)
    assert "2 calls" in said
    assert chat.request(answers, user=said) == said
    assert ends(chat) == [("c1", "ok"), ("c2", "error")]
    chat.response("Done.")
    assert chat.request(answers) == ""
    assert len(chat.run.session[UserMessage]) == 1


def test_a_chat_may_know_when_calls_run() -> None:
    chat = open_driver(Chat)
    chat.request()
    chat.response("", CALLS)
    with chat.running("c1"):
        pass
    with pytest.raises(OSError, match="disk"), chat.running("c2"):
        raise OSError("disk on fire")
    chat.request([Answer("c1", "done"), Answer("c2", "The disk burns.", Outcome.ERROR)])
    assert ends(chat) == [("c1", "ok"), ("c2", "error")]
    [first, second] = chat.run.session[ToolInvoked].all()
    assert first.duration is not None
    assert second.error == "OSError: disk on fire"


def test_the_first_request_of_a_chat_carries_what_belongs_to_the_prompt() -> None:
    speaker = Speaker(decision_points=[DecisionPoint.PRE_RENDER])
    chat = open_driver(Chat, guidance_providers=[speaker])
    first = chat.request(user="Go.")
    assert "Look before" in first
    assert chat.request(user="Go.") == first
    chat.response("", CALLS[:1])
    assert chat.request([Answer("c1", "done")]) == ""


@pytest.mark.asyncio
async def test_the_twins_of_a_chat_say_the_same() -> None:
    speaker = Speaker(decision_points=[DecisionPoint.PRE_TOOL_EXECUTION], text="Careful.")
    chat = open_driver(Chat, guidance_providers=[speaker])
    assert await chat.arequest(user=["Go.", "On."]) == ""
    await chat.aresponse("", CALLS)
    assert "Careful." in await chat.arequest([Answer("c1", "done"), Answer("c2", "done")])
    assert ends(chat) == [("c1", "ok"), ("c2", "ok")]


IDS = st.sampled_from(["c0", "c1", "c2", "c3", ""])
OUTCOMES = st.sampled_from([*Outcome, "ok", "nonsense"])
STEPS = st.one_of(
    st.tuples(st.just("respond"), st.lists(IDS, max_size=3)),
    st.tuples(st.just("answer"), IDS, OUTCOMES),
    st.tuples(st.just("answer_call"), IDS, OUTCOMES),
    st.tuples(st.just("run"), IDS, st.sampled_from([None, OSError, Interrupt, KeyboardInterrupt])),
    st.tuples(st.just("request"), st.lists(IDS, max_size=4)),
    st.just(("user",)),
    st.just(("stop",)),
    st.just(("another",)),
)


def answer_call(chat: Chat, call_id: str, outcome: Any) -> None:
    if call_id in {call.call_id for call in chat.open_calls}:
        chat.answered(ToolCall("read", {}, call_id), "done", outcome)


def run(chat: Chat, call_id: str, error: Any) -> None:
    with suppress(OSError, Interrupt, KeyboardInterrupt), chat.running(call_id):
        if error is not None:
            raise error


REPORTS: dict[str, Any] = {
    "answer": lambda chat, call_id, outcome: chat.answered(call_id, "done", outcome),
    "answer_call": answer_call,
    "run": run,
    "request": lambda chat, ids: chat.request([Answer(call_id, "done") for call_id in ids]),
    "user": lambda chat: chat.user_said("Go on."),
    "stop": lambda chat: chat.may_stop(),
}


@given(st.lists(STEPS, max_size=25))
@example([("respond", ["c0"]), ("run", "c0", None), ("run", "c0", None)])
@settings(max_examples=150, deadline=None)
def test_any_order_of_reports_ends_each_call_once(steps: list[Any]) -> None:
    chat = open_driver(Chat)
    asked: Counter[str] = Counter()
    for step, *about in steps:
        if step == "respond":
            asked.update(about[0])
            chat.response("", [ToolCall("read", {"n": n}, i) for n, i in enumerate(about[0])])
        elif step == "another":
            chat = Chat(chat.run, timeout=None)
        else:
            REPORTS[step](chat, *about)
    chat.close()
    assert Counter(call_id for call_id, _ in ends(chat)) == asked
    assert not chat.run.state.running


@pytest.mark.parametrize("kind", [Driver, Chat])
@pytest.mark.parametrize("by_id", [True, False])
def test_a_call_that_names_no_tool_is_on_record_and_ends_no_guidance(
    kind: type[Driver], by_id: bool
) -> None:
    call = ToolCall("", {"path": "a"}, "c1")
    driver = open_driver(kind)
    driver.strict = True

    driver.heard(calls=[call])
    with driver.running("c1" if by_id else call):
        pass
    driver.answered("c1" if by_id else call, "no such tool", outcome="error")
    driver.heard(calls=[call])
    driver.close()

    named = [one.tool for one in driver.run.session[ToolInvoked].all()]
    assert named == ["unnamed_tool", "unnamed_tool"]


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize("call", [10**5000, Unprintable(), None, b"\xff"], ids=type)
def test_whatever_is_given_for_a_call_nothing_is_raised(call: Any) -> None:
    driver = Driver(Session().open_run(Prompt("agent", "main", config=None), host=HOST))
    driver.responded("", CALLS)

    with driver.running(call) as running:
        assert running.refusal == ""
    assert driver.answered(call, "text") == ""
    assert driver.open_calls == tuple(CALLS)
