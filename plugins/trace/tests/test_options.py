"""What the recorders say about options that they can't use."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab import Prompt, enable
from trimtab.inspection import ProviderOptionsError


@pytest.mark.parametrize("recorder", ["jsonl-trace", "sqlite-trace"])
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"durability": "x"}, 'expected one of "none", .*, "each" at durability, not "x"'),
        ({"redact": [3]}, r"expected string at redact\[0\], not 3"),
        ({"redact": 3}, "expected array or None at redact, not 3"),
        ({"redact": "key"}, 'expected array or None at redact, not "key"'),
    ],
)
def test_a_wrong_option_is_named_and_the_package_is_not_blamed(
    recorder: str, options: dict[str, Any], what: str
) -> None:
    with pytest.raises(
        ProviderOptionsError, match=f"{recorder}' .*refuses its options: {what}"
    ) as caught:
        Prompt("a", "b", config=None, recorders=[enable(recorder, **options)])
    assert "reinstall" not in str(caught.value)


@pytest.mark.parametrize("keep", [0, -1, True, "3", 1.5])
def test_keep_is_a_whole_number_of_files(keep: Any) -> None:
    what = "'keep': keep must be 1 or more, or None|expected integer or None at keep"
    with pytest.raises(ProviderOptionsError, match=what) as e:
        Prompt("a", "b", config=None, recorders=[enable("jsonl-trace", folder="f", keep=keep)])
    assert "folder" not in str(e.value)
