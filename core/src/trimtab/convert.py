"""Converters of attrs fields, typed so that type checkers understand the constructors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def as_tuple(items: Iterable[Any]) -> tuple[Any, ...]:
    """Return `items` as a tuple: lists are taken wherever records keep tuples."""
    return tuple(items)
