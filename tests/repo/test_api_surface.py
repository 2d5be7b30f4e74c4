"""The published names of core, and what they take, are on record: no change goes unnoticed.

``python tests/repo/test_api_surface.py`` records the present state in ``core/api.txt``. It refuses
while no new file under ``changes/`` says so: whoever changes what is promised says it there.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from difflib import unified_diff
from enum import EnumMeta
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "core" / "api.txt"
CHANGES = ROOT / "changes"
MODULES = (
    "trimtab",
    "trimtab.events",
    "trimtab.hosting",
    "trimtab.inspection",
    "trimtab.text",
    "trimtab.trajectory",
)
COMMAND = "python tests/repo/test_api_surface.py"
_PARAMETERS = {
    inspect.Parameter.VAR_POSITIONAL: "*{}",
    inspect.Parameter.VAR_KEYWORD: "**{}",
    inspect.Parameter.POSITIONAL_ONLY: "/{}",
}


def surface() -> list[str]:
    """Return a line for each published name and each public member of a class, sorted."""
    return sorted(line for name in MODULES for line in _lines(import_module(name)))


def _lines(module: ModuleType) -> Iterator[str]:
    for name in module.__all__:
        value, full = getattr(module, name), f"{module.__name__}.{name}"
        yield f"{full}{_taken(value)}"
        if isinstance(value, type):
            for member in _members(value):
                yield f"{full}.{member}"


def _members(cls: type[Any]) -> Iterator[str]:
    if isinstance(cls, EnumMeta):
        yield from cls.__members__
        return
    # Fields without slots are no attributes of their class.
    own = dict.fromkeys(field.name for field in getattr(cls, "__attrs_attrs__", ()))
    own |= {
        name: value
        for base in reversed(cls.__mro__)
        if base.__module__.partition(".")[0] == "trimtab"
        for name, value in vars(base).items()
    }
    for name, value in own.items():
        if not name.startswith("_"):
            unbound = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            yield f"{name}{_taken(unbound) if inspect.isroutine(unbound) else ''}"


def _taken(value: object) -> str:
    """Return the parameters of a function or class: ``(name, optional=, *more)``."""
    # What makes an enum or a protocol differs between versions of Python.
    made_by_python = isinstance(value, EnumMeta) or getattr(value, "_is_protocol", False)
    if (
        made_by_python
        or inspect.isbuiltin(value)
        or not (inspect.isclass(value) or inspect.isroutine(value))
    ):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown = [
        _PARAMETERS.get(one.kind, "{}").format(one.name) + ("" if one.default is one.empty else "=")
        for one in parameters
    ]
    return f"({', '.join(shown)})"


def said() -> str:
    """Return a digest of the entries of the next version, empty where there are none."""
    files = sorted(CHANGES.glob("*/*.md"))
    text = "".join(f"{path.name}\0{path.read_text(encoding='utf-8')}\0" for path in files)
    return sha256(text.encode()).hexdigest()[:16] if files else ""


def recorded() -> tuple[str, list[str]]:
    """Return the digest of the changelog at the last record, and the lines of that record."""
    head, *lines = RECORD.read_text(encoding="utf-8").splitlines()
    return head.rpartition(" ")[2], lines


def test_no_published_name_changes_without_a_word_in_the_changelog() -> None:
    found = list(unified_diff(recorded()[1], surface(), "on record", "now", n=0, lineterm=""))
    assert not found, "\n".join(
        ["the published names changed: add a file under changes/, then run", COMMAND, *found]
    )


def main() -> int:
    """Record the surface, unless it changed and no entry of the changelog was written."""
    digest, lines = recorded() if RECORD.exists() else ("", [])
    now = surface()
    if now != lines and said() in ("", digest):
        sys.stderr.write("the published names changed: add a file under changes/ first\n")
        return 1
    head = f"# recorded by {COMMAND} with the changelog {said()}"
    RECORD.write_text("\n".join([head, *now]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
