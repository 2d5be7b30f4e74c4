"""The table of hosts and scenarios in the reference is what the kits of the packages claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab_testing import HostKit, host_table

from .kits import kit_entries

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("default"),  # those of the clients
]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "hosts.md"


def kits() -> tuple[dict[str, HostKit], dict[str, HostKit]]:
    """Return the kits of the packages for one runtime, and those of trimtab-hosts."""
    alone: dict[str, Any] = {}
    together: dict[str, Any] = {}
    for entry in kit_entries():
        kit = entry.load()
        found = together if entry.value.startswith("trimtab_hosts.") else alone
        found[kit.name] = kit
    return alone, together


@pytest.mark.parametrize("which", [0, 1], ids=["packages", "trimtab-hosts"])
def test_a_table_of_the_reference_is_what_the_kits_claim(which: int) -> None:
    table = host_table({name: kit.claimed() for name, kit in kits()[which].items()})
    assert table in PAGE.read_text(encoding="utf-8"), f"the table should be\n\n{table}"
