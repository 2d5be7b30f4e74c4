"""Prompts brought to their end by the adapter, with the real client."""

from __future__ import annotations

import asyncio
import threading
import time

import attrs
import pytest

from trimtab import (
    Adapter,
    Budget,
    Deadline,
    DecisionPoint,
    GuidanceDelivered,
    Heartbeat,
    MarkdownSection,
    Outcome,
    Prompt,
    PromptEvaluationError,
    PromptTemplate,
    Session,
    TaskCompletionResult,
    ToolInvoked,
    ToolResult,
)
from trimtab.events import RunClosed, UserMessage
from trimtab_openai import OpenAIAdapter, Settings
from trimtab_test_servers import Call, Fault, OpenAIServer, say

pytest.importorskip("openai")
pytestmark = pytest.mark.e2e


@attrs.frozen
class Task:
    what: str


@attrs.frozen
class Report:
    path: str


@pytest.fixture
def prompt(read_tool):
    """A prompt that takes a task, with further arguments of its template."""

    def make(*, key="main", **declared):
        section = MarkdownSection[Task](
            key="task", title="Task", template="Fix ${what}.", tools=(read_tool,)
        )
        template = PromptTemplate("agent", key, (section,), **declared)
        return Prompt(template, config=None).bind(Task("the parser"))

    return make


@pytest.fixture(params=["evaluate", "aevaluate"])
def evaluate(request, session):
    """Evaluate a prompt on a server, in both ways."""

    def run(server, prompt, *, adapter=None, **limits):
        made = OpenAIAdapter("m", base_url=server.base_url, api_key="x", **(adapter or {}))
        if request.param == "evaluate":
            return made.evaluate(prompt, session=session, **limits)
        return asyncio.run(made.aevaluate(prompt, session=session, **limits))

    return run


def test_a_template_is_refused_with_what_to_write() -> None:
    adapter = OpenAIAdapter("m", client=object())
    with pytest.raises(TypeError, match=r"not PromptTemplate: write Prompt\(template\)"):
        adapter.evaluate(PromptTemplate("agent", "main"), session=Session())  # type: ignore[arg-type]


def test_what_is_no_session_and_no_settings_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"settings must be Settings, not dict: write Settings\("):
        OpenAIAdapter("m", settings={"max_turns": 3})  # type: ignore[arg-type]
    adapter, prompt = OpenAIAdapter("m", client=object()), Prompt("agent", "main", config=None)
    with pytest.raises(TypeError, match="session must be a Session, not NoneType"):
        adapter.evaluate(prompt, session=None)  # type: ignore[arg-type]


def test_it_is_an_adapter():
    assert isinstance(OpenAIAdapter("m"), Adapter)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_prompt_is_run_to_its_end(evaluate, prompt, session, api):
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        response = evaluate(server, prompt(), adapter={"settings": Settings(api=api)})
    first = server.requests[0].messages
    assert (response.text, response.output) == ("Done.", None)
    assert first == [{"role": "user", "content": "## Task\n\nFix the parser."}]
    assert session[ToolInvoked].latest().tool == "read"
    assert session[RunClosed].latest().reason == "completed"
    assert len(session[UserMessage]) == 1


def test_the_tools_of_its_sections_are_known_to_providers(evaluate, prompt, nudge):
    known = []
    watching = nudge(lambda context: bool(known.append(context.tools)))
    with OpenAIServer([say("Done.")]) as server:
        evaluate(server, prompt(guidance_providers=[watching]))
    assert known == [frozenset({"read"})]


def test_whether_calls_may_be_parallel_is_known_to_providers(evaluate, prompt, nudge):
    known = []
    watching = nudge(lambda context: bool(known.append(context.host.parallel_calls)))
    settings = Settings(options={"parallel_tool_calls": False})
    with OpenAIServer([say("Done.")]) as server:
        evaluate(server, prompt(guidance_providers=[watching]), adapter={"settings": settings})
    assert known == [False]


def test_guidance_before_rendering_is_in_the_first_request_alone(evaluate, prompt, nudge, session):
    at_rendering = nudge(decision_points=(DecisionPoint.PRE_RENDER,))
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        evaluate(server, prompt(guidance_providers=[at_rendering]))
    assert [request.mentions("Mind the step.") for request in server.requests] == [True, False]
    assert session[GuidanceDelivered].latest().decision_point is DecisionPoint.PRE_RENDER


def test_structured_output_becomes_an_object(evaluate, prompt):
    with OpenAIServer([say('{"path": "a.py"}')]) as server:
        response = evaluate(server, prompt(output_type=Report))
    assert response.output == Report("a.py")
    assert server.refusals == ()


def test_structured_output_with_open_work_is_an_error(evaluate, prompt, never, session):
    with OpenAIServer([say('{"path": "a.py"}')] * 4) as server:
        with pytest.raises(PromptEvaluationError, match="open work: The tests have not been run"):
            evaluate(server, prompt(output_type=Report, completion_checkers=[never]))
    assert len(server.requests) == 4
    assert session[RunClosed].latest().reason.startswith("PromptEvaluationError")


def test_text_with_open_work_is_an_end(evaluate, prompt, never):
    with OpenAIServer([say("Done.")] * 4) as server:
        response = evaluate(server, prompt(completion_checkers=[never]))
    assert response.text == "Done."


def test_checkers_of_the_client_are_asked_too(evaluate, prompt):
    class Signed:
        def check(self, context):
            if "signed" in context.tentative_output:
                return TaskCompletionResult.ok()
            return TaskCompletionResult.incomplete("Sign it.")

    with OpenAIServer([say("Done."), say("Done, signed.")]) as server:
        response = evaluate(server, prompt(), adapter={"checkers": [Signed()]})
    assert response.text == "Done, signed."
    assert server.requests[1].mentions("Sign it.")


def test_limits_and_heartbeat_reach_the_run(evaluate, prompt, session, nudge):
    seen, beats, heartbeat = [], [], Heartbeat()
    heartbeat.add_callback(lambda: beats.append(1))
    watching = nudge(lambda context: bool(seen.append((context.deadline, context.budget))))
    deadline, budget = Deadline(60), Budget(max_total_tokens=1000)
    with OpenAIServer([say(Call("read", {"path": "a"})), say("Done.")]) as server:
        evaluate(
            server,
            prompt(guidance_providers=[watching]),
            deadline=deadline,
            budget=budget,
            heartbeat=heartbeat,
        )
    assert seen == [(deadline, budget)] * 2
    assert len(beats) == 3


def test_what_the_client_raises_passes_through_and_ends_the_run(evaluate, prompt, session):
    import openai

    with OpenAIServer([Fault(400)]) as server, pytest.raises(openai.BadRequestError):
        evaluate(server, prompt())
    assert session[RunClosed].latest().reason.startswith("BadRequestError")


def test_two_prompts_on_one_session_have_counts_of_their_own(evaluate, prompt, repeats):
    looping = [say(Call("read", {"path": "a"}))] * 2
    with OpenAIServer([*looping, say("Done."), *looping, say("Done.")]) as server:
        evaluate(server, prompt(guidance_providers=[repeats]))
        evaluate(server, prompt(guidance_providers=[repeats], key="other"))
    assert not any(request.mentions("<guidance") for request in server.requests)


def test_a_client_of_one_s_own_is_used(prompt, connect):
    with OpenAIServer([say("Done.")]) as server:
        client = connect(server, default_headers={"x-mine": "yes"})
        OpenAIAdapter("m", client=client).evaluate(prompt(), session=Session())
    assert server.requests[0].headers["x-mine"] == "yes"


def test_concurrent_evaluations_on_one_session_stay_apart(prompt, session, nudge):
    every = nudge()

    async def go(server):
        adapter = OpenAIAdapter("m", base_url=server.base_url, api_key="x")
        prompts = [prompt(key=f"p{n}", guidance_providers=[every]) for n in range(5)]
        return await asyncio.gather(*(adapter.aevaluate(each, session=session) for each in prompts))

    def answer(request):
        done = len(request.messages) > 2
        return say("Done.") if done else say(Call("read", {"path": "a"}))

    with OpenAIServer(answer) as server:
        responses = asyncio.run(go(server))
    assert [response.text for response in responses] == ["Done."] * 5
    assert sum(request.mentions("Mind the step.") for request in server.requests) == 5
    assert len(session.runs()) == 5


def test_a_cancelled_evaluation_leaves_a_slow_tool_behind(prompt, session, read_tool):
    """Nobody waits for its thread, the run is closed, and what comes late is not on record."""
    started, free, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(params, *, context):
        started.set()
        free.wait(20)
        ended.set()
        return ToolResult.ok("too late")

    async def go(server):
        adapter = OpenAIAdapter("m", base_url=server.base_url, api_key="x")
        slowly = prompt(tools=(attrs.evolve(read_tool, name="slow", handler=slow),))
        task = asyncio.create_task(adapter.aevaluate(slowly, session=session))
        await asyncio.to_thread(started.wait, 20)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    began = time.monotonic()
    with OpenAIServer([say(Call("slow", {"path": "a"}))]) as server:
        assert asyncio.run(go(server))
    took = time.monotonic() - began
    free.set()
    assert ended.wait(20)
    for thread in threading.enumerate():
        if thread.name == "trimtab-tool":
            thread.join(20)
    assert took < 10
    assert [call.outcome for call in session[ToolInvoked].all()] == [Outcome.INTERRUPTED]
    assert session[RunClosed].latest().reason.startswith("CancelledError")
