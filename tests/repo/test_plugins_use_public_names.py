"""A plugin uses what core publishes, and nothing private of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a file imports from core."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_private_name_of_core_is_imported(root: Path, plugin: str) -> None:
    sources = (root / "plugins" / plugin / "src").rglob("*.py")
    names = {name for path in sources for name in imported(path)}
    private = {
        name for name in names if name.startswith("trimtab.") and "._" in name.replace(".__", "")
    }

    assert set() == private


PUBLISHED = {
    "claude-code": {"hooks"},
    "hosts": {
        *("agent_framework", "autogen", "crewai", "dspy"),
        *("haystack", "llama_index", "smolagents"),
    },
    "litellm": {"proxy"},
    "openai": {"testing"},
    "replay": {"outcomes", "testing"},
    "signals": {"agents"},
    "worker": {"testing"},
}
"""Modules of plugins, besides the package itself, that users may import."""


def test_modules_of_a_plugin_are_private_unless_published(root: Path, plugin: str) -> None:
    package = root / "plugins" / plugin / "src" / f"trimtab_{plugin.replace('-', '_')}"
    modules = {
        path.stem
        for path in package.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    public = {name for name in modules if not name.startswith("_")}

    assert public == PUBLISHED.get(plugin, set())


def test_the_stub_of_a_plugin_declares_exactly_its_names(root: Path, plugin: str) -> None:
    package = f"trimtab_{plugin.replace('-', '_')}"
    stub = root / "plugins" / plugin / "src" / package / "__init__.pyi"
    if not stub.exists():
        return
    module = import_module(package)
    tree = ast.parse(stub.read_text())
    declared = {
        alias.name: getattr(import_module(node.module or ""), alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert declared == {name: getattr(module, name) for name in module.__all__}
