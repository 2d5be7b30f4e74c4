"""Public modules whose names are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

_LazyNames = tuple[list[str], Callable[[str], object], Callable[[], list[str]]]


def lazy_names(module: str, names: Mapping[str, str]) -> _LazyNames:
    """Return ``__all__``, ``__getattr__``, ``__dir__`` of a module whose names load on first use.

    Args:
        module: its name.
        names: names that it offers, with spaces between them, by the module that defines them,
            below the module's top package.
    """
    package = module.partition(".")[0]
    homes = {name: home for home, listed in names.items() for name in listed.split()}

    def load(name: str) -> object:
        if name in homes:
            value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        setattr(sys.modules[module], name, value)
        return value

    public = sorted(homes)
    return public, load, lambda: sorted({*vars(sys.modules[module]), *public})
