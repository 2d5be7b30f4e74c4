"""The callbacks, the matchers and the tools without the program."""

import asyncio
import threading

import attrs
import pytest

from trimtab import (
    DecisionPoint,
    Heartbeat,
    Prompt,
    PromptEvaluationError,
    Session,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
)
from trimtab_claude_agent_sdk import ClaudeAgentSDKAdapter, ClaudeAgentSDKClientConfig, hooks
from trimtab_claude_agent_sdk._adapter import Handler, tool_server
from trimtab_claude_agent_sdk._callbacks import Callback
from trimtab_claude_code.hooks import EVENTS, ClaudeCodeHooks, HookFailed, UnsupportedPoint

BATCH = {
    "session_id": "s",
    "hook_event_name": "PostToolBatch",
    "tool_calls": [{"tool_name": "Bash", "tool_use_id": "a", "tool_response": "ok"}],
}


def ask(translation, payload=BATCH, seconds=5.0, beat=None):
    callback = Callback(translation, seconds, beat)
    return asyncio.run(callback(payload, None, {}))


def test_a_callback_answers_and_beats(make_prompt, speaker):
    heartbeat = Heartbeat()
    beats = []
    heartbeat.add_callback(lambda: beats.append(1))
    translation = ClaudeCodeHooks(Session(), make_prompt(speaker()))
    answer = ask(translation, beat=heartbeat.beat)

    assert "Heed this." in answer["hookSpecificOutput"]["additionalContext"]
    assert beats == [1]


@attrs.define
class Stuck:
    """A translation that doesn't come back until it is let go."""

    session: Session
    free: threading.Event = attrs.field(factory=threading.Event)
    failures: list = attrs.field(factory=list)

    def answer(self, payload, until):
        self.free.wait(10)
        return {"late": True}

    def failed(self, payload, error):
        self.failures.append(str(error))


def test_a_callback_is_in_time_whatever_happens_behind_it():
    stuck = Stuck(Session())

    async def ask_and_let_go():
        answer = await Callback(stuck, 0.05, grace=0)(BATCH, None, {})
        stuck.free.set()
        return answer

    assert asyncio.run(ask_and_let_go()) == {}
    assert stuck.failures == ["no answer within 0.05 s"]


def test_a_callback_leaves_the_event_loop_free():
    stuck = Stuck(Session())

    async def both():
        waiting = asyncio.ensure_future(Callback(stuck, 5.0)(BATCH, None, {}))
        await asyncio.sleep(0.02)
        busy = not waiting.done()
        stuck.free.set()
        return busy, await waiting

    assert asyncio.run(both()) == (True, {"late": True})


@pytest.mark.parametrize("payload", [None, 3, [], "x", {}, {"hook_event_name": ["Stop"]}])
def test_a_callback_takes_anything(make_prompt, payload):
    assert ask(ClaudeCodeHooks(Session(), make_prompt()), payload) == {}


def test_what_could_not_be_handled_is_on_record():
    session = Session()
    ClaudeCodeHooks(session, Prompt(ns="a", key="b", config=None)).failed(BATCH, TimeoutError("x"))

    assert session[HookFailed].latest().event == "PostToolBatch"


@pytest.mark.e2e
@pytest.mark.usefixtures("sdk")
def test_every_event_has_a_callback_that_ends_before_the_program_gives_up(make_prompt):
    made = hooks(make_prompt(), Session())

    assert set(made) == set(EVENTS)
    for (matcher,) in made.values():
        assert matcher.matcher is None
        assert matcher.hooks[0].seconds + matcher.hooks[0].grace < matcher.timeout
    assert made["UserPromptSubmit"][0].timeout < 30


def test_a_provider_that_would_never_be_heard_is_an_error(make_prompt, speaker):
    prompt = make_prompt(speaker(decision_points=(DecisionPoint.PRE_RESPONSE,)))

    with pytest.raises(UnsupportedPoint, match="claude-agent-sdk"):
        hooks(prompt, Session())
    with pytest.raises(UnsupportedPoint, match="PRE_RESPONSE"):
        ClaudeAgentSDKAdapter().evaluate(prompt, session=Session())


@pytest.mark.e2e
@pytest.mark.usefixtures("sdk")
def test_a_provider_that_is_heard_in_part_is_a_warning(make_prompt, speaker):
    points = (DecisionPoint.PRE_TOOL_SELECTION, DecisionPoint.PRE_TOOL_EXECUTION)

    with pytest.warns(UserWarning, match="not heard at PRE_TOOL_EXECUTION"):
        hooks(make_prompt(speaker(decision_points=points)), Session())


def test_evaluate_refuses_to_block_an_event_loop(make_prompt):
    async def inside():
        ClaudeAgentSDKAdapter().evaluate(make_prompt(), session=Session())

    with pytest.raises(PromptEvaluationError, match="await aevaluate"):
        asyncio.run(inside())


# Tools.


@attrs.frozen
class Words:
    text: str


def shout(params, *, context):
    context.beat()
    return ToolResult.ok(params.text.upper())


async def whisper(params, *, context):
    return ToolResult.error(f"{params.text}: too quiet")


def stumble(params, *, context):
    raise KeyError("boom")


def mumble(params, *, context):
    return "no result"


async def wait_in_vain(params, *, context):
    other = asyncio.ensure_future(asyncio.sleep(10))
    other.cancel()
    await other


class Speechless(Exception):
    def __str__(self):
        raise ValueError("no words")


def choke(params, *, context):
    raise Speechless


@pytest.mark.parametrize(
    ("handler", "arguments", "text", "failed"),
    [
        (shout, {"text": "hi"}, "HI", False),
        (whisper, {"text": "hi"}, "hi: too quiet", True),
        (stumble, {"text": "hi"}, "KeyError: 'boom'", True),
        (choke, {"text": "hi"}, "Speechless: <Speechless>", True),
        (wait_in_vain, {"text": "hi"}, "CancelledError: ", True),
        (mumble, {"text": "hi"}, "TypeError: say returned str, no ToolResult", True),
        (shout, {"volume": 3}, "Input validation error: say: ", True),
    ],
)
def test_whatever_a_tool_does_becomes_an_answer(make_prompt, handler, arguments, text, failed):
    beats = []
    heartbeat = Heartbeat()
    heartbeat.add_callback(lambda: beats.append(1))
    context = ToolContext(session=Session(), prompt=make_prompt(), heartbeat=heartbeat)
    answer = asyncio.run(Handler(Tool("say", "Say it.", Words, handler), context)(arguments))

    assert answer["content"][0]["text"].startswith(text)
    assert answer["is_error"] is failed
    assert beats


def test_a_tool_that_takes_long_does_not_hold_up_an_end(make_prompt):
    free = threading.Event()

    def wait(params, *, context):
        free.wait(10)
        return ToolResult.ok("late")

    async def end_it():
        context = ToolContext(session=Session(), prompt=make_prompt())
        handler = Handler(Tool("wait", "Wait.", Words, wait), context)
        call = asyncio.ensure_future(handler({"text": "hi"}))
        await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.wait({call}, timeout=5)
        ended = call.cancelled()
        free.set()
        return ended

    assert asyncio.run(end_it())


@pytest.mark.e2e
@pytest.mark.usefixtures("sdk")
def test_two_tools_of_one_name_are_refused(make_prompt):
    run = Session().open_run(make_prompt())
    tools = [Tool("say", "Say it.", Words, shout), Tool("say", "Whisper it.", Words, whisper)]
    with pytest.raises(ToolError, match="2 tools are called 'say'"):
        tool_server(run, tools)


NOT_OURS = ["continue_conversation", "fork_session", "resume", "session_id"]


@pytest.mark.parametrize("name", NOT_OURS)
def test_an_option_that_leads_to_another_conversation_is_refused(name):
    with pytest.raises(ValueError, match=rf"\['{name}'\].*resume="):
        ClaudeAgentSDKClientConfig(options={name: "some"})


@pytest.mark.e2e
@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("servers", ["servers.json", {"trimtab": {"command": "true"}}])
def test_servers_that_cannot_be_joined_with_the_prompt_s_tools_are_refused(make_prompt, servers):
    prompt = make_prompt(tools=[Tool("say", "Say it.", Words, shout)])
    config = ClaudeAgentSDKClientConfig(options={"mcp_servers": servers})
    with pytest.raises(ToolError, match="mcp_servers"):
        ClaudeAgentSDKAdapter(client_config=config).evaluate(prompt, session=Session())
