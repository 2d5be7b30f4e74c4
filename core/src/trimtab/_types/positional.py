"""Constructors of frozen records for the path of every tool call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

T = TypeVar("T")


def positional(cls: type[T]) -> Callable[..., T]:
    """Return a function that makes a frozen record of all its fields, in order and unchecked.

    A frozen class fills its fields through `object.__setattr__`, which takes seven times as long
    as an assignment. The function fills an object of a class with the same layout that is not
    frozen, then lets it become `cls`.

    Args:
        cls: a frozen attrs class with slots, without a slot for weak references of its own;
            neither converters, validators nor ``__attrs_post_init__`` are called.
    """
    body: dict[str, Any] = {
        "__slots__": tuple(vars(cls)["__slots__"]),
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
    }
    names = [field.name for field in attrs.fields(cls)]  # type: ignore[arg-type]
    lines = [
        f"def make({', '.join(names)}):",
        "    self = new(twin)",
        *(f"    self.{name} = {name}" for name in names),
        "    self.__class__ = cls",
        "    return self",
    ]
    known = {"new": object.__new__, "twin": type(cls.__name__, cls.__bases__, body), "cls": cls}
    exec("\n".join(lines), known)  # noqa: S102 - of field names
    make: Callable[..., T] = known["make"]  # type: ignore[assignment]
    return make
