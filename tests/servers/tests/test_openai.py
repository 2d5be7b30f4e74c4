"""The OpenAI service, asked by the official client: sync, async, streamed."""

import json
from contextlib import ExitStack

import pytest

from trimtab_test_servers import Call, Fault, Hang, OpenAIServer, Thinking, say

openai = pytest.importorskip("openai")
pytestmark = pytest.mark.e2e

HI = [{"role": "user", "content": "hi"}]
LONG = "a long text, " * 20
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "read", "parameters": PARAMETERS}}
STRICT = {**PARAMETERS, "required": ["path"], "additionalProperties": False}


@pytest.fixture
def client():
    """The official client for a server, closed when the test ends."""
    with ExitStack() as opened:

        def connect(server, **options):
            settings = {"max_retries": 0, "timeout": 10, **options}
            return opened.enter_context(
                openai.OpenAI(base_url=server.base_url, api_key="x", **settings)
            )

        yield connect


def call(id_="c1", arguments="{}"):
    return {"id": id_, "type": "function", "function": {"name": "read", "arguments": arguments}}


def asked(*ids):
    return {"role": "assistant", "tool_calls": [call(id_) for id_ in ids]}


def answer(id_="c1"):
    return {"role": "tool", "tool_call_id": id_, "content": "ok"}


# --- Chat Completions ---------------------------------------------------------------------------


def test_chat_comes_whole(client):
    with OpenAIServer(
        [say("I look.", Call("read", {"path": "a"}), Call("read", id="mine"))]
    ) as server:
        completion = client(server).chat.completions.create(model="m", messages=HI, tools=[TOOL])
    choice = completion.choices[0]
    first, second = choice.message.tool_calls
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "I look.")
    assert (json.loads(first.function.arguments), second.id) == ({"path": "a"}, "mine")
    assert completion.usage.total_tokens == 120


def test_chat_streams_the_same(client):
    turn = say(LONG, Call("read", {"path": LONG}), Call("read", {"path": "b"}))
    create = {"model": "m", "messages": HI, "tools": [TOOL]}
    with OpenAIServer([turn]) as server, client(server).chat.completions.stream(**create) as stream:
        final = stream.get_final_completion().choices[0]
    paths = [json.loads(each.function.arguments)["path"] for each in final.message.tool_calls]
    assert (final.message.content, paths) == (LONG, [LONG, "b"])


def test_chat_streams_usage_where_asked(client):
    options = {"stream": True, "stream_options": {"include_usage": True}}
    with OpenAIServer([say("ok")]) as server:
        chunks = list(client(server).chat.completions.create(model="m", messages=HI, **options))
    assert chunks[-1].usage.total_tokens == 120
    assert chunks[-1].choices == []


async def ask_async(server):
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="x") as asking:
        whole = await asking.chat.completions.create(model="m", messages=HI)
        stream = await asking.chat.completions.create(model="m", messages=HI, stream=True)
        parts = [chunk.choices[0].delta.content or "" async for chunk in stream]
    return whole.choices[0].message.content, "".join(parts)


@pytest.mark.asyncio
async def test_chat_async():
    with OpenAIServer([say("one"), say(LONG)]) as server:
        assert await ask_async(server) == ("one", LONG)


def test_arguments_that_are_no_json_can_be_sent(client):
    with OpenAIServer([say(Call("read", raw='{"path": '))]) as server:
        completion = client(server).chat.completions.create(model="m", messages=HI, tools=[TOOL])
    assert completion.choices[0].message.tool_calls[0].function.arguments == '{"path": '


CHAT_ACCEPTED = {
    "results in any order": [*HI, asked("c1", "c2"), answer("c2"), answer("c1")],
    "a developer message after all results": [
        *HI,
        asked("c1"),
        answer("c1"),
        {"role": "developer", "content": "note"},
    ],
    "a system message in the middle": [*HI, {"role": "system", "content": "note"}],
}


@pytest.mark.parametrize("messages", CHAT_ACCEPTED.values(), ids=CHAT_ACCEPTED.keys())
def test_chat_that_the_service_takes(client, messages):
    with OpenAIServer([say("ok")]) as server:
        client(server).chat.completions.create(model="m", messages=messages)
    assert server.requests[0].messages == messages
    assert server.refusals == ()


CHAT_REFUSED = {
    "a developer message between": (
        {"messages": [*HI, asked("c1"), {"role": "developer", "content": "x"}, answer("c1")]},
        "must be followed by tool messages responding to each 'tool_call_id'",
    ),
    "a missing result": (
        {"messages": [*HI, asked("c1", "c2"), answer("c1")]},
        "did not have response messages: c2",
    ),
    "a result of no call": ({"messages": [*HI, answer()]}, "must be a response to a preceeding"),
    "an unknown id": (
        {"messages": [*HI, asked("c1"), answer("c9")]},
        "'tool_call_id' of 'c9' not found in 'tool_calls'",
    ),
    "a result twice": (
        {"messages": [*HI, asked("c1"), answer("c1"), answer("c1")]},
        "Duplicate value for 'tool_call_id'",
    ),
    "a result without id": (
        {"messages": [*HI, asked("c1"), {"role": "tool", "content": "x"}]},
        "Missing parameter 'tool_call_id'",
    ),
    "no messages": ({"messages": []}, "Invalid 'messages': empty array"),
    "an unknown role": ({"messages": [{"role": "x", "content": "a"}]}, "Invalid value: 'x'"),
    "no content": (
        {"messages": [{"role": "user", "content": None}]},
        "expected a string, got null",
    ),
    "no calls": (
        {"messages": [*HI, {"role": "assistant", "content": "a", "tool_calls": []}]},
        "Invalid 'messages[1].tool_calls': empty array",
    ),
    "a call without id": (
        {"messages": [*HI, {"role": "assistant", "tool_calls": [call(id_="")]}]},
        "Missing required parameter: 'messages[1].tool_calls[0].id'",
    ),
    "arguments as an object": (
        {"messages": [*HI, {"role": "assistant", "tool_calls": [call(arguments={})]}]},
        "function.arguments': expected a string",
    ),
    "tool_choice without tools": ({"tool_choice": "auto"}, "only allowed when 'tools'"),
    "no tools": ({"tools": []}, "Invalid 'tools': empty array"),
    "stream options without a stream": (
        {"stream_options": {"include_usage": True}},
        "only allowed when 'stream' is enabled",
    ),
    "JSON mode unspoken": ({"response_format": {"type": "json_object"}}, "the word 'json'"),
}


@pytest.mark.parametrize(("fields", "message"), CHAT_REFUSED.values(), ids=CHAT_REFUSED.keys())
def test_chat_that_the_service_refuses(client, fields, message):
    with OpenAIServer([say("never")]) as server, pytest.raises(openai.BadRequestError) as caught:
        client(server).chat.completions.create(**{"model": "m", "messages": HI, **fields})
    assert message in str(caught.value)
    assert caught.value.type == "invalid_request_error"
    assert len(server.refusals) == 1


SCHEMAS = {
    "no object": ({"type": "array"}, False, "got 'type: \"array\"'"),
    "unknown type": (
        {"type": "object", "properties": {"a": {"type": "int"}}},
        False,
        "'int' is not",
    ),
    "strict, open": (PARAMETERS, True, "'additionalProperties' is required"),
    "strict, optional": ({**STRICT, "required": []}, True, "Missing 'path'"),
    "strict, open inside": (
        {**STRICT, "properties": {"path": {"type": "array", "items": {"type": "object"}}}},
        True,
        "In context=('properties', 'path', 'items')",
    ),
}


@pytest.mark.parametrize(("schema", "strict", "message"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_schemas_that_the_service_refuses(client, schema, strict, message):
    function = {"name": "read", "parameters": schema, "strict": strict}
    form = {"name": "out", "schema": schema, "strict": strict}
    chat = {"response_format": {"type": "json_schema", "json_schema": form}}
    responses = {"text": {"format": {"type": "json_schema", **form}}}
    with OpenAIServer([]) as server:
        ask = client(server)
        tools = [{"type": "function", "function": function}]
        with pytest.raises(openai.BadRequestError, match="function 'read'") as caught:
            ask.chat.completions.create(model="m", messages=HI, tools=tools)
        assert message in str(caught.value)
        with pytest.raises(openai.BadRequestError, match="response_format 'out'"):
            ask.chat.completions.create(model="m", messages=HI, **chat)
        with pytest.raises(openai.BadRequestError, match="response_format 'out'"):
            ask.responses.create(model="m", input="hi", **responses)


def test_structured_output_is_parsed_by_the_client(client):
    from pydantic import BaseModel

    class Report(BaseModel):
        path: str

    with OpenAIServer([say('{"path": "a"}'), say('{"path": "b"}')]) as server:
        ask = client(server)
        chat = ask.chat.completions.parse(model="m", messages=HI, response_format=Report)
        response = ask.responses.parse(model="m", input="hi", text_format=Report)
    assert chat.choices[0].message.parsed == Report(path="a")
    assert response.output_parsed == Report(path="b")


# --- faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [Fault(429, retry_after_seconds=0.01), Fault(500, retry_after_seconds=0.01)]
)
def test_the_client_retries_a_fault(client, fault):
    with OpenAIServer([fault, say("ok")]) as server:
        completion = client(server, max_retries=2).chat.completions.create(model="m", messages=HI)
    assert completion.choices[0].message.content == "ok"
    assert len(server.requests) == 2
    assert server.refusals == ()


def test_a_fault_that_lasts_has_the_service_s_shape(client):
    with OpenAIServer([Fault(429)]) as server, pytest.raises(openai.RateLimitError) as caught:
        client(server).chat.completions.create(model="m", messages=HI)
    assert caught.value.code == "rate_limit_exceeded"


def test_a_hang_is_the_client_s_timeout(client):
    with OpenAIServer([Hang(20)]) as server, pytest.raises(openai.APITimeoutError):
        client(server, timeout=0.2).chat.completions.create(model="m", messages=HI)


def test_a_request_without_key_is_refused(client):
    with OpenAIServer([]) as server:
        keyless = client(server, default_headers={"Authorization": ""})
        with pytest.raises(openai.AuthenticationError):
            keyless.chat.completions.create(model="m", messages=HI)


# --- Responses ----------------------------------------------------------------------------------

FUNCTION = {"type": "function", "name": "read", "parameters": PARAMETERS, "strict": False}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}


def test_a_response_comes_whole(client):
    with OpenAIServer([say(Thinking("hm"), "I look.", Call("read", {"path": "a"}))]) as server:
        response = client(server).responses.create(model="m", input="hi", tools=[FUNCTION])
    kinds = [item.type for item in response.output]
    assert kinds == ["reasoning", "message", "function_call"]
    assert response.output_text == "I look."
    assert json.loads(response.output[2].arguments) == {"path": "a"}


def test_a_response_streams_the_same(client):
    turn = say(Thinking("hm"), LONG, Call("read", {"path": LONG}))
    create = {"model": "m", "input": "hi", "tools": [FUNCTION]}
    with OpenAIServer([turn]) as server, client(server).responses.stream(**create) as stream:
        deltas = [event for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(event.delta for event in deltas) == LONG == final.output_text
    assert json.loads(final.output[2].arguments) == {"path": LONG}


@pytest.mark.asyncio
async def test_a_response_async():
    with OpenAIServer([say("one"), say(LONG)]) as server:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="x") as ask:
            whole = await ask.responses.create(model="m", input="hi")
            stream = await ask.responses.create(model="m", input="hi", stream=True)
            parts = [event.delta async for event in stream if event.type.endswith("text.delta")]
    assert (whole.output_text, "".join(parts)) == ("one", LONG)


def test_a_conversation_goes_on_from_a_stored_response(client):
    with OpenAIServer([say(Thinking("hm"), Call("read", id="c1")), say("done")]) as server:
        ask = client(server)
        first = ask.responses.create(model="m", input="hi", tools=[FUNCTION])
        with pytest.raises(
            openai.BadRequestError, match="No tool output found for function call c1"
        ):
            ask.responses.create(model="m", input="go on", previous_response_id=first.id)
        second = ask.responses.create(model="m", input=[OUTPUT], previous_response_id=first.id)
    assert second.output_text == "done"


RESPONSES_REFUSED = {
    "an output of no call": ({"input": [OUTPUT]}, "No tool call found for function call output"),
    "a call without output": ({"input": [*HI, CALL]}, "No tool output found for function call c1"),
    "an output before its call": ({"input": [OUTPUT, CALL]}, "No tool call found"),
    "an unknown earlier response": (
        {"input": "hi", "previous_response_id": "resp_9"},
        "Previous response with id 'resp_9' not found",
    ),
    "lone reasoning": (
        {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}, *HI]},
        "without its required following item",
    ),
    "a part of chat": (
        {"input": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]},
        "Invalid value: 'text'",
    ),
    "an unknown role": ({"input": [{"role": "tool", "content": "a"}]}, "Invalid value: 'tool'"),
    "no content": ({"input": [{"role": "user"}]}, "Missing required parameter: 'input[0].content'"),
    "an output without text": (
        {"input": [CALL, {"type": "function_call_output", "call_id": "c1"}]},
        "Missing required parameter: 'input[1].output'",
    ),
    "no input": ({}, "Missing required parameter: 'input'"),
}


@pytest.mark.parametrize(
    ("fields", "message"), RESPONSES_REFUSED.values(), ids=RESPONSES_REFUSED.keys()
)
def test_responses_that_the_service_refuses(client, fields, message):
    with OpenAIServer([say("never")]) as server, pytest.raises(openai.BadRequestError) as caught:
        client(server).responses.create(model="m", **fields)
    assert message in str(caught.value)
    assert len(server.refusals) == 1


def test_a_message_may_stand_between_a_call_and_its_output(client):
    items = [*HI, CALL, {"role": "developer", "content": "note"}, OUTPUT]
    with OpenAIServer([say("ok")]) as server:
        client(server).responses.create(model="m", input=items)
    assert server.requests[0].messages == items
