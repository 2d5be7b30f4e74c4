"""JSON into attrs classes and dataclasses, and back: the counterpart of `json_schema`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import cattrs

T = TypeVar("T")


def from_json(cls: type[T], value: Any, *, name: str) -> T:
    """Return `value`, decoded JSON, as an object of `cls`.

    Args:
        name: what the message calls `value`, e.g. ``"params"``.

    Raises:
        ValueError: it does not fit; the message lists why, in words for the model.
    """
    import cattrs

    try:
        return _converter(strict=True).structure(value, cls)
    except Exception as error:  # cattrs and validators raise what they like
        reasons = "; ".join(cattrs.transform_error(error, path=name))
        raise ValueError(reasons) from error


def to_json(value: Any) -> Any:
    """Return `value` in lists, dicts and plain values."""
    return _converter(strict=False).unstructure(value)


@cache  # a converter compiles its hooks for a class once
def _converter(*, strict: bool) -> cattrs.Converter:
    import cattrs

    return cattrs.Converter(forbid_extra_keys=strict)
