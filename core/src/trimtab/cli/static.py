"""Faults of a module that show without importing it, or any package above it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Iterable
from importlib.machinery import ModuleSpec

from trimtab.plugins.inventory import Entry
from trimtab.plugins.names import describe


def static_fault(entry: Entry) -> str | None:
    """Say that an entry's module is missing or no Python; None where neither shows."""
    spec = _find(entry.module)
    if spec is None:
        return f"{entry.full_name} points to {entry.module}, which is not installed"
    loader = spec.loader
    if not isinstance(loader, importlib.machinery.SourceFileLoader):
        return None
    try:
        compile(loader.get_data(loader.path), loader.path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as error:
        return f"{entry.full_name} points to {entry.module}, which is damaged: {describe(error)}"
    return None


def _find(module: str) -> ModuleSpec | None:
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
