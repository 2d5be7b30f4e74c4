"""Converters and validators of attrs fields, and of what hosts pass to a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import wraps
from sys import float_info
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from trimtab._types.errors import SessionError
from trimtab._types.text import CONTROL_CHARACTERS, did_you_mean, shown

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
Class = TypeVar("Class", bound=type[Any])
Validator = Callable[[Any, Any, Any], None]


def is_number(value: object) -> bool:
    """Return whether `value` is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: float) -> bool:
    """Return whether a number is finite and fits in a float."""
    return -float_info.max <= value <= float_info.max


LONGEST = 1e9
"""Most seconds that count: 31 years. Beyond some 292 years the waits of a platform overflow, and
beyond the year 9999 dates; so a larger number means the same as this one."""


def bounded(seconds: Any) -> Any:
    """Return a number of seconds within what clocks and waits take; other values as they are.

    Every number of seconds that a user gives passes here, where it comes in.
    """
    if not is_number(seconds) or not is_finite(seconds):
        return seconds
    return max(-LONGEST, min(seconds, LONGEST))


def read_seconds(value: object, name: str) -> float:
    """Return a number of seconds above 0, from a file, a variable or an argument.

    Args:
        value: as given; text is read as a number.
        name: what the message calls it.

    Raises:
        ValueError: it is no finite number above 0.
    """
    try:
        found: Any = float(value) if isinstance(value, str) else value
    except ValueError:
        found = value
    if not is_number(found) or not is_finite(found) or found <= 0:
        raise ValueError(f"{name} must be a number of seconds above 0, not {shown(value)}")
    return float(bounded(found))


def is_collection(value: object) -> bool:
    """Return whether `value` holds items; a text and a mapping are one value each."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def as_tuple(items: Iterable[Any]) -> tuple[Any, ...]:
    """Return `items` as a tuple: records keep tuples, and take lists too."""
    known: Any = items
    return tuple(known) if is_collection(known) else known


def as_frozenset(items: Iterable[Any] | None) -> Any:
    """Return `items` as a frozenset; as `as_tuple`."""
    return frozenset(items) if is_collection(items) else items  # type: ignore[arg-type]


def as_mapping(items: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a copy of a mapping, so that nothing that the caller changes later reaches it."""
    known: Any = items
    return dict(known) if isinstance(known, Mapping) else known


def as_path(name: str, value: Any) -> Path:
    """Return the path that text or a path-like object names."""
    from pathlib import Path  # not before somebody has files

    try:
        return Path(value)
    except TypeError:
        raise TypeError(f"{name} must be a path, not {shown(value)}") from None


def whole_number(minimum: int, *, optional: bool = False) -> Validator:
    """Return a validator of whole numbers.

    Args:
        minimum: the least number that is accepted.
        optional: whether None is accepted too.

    Raises:
        TypeError: from the validator, if the value is no whole number.
        ValueError: from the validator, if it is too small.
    """

    def check(_: object, attribute: Any, value: Any) -> None:
        if value is None and optional:
            return
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{attribute.name} must be a whole number, not {shown(value)}")
        if value < minimum:
            raise ValueError(f"{attribute.name} must be {minimum} or more, not {shown(value)}")

    return check


def number(
    minimum: float, maximum: float | None = None, *, above: bool = False, optional: bool = False
) -> Validator:
    """Return a validator of finite numbers.

    Args:
        minimum: the least number that is accepted, or the bound that it must be above.
        maximum: the greatest number that is accepted; None for no bound.
        above: whether `minimum` itself is refused.
        optional: whether None is accepted too.

    Raises:
        TypeError: from the validator, if the value is not a number.
        ValueError: from the validator, if it is not finite or out of bounds.
    """
    for name, bound in (("minimum", minimum), ("maximum", 0 if maximum is None else maximum)):
        if not is_number(bound) or not is_finite(bound):
            raise TypeError(f"{name} must be a finite number, not {shown(bound)}")
    lower = f"above {minimum:g}" if above else f"{minimum:g} or more"
    words = lower if maximum is None else f"from {minimum:g} to {maximum:g}"

    def check(_: object, attribute: Any, value: Any) -> None:
        if value is None and optional:
            return
        if value is None or not is_number(value):
            raise TypeError(f"{attribute.name} must be a number, not {shown(value)}")
        too_small = value <= minimum if above else value < minimum
        too_large = maximum is not None and value > maximum
        if too_small or too_large or not is_finite(value):
            raise ValueError(f"{attribute.name} must be {words}, not {shown(value)}")

    return check


def text(*, needed: bool = False, optional: bool = False) -> Validator:
    """Return a validator of text."""

    def check(_: object, attribute: Any, value: Any) -> None:
        if value is None and optional:
            return
        if not isinstance(value, str):
            raise TypeError(f"{attribute.name} must be text, not {type(value).__name__}")
        if needed and not value.strip():
            raise ValueError(f"{attribute.name} must not be empty")

    return check


def instance_of(kind: type[Any], *, optional: bool = False, hint: str = "") -> Validator:
    words = f"a {kind.__name__} or None" if optional else f"a {kind.__name__}"
    fix = f"; {hint}" if hint else ""

    def check(_: object, attribute: Any, value: Any) -> None:
        if not isinstance(value, kind) and not (optional and value is None):
            raise TypeError(f"{attribute.name} must be {words}, not {shown(value)}{fix}")

    return check


def items_of(kind: type[Any]) -> Validator:
    """Return a validator of tuples and sets whose items are all of one class."""
    return lambda _, attribute, value: check_items(attribute.name, value, kind)


def check_items(name: str, value: object, kind: type[Any]) -> None:
    """Check that `value` is a collection of one class, as `as_tuple` leaves it."""
    if not isinstance(value, tuple | frozenset):
        raise TypeError(f"{name} must be a list of {kind.__name__}, not {shown(value)}")
    for item in value:
        if not isinstance(item, kind):
            raise TypeError(f"{name} must hold {kind.__name__}, not {shown(item)}")


def tuple_of(name: str, values: Iterable[Any], kind: type[T]) -> tuple[T, ...]:
    """Return a collection whose items are all of one class as a tuple."""
    several = as_tuple(values)
    check_items(name, several, kind)
    return several


def function(_: object, attribute: Any, value: Any) -> None:
    if not callable(value):
        raise TypeError(f"{attribute.name} must be a function, not {shown(value)}")


def misfit(function: Callable[..., Any], *given: None, **named: None) -> str | None:
    """Return why a function can't be called with such arguments; None if it can.

    None, too, for one that is built in C or hides its signature.
    """
    from inspect import signature

    try:
        expected = signature(function)
    except (TypeError, ValueError):
        return None
    try:
        expected.bind(*given, **named)
    except TypeError as error:
        return str(error)
    return None


def yes_or_no(*, optional: bool = False) -> Validator:
    words = "True, False or None" if optional else "True or False"

    def check(_: object, attribute: Any, value: Any) -> None:
        if value is not True and value is not False and not (optional and value is None):
            raise TypeError(f"{attribute.name} must be {words}, not {shown(value)}")

    return check


def one_of(*known: str) -> Any:
    def check(_: object, attribute: Any, value: Any) -> None:
        if value not in known:
            words = ", ".join(map(repr, known))
            raise ValueError(f"{attribute.name} must be one of {words}, not {shown(value)}")

    return check


def member(name: str, kind: type[E], value: object) -> E:
    """Return `value` as a member of an enumeration; a member's plain string is converted."""
    try:
        return kind(value if isinstance(value, str | kind) else None)
    except ValueError:
        known = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
        raise ValueError(f"{name} must be one of {known}, not {shown(value)}") from None


_TEXT, _NAME, _FLAG = text(), text(needed=True), yes_or_no()
_SECONDS, _TIMEOUT = number(0, optional=True), number(0, above=True, optional=True)


class _Named(NamedTuple):
    name: str


def argument(read: Callable[..., T], *given: Any) -> T:
    """Return ``read(*given)``, which refuses what a host passed in by a `SessionError`."""
    try:
        return read(*given)
    except (TypeError, ValueError) as error:
        raise SessionError(str(error)) from None


def _valid(name: str, value: T, valid: Validator) -> T:
    argument(valid, None, _Named(name), value)
    return value


def as_text(name: str, value: T, *, needed: bool = False) -> T:
    return _valid(name, value, _NAME if needed else _TEXT)


def as_flag(name: str, value: T) -> T:
    return _valid(name, value, _FLAG)


def as_member(name: str, kind: type[E], value: object) -> E:
    found: E = argument(member, name, kind, value)
    return found


def as_instance(
    name: str, value: object, kind: type[Any], hint: str = "", *, optional: bool = False
) -> None:
    _valid(name, value, instance_of(kind, optional=optional, hint=hint))


def as_seconds(name: str, value: T) -> T:
    return bounded(_valid(name, value, _SECONDS))  # type: ignore[no-any-return]


def as_timeout(value: T) -> T:
    return bounded(_valid("timeout", value, _TIMEOUT))  # type: ignore[no-any-return]


def as_time(value: T, name: str = "at") -> T:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise SessionError(f"{name} must be an aware datetime or None, not {shown(value)}")
    return value


LEVELS = (1, 2, 3)


def text_option(longest: int, **samples: object) -> Callable[[Any, Any, Any], None]:
    """Return the attrs validator of an option that replaces a provider's text.

    Args:
        longest: most characters.
        samples: the placeholders that it may hold, ``{name}``, each with a value to try.

    Raises:
        ValueError: from the validator; names the option and what it may hold.
    """
    return lambda _, attribute, value: _check_text(attribute.name, value, longest, samples)


def level_texts(longest: int, **samples: object) -> Callable[[Any, Any, Any], None]:
    """Return the attrs validator of an option that replaces texts by level (1, 2, 3).

    Args:
        longest, samples: as for `text_option`.

    Raises:
        ValueError: from the validator; names the option and the level.
    """

    def check(_: object, attribute: Any, value: Any) -> None:
        for level, text in value.items():
            if level not in LEVELS:
                raise ValueError(f"{attribute.name}: level {level!r:.20} is not 1, 2 or 3")
            _check_text(f"{attribute.name}[{level}]", text, longest, samples)

    return check


def _check_text(name: str, value: Any, longest: int, samples: dict[str, object]) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise ValueError(f"{name} must be text of 1 to {longest} characters")
    if CONTROL_CHARACTERS.search(value):
        raise ValueError(f"{name} holds control characters")
    if not _fits(value, samples):
        known = ", ".join(f"{{{sample}}}" for sample in samples) or "nothing in braces"
        raise ValueError(f"{name} knows {known}; a brace is written twice")


def _fits(text: str, samples: dict[str, object]) -> bool:
    from string import Formatter

    try:
        names = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
        text.format_map(dict.fromkeys(names) | samples)
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    return names <= samples.keys()


def names_known(
    what: str = "argument", advice: str = "", *, more: type[Any] | None = None
) -> Callable[[Class], Class]:
    """Let a class say which of its arguments is meant by an unknown one.

    Args:
        what: what the class calls its arguments.
        advice: how else what was meant may be written; ``{}`` stands for the unknown name.
        more: a `TypedDict` of what its ``**options`` take.
    """

    def decorate(cls: Class) -> Class:
        make = cls.__init__

        @wraps(make)
        def init(self: object, *args: Any, **given: Any) -> None:
            try:
                make(self, *args, **given)
            except TypeError:
                code = make.__code__
                named = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
                known = (*named, *getattr(more, "__annotations__", ()))
                for name in given:
                    if name not in known:
                        begun = [one for one in known if one.startswith(name)]
                        raise TypeError(
                            f"{cls.__name__} has no {what} {name!r}."
                            f"{did_you_mean(begun[0] if begun else name, known)} "
                            f"Its {what}s: {', '.join(known)}. {advice.format(name)}".rstrip()
                        ) from None
                raise

        cls.__init__ = init
        return cls

    return decorate
