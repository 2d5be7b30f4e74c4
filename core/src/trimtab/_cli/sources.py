"""What the source files of installed packages show, importing nothing of them."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
from collections.abc import Iterable
from importlib.machinery import ModuleSpec

from trimtab._plugins.registry import PluginInfo
from trimtab._types.text import describe_error, sanitize


def static_problem(entry: PluginInfo) -> str | None:
    """Say that an entry's module is missing or no Python; None if neither shows."""
    spec = _find_module(entry.module)
    if spec is None:
        return f"{entry.full_name} points to {entry.module}, which is not installed"
    loader = spec.loader
    if not isinstance(loader, importlib.machinery.SourceFileLoader):
        return None
    try:
        compile(loader.get_data(loader.path), loader.path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as error:
        return (
            f"{entry.full_name} points to {entry.module}, which is damaged: {describe_error(error)}"
        )
    return None


def command_summary(entry: PluginInfo) -> str:
    """Return the help of a command: the first line of its function's docstring.

    Read from the source, importing nothing; the package's summary if there is none.
    """
    spec = _find_module(entry.module)
    loader = spec.loader if spec else None
    if isinstance(loader, importlib.machinery.SourceFileLoader):
        try:
            tree = ast.parse(loader.get_data(loader.path))
        except (OSError, SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == entry.attr:
                text = ast.get_docstring(node) or ""
                return sanitize(text.partition("\n")[0], 200).rstrip(".") or entry.summary
    return entry.summary or "a command"


def _find_module(module: str) -> ModuleSpec | None:
    """Find a module's spec; `find_spec` with the dotted name would import the parents."""
    spec: ModuleSpec | None = None
    path: Iterable[str] | None = None
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = _find_in(name, path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


def _find_in(name: str, path: Iterable[str] | None) -> ModuleSpec | None:
    if path is None and "." in name:
        return None  # the parent is no package
    if path is None:
        return importlib.util.find_spec(name)
    return importlib.machinery.PathFinder.find_spec(name, list(path))
