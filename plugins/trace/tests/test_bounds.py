"""What is kept of one event is bounded, holds no secret, and still differs from another's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from trimtab_trace import LONGEST_TEXT, Redaction, bounded

SECRETS = [
    "sk-ant-" + "api03-0123456789abcdef",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123456789\nshort==\n-----END RSA",
    "password=correct-horse-battery",
    "acme-0123",
]
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "x" * 3495 + " {} " + "y" * 9000])
def test_secrets_are_taken_out_and_still_differ(secret: str, around: str) -> None:
    redact = Redaction(["acme-"])
    value = "MIIEpAIBAAKCAQEA0123456789" if "PRIVATE" in secret else secret
    value = value.removeprefix("password=")

    text = bounded({"a": [around.format(secret)]}, redact)["a"][0]
    other = bounded({"a": [around.format(f"{secret}Z")]}, redact)["a"][0]

    assert value not in text
    assert text != other


def test_a_value_is_hidden_by_the_name_that_it_stands_under() -> None:
    value = {
        "env": [{"name": "API_KEY", "value": "correct-horse-1"}],
        "headers": [["Cookie", "correct-horse-2"]],
        "token": "correct-horse-3",
        "name": "correct-horse-4",
    }

    found = json.dumps(bounded(value, Redaction()))

    assert [n for n in "1234" if f"correct-horse-{n}" in found] == ["4"]


@pytest.mark.slow
@given(json_like)
def test_what_is_short_stays_as_it_is(value: object) -> None:
    assert bounded(value, Redaction()) == value


def test_what_is_long_is_cut_and_still_differs() -> None:
    long = ["x" * 200_000 + middle + "x" * 200_000 for middle in "ab"]

    first, second = bounded({"a": long}, Redaction())["a"]

    assert len(first) < LONGEST_TEXT
    assert first != second
    assert "redacted" not in first
    assert len({bounded(f"{n}{long[0]}", Redaction()) for n in range(1000)}) == 1000
    assert len(bounded([0] * 10_000, Redaction())) < 10_000
    many = {f"{number:>9000}": ["y" * 8000] * 500 for number in range(50)}
    assert len(json.dumps(bounded(many, Redaction()))) < 3_000_000
    assert bounded(["a" * 8000] * 500, Redaction())[0] == "a" * 8000
    deep = json.loads("[" * 200 + "]" * 200)
    assert json.dumps(bounded(deep, Redaction())).count("[") < 100
