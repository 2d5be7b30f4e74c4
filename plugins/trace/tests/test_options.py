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
        ({"durability": "x"}, "the option 'durability': no durability 'x'; use one of: none, "),
        ({"redact": [3]}, r"the option 'redact': redact must be a list of texts, not \[3\]"),
        ({"redact": 3}, "the option 'redact': redact must be a list of texts, not 3"),
    ],
)
def test_a_wrong_option_is_named_and_the_package_is_not_blamed(
    recorder: str, options: dict[str, Any], what: str
) -> None:
    with pytest.raises(ProviderOptionsError, match=f"{recorder}' .*refuses {what}") as caught:
        Prompt("a", "b", config=None, recorders=[enable(recorder, **options)])
    assert "reinstall" not in str(caught.value)


@pytest.mark.parametrize("keep", [0, -1, True, "3", 1.5])
def test_keep_is_a_whole_number_of_files(keep: Any) -> None:
    with pytest.raises(ProviderOptionsError, match="'keep': keep must be 1 or more, or None") as e:
        Prompt("a", "b", config=None, recorders=[enable("jsonl-trace", folder="f", keep=keep)])
    assert "folder" not in str(e.value)
