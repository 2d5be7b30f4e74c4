"""What stands in the square brackets of ``Class[Argument](…)``."""

from __future__ import annotations

from typing import Any, TypeVar, get_args


def type_argument(instance: object) -> Any:
    """Return the argument of the alias that made `instance`; None where there was none.

    `typing` leaves the alias on the instance as ``__orig_class__`` after ``__init__``, so this
    serves from then on; classes that use it must let that attribute be set.
    """
    arguments = get_args(getattr(instance, "__orig_class__", None))
    return None if not arguments or isinstance(arguments[0], TypeVar) else arguments[0]
