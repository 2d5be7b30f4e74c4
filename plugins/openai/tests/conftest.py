"""An agent with a tool or two, and the eight ways to run it against the scripted service."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from typing import Any

import attrs
import pytest

from trimtab import (
    DecisionPoint,
    Prompt,
    Run,
    Session,
    TaskCompletionResult,
    Tool,
    ToolResult,
)
from trimtab_openai import HOST, GuidedLoop, LoopResult, Settings
from trimtab_testing import Checker, Speaker

ALWAYS = True


@attrs.frozen
class Target:
    path: str


def make_nudge(
    when=ALWAYS,
    text="Mind the step.",
    *,
    name="nudge",
    category="test",
    decision_points=(DecisionPoint.PRE_TOOL_SELECTION,),
):
    """Return a provider that speaks if `when(context)`, at the points given."""
    return Speaker(name, category, text, when, decision_points=decision_points)


@attrs.frozen
class Broken:
    """Raises, sleeps, or returns garbage, wherever it is asked."""

    fault: str
    name: str = "broken"
    category: str = "broken"

    def classify(self, *, context):
        if self.fault == "raises":
            raise KeyError("broken")
        if self.fault == "sleeps":
            time.sleep(10)
        return "garbage"

    def provide(self, *, context):
        raise AssertionError("never reached")


def third_repeat(context) -> bool:
    """Whether the last three calls were the same."""
    calls = context.recent_tool_calls(3)
    return len(calls) == 3 and len({(call.tool, str(call.params)) for call in calls}) == 1


def read(params, *, context):
    return ToolResult.ok(f"contents of {params.path}")


READ = Tool("read", "Read a file.", Target, read)


@pytest.fixture
def nudge():
    return make_nudge


@pytest.fixture
def broken():
    return Broken


@pytest.fixture
def never():
    """A checker for which the work is never done."""
    return Checker(answer=lambda _: TaskCompletionResult.incomplete("The tests have not been run."))


@pytest.fixture
def repeats():
    return make_nudge(third_repeat, "Detected repeated unsuccessful pattern.", name="repeats")


@pytest.fixture
def read_tool():
    return READ


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def opened(session):
    """Open a run of a prompt with these providers and tools."""

    def open_run(*guidance, feedback=(), checkers=(), tools=(READ,), key="main", **limits) -> Run:
        prompt = Prompt(
            ns="agent",
            key=key,
            tools=tools,
            guidance_providers=guidance,
            feedback_providers=feedback,
            completion_checkers=checkers,
            config=None,
        )
        return session.open_run(prompt, host=HOST, **limits)

    return open_run


@pytest.fixture
def connect():
    """The official client for a server, closed when the test ends."""
    openai = pytest.importorskip("openai")
    with ExitStack() as opened:

        def client(server, **options):
            connection = {"base_url": server.base_url, "api_key": "x", "max_retries": 0}
            return opened.enter_context(openai.OpenAI(**connection, **options))

        yield client


@attrs.frozen
class Way:
    """One of the ways to run a conversation with the official client."""

    api: str
    asynchronous: bool
    streamed: bool

    def complete(
        self,
        server: Any,
        run: Run,
        messages: Any = "Fix it.",
        *,
        settings: dict[str, Any] | None = None,
        client: dict[str, Any] | None = None,
        **loop: Any,
    ) -> LoopResult:
        connection = {"base_url": server.base_url, "api_key": "x", "max_retries": 0}
        made = Settings(api=self.api, **(settings or {}))
        pieces: list[Any] = []
        call = {"on_chunk": pieces.append} if self.streamed else {}
        ask = self._asynchronously if self.asynchronous else self._synchronously
        ending = ask(
            {**connection, **(client or {})}, run, {"settings": made, **loop}, messages, call
        )
        assert bool(pieces) == self.streamed
        return ending

    def _synchronously(self, connection, run, loop, messages, call):
        import openai

        with openai.OpenAI(**connection) as client:
            return GuidedLoop(client, run, model="m", **loop).complete(messages, **call)

    def _asynchronously(self, connection, run, loop, messages, call):
        import openai

        async def go():
            async with openai.AsyncOpenAI(**connection) as client:
                return await GuidedLoop(client, run, model="m", **loop).acomplete(messages, **call)

        return asyncio.run(go())


WAYS = {
    f"{api}-{'async' if asynchronous else 'sync'}-{'streamed' if streamed else 'whole'}": Way(
        api, asynchronous, streamed
    )
    for api in ("chat", "responses")
    for asynchronous in (False, True)
    for streamed in (False, True)
}


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys())
def way(request):
    pytest.importorskip("openai")
    return request.param


@pytest.fixture(params=[WAYS["chat-sync-whole"], WAYS["responses-async-streamed"]], ids=str)
def some_way(request):
    """Two of the eight that differ in everything."""
    pytest.importorskip("openai")
    return request.param
