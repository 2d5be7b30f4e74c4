"""Bodies as bytes and back."""

import json
from datetime import UTC, datetime
from enum import Enum
from typing import ClassVar

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab_worker import Codec, MailboxError, UndecodableMessage


class Colour(Enum):
    RED = "red"


@attrs.frozen
class Inner:
    flag: bool
    when: datetime | None = None


@attrs.frozen
class Order:
    message_version: ClassVar[int] = 3
    number: int
    price: float
    names: tuple[str, ...] = ()
    inner: Inner | None = None
    colour: Colour = Colour.RED

    @classmethod
    def upgrade_message(cls, body, version):
        if version == 1:
            raise ValueError("too old")
        cost = body.pop("cost")
        return {**body, "price": cost}


@attrs.frozen
class Other:
    text: str


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values, st.none() | st.text(max_size=50))
def test_any_json_value_survives(body, address):
    if isinstance(body, float) and body in (float("inf"), float("-inf")):
        return
    try:
        data = Codec().encode(body, reply_to=address)
    except MailboxError:
        assert "Infinity" in json.dumps(body)
        return
    envelope = Codec().decode(data)

    assert (envelope.body, envelope.reply_to) == (body, address)


@given(
    st.builds(
        Order,
        number=st.integers(),
        price=st.floats(allow_nan=False, allow_infinity=False),
        names=st.lists(st.text(), max_size=3).map(tuple),
        inner=st.none() | st.builds(Inner, flag=st.booleans(), when=st.just(datetime.now(UTC))),
    )
)
def test_typed_bodies_survive(order):
    codec = Codec(Order, Other)

    assert codec.decode(codec.encode(order)).body == order


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_undecodable_and_nothing_else(data):
    with pytest.raises(UndecodableMessage):
        Codec(Order).decode(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"number": True}, "number: expected int, not True"),
        ({"number": "1"}, "number: expected int, not '1'"),
        ({"number": 1.0}, "number: expected int, not 1.0"),
        ({"price": "1"}, "price: expected a number, not '1'"),
        ({"names": [1]}, r"names\[0\]: expected str, not 1"),
        ({"inner": {"flag": 1}}, "inner.flag: expected bool, not 1"),
        ({"colour": "green"}, "colour: 'green' is not a valid Colour"),
        ({"number": None}, "number: expected int, not None"),
        ({"extra": 1}, "unknown field extra"),
    ],
)
def test_nothing_is_converted_silently(change, said):
    codec = Codec(Order)
    envelope = json.loads(codec.encode(Order(1, 2.0)))
    envelope["body"] |= change

    with pytest.raises(UndecodableMessage, match=said):
        codec.decode(json.dumps(envelope).encode())


def test_an_older_version_is_upgraded():
    data = b'{"v":1,"type":"Order","version":2,"body":{"number":1,"cost":2.5}}'

    assert Codec(Order).decode(data).body == Order(1, 2.5)


@pytest.mark.parametrize(
    ("version", "said"),
    [(1, "can't be upgraded: too old"), (4, "version 4 of Order, expected 3"), ("x", "expected 3")],
)
def test_a_version_that_cannot_be_read_is_named(version, said):
    data = json.dumps({"v": 1, "type": "Order", "version": version, "body": {}}).encode()

    with pytest.raises(UndecodableMessage, match=said):
        Codec(Order).decode(data)


@pytest.mark.parametrize("body", [object(), float("nan"), {"a": object()}])
def test_what_json_cannot_express_is_refused(body):
    with pytest.raises(MailboxError, match="can't be sent as JSON"):
        Codec().encode(body)


def test_a_deep_body_is_refused_both_ways():
    deep = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(MailboxError):
        Codec().encode(deep)
    with pytest.raises(UndecodableMessage):
        Codec().decode(b'{"v":1,"body":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_two_types_of_one_name_are_refused():
    with pytest.raises(MailboxError, match="same class name"):
        Codec(Other, attrs.make_class("Other", []))


@pytest.mark.parametrize("address", [1, "x" * 2001, ["a"]])
def test_an_address_must_be_a_short_text(address):
    data = json.dumps({"v": 1, "body": 1, "reply_to": address}).encode()

    with pytest.raises(UndecodableMessage, match="reply_to must be"):
        Codec().decode(data)
