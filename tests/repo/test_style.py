"""What no linter checks about the sources."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LONGEST_BODY = 45
JUDGES = (
    "consultation-prompt",
    "deadline-feedback",
    "diagnostic-signal",
    "doom-loop",
    "parallel-tool-reminder",
    "plan-based-checker",
    "reminder",
    "signals",
    "tool-call-form",
)
"""Plugins whose numbers decide what an agent reads, and when; those of core do too."""


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


def test_no_constant_is_assigned_twice(folder: Path) -> None:
    """The second would take the place of the first without a word, in the functions above, too."""
    twice = []
    for path in (folder / "src").rglob("*.py"):
        nodes = [one for one in ast.parse(path.read_text()).body if isinstance(one, ast.Assign)]
        names = Counter(ast.unparse(target) for node in nodes for target in node.targets)
        twice += [f"{path.name} {name}" for name, count in names.items() if count > 1]

    assert twice == []


def test_every_number_that_judges_has_its_reason_beside_it(root: Path) -> None:
    folders = [root / "core", *(root / "plugins" / name for name in JUDGES)]
    sources = (path for folder in folders for path in (folder / "src").rglob("*.py"))

    assert [line for path in sources for line in _unexplained(path)] == []


def _unexplained(path: Path) -> Iterator[str]:
    """Yield the numbers of a module without a comment, or a docstring behind them.

    Numbers on lines that follow each other may share one.
    """
    lines, group = path.read_text().splitlines(), list[ast.stmt]()
    for node in [*ast.parse("\n".join(lines)).body, ast.Pass()]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            group.clear()
        elif group and not (_is_number(node) and node.lineno == (group[-1].end_lineno or 0) + 1):
            yield from (f"{path.name}:{one.lineno} {lines[one.lineno - 1]}" for one in group)
            group.clear()
        if _is_number(node):
            comments = "#" in lines[node.lineno - 1] or lines[node.lineno - 2].startswith("#")
            group += [] if comments else [node]


def _is_number(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    parts = list(ast.walk(node.value))
    simple = ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop
    numbers = [
        one for one in parts if isinstance(one, ast.Constant) and type(one.value) in (int, float)
    ]
    return bool(numbers) and all(isinstance(one, simple) for one in parts)


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
