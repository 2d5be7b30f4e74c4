"""What compatible services send besides, or instead of, what the official one sends."""

from __future__ import annotations

import json
from types import SimpleNamespace

import attrs
import pytest

from trimtab_openai import GuidedLoop, LoopStopped
from trimtab_openai._chat import CHAT, RESPONSES
from trimtab_openai._model_response import ModelFailed


def streamed(*deltas, usage=None):
    stream = CHAT.stream()
    for delta in deltas:
        stream.add({"choices": [{"index": 0, "delta": delta}]})
    stream.add({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    stream.add({"choices": [], "usage": usage})
    return stream.reply()


def part(index, id_, name, arguments):
    call = {"index": index, "id": id_, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in call.items() if value is not None}]}


CALLS = {
    "in pieces": [part(0, "c1", "read", '{"a"'), part(0, None, None, ": 1}")],
    "the id in every piece": [part(0, "c1", "read", '{"a"'), part(0, "c1", None, ": 1}")],
    "no index": [part(None, "c1", "read", '{"a": 1}')],
    "no index, in pieces": [part(None, "c1", "read", '{"a"'), part(None, None, None, ": 1}")],
}


@pytest.mark.parametrize("deltas", CALLS.values(), ids=CALLS.keys())
def test_a_call_comes_together(deltas):
    reply = streamed({"role": "assistant", "content": None}, *deltas)
    (call,) = reply.tool_calls
    assert (call.tool, call.params, call.call_id) == ("read", {"a": 1}, "c1")
    assert json.loads(reply.items[0]["tool_calls"][0]["function"]["arguments"]) == {"a": 1}
    assert "index" not in reply.items[0]["tool_calls"][0]


def test_several_calls_under_one_index_stay_apart():
    reply = streamed(part(0, "c1", "read", '{"a": 1}'), part(0, "c2", "read", '{"a": 2}'))
    assert [call.params for call in reply.tool_calls] == [{"a": 1}, {"a": 2}]


def test_interleaved_calls_stay_apart():
    reply = streamed(
        part(0, "c1", "read", "{"),
        part(1, "c2", "find", "{"),
        part(0, None, None, '"a": 1}'),
        part(1, None, None, '"b": 2}'),
    )
    assert [(call.tool, call.params) for call in reply.tool_calls] == [
        ("read", {"a": 1}),
        ("find", {"b": 2}),
    ]


def test_text_and_reasoning_grow_and_other_fields_are_kept():
    reply = streamed(
        {"content": "I ", "reasoning_content": "h", "signature": "s1"},
        {"content": "look.", "reasoning_content": "m", "signature": "s2"},
        usage={"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.5},
    )
    assert (reply.text, reply.reasoning) == ("I look.", "hm")
    assert reply.items[0]["signature"] == "s2"
    assert (reply.usage.total_tokens, reply.usage.cost) == (7, 0.5)


def test_a_call_without_id_gets_one_that_its_answer_can_name():
    message = {"tool_calls": [{"id": "", "function": {"name": "now", "arguments": ""}}]}
    reply = CHAT.read({"choices": [{"message": message}]})
    (call,) = reply.tool_calls
    assert call.call_id.startswith("call_")
    assert reply.items[0]["tool_calls"][0]["id"] == call.call_id
    assert call.params == {}


@pytest.mark.parametrize("arguments", ["[1]", "null", '"text"', "{", "[" * 100_000])
def test_arguments_that_are_no_object_stay_text(arguments):
    message = {"tool_calls": [{"id": "c", "function": {"name": "x", "arguments": arguments}}]}
    assert CHAT.read({"choices": [{"message": message}]}).tool_calls[0].params == arguments


def test_an_empty_answer_can_be_sent_back():
    reply = CHAT.read({"choices": [{"message": {"role": "assistant", "content": None}}]})
    assert reply.items == ({"role": "assistant", "content": ""},)


def test_what_the_service_does_not_take_back_is_left_out():
    message = {"role": "assistant", "content": "a", "annotations": [], "function_call": None}
    reply = CHAT.read({"choices": [{"message": message}]})
    assert reply.items == ({"role": "assistant", "content": "a"},)


def test_arguments_may_come_as_an_object():
    call = {"id": "c", "function": {"name": "x", "arguments": {"a": 1}}}
    reply = CHAT.read({"choices": [{"message": {"tool_calls": [call]}}]})
    assert reply.tool_calls[0].params == {"a": 1}
    assert json.loads(reply.items[0]["tool_calls"][0]["function"]["arguments"]) == {"a": 1}


def test_words_may_come_in_parts():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "It "}]
    content = [*parts, {"type": "text", "text": "works."}]
    reply = CHAT.read({"choices": [{"message": {"content": content}}]})
    assert (reply.text, reply.items[0]["content"]) == ("It works.", content)


def test_a_character_that_comes_in_halves_is_one_again():
    reply = streamed({"content": "Good \ud83d"}, {"content": "\ude00"})
    assert reply.text == reply.items[0]["content"] == "Good \U0001f600"
    halved = CHAT.read({"choices": [{"message": {"content": "Bad \ud83d"}}]})
    assert halved.text == halved.items[0]["content"] == "Bad \ufffd"


def test_halves_of_characters_go_back_in_no_part_of_an_answer():
    call = {"id": "c", "function": {"name": "x\ud83d", "arguments": '{"a": "\ud83d'}}
    message = {"content": [{"type": "text", "text": "\ud83d"}], "tool_calls": [call]}
    items = [*CHAT.read({"choices": [{"message": message}]}).items]
    call = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "\ud83d"}
    said = {"type": "message", "content": [{"type": "output_text", "text": "\ud83d"}]}
    items += RESPONSES.read({"output": [call, said]}).items
    assert json.dumps(items, ensure_ascii=False).encode().count("\ufffd".encode()) == 5


def test_words_of_a_stream_may_come_in_parts():
    reply = streamed({"content": [{"type": "text", "text": "It "}]}, {"content": "works."})
    assert reply.text == reply.items[0]["content"] == "It works."


def test_lists_of_a_stream_grow():
    reply = streamed({"reasoning_details": [{"text": "h"}]}, {"reasoning_details": [{"text": "m"}]})
    assert reply.items[0]["reasoning_details"] == [{"text": "h"}, {"text": "m"}]


def test_arguments_of_a_stream_may_come_as_an_object():
    assert streamed(part(0, "c1", "read", {"a": 1})).tool_calls[0].params == {"a": 1}


ODD_MESSAGES = [
    {"content": 5},
    {"content": [{"text": {"value": "hi"}}]},
    {"tool_calls": "read"},
    {"tool_calls": ["read"]},
    {"tool_calls": {"a": 1}},
]


@pytest.mark.parametrize("message", ODD_MESSAGES, ids=str)
def test_an_answer_of_no_known_form_is_a_failure_of_the_service(message):
    with pytest.raises(ModelFailed, match="can't be read"):
        CHAT.read({"choices": [{"message": message}]})
    with pytest.raises(ModelFailed, match="can't be read"):
        streamed(message)


@pytest.mark.parametrize("output", [5, ["text"], [{}]], ids=str)
def test_items_of_no_known_form_are_a_failure_of_the_service(output):
    with pytest.raises(ModelFailed, match="can't be read"):
        RESPONSES.read({"output": output})


@pytest.mark.parametrize("count", ["7", None, 7.5, [7]])
def test_a_count_that_is_none_is_not_counted(count):
    message = {"content": "a"}
    used = {"prompt_tokens": count, "completion_tokens": 2}
    reply = CHAT.read({"choices": [{"message": message}], "usage": used})
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 2)


@pytest.mark.parametrize("response", [None, "text", {}, {"choices": []}, {"choices": [{}]}])
def test_a_completion_without_a_message_is_a_failure(response):
    with pytest.raises(ModelFailed, match="returned"):
        CHAT.read(response)


FAILED = [
    *(None, "text", {}, {"status": "cancelled"}),
    *({"status": status, "output": []} for status in ("failed", "queued", "in_progress")),
]


@pytest.mark.parametrize("response", FAILED)
def test_a_response_without_an_answer_is_a_failure(response):
    with pytest.raises(ModelFailed, match="no answer"):
        RESPONSES.read(response)


def test_an_item_s_call_without_id_gets_one_that_its_answer_can_name():
    reply = RESPONSES.read({"output": [{"type": "function_call", "name": "now"}]})
    (call,) = reply.tool_calls
    assert call.call_id.startswith("call_")
    assert reply.items[0]["call_id"] == call.call_id


@pytest.mark.parametrize("deltas", [[], [{"content": "I th"}], [part(0, "c1", "read", '{"a')]])
def test_a_completion_that_breaks_off_is_a_failure(deltas):
    stream = CHAT.stream()
    for delta in deltas:
        stream.add({"choices": [{"index": 0, "delta": delta}]})
    with pytest.raises(ModelFailed, match="broke off"):
        stream.reply()


def test_a_refusal_is_told_apart_from_text():
    message = {"role": "assistant", "content": None, "refusal": "I won't."}
    assert CHAT.read({"choices": [{"message": message}]}).refusal == "I won't."
    content = [{"type": "refusal", "refusal": "I won't."}]
    output = [{"type": "message", "role": "assistant", "content": content}]
    assert RESPONSES.read({"output": output}).refusal == "I won't."


def test_why_a_response_is_incomplete_is_its_stop_reason():
    response = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert RESPONSES.read({**response, "output": []}).stop_reason == "max_output_tokens"


@attrs.frozen
class Answer:
    number: int


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_structured_output_that_was_cut_says_by_what(opened, reason):
    choice = {"finish_reason": reason, "message": {"content": '{"number": 4'}}
    create = SimpleNamespace(create=lambda **_: {"choices": [choice]})
    client = SimpleNamespace(chat=SimpleNamespace(completions=create))
    loop = GuidedLoop(client, opened(), model="m", output_type=Answer)
    with pytest.raises(LoopStopped, match=f"not a valid Answer: .*{reason}"):
        loop.complete("Count.")


def test_a_stream_of_events_that_breaks_off_is_a_failure():
    stream = RESPONSES.stream()
    stream.add({"type": "response.output_text.delta", "delta": "a"})
    with pytest.raises(ModelFailed, match="broke off"):
        stream.reply()


def test_a_stream_that_ends_in_failure_says_why():
    stream = RESPONSES.stream()
    error = {"code": "server_error", "message": "overloaded"}
    stream.add({"type": "response.failed", "response": {"error": error, "output": []}})
    with pytest.raises(ModelFailed, match="server_error: overloaded"):
        stream.reply()


def test_an_error_in_a_stream_of_events_says_why():
    stream = RESPONSES.stream()
    with pytest.raises(ModelFailed, match="server_error: overloaded"):
        stream.add({"type": "error", "code": "server_error", "message": "overloaded"})


def test_items_may_come_before_the_last_event_alone():
    said = {"type": "message", "content": [{"type": "output_text", "text": "It works."}]}
    stream = RESPONSES.stream()
    stream.add({"type": "response.output_item.done", "item": said})
    stream.add({"type": "response.completed", "response": {"output": []}})
    assert stream.reply().text == "It works."
