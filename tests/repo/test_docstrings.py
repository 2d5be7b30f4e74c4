"""Docstrings of published names describe every argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import attrs
import pytest

from trimtab import (
    Adapter,
    FeedbackProvider,
    GuidanceProvider,
    Recorder,
    RunRecording,
    TaskCompletionChecker,
)
from trimtab.trajectory import BaseProjection

CORE = ("", ".events", ".hosting", ".inspection", ".text", ".trajectory")
CONTRACTS = (
    Adapter,
    FeedbackProvider,
    GuidanceProvider,
    BaseProjection,
    Recorder,
    RunRecording,
    TaskCompletionChecker,
)
HOOKS = {"run_opened", "run_closed"}
IMPLEMENTED = HOOKS.union(*(vars(contract) for contract in CONTRACTS))
"""Methods whose arguments a contract describes, so that what implements it need not."""
REFERENCE = re.compile(r"[Ss]ee `|[Aa]s (for )?`|[Aa]s (for )?the class")


def own(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("trimtab")


def described(cls: type[Any], name: str) -> str:
    """Return the docstrings of a method, those that it overrides included."""
    methods = (vars(base).get(name) for base in cls.__mro__ if own(base))
    return "\n".join(inspect.getdoc(method) or "" for method in methods if method)


def arguments(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if not name.startswith("_")]


def init_arguments(cls: type[Any]) -> list[str]:
    if attrs.has(cls):
        fields = (field for field in attrs.fields(cls) if field.init)
        return [field.alias for field in fields if not field.name.startswith("_")]
    return arguments(cls.__init__)[1:] if "__init__" in vars(cls) else []


def functions(module: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield each published function and method of `module`: name, arguments, docstring."""
    try:
        names = import_module(module).__all__
    except ImportError as error:
        pytest.skip(f"{error.name} is not installed")
    for name in names:
        value = getattr(import_module(module), name)
        if inspect.isfunction(value):
            yield name, arguments(value), inspect.getdoc(value) or ""
        elif inspect.isclass(value) and own(value):
            docs = "\n".join(inspect.getdoc(base) or "" for base in value.__mro__ if own(base))
            if not getattr(value, "_is_protocol", False):
                yield name, init_arguments(value), docs
            for method, member in vars(value).items():
                plain = getattr(member, "__func__", member)
                if not inspect.isfunction(plain) or method.startswith("_"):
                    continue
                if value in CONTRACTS or method not in IMPLEMENTED:
                    first = 0 if isinstance(member, staticmethod) else 1
                    yield f"{name}.{method}", arguments(plain)[first:], described(value, method)


def left_out(module: str) -> dict[str, list[str]]:
    found = {}
    for name, names, docs in functions(module):
        missing = [each for each in names if not re.search(rf"\b{each}", docs, re.IGNORECASE)]
        if missing and not REFERENCE.search(docs):
            found[name] = missing
    return found


def test_an_argument_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(width: int, height: int) -> int:
        """Return the width."""
        return width * height

    monkeypatch.setattr("trimtab_testing.__all__", ["measure"])
    monkeypatch.setattr("trimtab_testing.measure", measure, raising=False)

    assert left_out("trimtab_testing") == {"measure": ["height"]}


@pytest.mark.parametrize("module", CORE)
def test_core_describes_every_argument(module: str) -> None:
    assert left_out(f"trimtab{module}") == {}


def test_a_plugin_describes_every_argument(plugin: str) -> None:
    assert left_out(f"trimtab_{plugin.replace('-', '_')}") == {}
