"""Messages of errors, as users read them."""

from __future__ import annotations

import re
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab._types.text import error_message

VALIDATED = attrs.validators


@pytest.mark.parametrize(
    ("validator", "value", "plain"),
    [
        (VALIDATED.le(32), 1_000_000_000, "size must be 32 or less, not 1000000000"),
        (VALIDATED.ge(2), -1.5, "size must be 2 or more, not -1.5"),
        (VALIDATED.gt(0), 0, "size must be more than 0, not 0"),
        (VALIDATED.lt(1), 1, "size must be less than 1, not 1"),
        (VALIDATED.instance_of(bool), "no", "size must be true or false, not 'no'"),
        (VALIDATED.instance_of(str), None, "size must be text, not nothing"),
        (
            VALIDATED.instance_of((int, float)),
            "a",
            "size must be a whole number or a number, not 'a'",
        ),
        (VALIDATED.instance_of(re.Pattern), True, "size must be of type Pattern, not true"),
        (VALIDATED.optional(VALIDATED.instance_of(dict)), 1, "size must be a table, not 1"),
        (VALIDATED.deep_iterable(VALIDATED.instance_of(str)), [1], "size must be text, not 1"),
        (VALIDATED.in_(("a", "b")), "c", "size must be one of 'a', 'b', not 'c'"),
        (VALIDATED.matches_re("a+"), "b", "size must match 'a+', not 'b'"),
        (VALIDATED.min_len(1), "", "the length of size must be 1 or more, not 0"),
        (VALIDATED.ge("b"), "a\n" * 100, "size must be b or more, not a a a"),
    ],
)
def test_what_a_validator_of_attrs_refuses_is_said_in_plain_words(
    validator: Any, value: Any, plain: str
) -> None:
    record = attrs.make_class("Record", {"size": attrs.field(validator=validator)})

    with pytest.raises((TypeError, ValueError)) as caught:
        record(value)

    assert error_message(caught.value).startswith(plain)
    assert len(error_message(caught.value)) < 200


@pytest.mark.parametrize(
    "error",
    [
        ValueError("must rise"),
        ValueError("'size' must be nice"),
        ValueError("'size' must be >= 2"),
        KeyError("'size' must be >= 2: 1"),
        TypeError(),
        ValueError(3),
    ],
)
def test_other_errors_keep_their_words(error: Exception) -> None:
    assert error_message(error) == str(error)


@given(st.text(max_size=300), st.lists(st.text(max_size=50), max_size=4))
def test_no_text_of_an_error_breaks_its_message(text: str, others: list[str]) -> None:
    assert isinstance(error_message(ValueError(text, *others)), str)
