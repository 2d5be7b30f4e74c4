"""The table of hosts and scenarios in the reference is what the kits of the packages claim."""

from __future__ import annotations

import ast
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
PACKAGES = ("adk", "langchain", "openai-agents", "pydantic-ai", "strands")


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


def lines_of(path: Path) -> int:
    """Return how many lines of a module are code: no imports, docstrings, comments or blanks."""
    text = path.read_text(encoding="utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if string or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    rows = enumerate(text.splitlines(), 1)
    return sum(n not in left_out and row.strip()[:1] not in ("", "#") for n, row in rows)


def test_the_lines_of_each_host_are_on_the_page() -> None:
    together = ROOT / "plugins" / "hosts" / "src" / "trimtab_hosts"
    found = {path.stem.replace("_", "-"): lines_of(path) for path in together.glob("[a-z]*.py")}
    for name in PACKAGES:
        modules = (ROOT / "plugins" / name / "src").glob("trimtab_*/*.py")
        found[name] = sum(lines_of(path) for path in modules if path.stem != "_conformance")
    row = ", ".join(f"{name} {lines}" for name, lines in sorted(found.items()))

    assert row in PAGE.read_text(encoding="utf-8").replace("\n", " "), f"the page should say: {row}"
