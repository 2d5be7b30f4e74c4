"""Real agents on a scripted model: what it is given to read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import PrivateAttr

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
from trimtab_adk import TrimtabPlugin
from trimtab_testing import Checker, Speaker

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio, pytest.mark.filterwarnings("ignore")]
TASK = [MarkdownSection(title="Task", key="t", template="x")]
WORDS = "Look somewhere else."


class Scripted(BaseLlm):
    """Says one thing after the other, and keeps what it was asked."""

    _script: Any = PrivateAttr()
    _asked: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, *script):
        super().__init__(model="scripted")
        self._script = iter(script)

    async def generate_content_async(self, llm_request, stream=False):
        contents = [content.model_dump_json(exclude_none=True) for content in llm_request.contents]
        self._asked.append("\n".join(contents))
        await asyncio.sleep(0)
        yield LlmResponse(content=types.ModelContent(next(self._script)))

    @property
    def said_in(self):
        return [text.count(WORDS) for text in self._asked]


def call(name, **arguments):
    return types.Part.from_function_call(name=name, args=arguments)


LOOK = call("look", path="a")


def look(path: str) -> str:
    """Look at a file."""
    return f"contents of {path}"


def fails(path: str) -> dict:
    """Fail."""
    return {"error": "the disk is full"}


def raises(path: str) -> str:
    """Raise."""
    raise OSError("the disk is full")


def prompt(**providers):
    return Prompt("agent", "main", TASK, config=None, **providers)


def speaker(after=3):
    return Speaker(
        text=WORDS,
        verdict=lambda context: len(context.recent_tool_calls(99)) >= after,
        decision_points=[DecisionPoint.PRE_TOOL_SELECTION],
    )


def runner_of(model, *plugins, tools=(look,), **more):
    agent = LlmAgent(name="scout", model=model, tools=[*tools], **more)
    return InMemoryRunner(agent, plugins=[*plugins])


async def run(runner, text="Go.", through=None):
    kept = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    ids = {"user_id": "u", "session_id": kept.id, "new_message": types.UserContent(text)}
    events = runner.run_async(**ids) if through is None else through.run_async(runner, **ids)
    last = ""
    async for event in events:
        for part in event.content.parts if event.content else ():
            last = part.text or last
    kept = await runner.session_service.get_session(
        app_name=runner.app_name, user_id="u", session_id=kept.id
    )
    return last, kept.model_dump_json()


async def test_guidance_stands_in_one_request_and_not_in_the_session():
    model = Scripted(LOOK, LOOK, LOOK, LOOK, "Done.")
    last, kept = await run(runner_of(model, TrimtabPlugin(prompt(guidance_providers=[speaker()]))))

    assert last == "Done."
    assert model.said_in == [0, 0, 0, 1, 0]
    assert WORDS not in kept


async def test_requests_are_the_same_where_nobody_speaks():
    asked = []
    for plugins in ((), (TrimtabPlugin(prompt(guidance_providers=[speaker(99)])),)):
        model = Scripted(LOOK, call("fails", path="b"), "Done.")
        await run(runner_of(model, *plugins, tools=(look, fails)))
        asked.append(model._asked)

    assert asked[0] == asked[1]


class Looks(BaseLlm):
    """Asks for three looks in each conversation, whatever other conversations do meanwhile."""

    async def generate_content_async(self, llm_request, stream=False):
        parts = [part for content in llm_request.contents for part in content.parts]
        seen = sum(part.function_response is not None for part in parts)
        await asyncio.sleep(0)
        yield LlmResponse(content=types.ModelContent(LOOK if seen < 3 else "Done."))


async def test_one_plugin_serves_four_sessions():
    session = Session()
    model = Looks(model="looks")
    runner = runner_of(model, TrimtabPlugin(prompt(), session))
    results = await asyncio.gather(*(run(runner, f"Go {n}.") for n in range(4)))

    assert [last for last, _ in results] == ["Done."] * 4
    calls = session[ToolInvoked].all()
    assert (len(calls), len({one.run_id for one in calls})) == (12, 4)


async def test_the_gate_sends_an_answer_back_once():
    answers = iter([TaskCompletionResult.incomplete("Step 2 is open."), TaskCompletionResult.ok()])
    checker = Checker(answer=lambda context: next(answers))
    guided = TrimtabPlugin(prompt(completion_checkers=[checker]), session := Session())
    model = Scripted("Done.", "Now it is.")
    last, _ = await run(runner_of(model, guided), through=guided)

    assert last == "Now it is."
    assert "Step 2 is open." in model._asked[1]
    assert [event.reason for event in session[RunClosed].all()] == ["completed"]


async def test_outcomes_are_recorded():
    session = Session()
    model = Scripted(call("fails", path="a"), call("look"), LOOK, "Done.")
    await run(runner_of(model, TrimtabPlugin(prompt(), session), tools=(look, fails)))

    assert [one.outcome for one in session[ToolInvoked].all()] == [
        Outcome.ERROR,
        Outcome.INVALID,
        Outcome.OK,
    ]


async def test_an_error_of_a_tool_is_raised_as_before_and_ends_the_record():
    session = Session()
    model = Scripted(call("raises", path="a"))
    with pytest.raises(OSError, match="disk"):
        await run(runner_of(model, TrimtabPlugin(prompt(), session), tools=(raises,)))

    assert [event.reason for event in session[RunClosed].all()] == ["OSError"]


class Recovers(BasePlugin):
    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        return {"error": str(error)}


async def test_another_plugin_may_turn_an_error_into_an_answer():
    session = Session()
    model = Scripted(call("raises", path="a"), call("unknown"), "Done.")
    plugins = TrimtabPlugin(prompt(), session), Recovers("recovers")
    last, _ = await run(runner_of(model, *plugins, tools=(raises,)))

    assert last == "Done."
    assert [one.outcome for one in session[ToolInvoked].all()] == [Outcome.ERROR, Outcome.INVALID]


async def test_an_agent_that_takes_over_has_a_run_of_its_own():
    session = Session()
    model = Scripted(call("transfer_to_agent", agent_name="second"), LOOK, "Done.")
    second = LlmAgent(name="second", model=model, tools=[look])
    guided = TrimtabPlugin(prompt(), session)
    last, _ = await run(runner_of(model, guided, tools=(), sub_agents=[second]))

    assert last == "Done."
    calls = {one.tool: one.agent_id for one in session[ToolInvoked].all()}
    assert calls == {"transfer_to_agent": None, "look": "second"}
    assert len(session[RunClosed].all()) == 2
