"""Options that replace a provider's texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from trimtab.text import level_texts, texts_by_level


@attrs.frozen
class Speaker:
    texts: Mapping[int, str] = attrs.field(
        factory=dict, converter=texts_by_level, validator=level_texts(20, name="", count=0)
    )


def test_levels_may_be_written_as_text() -> None:
    assert Speaker({"1": "{count} times", 3: "x"}).texts == {1: "{count} times", 3: "x"}


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


@pytest.mark.parametrize("texts", ["x", [1], None, 5, ("a", "b")])
def test_what_is_no_mapping_is_refused_with_what_is_expected(texts: Any) -> None:
    with pytest.raises(TypeError, match=r"^texts must be texts by level, \{1: .*not "):
        Speaker(texts)
