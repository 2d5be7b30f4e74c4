"""The Messages API, asked over plain HTTP."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from trimtab_test_servers import (
    AnthropicServer,
    Call,
    Thinking,
    claude_code_asker,
    claude_code_environment,
    say,
)

HEADERS = {"x-api-key": "x", "anthropic-version": "2023-06-01"}
LONG = "a long text, " * 20


def post(server, body, path="/v1/messages", headers=HEADERS):
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def request(*messages, **fields):
    return {"model": "m", "max_tokens": 100, "messages": list(messages), **fields}


def user(content):
    return {"role": "user", "content": content}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def use(id_="t1"):
    return {"type": "tool_use", "id": id_, "name": "Read", "input": {}}


def result(id_="t1"):
    return {"type": "tool_result", "tool_use_id": id_, "content": "ok"}


def text(words):
    return {"type": "text", "text": words}


def events(stream):
    """The data of a stream's events, each checked against its event line."""
    found = []
    for event in stream.strip().split("\n\n"):
        kind, data = event.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert kind == f"event: {found[-1]['type']}"
    return found


def folded(stream):
    """The content that a client puts together from a stream."""
    blocks = []
    for event in events(stream):
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "json": ""})
        if event["type"] == "content_block_delta":
            fold(blocks[event["index"]], event["delta"])
    return blocks


def fold(block, delta):
    names = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
    if delta["type"] == "input_json_delta":
        block["json"] += delta["partial_json"]
    else:
        name = names[delta["type"]]
        block[name] += delta[name]


def test_a_turn_comes_whole():
    turn = say(Thinking("hm"), "I look.", Call("Read", {"a": 1}), Call("Read", {"a": 2}, id="mine"))
    with AnthropicServer([turn]) as server:
        status, body = post(server, request(user("hi")))
    message = json.loads(body)
    assert status == 200
    assert [block["type"] for block in message["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert message["content"][0]["signature"]
    assert message["content"][2]["input"] == {"a": 1}
    assert message["content"][3]["id"] == "mine"
    assert message["stop_reason"] == "tool_use"
    assert message["usage"] == {"input_tokens": 100, "output_tokens": 20}


def test_a_stream_carries_the_same_turn_in_pieces():
    turn = say(Thinking(LONG), LONG, Call("Read", {"file_path": LONG}))
    with AnthropicServer([turn]) as server:
        _, body = post(server, request(user("hi"), stream=True))
    thinking, words, call = folded(body)
    assert (thinking["thinking"], words["text"]) == (LONG, LONG)
    assert json.loads(call["json"]) == {"file_path": LONG}
    kinds = [event["type"] for event in events(body)]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_delta") > 6


def test_text_alone_ends_the_turn():
    with AnthropicServer([say("done")]) as server:
        _, body = post(server, request(user("hi"), stream=True))
    (ending,) = [event for event in events(body) if event["type"] == "message_delta"]
    assert ending["delta"]["stop_reason"] == "end_turn"


def test_tokens_are_counted_without_a_turn():
    with AnthropicServer([]) as server:
        status, body = post(
            server, {"model": "m", "messages": [user("hi")]}, "/v1/messages/count_tokens"
        )
    assert status == 200
    assert json.loads(body)["input_tokens"] > 0


ACCEPTED = {
    "parallel calls answered in one message": [
        user("hi"),
        assistant(use("t1"), use("t2")),
        user([result("t2"), result("t1"), text("and more")]),
    ],
    "a system message after the results": [
        user("hi"),
        assistant(use()),
        user([result()]),
        {"role": "system", "content": "note"},
    ],
    "two user messages in a row": [user("hi"), user("there")],
    "a prefilled answer": [user("hi"), assistant(text("I"))],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_the_service_takes_is_answered(messages):
    with AnthropicServer([say("ok")]) as server:
        status, _ = post(server, request(*messages))
    assert status == 200
    assert server.refusals == ()


REFUSED = {
    "no messages": ([], "at least one message is required"),
    "assistant first": ([assistant(text("a"))], 'first message must use the "user" role'),
    "a system message first": ([{"role": "system", "content": "a"}], 'must use the "user" role'),
    "unknown role": ([{"role": "tool", "content": "a"}], "messages.0.role: Input should be"),
    "empty content": ([user("")], "all messages must have non-empty content"),
    "empty text block": ([user([text("")])], "text content blocks must be non-empty"),
    "no content": ([{"role": "user"}], "messages.0.content: Field required"),
    "result without call": ([user([result("t9")])], "unexpected `tool_use_id` found"),
    "call without result": (
        [user("a"), assistant(use()), user("b")],
        "`tool_use` ids were found without `tool_result` blocks immediately after: t1",
    ),
    "call at the end": ([user("a"), assistant(use())], "ids were found without `tool_result`"),
    "one of two results": (
        [user("a"), assistant(use("t1"), use("t2")), user([result("t1")])],
        "immediately after: t2",
    ),
    "a system message between": (
        [user("a"), assistant(use()), {"role": "system", "content": "x"}, user([result()])],
        "ids were found without `tool_result`",
    ),
    "text before the results": (
        [user("a"), assistant(use()), user([text("first"), result()])],
        "ids were found without `tool_result`",
    ),
    "two results for one call": (
        [user("a"), assistant(use()), user([result(), result()])],
        "each tool_use must have a single result",
    ),
    "one id twice": (
        [user("a"), assistant(use(), use()), user([result()])],
        "`tool_use` ids must be unique",
    ),
    "a call by the user": ([user([use()])], "`tool_use` blocks can only be in `assistant`"),
    "a result by the model": (
        [user("a"), assistant(result()), user("b")],
        "`tool_result` blocks can only be in `user`",
    ),
    "unsigned thinking": (
        [user("a"), assistant({"type": "thinking", "thinking": "x"}), user("b")],
        "thinking.signature: Field required",
    ),
    "trailing space": ([user("a"), assistant(text("so "))], "trailing whitespace"),
}


@pytest.mark.parametrize(("messages", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_messages_that_the_service_refuses(messages, message):
    assert_refused(request(*messages), message)


TOOL = {"name": "Read", "input_schema": {"type": "object"}}
CACHED = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
FIELDS = {
    "max_tokens missing": ({"max_tokens": None}, "max_tokens"),
    "max_tokens zero": ({"max_tokens": 0}, "max_tokens: Input should be greater"),
    "tool name": ({"tools": [{**TOOL, "name": "a b"}]}, "tools.0.custom.name: String should"),
    "tool without schema": ({"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field"),
    "schema of no object": (
        {"tools": [{"name": "a", "input_schema": {"type": "array"}}]},
        "input_schema.type: Input should be 'object'",
    ),
    "two tools of one name": ({"tools": [TOOL, TOOL]}, "Tool names must be unique"),
    "thinking too small": (
        {"thinking": {"type": "enabled", "budget_tokens": 5}},
        "budget_tokens: Input should be greater than or equal to 1024",
    ),
    "thinking beyond the answer": (
        {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "empty system text": ({"system": [text("")]}, "system: text content blocks"),
    "five cache breakpoints": ({"system": [CACHED] * 5}, "A maximum of 4 blocks"),
}


@pytest.mark.parametrize(("fields", "message"), FIELDS.values(), ids=FIELDS.keys())
def test_fields_that_the_service_refuses(fields, message):
    assert_refused(request(user("hi"), **fields), message)


def test_a_missing_field_is_named():
    assert_refused({"model": "m", "messages": [user("hi")]}, "max_tokens: Field required")


def test_a_request_without_key_or_version_is_refused():
    with AnthropicServer([]) as server:
        assert post(server, request(user("hi")), headers={})[0] == 401
        assert post(server, request(user("hi")), headers={"x-api-key": "x"})[0] == 400


def assert_refused(body, message):
    with AnthropicServer([say("never")]) as server:
        status, answer = post(server, body)
    error = json.loads(answer)
    assert status == 400
    assert (error["type"], error["error"]["type"]) == ("error", "invalid_request_error")
    assert message in error["error"]["message"]
    assert [refusal.message for refusal in server.refusals] == [error["error"]["message"]]


def test_claude_code_s_requests_tell_who_asks():
    summary = "Your task is to create a detailed summary of the conversation so far."
    agent = {**HEADERS, "x-claude-code-agent-id": "a1"}
    with AnthropicServer(lambda _: say("ok")) as server:
        post(server, request(user("hi")))
        post(server, request(user("hi")), headers=agent)
        post(server, request(user("hi"), user(summary), {"role": "system", "content": "note"}))
    assert [claude_code_asker(each) for each in server.requests] == [
        "main",
        "subagent",
        "compaction",
    ]


def test_claude_code_s_environment_keeps_its_state_in_one_folder(tmp_path):
    with AnthropicServer([]) as server:
        variables = claude_code_environment(server, tmp_path)
        assert variables["ANTHROPIC_BASE_URL"] == server.base_url
    assert variables["CLAUDE_CONFIG_DIR"].startswith(str(tmp_path))
    assert variables["IS_SANDBOX"] == "1"
