"""What users of the loop met that went wrong without a word: each is now said or prevented."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import attrs
import pytest

from trimtab import (
    Budget,
    Deadline,
    MarkdownSection,
    Outcome,
    Prompt,
    SessionError,
    Tool,
    ToolInvoked,
    ToolResult,
    Usage,
)
from trimtab.events import CompletionChecked, ModelResponded, RunClosed
from trimtab_openai import (
    Exhausted,
    GuidedLoop,
    LoopHooks,
    LoopStopped,
    ModelFailed,
    OpenAIAdapter,
    Settings,
    UnmeasuredBudget,
)
from trimtab_openai._chat import CHAT, RESPONSES
from trimtab_openai._settings import guidance_role
from trimtab_test_servers import Call, Fault, OpenAIServer, Thinking, say

pytestmark = pytest.mark.slow


def answering(*responses):
    """A client that gives these decoded responses of Chat Completions, one after the other."""
    given = iter(responses)
    create = SimpleNamespace(create=lambda **_: next(given))
    return SimpleNamespace(chat=SimpleNamespace(completions=create))


def completion(text, *, reason="stop", usage=None, **message):
    choice = {"message": {"content": text, **message}, "finish_reason": reason}
    return {"choices": [choice], "usage": usage}


def prompt(**declared):
    task = MarkdownSection(key="task", title="Task", template="Fix it.")
    return Prompt("agent", "main", [task], config=None, **declared)


# --- arguments ----------------------------------------------------------------------------------


@attrs.frozen
class Removal:
    path: str
    dry_run: bool = False


def test_arguments_of_another_type_never_reach_the_handler(way, opened):
    ran = []
    tool = Tool("remove", "", Removal, lambda params, *, context: ran.append(params) or "removed")
    run = opened(tools=[tool])
    calls = [Call("remove", {"path": None, "dry_run": "false"}), Call("remove", {"path": "a"})]
    with OpenAIServer([say(*calls), say("Done.")]) as server:
        way.complete(server, run)
    assert ran == [Removal("a")]
    assert [call.outcome for call in run.session[ToolInvoked].all()] in (
        [Outcome.INVALID, Outcome.OK],
        [Outcome.OK, Outcome.INVALID],
    )
    for text in ("expected string at params.path, not null", "expected boolean at params.dry_run"):
        assert server.requests[1].mentions(text)


# --- calls that are none ------------------------------------------------------------------------


def both(*responses):
    """The same client, plain and asynchronous, as a function that completes a run."""

    def plainly(run, **loop):
        return GuidedLoop(answering(*responses), run, model="m", **loop).complete("Go.")

    def asynchronously(run, **loop):
        given = iter(responses)

        async def create(**_):
            return next(given)

        client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
        return asyncio.run(GuidedLoop(client, run, model="m", **loop).acomplete("Go."))

    return plainly, asynchronously


NO_CALLS = {
    "no name": {"id": "c", "type": "function", "function": {"name": "", "arguments": "{}"}},
    "null name": {"id": "c", "type": "function", "function": {"name": None, "arguments": "{}"}},
    "no function": {"id": "c", "type": "function", "function": None},
    "number as name": {"id": "c", "function": {"name": 7, "arguments": {"a": 1}}},
    "custom": {"id": "c", "type": "custom", "custom": {"name": "grep", "input": "x"}},
    "custom without anything": {"id": "c", "type": "custom"},
    "number as id": {"id": 7, "function": {"name": "nope"}},
    "empty": {},
}


@pytest.mark.parametrize("mode", [0, 1], ids=["sync", "async"])
@pytest.mark.parametrize("call", NO_CALLS.values(), ids=NO_CALLS)
def test_the_model_reads_what_is_wrong_with_a_call_and_the_run_goes_on(opened, call, mode):
    tool = Tool("read", "", Removal, lambda params, *, context: "never")
    run = opened(tools=[tool])
    complete = both(completion("", tool_calls=[call]), completion("Done."))[mode]
    result = complete(run)
    assert result.text == "Done."
    [ended] = run.session[ToolInvoked].all()
    assert ended.outcome is Outcome.INVALID
    assert "There is no tool" in ended.result
    assistant = next(message for message in result.messages if message.get("tool_calls"))
    [kept] = assistant["tool_calls"]
    answer = next(message for message in result.messages if message["role"] == "tool")
    assert kept["function"]["name"]
    assert answer["tool_call_id"] == kept["id"]
    assert "custom" not in kept


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_a_call_of_responses_without_a_name_is_answered(kind):
    item = {"type": kind, "call_id": "c"}
    read = RESPONSES.read({"output": [item], "status": "completed"})
    assert [(call.tool, call.call_id) for call in read.tool_calls] == [("unnamed_tool", "c")]
    assert read.items[0]["type"] == "function_call"


class Ending(BaseException):
    """What a user's tool may raise that is no Exception."""


@pytest.mark.parametrize("mode", [0, 1], ids=["sync", "async"])
@pytest.mark.parametrize("error", [Ending("a"), BaseExceptionGroup("b", [Ending()])], ids=repr)
def test_what_leaves_a_tool_leaves_the_loop_as_itself(opened, error, mode):
    def fail(params, *, context):
        raise error

    run = opened(tools=[Tool("remove", "", Removal, fail)])
    call = {"function": {"name": "remove", "arguments": '{"path": "a"}'}}
    complete = both(completion("", tool_calls=[{"id": "1", **call}, {"id": "2", **call}]))[mode]
    with pytest.raises(type(error)) as raised:
        complete(run)
    assert raised.value is error


# --- cost and usage -----------------------------------------------------------------------------


@pytest.mark.parametrize("details", ["prompt_tokens_details", "input_tokens_details"])
def test_cached_tokens_are_counted_apart(opened, details):
    used = {"prompt_tokens": 10, "completion_tokens": 2, details: {"cached_tokens": 9}}
    run, asked = opened(), []
    client = answering(completion("Done.", usage=used))

    def cost(model, usage):
        asked.append((model, usage))
        return 1.5

    GuidedLoop(client, run, model="m", cost=cost).complete("Go.")
    assert asked == [("m", Usage(10, 2, 0.0, cached_tokens=9))]
    assert run.usage == Usage(10, 2, 1.5, cached_tokens=9)


@pytest.mark.parametrize("cost", [None, lambda model, usage: None], ids=["no prices", "not this"])
def test_an_unknown_price_under_a_limit_of_cost_is_said_once(opened, cost):
    used = {"prompt_tokens": 10, "completion_tokens": 2}
    call = {"id": "c", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    run = opened(budget=Budget(max_cost=0.01))
    client = answering(
        completion("", usage=used, tool_calls=[call]), completion("Done.", usage=used)
    )
    with pytest.warns(UnmeasuredBudget, match=r"price of model 'm' is unknown.*can't hold") as told:
        GuidedLoop(client, run, model="m", cost=cost).complete("Go.")
    assert len(told) == 1


def test_missing_usage_under_a_limit_of_tokens_is_said_once(opened):
    run = opened(budget=Budget(max_total_tokens=100))
    with pytest.warns(UnmeasuredBudget, match="reports no usage"):
        GuidedLoop(answering(completion("Done.")), run, model="m").complete("Go.")


def test_without_a_budget_nothing_is_said(opened):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GuidedLoop(answering(completion("Done.")), opened(), model="m").complete("Go.")


# --- truncated and filtered answers -------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (completion("DELETE FROM users", reason="length"), "length"),
        (completion(None, reason="content_filter"), "content_filter"),
    ],
)
def test_a_truncated_answer_says_so_in_response_record_and_result(session, response, reason):
    adapter = OpenAIAdapter("m", client=answering(response))
    result = adapter.evaluate(prompt(), session=session)
    assert (result.stop_reason, result.truncated) == (reason, True)
    assert session[ModelResponded].latest().stop_reason == reason
    assert session[RunClosed].latest().reason == f"truncated: {reason}"


def test_an_incomplete_response_of_responses_says_so():
    content = [{"type": "output_text", "text": "half"}]
    message = {"type": "message", "role": "assistant", "content": content}
    details = {"reason": "max_output_tokens"}
    response = RESPONSES.read(
        {"status": "incomplete", "incomplete_details": details, "output": [message]}
    )
    assert (response.stop_reason, response.truncated) == ("max_output_tokens", True)


def test_a_whole_answer_is_not_called_truncated(session):
    result = OpenAIAdapter("m", client=answering(completion("Done."))).evaluate(
        prompt(), session=session
    )
    assert (result.stop_reason, result.truncated) == ("stop", False)
    assert session[RunClosed].latest().reason == "completed"


# --- time ---------------------------------------------------------------------------------------


async def sleep_on_a_loop(params, *, context):
    await asyncio.sleep(6)


def sleep(params, *, context):
    time.sleep(6)


@pytest.mark.parametrize("handler", [sleep, sleep_on_a_loop])
def test_a_deadline_holds_for_tools(some_way, opened, read_tool, handler):
    run = opened(tools=[attrs.evolve(read_tool, handler=handler)], deadline=Deadline(1.0))
    began = time.monotonic()
    with OpenAIServer([say(Call("read", {"path": "a"}))]) as server, pytest.raises(Exhausted):
        some_way.complete(server, run)
    assert time.monotonic() - began < 4
    assert run.session[ToolInvoked].latest().outcome is Outcome.INTERRUPTED


def test_a_deadline_holds_for_the_back_off_of_the_client(some_way, opened):
    run = opened(deadline=Deadline(1.0))
    began = time.monotonic()
    script = [Fault(429, retry_after_seconds=6), say("Too late.")]
    with OpenAIServer(script) as server, pytest.raises(Exhausted):
        some_way.complete(server, run, client={"max_retries": 2})
    assert time.monotonic() - began < 4


INTERRUPTED = r"""
import sys, time, threading
from types import SimpleNamespace
import attrs
from trimtab import Prompt, Session, Tool, ToolInvoked
from trimtab_openai import GuidedLoop, HOST

@attrs.frozen
class Nothing:
    pass

def wait(params, *, context):
    sys.stdout.write("running\n")
    sys.stdout.flush()
    time.sleep(20)

calls = [{"id": f"c{n}", "function": {"name": "wait", "arguments": "{}"}} for n in range(3)]
message = {"choices": [{"message": {"tool_calls": calls}}]}
create = SimpleNamespace(create=lambda **_: message)
client = SimpleNamespace(chat=SimpleNamespace(completions=create))
session = Session()
prompt = Prompt("a", "b", tools=[Tool("wait", "", Nothing, wait)], config=None)
run = session.open_run(prompt, host=HOST)
try:
    GuidedLoop(client, run, model="m").complete("Go.")
except KeyboardInterrupt:
    print(*[call.outcome.value for call in session[ToolInvoked].all()], flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_control_c_ends_parallel_tools_at_once():
    command = [sys.executable, "-c", INTERRUPTED]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for _ in range(3):
        assert program.stdout.readline() == "running\n"
    began = time.monotonic()
    program.send_signal(signal.SIGINT)
    told, _ = program.communicate(timeout=15)
    assert time.monotonic() - began < 10
    assert told == "interrupted interrupted interrupted\n"


# --- calls written as text ----------------------------------------------------------------------

WRITTEN = [
    '{"name": "read", "arguments": {"path": "a"}}',
    '```json\n{"tool": "read", "parameters": {"path": "a"}}\n```',
    'I read it.\n```\n{"name": "read", "arguments": {"path": "a"}}\n```',
    '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>',
    '{"type": "function", "function": {"name": "read", "arguments": {"path": "a"}}}',
]


@pytest.mark.parametrize("text", WRITTEN)
def test_an_unambiguous_call_in_the_text_is_run(some_way, opened, text):
    run = opened()
    with OpenAIServer([say(text), say("Done.")]) as server:
        result = some_way.complete(server, run)
    assert result.text == "Done."
    assert [call.params for call in run.session[ToolInvoked].all()] == [{"path": "a"}]
    assert server.requests[1].mentions("contents of a")
    assert server.refusals == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "unknown", "arguments": {}}',
        '{"name": "read", "arguments": "a"}',
        '{"name": "read", "arguments": {}, "path": "a"}',
        'Use <tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call> like this.',
        '```\n{"name": "read", "arguments": {}}\n```\nis how one reads.',
        '<tool_call>{"name": "read"',
        "{" * 100_000,
        "<tool_call>" * 10_000,
    ],
)
def test_a_text_that_may_be_no_call_stays_a_text(opened, text):
    run = opened()
    began = time.monotonic()
    result = GuidedLoop(answering(completion(text)), run, model="m").complete("Go.")
    assert time.monotonic() - began < 2
    assert result.text == text
    assert len(run.session[ToolInvoked]) == 0


def test_reading_calls_from_text_can_be_turned_off(opened):
    settings = Settings(read_text_calls=False)
    loop = GuidedLoop(answering(completion(WRITTEN[0])), opened(), model="m", settings=settings)
    assert loop.complete("Go.").text == WRITTEN[0]


# --- Responses without storage ------------------------------------------------------------------


def test_without_storage_reasoning_is_asked_for_encrypted_and_sent_back_only_so(opened, connect):
    settings = Settings(api="responses", options={"store": False})
    script = [say(Thinking("Hm."), Call("read", {"path": "a"})), say("Done.")]
    with OpenAIServer(script) as server:
        GuidedLoop(connect(server), opened(), model="m", settings=settings).complete("Go.")
    first, second = server.requests
    assert json.loads(first.body)["include"] == ["reasoning.encrypted_content"]
    sent = [item for item in json.loads(second.body)["input"] if item.get("type") == "reasoning"]
    assert all(item.get("encrypted_content") for item in sent)


def test_what_the_user_includes_is_kept():
    mine = {"store": False, "include": ["message.output_text.logprobs"]}
    assert RESPONSES.extra_fields(mine)["include"] == [
        "message.output_text.logprobs",
        "reasoning.encrypted_content",
    ]
    assert RESPONSES.extra_fields({}) == {}
    items = [{"type": "reasoning", "id": "rs_1"}, {"type": "message"}]
    assert RESPONSES.kept_items(items, mine) == ({"type": "message"},)
    assert RESPONSES.kept_items(items, {}) == tuple(items)


# --- roles --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "role"),
    [
        ("https://api.openai.com/v1/", "developer"),
        ("https://eu.api.openai.com/v1", "developer"),
        ("https://mine.openai.azure.com/openai/v1", "developer"),
        ("http://127.0.0.1:8000/v1", "system"),
        ("https://openai.com.example.org/v1", "system"),
        ("https://notopenai.com/v1", "system"),
        ("", "system"),
    ],
)
def test_guidance_has_a_role_that_the_service_reads(base_url, role):
    assert guidance_role(SimpleNamespace(base_url=base_url)) == role


def test_a_role_of_the_user_s_choice_holds(opened, nudge):
    sent = LoopHooks(opened(nudge()), Settings(role="user", timeout=None)).before_request("Go.")
    assert sent[-1]["role"] == "user"


# --- failures that are not the service's --------------------------------------------------------


def test_what_on_chunk_raises_is_not_the_service_s_failure(some_way, opened, connect):
    run = opened()

    def broken(piece):
        raise RuntimeError("my own display broke")

    settings = Settings(api=some_way.api)

    async def on_a_loop(server):
        import openai

        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="x") as client:
            loop = GuidedLoop(client, run, model="m", settings=settings)
            await loop.acomplete("Go.", on_chunk=broken)

    def complete(server):
        if some_way.asynchronous:
            asyncio.run(on_a_loop(server))
        else:
            loop = GuidedLoop(connect(server), run, model="m", settings=settings)
            loop.complete("Go.", on_chunk=broken)

    with OpenAIServer([say("Done.")]) as server, pytest.raises(RuntimeError, match="my own"):
        complete(server)
    assert len(run.session[CompletionChecked]) == 0


class _Page(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = b"<html>Sign in</html>"
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def web_page():
    with http.server.HTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield SimpleNamespace(base_url=f"http://127.0.0.1:{server.server_port}/v1")
        server.shutdown()
        thread.join()


def test_an_answer_that_is_a_web_page_is_a_failure_of_the_model(web_page, opened, connect):
    loop = GuidedLoop(connect(web_page), opened(), model="m")
    with pytest.raises(ModelFailed, match="not JSON"):
        loop.complete("Go.")


def test_a_closed_run_is_refused(opened):
    run = opened()
    run.close()
    with pytest.raises(SessionError, match="is closed: open it again"):
        GuidedLoop(answering(), run, model="m")


def test_a_handler_may_return_a_text(opened, read_tool):
    tool = attrs.evolve(read_tool, handler=lambda params, *, context: f"text of {params.path}")
    call = {"id": "c", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    run = opened(tools=[tool])
    client = answering(completion("", tool_calls=[call]), completion("Done."))
    messages = GuidedLoop(client, run, model="m").complete("Go.").messages
    assert messages[-2]["content"] == "text of a"


LOOP = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult.ok(), "ok"),
        (ToolResult.ok({(1, 2): 3}), "{(1, 2): 3}"),
        (ToolResult.ok(LOOP), "[[...]]"),
    ],
)
def test_any_result_of_a_tool_has_a_text(result, text):
    assert result.render() == text


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"max_turns": "5"}, "max_turns must be a whole number, not '5'"),
        ({"max_turns": 1.5}, "max_turns must be a whole number"),
        ({"max_turns": 0}, "max_turns must be 1 or more, not 0"),
        ({"options": None}, "options must be a mapping"),
        ({"role": "developr"}, "role must be 'developer' or 'system' or 'user' or None"),
        ({"role": 5}, "role must be"),
        ({"timeout": float("nan")}, "timeout must be a number of seconds above 0"),
        ({"timeout": "1s"}, "timeout must be seconds"),
        ({"api": "completions"}, "api must be 'chat' or 'responses'"),
    ],
)
def test_a_wrong_setting_is_named(setting, text):
    with pytest.raises((TypeError, ValueError), match=text):
        Settings(**setting)


def test_a_wrong_answer_is_quoted(opened):
    @attrs.frozen
    class Answer:
        number: int

    client = answering(*[completion("about four")] * 3)
    loop = GuidedLoop(client, opened(), model="m", output_type=Answer)
    with pytest.raises(LoopStopped, match=r"not JSON.*The answer: about four"):
        loop.complete("Go.")


def test_chat_takes_back_calls_read_from_text():
    [item] = CHAT.call_items([], "text")
    assert item["role"] == "assistant"


def test_a_call_that_is_not_certain_is_asked_for_again_by_tool_call_form(some_way, opened):
    form = pytest.importorskip("trimtab_tool_call_form")
    cut = '<tool_call>{"name": "read", "argu'
    with OpenAIServer([say(cut), say(Call("read", {"path": "a"})), say("Done.")]) as server:
        result = some_way.complete(server, opened(form.ToolCallForm()))
    assert result.text == "Done."
    assert server.requests[1].mentions("nothing was run")
