"""Real agents against a scripted service on loopback: what the model would have read."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

agents = pytest.importorskip("agents")

from agents import (  # noqa: E402
    Agent,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunHooks,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from trimtab import (  # noqa: E402
    DecisionPoint,
    MarkdownSection,
    Outcome,
    Prompt,
    Session,
    TaskCompletionResult,
    ToolInvoked,
)
from trimtab.events import RunClosed  # noqa: E402
from trimtab_openai_agents import TrimtabRunner  # noqa: E402
from trimtab_test_servers import Call, OpenAIServer, say  # noqa: E402
from trimtab_testing import Checker, Speaker  # noqa: E402

set_tracing_disabled(True)
pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]
TASK = [MarkdownSection(title="Task", key="t", template="x")]
WORDS = "Look somewhere else."
LOOK = say(Call("look", {"path": "a"}))


def prompt(**providers) -> Prompt:
    return Prompt("agent", "main", TASK, config=None, **providers)


def speaker(after: int = 3) -> Speaker:
    return Speaker(
        text=WORDS,
        verdict=lambda context: len(context.recent_tool_calls(99)) >= after,
        decision_points=[DecisionPoint.PRE_TOOL_SELECTION],
    )


def sent_back(words: str) -> Checker:
    answers = iter([TaskCompletionResult.incomplete(words), TaskCompletionResult.ok()])
    return Checker(answer=lambda context: next(answers))


def look(path: str) -> str:
    """Look at a file."""
    return f"contents of {path}"


def fails(path: str) -> str:
    """Fail."""
    raise OSError("the disk is full")


def agent(server: OpenAIServer, *tools, **more) -> Agent:
    client = AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=1)
    model = OpenAIChatCompletionsModel("m", client)
    return Agent("scout", model=model, tools=[*(tools or (function_tool(look),))], **more)


def three_looks(request):
    """Ask for three looks in each conversation, whatever other conversations do meanwhile."""
    done = sum(message["role"] == "tool" for message in request.messages)
    return LOOK if done < 3 else say("Done.")


def said_in(server: OpenAIServer) -> list[int]:
    return [request.body.count(WORDS.encode()) for request in server.requests]


async def test_guidance_stands_in_one_request_and_in_no_session():
    kept = SQLiteSession("one")
    with OpenAIServer([LOOK, LOOK, LOOK, LOOK, say("Done.")]) as server:
        guided = TrimtabRunner(prompt(guidance_providers=[speaker()]))
        result = await guided.run(agent(server), "Go.", session=kept)

    assert result.final_output == "Done."
    assert said_in(server) == [0, 0, 0, 1, 0]
    assert WORDS not in str(await kept.get_items())


async def test_requests_are_the_same_where_nobody_speaks():
    bodies = []
    for run in (Runner.run, TrimtabRunner(prompt(guidance_providers=[speaker(99)])).run):
        script = [LOOK, say(Call("fails", {"path": "b"})), say("Done.")]
        with OpenAIServer(script) as server:
            await run(agent(server, function_tool(look), function_tool(fails)), "Go.")
        bodies.append([request.body for request in server.requests])

    assert bodies[0] == bodies[1]


async def test_one_runner_serves_four_conversations():
    session = Session()
    guided = TrimtabRunner(prompt(), session)

    with OpenAIServer(three_looks) as server:
        one = agent(server)
        results = await asyncio.gather(*(guided.run(one, f"Go {n}.") for n in range(4)))

    assert [result.final_output for result in results] == ["Done."] * 4
    calls = session[ToolInvoked].all()
    assert (len(calls), len({call.run_id for call in calls})) == (12, 4)


async def test_a_stream_is_guided_and_sent_back_too():
    with OpenAIServer([LOOK, LOOK, LOOK, say("Done."), say("Now.")]) as server:
        guided = TrimtabRunner(
            prompt(guidance_providers=[speaker()], completion_checkers=[sent_back("One is open.")])
        )
        stream = guided.run_streamed(agent(server), "Go.")
        async for _ in stream.stream_events():
            pass

    assert stream.final_output == "Now."
    assert said_in(server)[:4] == [0, 0, 0, 1]
    assert server.requests[4].mentions("One is open.")


async def test_the_gate_goes_on_in_the_session():
    kept = SQLiteSession("two")
    with OpenAIServer([say("Done."), say("Now it is.")]) as server:
        guided = TrimtabRunner(prompt(completion_checkers=[sent_back("Step 2 is open.")]))
        result = await guided.run(agent(server), "Go.", session=kept)

    assert result.final_output == "Now it is."
    assert server.requests[1].mentions("Step 2 is open.")
    assert [item.get("role") for item in await kept.get_items()] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("kept", [None, "three"])
async def test_a_word_before_the_end_asks_the_model_once_more(kept):
    once = iter([True])
    word = Speaker(
        text=WORDS,
        verdict=lambda context: next(once, False),
        decision_points=[DecisionPoint.PRE_RESPONSE],
    )
    options = {"session": SQLiteSession(kept)} if kept else {}
    with OpenAIServer([say("Done."), say("Now it is.")]) as server:
        guided = TrimtabRunner(prompt(guidance_providers=[word]))
        result = await guided.run(agent(server), "Go.", **options)

    assert result.final_output == "Now it is."
    assert said_in(server) == [0, 1]
    assert WORDS not in str(result.to_input_list())


class Sum(BaseModel):
    total: int


async def test_structured_output_is_checked():
    with OpenAIServer([say('{"total": 1}'), say('{"total": 2}')]) as server:
        guided = TrimtabRunner(prompt(completion_checkers=[sent_back("Add the tax.")]))
        result = await guided.run(agent(server, output_type=Sum), "Go.")

    assert result.final_output.total == 2


async def test_outcomes_are_recorded_as_the_runtime_tells_them():
    session = Session()
    script = [
        say(Call("fails", {"path": "a"})),
        say(Call("look", {"way": "a"})),
        say(Call("unknown", {})),
        LOOK,
        say("Done."),
    ]
    with OpenAIServer(script) as server:
        guided = TrimtabRunner(prompt(), session)
        lenient = RunConfig(tool_not_found_behavior="return_error_to_model")
        one = agent(server, function_tool(look), function_tool(fails))
        await guided.run(one, "Go.", run_config=lenient)

    assert [call.outcome for call in session[ToolInvoked].all()] == [
        Outcome.ERROR,
        Outcome.INVALID,
        Outcome.INVALID,
        Outcome.OK,
    ]


async def test_a_rejected_call_is_recorded_when_the_run_goes_on():
    session = Session()
    guided = TrimtabRunner(prompt(), session)
    with OpenAIServer([LOOK, say("Then not.")]) as server:
        one = agent(server, function_tool(look, needs_approval=True))
        waiting = await guided.run(one, "Go.")
        state = waiting.to_state()
        for item in waiting.interruptions:
            state.reject(item)
        result = await guided.run(one, state)

    assert result.final_output == "Then not."
    (call,) = session[ToolInvoked].all()
    assert call.outcome is Outcome.DENIED
    assert len(session[RunClosed].all()) == 1


async def test_handoffs_and_the_users_hooks_and_filter_work_as_before():
    seen = []

    class Theirs(RunHooks):
        async def on_handoff(self, context, from_agent, to_agent):
            seen.append(to_agent.name)

        async def on_tool_end(self, context, agent, tool, result):
            seen.append(result)

    def theirs(data):
        seen.append("filter")
        return data.model_data

    script = [say(Call("transfer_to_second", {})), LOOK, say("Done.")]
    with OpenAIServer(script) as server:
        second = agent(server)
        second.name = "second"
        first = agent(server, handoffs=[second])
        guided = TrimtabRunner(prompt(guidance_providers=[speaker(2)]))
        config = RunConfig(call_model_input_filter=theirs)
        await guided.run(first, "Go.", hooks=Theirs(), run_config=config)

    assert seen == ["filter", "second", "filter", "contents of a", "filter"]
    assert said_in(server) == [0, 0, 1]


async def test_an_agent_that_is_a_tool_of_another_is_left_alone():
    script = [say(Call("ask_helper", {"input": "x"})), LOOK, say("Found."), say("Done.")]
    with OpenAIServer(script) as server:
        helper = agent(server)
        helper.name = "helper"
        boss = agent(server, helper.as_tool("ask_helper", "Ask."))
        result = await TrimtabRunner(prompt(guidance_providers=[speaker(1)])).run(boss, "Go.")

    assert result.final_output == "Done."
    assert said_in(server) == [0, 0, 0, 1]


async def test_a_limit_of_the_runtime_is_raised_as_before_and_ends_the_record():
    session = Session()
    with OpenAIServer([LOOK] * 3) as server, pytest.raises(agents.MaxTurnsExceeded):
        await TrimtabRunner(prompt(), session).run(agent(server), "Go.", max_turns=2)

    assert [event.reason for event in session[RunClosed].all()] == ["MaxTurnsExceeded"]


def on_a_thread_of_its_own(task):
    """Run `task` as a program without an event loop would, and close what its thread leaves."""

    def done():
        try:
            return task()
        finally:
            asyncio.get_event_loop().close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(done).result()


def runs_in_turn(kinds):
    """Run one agent, with one client, by each of these runners; return what each answered."""

    def task():
        with OpenAIServer([say(f"Done {number}.") for number, _ in enumerate(kinds)]) as server:
            one = agent(server)
            return [runner.run_sync(one, "Go.").final_output for runner in kinds]

    return on_a_thread_of_its_own(task)


async def test_runs_without_a_loop_share_the_loop_of_the_thread_with_those_of_the_runtime():
    guided = TrimtabRunner(prompt())

    assert runs_in_turn([guided] * 3) == ["Done 0.", "Done 1.", "Done 2."]
    assert runs_in_turn([Runner, guided, Runner]) == ["Done 0.", "Done 1.", "Done 2."]


async def test_runs_without_a_loop_go_on_after_the_users_own_asyncio_run():
    async def nothing():
        return None

    def task():
        guided = TrimtabRunner(prompt())
        with OpenAIServer([say("Done.")]) as server:
            asyncio.run(nothing())
            return guided.run_sync(agent(server), "Go.").final_output

    assert on_a_thread_of_its_own(task) == "Done."
