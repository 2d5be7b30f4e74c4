"""The lines of each host, as the reference lists them, are those of the modules."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "hosts.md"
PACKAGES = ("adk", "langchain", "openai-agents", "pydantic-ai", "strands")


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
