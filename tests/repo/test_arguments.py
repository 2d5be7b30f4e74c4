"""A class that a page shows with arguments by name says which of them an unknown one means."""

from __future__ import annotations

import ast
import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

PYTHON = re.compile(r"^```(?:\{[^}]*\} ?)?python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RECORDS = ("trimtab_testing", "trimtab_trace", "trimtab_replay")
"""Their classes are made by them, or in tests."""


def shown(page: Path) -> Iterator[type[Any]]:
    """Yield the classes of packages of ours that a page imports and calls with a name."""
    imported, called = dict[str, str](), set[str]()
    for block in PYTHON.findall(page.read_text(encoding="utf-8")):
        try:
            nodes = list(ast.walk(ast.parse(block)))
        except SyntaxError:  # a session with its prompt, or a part of a program
            continue
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trimtab"):
                imported |= {name.asname or name.name: node.module or "" for name in node.names}
            elif isinstance(node, ast.Call) and node.keywords:
                function = node.func.value if isinstance(node.func, ast.Subscript) else node.func
                called |= {function.id} if isinstance(function, ast.Name) else set()
    for name in sorted(called & imported.keys()):
        if not imported[name].startswith(RECORDS):
            found = getattr(pytest.importorskip(imported[name]), name, None)
            if inspect.isclass(found) and not issubclass(found, BaseException | enum.Enum):
                yield found


def test_an_unknown_argument_is_answered_with_those_that_there_are(root: Path) -> None:
    pages = [root / "README.md", *root.glob("docs/**/*.md"), *root.glob("plugins/*/README.md")]
    classes = {kind for page in pages for kind in shown(page)}
    silent = []
    for kind in classes:
        with pytest.raises(TypeError) as refused:
            kind(no_such_name=1)
        if not re.search(r" has no \w+ 'no_such_name'\..* Its \w+s: \w", str(refused.value)):
            silent.append(f"{kind.__module__}.{kind.__qualname__}: {refused.value}")

    assert len(classes) > 15
    assert sorted(silent) == []


PUBLISHED = (
    "trimtab",
    "trimtab.hosting",
    "trimtab.trajectory",
    "trimtab_hosts",
    "trimtab_openai",
    "trimtab_planning",
    "trimtab_signals",
    "trimtab_worker",
)


@pytest.mark.parametrize("package", PUBLISHED)
def test_an_argument_has_one_name_for_every_type_checker(package: str) -> None:
    """Of a private field ``_x`` attrs and mypy take ``x`` by themselves, pyright does not."""
    module = pytest.importorskip(package)
    kinds = (getattr(module, name) for name in module.__all__)
    unnamed = [
        f"{kind.__name__}.{field.name}"
        for kind in kinds
        if inspect.isclass(kind) and attrs.has(kind) and kind.__module__.startswith("trimtab")
        for field in attrs.fields(kind)
        if field.init
        and field.name.startswith("_")
        and not field.inherited
        and not re.search(
            rf'{field.name}: [^\n]*(?:\n {{8}}[^\n]*)?alias="', inspect.getsource(kind)
        )
    ]

    assert unnamed == []
