"""Checks of what hosts pass in: converted if that is safe, refused with a message otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from trimtab._events import DecisionPoint, ToolCall
from trimtab._types.errors import SessionError
from trimtab._types.options import bounded, is_collection, is_finite, is_number
from trimtab._types.text import reduced, shown

M = TypeVar("M", bound=Enum)


def as_text(name: str, value: object, *, needed: bool = False) -> str:
    if not isinstance(value, str) or (needed and not value):
        raise SessionError(f"{name} must be text{' and not empty' * needed}, not {shown(value)}")
    return value


def as_member(name: str, enum: type[M], value: object) -> M:
    """Return `value` as a member of `enum`; a member's plain string is converted."""
    try:
        return enum(value if isinstance(value, str | enum) else None)
    except ValueError:
        known = ", ".join(
            f"{enum.__name__}.{member.name}" if enum is DecisionPoint else repr(member.value)
            for member in enum
        )
        raise SessionError(f"{name} must be one of {known}, not {shown(value)}") from None


def as_instance(name: str, value: object, kind: type[Any], hint: str = "") -> None:
    if not isinstance(value, kind):
        hint = f"; {hint}" if hint else ""
        raise SessionError(f"{name} must be a {kind.__name__}, not {shown(value)}{hint}")


def as_flag(name: str, value: object) -> None:
    if value is not True and value is not False:
        raise SessionError(f"{name} must be True or False, not {shown(value)}")


def as_calls(values: Iterable[Any], name: str = "tool_calls") -> tuple[ToolCall, ...]:
    calls = check_calls(values, name)
    return tuple([ToolCall(one.tool, reduced(one.params), one.call_id) for one in calls])


def check_calls(values: Iterable[Any], name: str) -> tuple[ToolCall, ...]:
    if not is_collection(values):
        raise SessionError(f"{name} must be a list of ToolCall, not {shown(values)}")
    calls = tuple(values)
    for call in calls:
        if not isinstance(call, ToolCall):
            raise SessionError(
                f"{name} must hold ToolCall(tool, params, call_id), not {shown(call)}"
            )
    return calls


def as_seconds(name: str, value: object) -> float | None:
    return _seconds(f"{name} must be seconds, 0 or more", value, zero=True)


def as_timeout(value: object) -> float | None:
    return _seconds("timeout must be seconds above 0", value, zero=False)


def _seconds(rule: str, value: Any, *, zero: bool) -> float | None:
    if value is None:
        return None
    is_seconds = is_number(value) and is_finite(value) and value >= 0
    if not is_seconds or (value == 0 and not zero):
        raise SessionError(f"{rule}, or None, not {shown(value)}")
    return bounded(value)  # type: ignore[no-any-return]


def as_time(value: object, name: str = "at") -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise SessionError(f"{name} must be an aware datetime or None, not {shown(value)}")
    return value
