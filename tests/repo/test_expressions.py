"""Every regular expression of every distribution takes linear time, on text that is made for it."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import pkgutil
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from trimtab.text import LazyPattern

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SIZE = 1_000
"""Characters."""

NOTICED = 0.0005
"""Seconds of CPU for `SIZE` characters, below which an expression is quick in any case."""

SAMPLES = 6
ENDS = ("!", "\x00\n")


def packages() -> list[str]:
    folders = [path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")]
    return ["trimtab", *(f"trimtab_{name.replace('-', '_')}" for name in folders)]


def load_all() -> None:
    """Import every module, but for those whose client is not installed."""
    for package in filter(importlib.util.find_spec, packages()):
        try:
            found = importlib.import_module(package)
        except ImportError:
            continue
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not module.name.endswith(("__main__", "._server")):
                try:
                    importlib.import_module(module.name)
                except ImportError:
                    continue


def methods_called(module: ModuleType) -> dict[str, set[str]]:
    """The methods that the source of a module calls, by the name that it gives to the object."""
    called: dict[str, set[str]] = {}
    for name, method in re.findall(
        r"\b([A-Z_]\w*)\.(\w+)\b", Path(str(module.__file__)).read_text()
    ):
        called.setdefault(name, set()).add(method)
    return called


def expressions() -> dict[re.Pattern[str], set[str]]:
    """All expressions for text that are values of modules, with the methods that are called."""
    load_all()
    wanted = tuple(packages())
    found: dict[re.Pattern[str], set[str]] = {}
    for module in [sys.modules[name] for name in list(sys.modules) if name.split(".")[0] in wanted]:
        called = methods_called(module)
        for name, value in list(vars(module).items()):
            pattern = value
            if isinstance(value, LazyPattern):
                pattern = re.compile(value._text, value._flags)
            if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
                found.setdefault(pattern, set()).update(called.get(name, ()))
    return found


def pumps(pattern: str) -> Iterator[str]:
    """Yield texts to repeat: what the expression itself is made of, alone and in pairs."""
    words = re.findall(r"[A-Za-z]{2,}|\\[ntr]", pattern)
    marks = [char for char in dict.fromkeys(pattern) if not char.isalnum() and char not in "\\?+*"]
    plain = ["a", "1", " ", "\n", "a1", "\t ", "A"]
    parts = list(dict.fromkeys((*plain, *words[:SAMPLES], *marks)))[: SAMPLES * 2]
    yield from parts
    yield from map("".join, itertools.permutations(parts[:SAMPLES], 2))
    for word in words[:SAMPLES]:
        yield from (f"{word} ", f" {word}", f"{word}:", f"<{word}>", f"</{word}>", f"{word}=a ")


def seconds(pattern: re.Pattern[str], text: str, methods: set[str]) -> float:
    began = time.process_time()
    if methods and methods <= {"match", "fullmatch"}:
        pattern.fullmatch(text)
    else:
        next(pattern.finditer(text), None)
    return time.process_time() - began


def is_slow(pattern: re.Pattern[str], pump: str, end: str, methods: set[str]) -> bool:
    """Whether four times the text take far more than four times as long.

    What seems slow is measured again: one of 100,000 pairs is, where the machine is busy.
    """

    def taken(size: int, times: int) -> float:
        text = pump * (size // len(pump)) + end
        return min(seconds(pattern, text, methods) for _ in range(times))

    def seems_slow(times: int) -> bool:
        little = taken(SIZE, times)
        return little > NOTICED and taken(4 * SIZE, times) > 8 * little

    return seems_slow(2) and seems_slow(8)


def test_every_expression_takes_linear_time() -> None:
    slow = [
        (pattern.pattern, pump, end)
        for pattern, methods in expressions().items()
        for pump, end in itertools.product(pumps(pattern.pattern), ENDS)
        if is_slow(pattern, pump, end, methods)
    ]
    assert slow == []


def test_an_expression_that_takes_quadratic_time_is_found() -> None:
    pattern = re.compile(r"(?:\s*</\w{1,40}>)+$")
    assert any(is_slow(pattern, pump, "!", set()) for pump in pumps(pattern.pattern))
