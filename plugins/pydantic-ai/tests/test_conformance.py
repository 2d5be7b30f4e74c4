"""The host holds to what it claims: scripted conversations on the real runtime."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic_ai")
pytest.importorskip("openai")

from trimtab_pydantic_ai._conformance import KIT

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("default"),  # those of the clients
]


@pytest.mark.parametrize("scenario", KIT.scenarios)
def test_the_host_holds_to_its_claims(scenario: str) -> None:
    [verdict] = KIT.verdicts([scenario])
    assert verdict.result == "ok", verdict.note
