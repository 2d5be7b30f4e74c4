"""Checks of what hosts pass in: converted if that is safe, refused with a message otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from trimtab._events.run import ToolCall
from trimtab._types.errors import SessionError

M = TypeVar("M", bound=StrEnum)


def as_text(name: str, value: object, *, needed: bool = False) -> str:
    """Return `value`, which must be text; not empty if `needed`.

    Raises:
        SessionError: it is something else.
    """
    if not isinstance(value, str) or (needed and not value):
        raise SessionError(f"{name} must be text{' and not empty' * needed}, not {_shown(value)}")
    return value


def as_member(name: str, enum: type[M], value: object) -> M:
    """Return `value` as a member of `enum`; a member's plain string is converted.

    Raises:
        SessionError: it is neither; names the members.
    """
    if isinstance(value, enum):
        return value
    if isinstance(value, str):
        try:
            return enum(value)
        except ValueError:
            pass
    known = ", ".join(repr(member.value) for member in enum)
    raise SessionError(f"{name} must be one of {known}, not {_shown(value)}")


def as_params(value: Any) -> Any:
    """Return the arguments of a call, copied if they are a dict that the caller may change."""
    return dict(value) if value.__class__ is dict else value


def as_calls(values: Iterable[Any]) -> tuple[ToolCall, ...]:
    """Return the calls of a response.

    Raises:
        SessionError: one is no `ToolCall`.
    """
    if values.__class__ is tuple and not values:
        return ()
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise SessionError(f"tool_calls must be a list of ToolCall, not {_shown(values)}")
    calls = tuple(values)
    for call in calls:
        if not isinstance(call, ToolCall):
            raise SessionError(
                f"tool_calls must hold ToolCall(tool, params, call_id), not {_shown(call)}"
            )
    return calls


def as_seconds(name: str, value: object) -> float | None:
    """Return a finite number of seconds, or None.

    Raises:
        SessionError: it is something else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SessionError(
            f"{name} must be a finite number of seconds or None, not {_shown(value)}"
        )
    return value


def as_timeout(value: object) -> float | None:
    """Return a time limit in seconds, or None.

    Raises:
        SessionError: it is no finite number above 0.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SessionError(f"timeout must be seconds above 0, or None, not {_shown(value)}")
    if not math.isfinite(value) or value <= 0:
        raise SessionError(f"timeout must be seconds above 0, or None, not {value}")
    return value


def as_time(value: object) -> datetime:
    """Return an aware point in time.

    Raises:
        SessionError: it is no datetime, or has no time zone.
    """
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise SessionError(f"at must be an aware datetime or None, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    try:
        return f"{value!r:.100}"
    except Exception:  # noqa: BLE001 - the repr of a foreign object
        return f"a {type(value).__name__}"
