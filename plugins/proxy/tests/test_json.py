"""A text put into a body changes no other byte of it."""

import json

import pytest
from hypothesis import given, strategies as st

from trimtab_proxy._json import Place, Unreadable
from trimtab_proxy._reader import read
from trimtab_proxy._service import CHAT_COMPLETIONS, GENERATE_CONTENT

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TEXT = Place(("content",), {"type": "text"})


def written(value, style):
    ascii_only, indent, spaced = style
    separators = (" ,", " : ") if spaced else None
    return json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)


def put_in(wire, body, place, addition):
    return read(wire, body).insertion(place, addition).into(body)


STYLES = st.tuples(st.booleans(), st.sampled_from([None, 2]), st.booleans())


@given(st.dictionaries(st.text(), ANY, max_size=3), st.lists(ANY, max_size=3), STYLES)
def test_a_body_reads_as_json_reads_it(fields, messages, style):
    value = {**fields, "messages": messages}
    try:
        body = written(value, style).encode()
    except UnicodeEncodeError:
        return

    document = read(CHAT_COMPLETIONS, body)

    assert {**document.fields, "messages": messages} == json.loads(body)
    assert (document.last and document.last.value) == (messages[-1] if messages else None)


@given(
    st.dictionaries(st.text(), ANY, max_size=3),
    st.text() | st.lists(ANY, max_size=3),
    st.text(min_size=1),
    STYLES,
)
def test_only_the_text_is_added_and_every_other_byte_stays(fields, content, addition, style):
    value = {**fields, "messages": [{"a": 1}, {**fields, "content": content, "é": 2}]}
    try:
        body = written(value, style).encode()
    except UnicodeEncodeError:
        return

    guided = put_in(CHAT_COMPLETIONS, body, TEXT, addition)

    start = next((i for i, b in enumerate(body) if guided[i] != b), len(body))
    size = len(guided) - len(body)
    assert any(
        guided[:at] + guided[at + size :] == body for at in range(max(0, start - size), start + 1)
    )
    last = json.loads(guided)["messages"][-1]
    if isinstance(content, str):
        assert last["content"] == (f"{content}\n\n{addition}" if content else addition)
    else:
        assert last["content"] == [*content, {"type": "text", "text": addition}]
    assert {**last, "content": content} == value["messages"][-1]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'{"a": 1',
        b'{"a": 1} x',
        b'{"a": 1,}',
        b'{"messages": [1,]}',
        b'{"a": 1, "a": 2}',
        b'{"messages": [1], "a": 1, "messages": [2]}',
        b'{"\xff": 1}',
        b"\xef\xbb\xbf{}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"messages": ' + b"[" * 200_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
        b'{"a": "\n"}',
    ],
)
def test_what_is_no_plain_object_is_not_read(body):
    with pytest.raises(Unreadable):
        read(CHAT_COMPLETIONS, body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": []}',
        b'{"messages": [1]}',
        b'{"messages": [{"content": 1}]}',
        b'{"messages": [{"role": "user"}]}',
        b'{"messages": [{"content": "a", "content": "b"}]}',
        b'{"messages": "text"}',
    ],
)
def test_a_body_without_the_place_is_refused(body):
    with pytest.raises(Unreadable):
        put_in(CHAT_COMPLETIONS, body, TEXT, "words")


def test_a_number_beyond_all_precision_stays_as_it_is_written():
    body = b'{"x": 12345678901234567890123, "y": 1.10, "messages": [{"content": "a"}]}'

    guided = put_in(CHAT_COMPLETIONS, body, TEXT, "b")

    assert guided == body.replace(b'"a"', b'"a\\n\\nb"')


def test_a_path_leads_through_lists_and_objects():
    body = b'{"contents": [{"parts": [{"x": 1}, {"response": {"output": "\xc3\xa9"}}]}]}'
    place = Place(("parts", 1, "response", "output"), {})

    guided = put_in(GENERATE_CONTENT, body, place, "b")

    assert guided == body.replace(b"\xc3\xa9", b"\xc3\xa9\\n\\nb")
