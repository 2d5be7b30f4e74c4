"""No two modules import each other, annotations and imports inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# The client runs as a script without imports, and starts the launcher if no server answers.
ALLOWED = {("trimtab_claude_code._client", "trimtab_claude_code._launcher")}

Imports = Mapping[str, set[str]]


def modules_in(source: Path) -> dict[str, Path]:
    """Return the files of the modules below a folder, by name."""
    files = {file.relative_to(source).with_suffix(""): file for file in source.rglob("*.py")}
    return {".".join(path.parts).removesuffix(".__init__"): file for path, file in files.items()}


def imported(tree: ast.Module, known: Collection[str]) -> Iterator[str]:
    """Yield what a module imports anywhere: a known submodule by its own name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in inner)


def imports_in(modules: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return which of the modules each of them imports."""
    return {
        name: {
            each
            for each in imported(ast.parse(file.read_text()), modules)
            if each in modules and each != name and (name, each) not in ALLOWED
        }
        for name, file in modules.items()
    }


def circle(imports: Imports) -> list[str]:
    """Return the modules of one circle, the first again at the end; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_an_import_inside_a_function_counts(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def late():\n    from two import it\n")
    (tmp_path / "two.py").write_text("if TYPE_CHECKING:\n    import one\n")

    assert sorted(circle(imports_in(modules_in(tmp_path)))[:2]) == ["one", "two"]


def test_core_has_no_circle_of_imports(root: Path) -> None:
    assert circle(imports_in(modules_in(root / "core" / "src"))) == []


def test_a_plugin_has_no_circle_of_imports(root: Path, plugin: str) -> None:
    assert circle(imports_in(modules_in(root / "plugins" / plugin / "src"))) == []
