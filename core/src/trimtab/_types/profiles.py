"""What hosts and prompts declare about tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from trimtab._types.options import as_tuple, instance_of, is_collection, items_of, yes_or_no

_NOTHING: frozenset[str] = frozenset()


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else as_tuple(value)


def _strings(value: Iterable[str]) -> frozenset[str]:
    return frozenset(value) if is_collection(value) else value  # type: ignore[return-value]


def _numbers(value: Iterable[int]) -> frozenset[int]:
    return frozenset(value) if is_collection(value) else value  # type: ignore[return-value]


def _pattern(value: str | re.Pattern[str] | None) -> re.Pattern[str] | None:
    return re.compile(value) if isinstance(value, str) else value


@attrs.frozen(kw_only=True)
class ToolProfile:
    """Facts about one tool, or about several of one kind.

    Args:
        names: exact names, or patterns with ``*`` as in ``mcp__browser__*``.
        read_only: calling it changes nothing; None if unknown.
        writes: a successful call changes something; None if unknown.
        independent: its calls never depend on one another's answers (read-only tools needn't say).
        polling: calling it is waiting.
        polling_params: a call with these arguments is waiting, e.g. ``{"chars": ""}``.
        opaque: its answer doesn't show what the call changed, as with scrolling a page.
        command_params: of a shell, the parameters that may hold a command line; the first that
            is there counts.
        ignored_params: argument fields that never make two calls differ.
        progress: fields whose change alone is progress, e.g. the statuses of a plan; in the
            arguments they count instead of all others.
        result_noise: what is cut from the first 1,000 characters of an answer before it is
            looked at (a pattern).
        error_pattern: an answer is a failure where this is found in it.
        expected_exit_codes: exit statuses that are a result and not a failure, as 1 of grep.
    """

    names: tuple[str, ...] = attrs.field(converter=_names, validator=items_of(str))
    read_only: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    writes: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    independent: bool | None = attrs.field(default=None, validator=yes_or_no(optional=True))
    polling: bool = attrs.field(default=False, validator=yes_or_no())
    polling_params: Mapping[str, Any] | None = attrs.field(
        default=None, validator=instance_of(Mapping, optional=True)
    )
    opaque: bool = attrs.field(default=False, validator=yes_or_no())
    command_params: tuple[str, ...] = attrs.field(
        default=(), converter=_names, validator=items_of(str)
    )
    ignored_params: frozenset[str] = attrs.field(
        default=_NOTHING, converter=_strings, validator=items_of(str)
    )
    progress: frozenset[str] = attrs.field(
        default=_NOTHING, converter=_strings, validator=items_of(str)
    )
    result_noise: re.Pattern[str] | None = attrs.field(
        default=None, converter=_pattern, validator=instance_of(re.Pattern, optional=True)
    )
    error_pattern: re.Pattern[str] | None = attrs.field(
        default=None, converter=_pattern, validator=instance_of(re.Pattern, optional=True)
    )
    expected_exit_codes: frozenset[int] = attrs.field(
        default=frozenset(), converter=_numbers, validator=items_of(int)
    )

    def polls(self, params: Any) -> bool:
        """Tell whether a call with `params` is a declared wait."""
        if self.polling:
            return True
        wanted = self.polling_params
        if wanted is None or type(params) is not dict:
            return False
        return all(params.get(key, "") == value for key, value in wanted.items())

    def command(self, params: Any) -> str | None:
        """Return the command line that `params` hold, None if it is no shell."""
        if not self.command_params or type(params) is not dict:
            return None
        for name in self.command_params:
            value = params.get(name)
            if type(value) is str:
                return value
            if isinstance(value, list | tuple):
                return " ".join(str(word) for word in value)
        return None
