"""A body reads as it does alone, whatever bodies were read before it."""

import json
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings, strategies as st

from trimtab_proxy import _reader
from trimtab_proxy._json import Unreadable
from trimtab_proxy._reader import Reader, read
from trimtab_proxy._service import ANTHROPIC_MESSAGES, CHAT_COMPLETIONS, GENERATE_CONTENT, WIRES

WORDS = st.sampled_from(["go", "é ✓", '"', "\\u0041", "a" * 50])
CALL = st.builds(
    lambda name, args: {"role": "model", "parts": [{"functionCall": {"name": name, "args": args}}]},
    st.sampled_from(["sh", "ls"]),
    st.dictionaries(WORDS, WORDS, max_size=1),
)
ANSWER = st.builds(
    lambda name, text: {
        "role": "user",
        "parts": [{"functionResponse": {"name": name, "response": {"output": text}}}],
    },
    st.sampled_from(["sh", "ls"]),
    WORDS,
)
MESSAGE = (
    st.builds(lambda text: {"role": "user", "content": text, "parts": [{"text": text}]}, WORDS)
    | CALL
    | ANSWER
    | st.builds(
        lambda i: {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "sh"}]},
        WORDS,
    )
    | WORDS
    | st.sampled_from([None, 1, 12, 1.5, 1e9])
)
FIELDS = st.dictionaries(st.sampled_from(["model", "tools", "x"]), WORDS, max_size=2)
LIST = st.lists(MESSAGE, max_size=2)
BODY = st.tuples(FIELDS, st.integers(0, 8), LIST, FIELDS, st.sampled_from([None, 1]))


def outcome(read_body):
    """All that a body reads as, or the error."""
    try:
        document = read_body()
    except Unreadable:
        return "unreadable"
    items = [(item.kind, item.key, item.raw) for item in document.items]
    return document.text, document.fields, items, document.last


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(WIRES), st.lists(MESSAGE, max_size=8), st.lists(BODY, max_size=6))
def test_whatever_came_before_a_body_reads_as_it_does_alone(wire, messages, bodies):
    reader = Reader()
    for head, shared, more, tail, indent in bodies:
        value = {**head, wire.list_key: messages[:shared] + more, **tail}
        body = json.dumps(value, ensure_ascii=len(more) == 1, indent=indent).encode()
        for cut in (body, body[:-1], body + b"}", body.replace(b"1", b"12", 1), body):
            alone = outcome(lambda cut=cut: read(wire, cut))
            assert outcome(lambda cut=cut: reader.read(wire, cut)) == alone


def conversation(steps, result="x" * 400):
    """The bodies of a conversation, each one call longer than the one before it."""
    messages = [{"role": "user", "content": "Fix it."}]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"n": number}}
        answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [answer]})
        yield json.dumps({"model": "m", "messages": messages, "tools": []}).encode()


class Counting:
    """The Messages API; counts the messages that are read."""

    name, list_key = ANTHROPIC_MESSAGES.name, ANTHROPIC_MESSAGES.list_key

    def __init__(self):
        self.read = 0

    def items(self, entry, numbering):
        self.read += 1
        return ANTHROPIC_MESSAGES.items(entry, numbering)


def test_only_what_is_new_is_read():
    wire, reader = Counting(), Reader()
    for body in conversation(40):
        reader.read(wire, body)
        reader.read(wire, body)

    assert wire.read == 1 + 2 * 40


def test_a_cache_mark_that_moves_costs_the_last_message_only():
    wire, reader = Counting(), Reader()
    for body in conversation(40):
        value = json.loads(body)
        value["messages"][-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
        reader.read(wire, json.dumps(value).encode())

    assert wire.read == 1 + 2 * 40 + 39


def test_branches_of_a_conversation_are_each_read_by_their_own_past():
    wire, reader = Counting(), Reader()
    common = [*conversation(20)][-1]
    for result in ("y" * 300, "z" * 300):
        for body in conversation(5, result):
            messages = json.loads(common)["messages"] + json.loads(body)["messages"]
            reader.read(wire, json.dumps({"model": "m", "messages": messages}).encode())

    begun_alike = 2
    assert wire.read == (1 + 2 * 20) + 2 * (1 + 2 * 5) - begun_alike


def test_what_is_kept_has_a_bound(monkeypatch):
    monkeypatch.setattr(_reader, "MOST_CHARACTERS", 20_000)
    reader = Reader()
    for number in range(40):
        for body in conversation(12, str(number) * 300):
            reader.read(ANTHROPIC_MESSAGES, body)
            assert len(reader._kept) <= _reader.MOST_KEPT
            assert sum(known.size for known in reader._kept) <= 20_000

    reader.read(ANTHROPIC_MESSAGES, next(conversation(1, "z" * 30_000)))
    assert sum(known.size for known in reader._kept) <= 20_000


def test_what_two_apis_have_in_common_is_read_by_each():
    reader = Reader()
    body = b'{"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}'

    assert reader.read(ANTHROPIC_MESSAGES, body).items[0].key == "rNone"
    assert reader.read(CHAT_COMPLETIONS, body).items == []
    assert reader.read(ANTHROPIC_MESSAGES, body).items[0].raw == {"type": "tool_result"}


def test_calls_without_ids_are_numbered_on():
    reader = Reader()
    call = {"role": "model", "parts": [{"functionCall": {"name": "sh", "args": {}}}]}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "sh", "response": {}}}]}
    for steps in range(1, 6):
        body = json.dumps({"contents": [call, answer] * steps}).encode()
        items = reader.read(GENERATE_CONTENT, body).items

    assert [item.raw[1] for item in items] == [f"sh#{n}" for n in range(1, 6) for _ in "ca"]


def test_threads_read_at_the_same_time():
    reader = Reader()
    bodies = [body for mark in "abc" for body in conversation(20, mark * 100)] * 3
    with ThreadPoolExecutor(8) as pool:
        read_by_all = list(pool.map(lambda body: reader.read(ANTHROPIC_MESSAGES, body), bodies))

    for body, document in zip(bodies, read_by_all, strict=True):
        alone = read(ANTHROPIC_MESSAGES, body)
        assert [item.key for item in document.items] == [item.key for item in alone.items]
