"""The table of hosts and scenarios in the reference is what the kits of the packages claim."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from trimtab.testing import HostKit, host_table

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("default"),  # those of the clients
]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hosts.md"


def kits() -> dict[str, HostKit]:
    """Return the conformance kits of all installed hosts of this project."""
    found: dict[str, Any] = {}
    for entry in entry_points(group="trimtab.commands"):
        if entry.name.startswith("doctor-") and entry.value.endswith(":KIT.register"):
            kit = entry.load().__self__
            found[kit.name] = kit
    return dict(sorted(found.items()))


def test_the_table_of_the_reference_is_what_the_kits_claim() -> None:
    table = host_table({name: kit.claimed() for name, kit in kits().items()})
    assert table in PAGE.read_text(encoding="utf-8"), f"the table should be\n\n{table}"
