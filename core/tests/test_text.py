"""Options that replace a provider's texts, and characters that no text may hold."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping

import attrs
import pytest

from trimtab.text import (
    CONTROL_CHARACTERS,
    escape,
    level_texts,
    quote,
    sanitize,
)

SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Marks around numbers and verses, which Unicode counts as format characters."""
INVISIBLE = (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180F, 0x2800, 0x3164, 0xFE00, 0xFFA0)


@attrs.frozen
class Speaker:
    texts: Mapping[int, str] = attrs.field(
        factory=dict, validator=level_texts(20, name="", count=0)
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({4: "x"}, "level 4 is not 1, 2 or 3"),
        ({"one": "x"}, "level 'one' is not"),
        ({None: "x"}, "level None is not"),
        ({1: ""}, r"texts\[1\] must be text of 1 to 20"),
        ({1: "x" * 21}, r"texts\[1\] must be text of 1 to 20"),
        ({1: 5}, r"texts\[1\] must be text"),
        ({2: "{nobody}"}, r"texts\[2\] knows \{name\}, \{count\}"),
        ({2: "{name.x}"}, r"texts\[2\] knows"),
        ({2: "{"}, r"texts\[2\] knows"),
        ({3: "\x1b"}, r"texts\[3\] holds control characters"),
    ],
)
def test_what_does_not_fit_is_named(texts: Mapping[int, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Speaker(texts)


def test_no_invisible_character_gets_through() -> None:
    found = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cf", "Cs"} and code not in SEEN
    }
    missed = [hex(code) for code in found | {*INVISIBLE} if not CONTROL_CHARACTERS.match(chr(code))]
    assert missed == []
    for code in INVISIBLE:
        for clean in (quote, sanitize, escape):
            assert chr(code) not in clean(f"a{chr(code)}b")
