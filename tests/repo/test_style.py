"""What no linter checks about the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LONGEST_BODY = 45


def bodies(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a file with the lines of its body, apart from its docstring."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stated = node.body[1:] if ast.get_docstring(node) else node.body
            lines = stated[-1].end_lineno - stated[0].lineno + 1 if stated else 0
            yield f"{path.name}:{node.lineno} {node.name}", lines


def test_no_function_is_too_long(folder: Path) -> None:
    sources = (folder / "src").rglob("*.py")
    long = {name: lines for path in sources for name, lines in bodies(path) if lines > LONGEST_BODY}

    assert long == {}


def test_no_pragma_hides_a_line_from_coverage(folder: Path) -> None:
    sources = (folder / "src").rglob("*.py")

    assert [str(path) for path in sources if "pragma: no cover" in path.read_text()] == []


def test_every_test_module_has_an_assertion(folder: Path) -> None:
    modules = (folder / "tests").rglob("test_*.py")
    silent = [path for path in modules if not {"assert", "raises"} & set(_words(path))]

    assert [str(path) for path in silent] == []


def _words(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assert):
            yield "assert"
        if isinstance(node, ast.ClassDef) and any(
            ast.unparse(base).endswith("Conformance") for base in node.bases
        ):
            yield "assert"  # those that it inherits
        if isinstance(node, ast.Attribute):
            yield node.attr
