"""The loop with the real client against the scripted service."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from types import SimpleNamespace

import attrs
import pytest

from trimtab import (
    Budget,
    ClassificationResult,
    Deadline,
    DecisionPoint,
    Delivery,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceDelivered,
    GuidanceProviderConfig,
    Heartbeat,
    ManualClock,
    Outcome,
    Session,
    TaskCompletionResult,
    Tool,
    ToolInvoked,
    ToolResult,
)
from trimtab.events import (
    CompletionChecked,
    ModelResponded,
    ProviderFaulted,
    UserMessage,
)
from trimtab_openai import (
    ClientMismatch,
    Exhausted,
    GuidedLoop,
    LoopStopped,
    ModelFailed,
    Settings,
    TurnLimitReached,
)
from trimtab_test_servers import Call, Fault, Hang, OpenAIServer, Thinking, say
from trimtab_testing import Speaker

pytestmark = pytest.mark.e2e

PATTERN = "Detected repeated unsuccessful pattern."
SAME = [say(Call("read", {"path": "a.py"})) for _ in range(3)]
LOOPING = [*SAME, say(Call("read", {"path": "b.py"})), say("Done.")]


def hearing(server, text):
    """In which requests the text stands."""
    return [index for index, request in enumerate(server.requests) if request.mentions(text)]


# --- guidance -----------------------------------------------------------------------------------


def test_a_looping_agent_hears_of_it_after_the_third_repeat_and_once(way, opened, repeats):
    with OpenAIServer(LOOPING) as server:
        ending = way.complete(server, opened(repeats))
    assert ending.text == "Done."
    assert hearing(server, PATTERN) == [3]
    assert server.refusals == ()


def test_the_guidance_is_a_message_of_the_system_at_the_end(some_way, opened, repeats):
    with OpenAIServer(LOOPING) as server:
        some_way.complete(server, opened(repeats))
    last = server.requests[3].messages[-1]
    assert last == {
        "role": "system",
        "content": f'<guidance source="repeats">{PATTERN}</guidance>',
    }


def test_a_second_prompt_without_the_provider_hears_nothing(some_way, opened, repeats):
    with OpenAIServer([*LOOPING, *LOOPING]) as server:
        some_way.complete(server, opened(repeats))
        some_way.complete(server, opened(key="other"))
    assert hearing(server, "<guidance") == [3]


def conversation(request):
    """The bytes of the conversation in a request, without the closing bracket."""
    start = min(
        request.body.find(name) for name in (b'"messages":[', b'"input":[') if name in request.body
    )
    text = request.body[start:].decode()
    opening = text.index("[")
    end = json.JSONDecoder().raw_decode(text[opening:])[1]
    return text[opening : opening + end - 1]


def test_the_prefix_of_a_request_is_the_one_before_without_its_guidance(way, opened, nudge):
    at = (DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.POST_TOOL_RESULT)
    say_always = GuidanceProviderConfig(nudge(decision_points=at), cooldown_turns=0)
    with OpenAIServer(LOOPING) as server:
        way.complete(server, opened(say_always))
    for earlier, later in zip(server.requests, server.requests[1:], strict=False):
        before = conversation(earlier)
        at_end = before.find(',{"role":"system"')
        assert conversation(later).startswith(before if at_end < 0 else before[:at_end])
    assert len(server.requests) == len(LOOPING)


def test_guidance_can_stand_in_the_last_tool_message(some_way, opened, repeats):
    with OpenAIServer(LOOPING) as server:
        some_way.complete(server, opened(repeats), settings={"place": "tool"})
    told, after = (server.requests[index].messages for index in (3, 4))
    assert len(hearing(server, PATTERN)) == 1
    assert "role" not in told[-1] or told[-1]["role"] == "tool"
    assert str(told[-1]).count("contents of a.py") == 1
    assert PATTERN not in str(after[len(told) - 1])


def test_the_role_of_guidance_can_be_chosen(some_way, opened, nudge):
    with OpenAIServer([say("Done.")]) as server:
        some_way.complete(server, opened(nudge()), settings={"role": "system"})
    assert server.requests[0].messages[-1]["role"] == "system"


POINTS = {
    DecisionPoint.PRE_TOOL_SELECTION: 0,
    DecisionPoint.PRE_TOOL_EXECUTION: 1,
    DecisionPoint.POST_TOOL_RESULT: 1,
    DecisionPoint.PRE_RESPONSE: 2,
}


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.value)
def test_each_point_speaks_in_exactly_one_request(some_way, opened, nudge, point):
    run = opened(nudge(decision_points=(point,)))
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done."), say("Done.")]) as server:
        some_way.complete(server, run)
    delivered = run.session[GuidanceDelivered].latest()
    assert hearing(server, "Mind the step.") == [POINTS[point]]
    assert (delivered.decision_point, delivered.delivery) == (point, Delivery.EPHEMERAL)
    assert len(run.session[GuidanceDelivered]) == 1


def test_guidance_before_the_call_stands_in_the_tool_s_context(some_way, opened, nudge, read_tool):
    heard = []

    def listen(params, *, context):
        heard.append(context.guidance)
        return ToolResult.ok("ok")

    run = opened(
        nudge(decision_points=(DecisionPoint.PRE_TOOL_EXECUTION,)),
        tools=[attrs.evolve(read_tool, handler=listen)],
    )
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        some_way.complete(server, run)
    assert heard == ['<guidance source="nudge">Mind the step.</guidance>']


def test_the_caller_s_messages_stay_as_they_are(some_way, opened, nudge):
    mine = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Fix it."}]
    before = json.dumps(mine)
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        ending = some_way.complete(server, opened(nudge()), mine)
    assert json.dumps(mine) == before
    assert ending.messages[:2] == mine
    assert "<guidance" not in str(ending.messages)


def test_a_conversation_goes_on_in_the_same_run(some_way, opened):
    run = opened()
    with OpenAIServer([say("Done."), say("Gladly.")]) as server:
        first = some_way.complete(server, run)
        again = [*first.messages, {"role": "user", "content": "Once more."}]
        second = some_way.complete(server, run, again)
    said = [message.text for message in run.session[UserMessage].all()]
    assert second.text == "Gladly."
    assert said == ["Fix it.", "Once more."]


@pytest.mark.parametrize("fault", ["raises", "sleeps", "garbage"])
def test_a_broken_provider_changes_nothing_else(some_way, opened, broken, fault):
    bodies = []
    for providers in ((), (broken(fault),)):
        run = opened(*providers, key=f"main-{len(providers)}")
        began = time.monotonic()
        with OpenAIServer(LOOPING) as server:
            some_way.complete(server, run, settings={"timeout": 0.05})
        bodies.append([request.body for request in server.requests])
        assert time.monotonic() - began < 5
    assert bodies[0] == bodies[1]
    assert len(run.session[ProviderFaulted]) == 3


# --- feedback -----------------------------------------------------------------------------------


@attrs.frozen
class Counter:
    name: str = "counter"

    def should_run(self, *, context):
        return True

    def provide(self, *, context):
        return Feedback(summary=f"{context.tool_call_count} calls so far.")


def test_feedback_is_appended_to_the_tool_message_and_stays(way, opened):
    counter = FeedbackProviderConfig(Counter(), FeedbackTrigger(every_n_calls=2))
    with OpenAIServer(LOOPING) as server:
        way.complete(server, opened(feedback=[counter]))
    message = server.requests[2].messages[-1]
    text = message.get("content") or message["output"]
    assert text.startswith("contents of a.py\n\n<feedback")
    assert hearing(server, "2 calls so far.") == [2, 3, 4]
    assert hearing(server, "4 calls so far.") == [4]


# --- the gate -----------------------------------------------------------------------------------


def test_an_agent_that_stops_early_is_sent_back_at_most_three_times(way, opened, never):
    run = opened(checkers=[never])
    with OpenAIServer([say("Done.")] * 4) as server:
        ending = way.complete(server, run)
    assert ending.checked.reason == "sent back 3 times without progress"
    assert len(hearing(server, "The tests have not been run.")) == 3
    last = server.requests[-1].messages[-1]
    assert last["role"] == "user"
    assert last["content"].startswith('<feedback source="completion">The tests have not')


def test_the_gate_opens_when_the_work_is_done(some_way, opened):
    class ReadFirst:
        def check(self, context):
            if context.session[ToolInvoked].all():
                return TaskCompletionResult.ok()
            return TaskCompletionResult.incomplete("Read a file first.")

    run = opened(checkers=[ReadFirst()])
    script = [say("Done."), say(Call("read", {"path": "a"})), say("Done now.")]
    with OpenAIServer(script) as server:
        ending = some_way.complete(server, run)
    assert (ending.text, ending.checked.status) == ("Done now.", "ok")


# --- tools --------------------------------------------------------------------------------------


def test_calls_of_one_answer_run_at_the_same_time_and_answer_in_order(way, opened, read_tool):
    meeting = threading.Barrier(3, timeout=10)

    def meet(params, *, context):
        meeting.wait()
        return ToolResult.ok(params.path)

    run = opened(tools=[attrs.evolve(read_tool, handler=meet)])
    calls = [Call("read", {"path": path}, id=path) for path in "abc"]
    with OpenAIServer([say(*calls), say("Done.")]) as server:
        ending = way.complete(server, run)
    answers = [m.get("content") or m.get("output") for m in ending.messages[-4:-1]]
    assert answers == ["a", "b", "c"]
    assert {call.turn for call in run.session[ToolInvoked].all()} == {0}
    assert server.refusals == ()


def test_what_waits_for_its_turn_does_not_run_after_the_keyboard_has_interrupted(opened, read_tool):
    ran = []

    def stop(params, *, context):
        ran.append(params.path)
        if params.path == "0":
            raise KeyboardInterrupt
        time.sleep(0.1)
        return ToolResult.ok("ok")

    run = opened(tools=[attrs.evolve(read_tool, handler=stop)])
    message = {
        "tool_calls": [
            {"id": f"c{n}", "function": {"name": "read", "arguments": json.dumps({"path": str(n)})}}
            for n in range(10)
        ]
    }
    create = SimpleNamespace(create=lambda **_: {"choices": [{"message": message}]})
    client = SimpleNamespace(chat=SimpleNamespace(completions=create))
    with pytest.raises(KeyboardInterrupt):
        GuidedLoop(client, run, model="m", settings=Settings(max_parallel=2)).complete("Go.")
    assert len(ran) <= 4


def test_calls_of_a_sequential_tool_wait_for_those_before_them(way, opened, read_tool):
    events = []

    def work(params, *, context):
        events.append(("begin", params.path))
        time.sleep(0.02 if params.path in "ab" else 0)
        events.append(("end", params.path))
        return ToolResult.ok(params.path)

    reading = attrs.evolve(read_tool, handler=work)
    write = attrs.evolve(reading, name="write", sequential=True)
    run = opened(tools=[reading, write])
    names = {"a": "read", "b": "write", "c": "write", "d": "read"}
    calls = [Call(name, {"path": path}) for path, name in names.items()]
    with OpenAIServer([say(*calls), say("Done.")]) as server:
        way.complete(server, run)

    assert events == [(what, path) for path in "abcd" for what in ("begin", "end")]
    assert [call.params["path"] for call in run.session[ToolInvoked].all()] == list("abcd")
    assert server.refusals == ()


def test_async_handlers_are_awaited(way, opened, read_tool):
    async def slow(params, *, context):
        return ToolResult.ok(f"awaited {params.path}")

    run = opened(tools=[attrs.evolve(read_tool, handler=slow)])
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        way.complete(server, run)
    assert server.requests[1].mentions("awaited a")


def test_what_goes_wrong_with_a_call_is_told_to_the_model(way, opened, read_tool):
    def burst(params, *, context):
        raise OSError("disk on fire")

    run = opened(tools=[attrs.evolve(read_tool, handler=burst)])
    calls = [
        Call("read", {"path": "a"}, id="c1"),
        Call("wirte", {"path": "a"}, id="c2"),
        Call("read", raw='{"path": ', id="c3"),
        Call("read", {"file": "a"}, id="c4"),
    ]
    with OpenAIServer([say(*calls), say("Done.")]) as server:
        way.complete(server, run)
    outcomes = {call.call_id: call.outcome for call in run.session[ToolInvoked].all()}
    for text in ("disk on fire", "There is no tool", "not valid JSON", "missing params.path"):
        assert server.requests[1].mentions(text)
    assert outcomes == {
        "c1": Outcome.ERROR,
        "c2": Outcome.INVALID,
        "c3": Outcome.INVALID,
        "c4": Outcome.INVALID,
    }
    assert server.refusals == ()


def test_reasoning_and_text_beside_calls_go_back_as_they_came(opened, connect):
    script = [say(Thinking("hm"), "I look.", Call("read", {"path": "a"})), say("Done.")]
    run = opened()
    with OpenAIServer(script) as server:
        loop = GuidedLoop(connect(server), run, model="m", settings=Settings(api="responses"))
        loop.complete("Fix it.")
    kinds = [item.get("type", "message") for item in server.requests[1].messages]
    first = run.session[ModelResponded].all()[0]
    assert kinds == ["message", "reasoning", "message", "function_call", "function_call_output"]
    assert (first.reasoning, first.text) == ("hm", "I look.")
    assert server.refusals == ()


def test_a_heart_beats_at_every_answer_and_every_call(some_way, opened):
    heartbeat, beats = Heartbeat(), []
    heartbeat.add_callback(lambda: beats.append(1))
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        some_way.complete(server, opened(), heartbeat=heartbeat)
    assert len(beats) == 3


# --- the service --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500])
def test_the_client_s_retries_are_no_business_of_the_run(way, opened, status):
    run = opened()
    script = [
        Fault(status, retry_after_seconds=0.01),
        say(Call("read", {"path": "a"})),
        Fault(status, retry_after_seconds=0.01),
        say("Done."),
    ]
    with OpenAIServer(script) as server:
        ending = way.complete(server, run, client={"max_retries": 1})
    assert ending.text == "Done."
    assert [call.outcome for call in run.session[ToolInvoked].all()] == [Outcome.OK]
    assert run.state.turns == 2


def test_a_lasting_fault_passes_through_and_is_no_tool_failure(way, opened, never):
    import openai

    run = opened(checkers=[never])
    with OpenAIServer([Fault(500)]) as server, pytest.raises(openai.InternalServerError):
        way.complete(server, run)
    checked = run.session[CompletionChecked].latest()
    assert checked.reason.startswith("the model's service failed: InternalServerError")
    assert run.state.calls == 0


def test_a_conversation_goes_on_after_a_lasting_fault(some_way, opened, nudge):
    import openai

    told = nudge(lambda context: context.tool_call_count == 1)
    run = opened(told)
    script = [say(Call("read", {"path": "a"})), Fault(500), say("Done.")]
    with OpenAIServer(script) as server:
        with openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
            settings = Settings(api=some_way.api)
            loop = GuidedLoop(client, run, model="m", settings=settings)
            with pytest.raises(openai.InternalServerError):
                loop.complete("Fix it.")
            ending = loop.complete(loop.messages)
    _, failed, again = server.requests
    assert failed.messages == again.messages
    assert again.mentions("Mind the step.")
    assert (ending.text, ending.messages) == ("Done.", loop.messages)


def test_a_client_s_timeout_passes_through(some_way, opened):
    import openai

    with OpenAIServer([Hang(20)]) as server, pytest.raises(openai.APITimeoutError):
        some_way.complete(server, opened(), client={"timeout": 0.2})


def test_a_request_takes_no_longer_than_the_deadline_leaves(way, opened):
    run = opened(deadline=Deadline(0.3))
    began = time.monotonic()
    with OpenAIServer([Hang(20)]) as server, pytest.raises(Exhausted, match="deadline has passed"):
        way.complete(server, run)
    assert time.monotonic() - began < 5


def test_an_answer_that_outlasts_the_deadline_is_given_up(opened, connect):
    clock = ManualClock()
    run = opened(deadline=Deadline(60, clock=clock))
    with OpenAIServer([say("word " * 100)]) as server:
        loop = GuidedLoop(connect(server), run, model="m")
        with pytest.raises(Exhausted, match="not complete"):
            loop.complete("Fix it.", on_chunk=lambda chunk: clock.advance(100))


def test_the_client_s_retries_do_not_outlast_the_deadline(opened):
    import openai

    async def go(server):
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="x") as client:
            await GuidedLoop(client, opened(deadline=Deadline(0.5)), model="m").acomplete("Fix it.")

    began = time.monotonic()
    patient = [Fault(429, retry_after_seconds=20)] * 3
    with OpenAIServer(patient) as server, pytest.raises(Exhausted, match="deadline has passed"):
        asyncio.run(go(server))
    assert time.monotonic() - began < 5


def test_nothing_is_asked_after_the_deadline(some_way, read_tool, opened):
    clock = ManualClock()

    def wait(params, *, context):
        clock.advance(61)
        return ToolResult.ok("late")

    run = opened(tools=[attrs.evolve(read_tool, handler=wait)], deadline=Deadline(60, clock=clock))
    with OpenAIServer(LOOPING) as server, pytest.raises(Exhausted) as caught:
        some_way.complete(server, run)
    assert "after 1 response of the model" in str(caught.value)
    assert len(server.requests) == 1
    assert "late" in str(caught.value.messages[-1])


def test_a_final_answer_after_the_deadline_is_taken_without_a_check(opened, never, connect):
    clock = ManualClock()
    run = opened(checkers=[never], deadline=Deadline(60, clock=clock))

    def answer(request):
        clock.advance(100)
        return say("Done.")

    with OpenAIServer(answer) as server:
        late = GuidedLoop(connect(server), run, model="m").complete("Fix it.")
    assert (late.text, late.checked.reason) == ("Done.", "the deadline has passed")


def test_the_last_answer_that_may_be_is_not_asked_for_again(some_way, opened, nudge):
    run = opened(nudge(decision_points=(DecisionPoint.PRE_RESPONSE,)))
    with OpenAIServer([say("Done.")]) as server:
        assert some_way.complete(server, run, settings={"max_turns": 1}).text == "Done."


@pytest.mark.parametrize("kind", ["text", "input_text"])
def test_what_the_user_says_in_parts_is_recorded_as_words(opened, kind):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": kind, "text": "Look at"}, picture, {"type": kind, "text": "this."}]
    create = SimpleNamespace(create=lambda **_: {"choices": [{"message": {"content": "I see."}}]})
    client = SimpleNamespace(chat=SimpleNamespace(completions=create))
    run = opened()
    GuidedLoop(client, run, model="m").complete([{"role": "user", "content": parts}])
    assert run.session[UserMessage].latest().text == "Look at\nthis."


def test_a_name_that_is_no_utf_8_does_not_end_the_conversation(some_way, read_tool, opened):
    def answer(params, *, context):
        return ToolResult.ok("notes-\udcff.txt")

    run = opened(tools=[attrs.evolve(read_tool, handler=answer)])
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        assert some_way.complete(server, run).text == "Done."
    assert server.requests[1].mentions("notes-\ufffd.txt")


def test_nothing_is_asked_beyond_the_budget(way, opened):
    run = opened(budget=Budget(max_total_tokens=240))
    with OpenAIServer(LOOPING) as server, pytest.raises(Exhausted, match="max_total_tokens"):
        way.complete(server, run)
    assert len(server.requests) == 2


def test_nudges_without_effect_end_the_turn(way, opened):
    stuck = Speaker(
        text=lambda context: f"number {context.turn_count}",
        verdict=lambda context: ClassificationResult(context.turn_count > 0, episode="stuck"),
        decision_points=(DecisionPoint.PRE_TOOL_SELECTION,),
    )
    run = opened(GuidanceProviderConfig(stuck, stop_after=2, cooldown_turns=1))
    with OpenAIServer(lambda request: SAME[0]) as server, pytest.raises(Exhausted) as caught:
        way.complete(server, run)
    assert str(caught.value).startswith("Stopped: 2 nudges of")
    assert len(server.requests) == 3


def test_cost_is_counted(some_way, opened):
    run = opened(budget=Budget(max_cost=3.0))
    with OpenAIServer(LOOPING) as server, pytest.raises(Exhausted, match="max_cost"):
        some_way.complete(server, run, cost=lambda model, usage: usage.output_tokens / 10)
    assert run.usage.cost == 4.0


def test_no_conversation_is_endless(way, opened):
    with OpenAIServer(lambda request: SAME[0]) as server, pytest.raises(TurnLimitReached) as caught:
        way.complete(server, opened(), settings={"max_turns": 3})
    assert "max_turns" in str(caught.value)
    assert len(server.requests) == 3


def undelivered(server, run):
    """What the record says was delivered and no request held."""
    delivered = [event.injection.content for event in run.session[GuidanceDelivered].all()]
    delivered += [event.summary for event in run.session[Feedback].all()]
    return [text for text in delivered if not any(r.mentions(text) for r in server.requests)]


@pytest.fixture
def talkative(nudge):
    """A provider for each decision point of a loop, and a commentator."""
    points = [point for point in DecisionPoint if point is not DecisionPoint.PRE_RENDER]
    guidance = [
        nudge(
            text=f"Mind {point.value}.",
            name=f"at-{point.value.replace('_', '-')}",
            category=point.value,
            decision_points=(point,),
        )
        for point in points
    ]
    trigger = FeedbackTrigger(every_n_calls=1)
    return guidance, (FeedbackProviderConfig(Counter(), trigger),)


def test_what_stands_as_delivered_before_the_limit_of_turns_was_sent(way, opened, talkative):
    guidance, feedback = talkative
    run = opened(*guidance, feedback=feedback)
    with OpenAIServer(lambda request: SAME[0]) as server, pytest.raises(TurnLimitReached):
        way.complete(server, run, settings={"max_turns": 2})
    assert {event.decision_point.value for event in run.session[GuidanceDelivered].all()} == {
        "pre_tool_selection",
        "pre_tool_execution",
        "post_tool_result",
    }
    assert undelivered(server, run) == []


def test_nobody_is_asked_for_words_that_one_turn_leaves_no_room_for(way, opened, talkative):
    guidance, feedback = talkative
    run = opened(*guidance, feedback=feedback)
    with OpenAIServer(lambda request: SAME[0]) as server, pytest.raises(TurnLimitReached):
        way.complete(server, run, settings={"max_turns": 1})
    points = [event.decision_point for event in run.session[GuidanceDelivered].all()]
    assert points == [DecisionPoint.PRE_TOOL_SELECTION]
    assert run.session[Feedback].all() == ()


def test_nobody_is_asked_for_words_once_the_budget_is_used_up(way, opened, talkative):
    guidance, feedback = talkative
    run = opened(*guidance, feedback=feedback, budget=Budget(max_total_tokens=120))
    with OpenAIServer(LOOPING) as server, pytest.raises(Exhausted):
        way.complete(server, run)
    assert run.session[GuidanceDelivered].all()
    assert undelivered(server, run) == []


def test_nobody_is_asked_for_words_once_a_tool_has_outlasted_the_deadline(
    way, opened, talkative, read_tool
):
    clock = ManualClock()

    def wait(params, *, context):
        clock.advance(61)
        return ToolResult.ok("done")

    guidance, feedback = talkative
    late = [one for one in guidance if one.category == "post_tool_result"]
    tools = [attrs.evolve(read_tool, handler=wait)]
    run = opened(*late, feedback=feedback, tools=tools, deadline=Deadline(60, clock=clock))
    with OpenAIServer(LOOPING) as server, pytest.raises(Exhausted):
        way.complete(server, run)
    assert run.session[GuidanceDelivered].all() == run.session[Feedback].all() == ()


def test_a_client_of_the_wrong_kind_is_named(opened):
    import asyncio

    from openai import AsyncOpenAI, OpenAI

    with OpenAIServer([say("Done.")] * 2) as server:
        connection = {"base_url": server.base_url, "api_key": "x"}
        with pytest.raises(ClientMismatch, match="use acomplete"):
            GuidedLoop(AsyncOpenAI(**connection), opened(), model="m").complete("Fix it.")
        with OpenAI(**connection) as client, pytest.raises(ClientMismatch, match="use complete"):
            asyncio.run(GuidedLoop(client, opened(), model="m").acomplete("Fix it."))


# --- structured output --------------------------------------------------------------------------


@attrs.frozen
class Report:
    path: str
    lines: int = 0


def test_structured_output_is_asked_for_and_parsed(way, opened):
    with OpenAIServer([say('{"path": "a.py", "lines": 3}')]) as server:
        ending = way.complete(server, opened(), output_type=Report)
    sent = server.requests[0].json
    form = sent["text"]["format"] if way.api == "responses" else sent["response_format"]
    assert ending.output == Report("a.py", 3)
    assert form["type"] == "json_schema"
    assert server.refusals == ()


@pytest.mark.parametrize("text", ["no JSON", '{"lines": 3}', "[]"])
def test_output_that_does_not_fit_is_asked_for_again_and_then_an_error(some_way, opened, text):
    with OpenAIServer([say(text)] * 3) as server:
        with pytest.raises(LoopStopped, match="not a valid Report"):
            some_way.complete(server, opened(), output_type=Report)
    assert len(server.requests) == 3
    assert "Answer again with one JSON object" in str(server.requests[1].messages[-1])


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"path": "a"}\n```',
        'Here it is:\n```\n{"path": "a"}\n```\nDone.',
        'The report: {"path": "a"}.',
        '{"path": "a"}',
    ],
)
def test_output_in_a_fence_or_among_prose_is_read(some_way, opened, text):
    with OpenAIServer([say(text)]) as server:
        result = some_way.complete(server, opened(), output_type=Report)
    assert result.output == Report("a")


def test_output_of_another_shape_is_corrected_by_the_model(some_way, opened):
    with OpenAIServer([say('{"path": 4, "extra": 1}'), say('{"path": "a"}')]) as server:
        result = some_way.complete(server, opened(), output_type=Report)
    assert result.output == Report("a")
    asked = str(server.requests[1].messages[-1])
    assert "expected string at output.path, not 4" in asked
    assert "unknown field" in asked


def test_options_go_along_and_keep_their_place(opened, connect):
    settings = Settings(
        api="responses", options={"temperature": 0, "text": {"verbosity": "low"}, "timeout": 5}
    )
    with OpenAIServer([say('{"path": "a"}')]) as server:
        loop = GuidedLoop(
            connect(server), opened(), model="m", output_type=Report, settings=settings
        )
        loop.complete("Fix it.")
    sent = server.requests[0].json
    assert (sent["temperature"], sent["text"]["verbosity"]) == (0, "low")
    assert sent["text"]["format"]["name"] == "Report"


def test_a_tool_without_handler_s_arguments_is_offered_as_it_is(opened, read_tool, connect):
    @attrs.frozen
    class Nothing:
        pass

    tools = [
        read_tool,
        Tool("now", "Tell the time.", Nothing, lambda p, *, context: ToolResult.ok(1)),
    ]
    with OpenAIServer([say(Call("now", raw="")), say("Done.")]) as server:
        GuidedLoop(connect(server), opened(tools=tools), model="m").complete("Fix it.")
    names = [tool["function"]["name"] for tool in server.requests[0].json["tools"]]
    assert names == ["read", "now"]
    assert server.requests[1].messages[-1]["content"] == "1"


def test_an_answer_without_a_choice_is_a_failure_of_the_service(opened):
    class Client:
        class chat:  # noqa: N801
            class completions:  # noqa: N801
                @staticmethod
                def create(**request):
                    return {"error": {"message": "overloaded"}}

    with pytest.raises(ModelFailed, match="overloaded"):
        GuidedLoop(Client, opened(), model="m").complete("Fix it.")


def test_the_run_of_a_restored_session_goes_on(opened, repeats, session, connect):
    """Counts survive a snapshot: the third repeat is seen across two processes."""
    run = opened(repeats)
    with OpenAIServer([*SAME[:2], say("Later.")]) as server:
        GuidedLoop(connect(server), run, model="m").complete("Fix it.")
    restored = Session.restore(session.snapshot())
    again = restored.open_run(run.prompt, run_id=run.run_id, host=run.host)
    with OpenAIServer([SAME[0], say("Done.")]) as server:
        GuidedLoop(connect(server), again, model="m").complete("Go on.")
    assert hearing(server, PATTERN) == [1]


def test_a_sleeping_provider_does_not_stop_the_event_loop(opened, broken):
    import asyncio

    import openai

    gaps, done = [], asyncio.Event()

    async def tick():
        while not done.is_set():
            began = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - began)

    async def go(server):
        ticking = asyncio.create_task(tick())
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="x") as client:
            run, settings = opened(broken("sleeps")), Settings(timeout=2.0)
            await GuidedLoop(client, run, model="m", settings=settings).acomplete("Fix it.")
        done.set()
        await ticking

    with OpenAIServer([say("Done.")]) as server:
        asyncio.run(go(server))
    assert max(gaps) < 1.5
