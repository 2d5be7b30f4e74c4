"""Real agents on a scripted model: what it is given to read."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("strands.middleware")

from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent
from strands.models import Model

from trimtab import (
    DecisionPoint,
    MarkdownSection,
    Outcome,
    Prompt,
    Session,
    TaskCompletionResult,
    ToolInvoked,
)
from trimtab.events import RunClosed
from trimtab_strands import TrimtabPlugin
from trimtab_testing import Checker, Speaker

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio, pytest.mark.filterwarnings("ignore")]
TASK = [MarkdownSection(title="Task", key="t", template="x")]
WORDS = "Look somewhere else."


class Scripted(Model):
    """Says one thing after the other, and keeps what it was asked."""

    def __init__(self, *script):
        self.script = iter(script)
        self.asked = []
        self.calls = 0

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, output_model, prompt, system_prompt=None, **more):
        raise NotImplementedError
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
        self.asked.append(json.dumps(messages))
        await asyncio.sleep(0)
        step = next(self.script)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(step, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": step}}}
        else:
            self.calls += 1
            use = {"name": step[0], "toolUseId": f"call-{self.calls}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            arguments = {"toolUse": {"input": json.dumps(step[1])}}
            yield {"contentBlockDelta": {"delta": arguments}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(step, str) else "tool_use"}}
        usage = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}

    @property
    def said_in(self):
        return [text.count(WORDS) for text in self.asked]


LOOK = ("look", {"path": "a"})


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"contents of {path}"


@tool
def fails(path: str) -> str:
    """Fail."""
    raise OSError("the disk is full")


def prompt(**providers):
    return Prompt("agent", "main", TASK, config=None, **providers)


def speaker(after=3):
    return Speaker(
        text=WORDS,
        verdict=lambda context: len(context.recent_tool_calls(99)) >= after,
        decision_points=[DecisionPoint.PRE_TOOL_SELECTION],
    )


def agent(model, *plugins, **more):
    return Agent(
        model=model, tools=[look, fails], plugins=[*plugins], callback_handler=None, **more
    )


async def test_guidance_stands_in_one_request_and_not_in_the_messages():
    model = Scripted(LOOK, LOOK, LOOK, LOOK, "Done.")
    one = agent(model, TrimtabPlugin(prompt(guidance_providers=[speaker()])))
    result = await one.invoke_async("Go.")

    assert str(result).strip() == "Done."
    assert model.said_in == [0, 0, 0, 1, 0]
    assert WORDS not in str(one.messages)


async def test_requests_are_the_same_where_nobody_speaks():
    asked = []
    for plugins in ((), (TrimtabPlugin(prompt(guidance_providers=[speaker(99)])),)):
        model = Scripted(LOOK, ("fails", {"path": "b"}), ("unknown", {}), "Done.")
        await agent(model, *plugins).invoke_async("Go.")
        asked.append(model.asked)

    assert asked[0] == asked[1]


async def test_one_plugin_serves_four_agents():
    session = Session()
    guided = TrimtabPlugin(prompt(), session)
    agents = [agent(Scripted(LOOK, LOOK, LOOK, "Done."), guided) for _ in range(4)]
    await asyncio.gather(*(one.invoke_async("Go.") for one in agents))

    calls = session[ToolInvoked].all()
    assert (len(calls), len({one.run_id for one in calls})) == (12, 4)


async def test_a_stream_is_guided_too():
    model = Scripted(LOOK, LOOK, LOOK, "Done.")
    one = agent(model, TrimtabPlugin(prompt(guidance_providers=[speaker()])))
    async for _ in one.stream_async("Go."):
        pass

    assert model.said_in == [0, 0, 0, 1]


async def test_the_gate_sends_an_answer_back_once():
    answers = iter([TaskCompletionResult.incomplete("Step 2 is open."), TaskCompletionResult.ok()])
    checker = Checker(answer=lambda context: next(answers))
    session = Session()
    model = Scripted("Done.", "Now it is.")
    one = agent(model, TrimtabPlugin(prompt(completion_checkers=[checker]), session))
    result = await one.invoke_async("Go.")

    assert str(result).strip() == "Now it is."
    assert "Step 2 is open." in model.asked[1]
    assert [event.reason for event in session[RunClosed].all()] == ["completed"]


async def test_outcomes_are_recorded():
    session = Session()
    steps = [("fails", {"path": "a"}), ("look", {"way": "a"}), ("unknown", {}), LOOK, "Done."]
    await agent(Scripted(*steps), TrimtabPlugin(prompt(), session)).invoke_async("Go.")

    assert [one.outcome for one in session[ToolInvoked].all()] == [
        Outcome.ERROR,
        Outcome.INVALID,
        Outcome.INVALID,
        Outcome.OK,
    ]


async def test_a_call_that_a_hook_cancels_was_denied():
    session = Session()
    one = agent(Scripted(LOOK, "Then not."), TrimtabPlugin(prompt(), session))

    def refuse(event: BeforeToolCallEvent):
        event.cancel_tool = "The user refused."

    one.add_hook(refuse)
    await one.invoke_async("Go.")

    (call,) = session[ToolInvoked].all()
    assert call.outcome is Outcome.DENIED


async def test_a_conversation_that_goes_on_is_followed_on():
    session = Session()
    model = Scripted(LOOK, "Done.", LOOK, "Done again.")
    one = agent(model, TrimtabPlugin(prompt(), session))
    await one.invoke_async("Go.")
    await one.invoke_async("And now?")

    calls = session[ToolInvoked].all()
    assert (len(calls), len({one.run_id for one in calls})) == (2, 1)


async def test_a_model_that_fails_is_raised_as_before_and_ends_the_record():
    session = Session()

    class Broken(Scripted):
        async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
            raise RuntimeError("the service is down")
            yield

    with pytest.raises(RuntimeError, match="service is down"):
        await agent(Broken(), TrimtabPlugin(prompt(), session)).invoke_async("Go.")

    assert [event.reason for event in session[RunClosed].all()] == ["failed"]
