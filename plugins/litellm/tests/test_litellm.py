"""The loop over litellm against the scripted service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from trimtab import (
    Budget,
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    MarkdownSection,
    Outcome,
    Prompt,
    Session,
    TaskCompletionResult,
    Tool,
    ToolInvoked,
    ToolResult,
)
from trimtab.events import CompletionChecked
from trimtab_test_servers import Call, Fault, OpenAIServer, say

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore"),  # litellm's own, of which there are many
]


@pytest.fixture(autouse=True, scope="module")
def litellm():
    """litellm, told to fetch nothing when it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        module = pytest.importorskip("litellm")
        module.telemetry = False
        yield module


@attrs.frozen
class Target:
    path: str


@attrs.frozen
class Report:
    path: str


def read(params, *, context):
    return ToolResult.ok(f"contents of {params.path}")


READ = Tool("read", "Read a file.", Target, read)
PATTERN = "You made the call"
SAME = [say(Call("read", {"path": "a.py"})) for _ in range(3)]
LOOPING = [*SAME, say(Call("read", {"path": "b.py"})), say("Done.")]


@attrs.frozen
class Repeats:
    name: str = "repeats"
    category: str = "loop"
    decision_points: tuple[DecisionPoint, ...] = (DecisionPoint.PRE_TOOL_SELECTION,)

    def classify(self, *, context):
        paths = [call.params["path"] for call in context.recent_tool_calls(3)]
        return ClassificationResult(relevant=len(paths) == 3 and len(set(paths)) == 1)

    def provide(self, *, context):
        return GuidanceInjection("repeats", PATTERN, category=self.category)


class Always(Repeats):
    def classify(self, *, context):
        return ClassificationResult(relevant=True)


@attrs.frozen
class Never:
    def check(self, context):
        return TaskCompletionResult.incomplete("The tests have not been run.")


class Answered:
    """What litellm returns, without a service; it prices the response as litellm does."""

    def __init__(self, litellm, answer):
        self.completion = lambda **_: litellm.completion(
            model="gpt-5", messages=[], mock_response=litellm.ModelResponse(model="gpt-5", **answer)
        )


def prompt():
    task = MarkdownSection(key="task", title="Task", template="Go.")
    return Prompt("agent", "main", [task], config=None)


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def run(session):
    """Open a run of a prompt with these providers."""

    def opened(*guidance, **declared):
        from trimtab_litellm import HOST

        limits = {name: declared.pop(name) for name in ("budget",) if name in declared}
        prompt = Prompt(
            ns="agent",
            key="main",
            tools=(READ,),
            guidance_providers=guidance,
            config=None,
            **declared,
        )
        return session.open_run(prompt, host=HOST, **limits)

    return opened


@pytest.fixture(params=["sync-whole", "sync-streamed", "async-whole", "async-streamed"])
def complete(request) -> Callable[..., Any]:
    """Run a conversation in one of four ways."""
    mode, _, form = request.param.partition("-")

    def ask(server, opened, messages="Fix it.", **loop):
        from trimtab_litellm import async_client, client
        from trimtab_openai import GuidedLoop

        connection = {"api_base": server.base_url, "api_key": "x", "max_retries": 0}
        pieces: list[Any] = []
        call = {"on_chunk": pieces.append} if form == "streamed" else {}
        make = client if mode == "sync" else async_client
        made = GuidedLoop(make(**connection), opened, model="openai/m", **loop)
        if mode == "sync":
            ending = made.complete(messages, **call)
        else:
            ending = asyncio.run(made.acomplete(messages, **call))
        assert bool(pieces) == (form == "streamed")
        return ending

    return ask


def hearing(server, text):
    return [index for index, request in enumerate(server.requests) if request.mentions(text)]


def test_a_looping_agent_hears_of_it_after_the_third_repeat_and_once(complete, run):
    with OpenAIServer(LOOPING) as server:
        ending = complete(server, run(Repeats()))
    assert ending.text == "Done."
    assert hearing(server, PATTERN) == [3]
    assert server.requests[3].messages[-1]["role"] in ("developer", "system")  # litellm decides
    assert server.refusals == ()


def test_the_conversation_grows_at_its_end_alone(complete, run):
    with OpenAIServer(LOOPING) as server:
        complete(server, run(Repeats()))
    for earlier, later in zip(server.requests, server.requests[1:], strict=False):
        kept = [m for m in earlier.messages if "<guidance" not in str(m.get("content"))]
        assert later.messages[: len(kept)] == kept


def test_guidance_stays_at_the_end_where_a_service_keeps_system_messages_apart(litellm):
    from trimtab_litellm import LiteLLMAdapter

    task = MarkdownSection(key="task", title="Task", template="Fix it.")
    prompt = Prompt("agent", "main", [task], guidance_providers=[Always()], config=None)
    with OpenAIServer([]) as server:  # it knows no Gemini, and keeps what it refuses
        adapter = LiteLLMAdapter("gemini/gemini-2.5-pro", base_url=server.base_url, api_key="x")
        with pytest.raises(litellm.NotFoundError):
            adapter.evaluate(prompt, session=Session())
    sent = server.refusals[0].request.json
    assert PATTERN in str(sent["contents"][-1])
    assert "system_instruction" not in sent


def test_an_agent_that_stops_early_is_sent_back_at_most_three_times(complete, run):
    with OpenAIServer([say("Done.")] * 4) as server:
        complete(server, run(completion_checkers=[Never()]))
    assert len(hearing(server, "The tests have not been run.")) == 3


def test_parallel_and_broken_calls_are_answered(complete, run, session):
    calls = [
        Call("read", {"path": "a"}, id="c1"),
        Call("wirte", {"path": "a"}, id="c2"),
        Call("read", raw='{"path": ', id="c3"),
    ]
    with OpenAIServer([say(*calls), say("Done.")]) as server:
        complete(server, run())
    outcomes = {call.call_id: call.outcome for call in session[ToolInvoked].all()}
    assert outcomes == {"c1": Outcome.OK, "c2": Outcome.INVALID, "c3": Outcome.INVALID}
    assert server.refusals == ()


@pytest.mark.parametrize("status", [429, 500])
def test_a_fault_of_the_service_is_no_tool_failure(complete, run, session, litellm, status):
    error = {429: litellm.RateLimitError, 500: litellm.InternalServerError}[status]
    opened = run(completion_checkers=[Never()])
    with OpenAIServer([Fault(status)]) as server, pytest.raises(error):
        complete(server, opened)
    assert "the model's service failed" in session[CompletionChecked].latest().reason
    assert opened.state.calls == 0


def test_usage_and_cost_are_counted(complete, run):
    opened = run(budget=Budget(max_cost=100.0))
    with OpenAIServer([say("Done.")]) as server:
        complete(server, opened, cost=lambda model, usage: usage.total_tokens / 10)
    assert (opened.usage.total_tokens, opened.usage.cost) == (120, 12.0)


def test_prices_come_from_litellm_s_table(litellm):
    from trimtab import Usage
    from trimtab_litellm import cost

    assert 0 < cost("gpt-4o-mini", Usage(1000, 1000)) < 1
    assert cost("openai/nobody-knows-it", Usage(1000, 1000)) is None
    half = cost("gpt-4o-mini", Usage(1000, 0, cached_tokens=1000))
    assert half == pytest.approx(cost("gpt-4o-mini", Usage(1000, 0)) / 2)


def test_cached_tokens_cost_what_litellm_says(litellm, session):
    from trimtab_litellm import LiteLLMAdapter

    used = {"prompt_tokens": 10_000, "completion_tokens": 10, "total_tokens": 10_010}
    used["prompt_tokens_details"] = {"cached_tokens": 9_000}
    message = {"role": "assistant", "content": "Done."}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": used}

    priced = litellm.completion_cost(litellm.ModelResponse(model="gpt-5", **answer), "gpt-5")
    adapter = LiteLLMAdapter("openai/gpt-5", router=Answered(litellm, answer))
    adapter.evaluate(prompt(), session=session)
    (run,) = session.runs().values()
    assert run.usage.cached_tokens == 9_000
    assert run.usage.cost == pytest.approx(priced)


@pytest.mark.parametrize("how", ["evaluate", "aevaluate"])
def test_a_router_is_asked_by_its_alias(litellm, session, how):
    from trimtab_litellm import LiteLLMAdapter

    with OpenAIServer([say("Done.")]) as server:
        deployment = {"model": "openai/gpt-4o-mini", "api_base": server.base_url, "api_key": "x"}
        router = litellm.Router(
            model_list=[{"model_name": "mine", "litellm_params": deployment}], num_retries=0
        )
        adapter = LiteLLMAdapter("mine", router=router)
        asked = getattr(adapter, how)(prompt(), session=session)
        result = asyncio.run(asked) if how == "aevaluate" else asked
    assert result.text == "Done."
    (run,) = session.runs().values()
    assert run.usage.cost > 0


def test_an_unknown_price_under_a_limit_of_cost_is_said(session):
    from trimtab_litellm import LiteLLMAdapter
    from trimtab_openai import UnmeasuredBudget

    with OpenAIServer([say("Done.")]) as server:
        adapter = LiteLLMAdapter("openai/nobody", base_url=server.base_url, api_key="x")
        with pytest.warns(UnmeasuredBudget, match="openai/nobody"):
            adapter.evaluate(prompt(), session=session, budget=Budget(max_cost=1.0))


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("how", ["evaluate", "aevaluate"])
def test_the_adapter_runs_a_prompt_to_its_end(session, how, api):
    from trimtab_litellm import LiteLLMAdapter
    from trimtab_openai import Settings

    prompt = Prompt(ns="agent", key="main", tools=(READ,), output_type=Report, config=None)
    script = [say(Call("read", {"path": "a"})), say('{"path": "a"}')]
    with OpenAIServer(script) as server:
        connection = {"base_url": server.base_url, "api_key": "x"}
        adapter = LiteLLMAdapter("openai/m", settings=Settings(api=api), **connection)
        response = getattr(adapter, how)(prompt, session=session)
        if how == "aevaluate":
            response = asyncio.run(response)
    (run,) = session.runs().values()
    assert response.output == Report("a")
    assert (run.calls, run.turns) == (1, 2)
    assert server.refusals == ()


def test_importing_the_package_does_not_import_litellm():
    import subprocess
    import sys

    code = "import sys, trimtab_litellm; print('litellm' in sys.modules, 'openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
