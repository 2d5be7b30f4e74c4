"""The built-in providers on the OpenAI client, against the scripted service."""

from __future__ import annotations

import attrs
import pytest

from trimtab import (
    Deadline,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceDelivered,
    Plan,
    PlanStep,
    Prompt,
    PromptEvaluationError,
    Session,
    Tool,
    ToolResult,
    enable,
)
from trimtab_openai import OpenAIAdapter, Settings
from trimtab_test_servers import Call, OpenAIServer, say

pytest.importorskip("openai")
pytestmark = pytest.mark.e2e

ALL = ("diagnostic-signal", "doom-loop", "consultation-prompt", "parallel-tool-reminder")


@attrs.frozen
class Command:
    command: str


@attrs.frozen
class Report:
    path: str


def run_command(params, *, context):
    if "pytest" in params.command:
        return ToolResult.error("exit code 1: ImportError: no module named parser")
    return ToolResult.ok(f"did {params.command}")


BASH = Tool("bash", "Run a command.", Command, run_command)


@pytest.fixture
def session():
    return Session()


@pytest.fixture(params=["chat", "responses"])
def evaluate(request, session):
    """Evaluate a prompt that has the tool, with these providers."""

    def run(script, *, deadline=None, key="main", **declared):
        prompt = Prompt(ns="agent", key=key, tools=(BASH,), config=None, **declared)
        with OpenAIServer(script) as server:
            adapter = OpenAIAdapter(
                "m",
                base_url=server.base_url,
                api_key="x",
                settings=Settings(api=request.param),
            )
            response = adapter.evaluate(prompt, session=session, deadline=deadline)
        assert server.refusals == ()
        return server, response

    return run


def bash(*commands):
    return say(*(Call("bash", {"command": command}) for command in commands))


def hearing(server, text):
    return [index for index, request in enumerate(server.requests) if request.mentions(text)]


LOOP = [bash("make test")] * 3


def test_doom_loop_speaks_in_the_request_after_the_third_repeat(evaluate, session):
    server, _ = evaluate(
        [*LOOP, bash("ls"), say("Done.")], guidance_providers=[enable("doom-loop")]
    )
    assert hearing(server, '<guidance source="doom-loop">') == [3]
    assert hearing(server, "Turn 3: You made the call") == [3]
    assert session[GuidanceDelivered].latest().source.distribution == "trimtab-doom-loop"


def test_a_second_prompt_without_providers_hears_nothing(evaluate):
    evaluate([*LOOP, say("Done.")], guidance_providers=[enable("doom-loop")])
    server, _ = evaluate([*LOOP, bash("make test"), say("Done.")], key="other")
    assert hearing(server, "<guidance") == []


def test_diagnostic_signal_speaks_after_the_third_failure(evaluate):
    script = [bash(f"pytest tests/{name}") for name in ("lexer", "parser", "printer")]
    server, _ = evaluate([*script, say("Done.")], guidance_providers=[enable("diagnostic-signal")])
    assert hearing(server, '<guidance source="diagnostic-signal">') == [3]


def test_parallel_calls_that_fail_for_one_reason_are_one_failure(evaluate):
    script = [bash(*(f"pytest tests/{name}" for name in "abcde")), bash("ls"), say("Done.")]
    server, _ = evaluate(script, guidance_providers=[enable("diagnostic-signal")])
    assert hearing(server, "<guidance") == []


def test_all_together_leave_honest_work_alone(evaluate):
    script = [bash(f"python {name}.py", f"cat {name}.log") for name in ("a", "b", "c", "d")]
    server, response = evaluate(
        [*script, say("Done.")], guidance_providers=[enable(name) for name in ALL]
    )
    assert hearing(server, "<guidance") == []
    assert response.text == "Done."


def test_deadline_feedback_stands_in_the_tool_message(evaluate):
    feedback = FeedbackProviderConfig(
        enable("deadline-feedback", warning_threshold_seconds=120),
        FeedbackTrigger(every_n_calls=1),
    )
    server, _ = evaluate(
        [bash("ls"), say("Done.")], feedback_providers=[feedback], deadline=Deadline(100)
    )
    last = server.requests[1].messages[-1]
    text = last.get("content") or last["output"]
    assert text.startswith('did ls\n\n<feedback source="deadline-feedback"')


def test_an_open_plan_sends_the_agent_back(evaluate, session):
    session.dispatch(Plan((PlanStep("write parser", "done"), PlanStep("run tests"))))
    server, response = evaluate(
        [say("Done.")] * 4, completion_checkers=[enable("plan-based-checker")]
    )
    assert hearing(server, "run tests") == [1, 2, 3]
    assert response.text == "Done."


def test_structured_output_with_an_open_plan_is_an_error(evaluate, session):
    session.dispatch(Plan((PlanStep("run tests"),)))
    with pytest.raises(PromptEvaluationError, match="run tests"):
        evaluate(
            [say('{"path": "a"}')] * 4,
            completion_checkers=[enable("plan-based-checker")],
            output_type=Report,
        )
