"""Real agents against a scripted service on loopback: what the model would have read."""

from __future__ import annotations

import asyncio

import pytest

pydantic_ai = pytest.importorskip("pydantic_ai")
pytest.importorskip("openai")  # an extra of pydantic-ai-slim

from openai import AsyncOpenAI  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from pydantic_ai import (  # noqa: E402
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    Tool,
    ToolDenied,
)
from pydantic_ai.capabilities import AbstractCapability  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402

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
from trimtab_pydantic_ai import Trimtab  # noqa: E402
from trimtab_test_servers import Call, OpenAIServer, say  # noqa: E402
from trimtab_testing import Checker, Speaker  # noqa: E402

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]
TASK = [MarkdownSection(key="t", title="Task", template="x")]
WORDS = "Look somewhere else."
LOOK = say(Call("look", {"path": "a"}))


def prompt(**providers) -> Prompt:
    return Prompt("agent", "main", TASK, config=None, **providers)


def speaker(after: int = 3) -> Speaker:
    """Speaks once a run has made so many calls."""
    return Speaker(
        text=WORDS,
        verdict=lambda context: len(context.recent_tool_calls(99)) >= after,
        decision_points=[DecisionPoint.PRE_TOOL_SELECTION],
    )


def look(path: str) -> str:
    """Look at a file."""
    return f"contents of {path}"


def agent(server: OpenAIServer, *capabilities, tools=(look,), **more) -> Agent:
    client = AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=1)
    model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
    return Agent(model, tools=tools, capabilities=capabilities, **more)


def three_looks(request):
    """Ask for three looks in each conversation, whatever other conversations do meanwhile."""
    done = sum(message["role"] == "tool" for message in request.messages)
    return LOOK if done < 3 else say("Done.")


def said_in(server: OpenAIServer) -> list[int]:
    """For each request, how often the words stand in it."""
    return [request.body.count(WORDS.encode()) for request in server.requests]


async def test_guidance_stands_in_one_request_and_not_in_the_history():
    with OpenAIServer([LOOK, LOOK, LOOK, LOOK, say("Done.")]) as server:
        result = await agent(server, Trimtab(prompt(guidance_providers=[speaker()]))).run("Go.")

    assert result.output == "Done."
    assert said_in(server) == [0, 0, 0, 1, 0]
    assert WORDS not in str(result.all_messages())


async def test_requests_are_the_same_where_nobody_speaks():
    bodies = []
    for capabilities in ((), (Trimtab(prompt(guidance_providers=[speaker(99)])),)):
        with OpenAIServer([LOOK, say(Call("look", {"path": "b"})), say("Done.")]) as server:
            await agent(server, *capabilities).run("Go.")
        bodies.append([request.body for request in server.requests])

    assert bodies[0] == bodies[1]


async def test_one_agent_serves_four_conversations():
    session = Session()
    guided = Trimtab(prompt(guidance_providers=[speaker(99)]), session)

    with OpenAIServer(three_looks) as server:
        one = agent(server, guided)
        results = await asyncio.gather(*(one.run(f"Go {n}.") for n in range(4)))

    assert [result.output for result in results] == ["Done."] * 4
    calls = session[ToolInvoked].all()
    assert len(calls) == 12
    assert len({call.run_id for call in calls}) == len({r.run_id for r in results})


async def test_a_stream_is_guided_too():
    with OpenAIServer([LOOK, LOOK, LOOK, say("Done.")]) as server:
        one = agent(server, Trimtab(prompt(guidance_providers=[speaker()])))
        async with one.iter("Go.") as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as stream:
                        async for _ in stream:
                            pass

    assert said_in(server) == [0, 0, 0, 1]


async def test_the_gate_sends_an_answer_back_once():
    answers = iter([TaskCompletionResult.incomplete("Step 2 is open."), TaskCompletionResult.ok()])
    checker = Checker(answer=lambda context: next(answers))

    with OpenAIServer([say("Done."), say("Now it is.")]) as server:
        result = await agent(server, Trimtab(prompt(completion_checkers=[checker]))).run("Go.")

    assert result.output == "Now it is."
    assert server.requests[1].mentions("Step 2 is open.")


async def test_a_word_before_the_end_asks_the_model_once_more():
    once = iter([True])
    word = Speaker(
        text=WORDS,
        verdict=lambda context: next(once, False),
        decision_points=[DecisionPoint.PRE_RESPONSE],
    )
    with OpenAIServer([say("Done."), say("Now it is.")]) as server:
        result = await agent(server, Trimtab(prompt(guidance_providers=[word]))).run("Go.")

    assert result.output == "Now it is."
    assert said_in(server) == [0, 1]


class Sum(BaseModel):
    total: int


async def test_structured_output_is_checked():
    answers = iter([TaskCompletionResult.incomplete("Add the tax."), TaskCompletionResult.ok()])
    checker = Checker(answer=lambda context: next(answers))
    script = [say(Call("final_result", {"total": n})) for n in (1, 2)]

    with OpenAIServer(script) as server:
        guided = Trimtab(prompt(completion_checkers=[checker]))
        result = await agent(server, guided, output_type=Sum).run("Go.")

    assert result.output.total == 2
    assert server.requests[1].mentions("Add the tax.")


def fails(path: str) -> str:
    raise ModelRetry("the disk is full")


async def test_outcomes_are_recorded_as_the_runtime_tells_them():
    session = Session()
    script = [
        say(Call("fails", {"path": "a"})),
        say(Call("fails", {"way": "a"})),
        say(Call("unknown", {})),
        LOOK,
        say("Done."),
    ]

    with OpenAIServer(script) as server:
        guided = Trimtab(prompt(), session)
        tools = [Tool(fails, max_retries=9), Tool(look, max_retries=9)]
        await agent(server, guided, tools=tools, retries=9).run("Go.")

    outcomes = [call.outcome for call in session[ToolInvoked].all()]
    assert outcomes == [Outcome.ERROR, Outcome.INVALID, Outcome.INVALID, Outcome.OK]


async def test_a_call_that_waits_for_approval_is_recorded_when_the_run_goes_on():
    session = Session()
    guided = Trimtab(prompt(), session)

    with OpenAIServer([LOOK, say("Then not.")]) as server:
        tools = [Tool(look, requires_approval=True)]
        one = agent(server, guided, tools=tools, output_type=[str, DeferredToolRequests])
        waiting = await one.run("Go.")
        denied = {call.tool_call_id: ToolDenied("no") for call in waiting.output.approvals}
        result = await one.run(
            message_history=waiting.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals=denied),
        )

    assert result.output == "Then not."
    (call,) = session[ToolInvoked].all()
    assert call.outcome is Outcome.DENIED
    assert len(session[RunClosed].all()) == 1


async def test_a_picture_from_a_tool_reaches_the_model():
    def draw(path: str) -> BinaryContent:
        return BinaryContent(b"\x89PNG", media_type="image/png")

    bodies = []
    for capabilities in ((), (Trimtab(prompt(guidance_providers=[speaker(99)])),)):
        with OpenAIServer([say(Call("draw", {"path": "a"})), say("Done.")]) as server:
            await agent(server, *capabilities, tools=(draw,)).run("Go.")
        bodies.append([request.body for request in server.requests])

    assert bodies[0] == bodies[1]
    assert b"data:image/png" in bodies[0][1]


class Breaks(AbstractCapability):
    async def after_model_request(self, ctx, *, request_context, response):
        raise RuntimeError("another capability failed")


async def test_an_error_of_others_is_theirs_and_ends_the_record():
    session = Session()

    with OpenAIServer([LOOK]) as server, pytest.raises(RuntimeError, match="another capability"):
        await agent(server, Trimtab(prompt(), session), Breaks()).run("Go.")

    assert [event.reason for event in session[RunClosed].all()] == ["RuntimeError"]
