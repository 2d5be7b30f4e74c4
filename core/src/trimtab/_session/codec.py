"""Records as JSON, and back: the one converter of snapshots, traces and messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set as AbstractSet
from datetime import datetime
from functools import cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import attrs

from trimtab._session.values import (
    decode_value,
    encode_number,
    encode_value,
    field_names,
    in_order,
)
from trimtab._types.text import error_message, sanitize, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from cattrs import Converter

_EXACT = (str, bool, int)


@cache
def record_converter(*, marks: bool = True, strict: bool = False, short: bool = False) -> Converter:
    """Return the converter of cattrs for records: attrs classes, dataclasses, and what they hold.

    Reading converts nothing silently: text is no number, ``1`` is not True, and a whole number
    stays one where a field is declared as float. Sets are written in one order, times in ISO
    8601, enum members as their values.

    Args:
        marks: how fields without a type of their own (``Any``) are written: any value, with
            marks for what JSON lacks (see `encode_value`). Without marks they hold plain JSON, for
            messages between programs that need not know the marks.
        strict: whether a field that the class does not have is refused; ignored otherwise.
        short: whether fields that have their defaults are left out.
    """
    from cattrs.preconf.json import make_converter

    converter = make_converter(
        forbid_extra_keys=strict,
        omit_if_default=short,
        unstructure_fallback_factory=lambda _: encode_value if marks else _itself,
        structure_fallback_factory=lambda _: _decoded,
    )
    for kind in _EXACT:
        converter.register_structure_hook(kind, _exactly)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(datetime, _time)
    converter.register_unstructure_hook_factory(_is_set, partial(_set_writer, converter))
    converter.register_unstructure_hook_factory(attrs.has, partial(_record_writer, converter))
    converter.register_structure_hook_factory(_is_record, partial(_record_reader, converter))
    if marks:
        converter.register_unstructure_hook(int, encode_number)
        converter.register_unstructure_hook(float, encode_number)
        converter.register_unstructure_hook(bool, _itself)
        converter.register_structure_hook(int, _marked_int)
        converter.register_structure_hook(float, _marked_float)
        converter.register_unstructure_hook(bytes, encode_value)
        converter.register_structure_hook(bytes, _bytes)
        converter.register_unstructure_hook_func(_is_any, encode_value)
        converter.register_structure_hook_func(_is_any, _decoded)
    return converter


def _itself(value: Any) -> Any:
    return value


def _is_any(kind: Any) -> bool:
    return kind is Any or kind is object


def _is_set(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, AbstractSet)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and bool(field_names(kind))


def _set_writer(converter: Converter, kind: Any) -> Callable[[Any], list[Any]]:
    from cattrs.gen import make_iterable_unstructure_fn

    write = make_iterable_unstructure_fn(kind, converter, unstructure_to=list)
    return lambda value: in_order(write(value))


def _record_writer(converter: Converter, kind: Any) -> Callable[[Any], dict[str, Any]]:
    from cattrs.gen import make_dict_unstructure_fn, override

    # What others wrote is not compared with a default: its `__eq__` may raise.
    fields = {field.name: field.type for field in attrs.fields(attrs.resolve_types(kind))}
    whole = {name: override(omit_if_default=False) for name, of in fields.items() if _is_any(of)}
    return make_dict_unstructure_fn(
        kind,
        converter,
        _cattrs_omit_if_default=converter.omit_if_default,
        **whole,  # type: ignore[arg-type]
    )


def _record_reader(converter: Converter, kind: Any) -> Callable[[Any, Any], Any]:
    read = converter.gen_structure_attrs_fromdict(kind)
    hints = get_type_hints(kind)
    lists = [name for name in field_names(kind) if _is_list(hints.get(name))]

    def structure(value: Any, _: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"expected the fields of {kind.__name__}, not {shown(value)}")
        for name in lists:  # cattrs takes whatever can be iterated, text by its characters
            if isinstance(value.get(name), str | dict):
                raise TypeError(f"{name} must be a list, not {shown(value[name])}")
        return read(value, kind)

    return structure


def _is_list(kind: Any) -> bool:
    if type(None) in get_args(kind):
        return any(_is_list(one) for one in get_args(kind))
    origin = get_origin(kind) or kind
    if not isinstance(origin, type) or issubclass(origin, str | bytes | Mapping):
        return False
    return issubclass(origin, Collection)


def _decoded(value: Any, _: Any) -> Any:
    return decode_value(value)


def _exactly(value: Any, kind: type[Any]) -> Any:
    if kind not in _EXACT:  # a subclass, such as each StrEnum, for which cattrs takes this hook
        return kind(value)
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, not {shown(value)}")
    return value


def _number(value: Any, _: Any) -> Any:
    if type(value) is int or (type(value) is float and isfinite(value)):
        return value
    raise TypeError(f"expected a number, not {shown(value)}")


def _marked_int(value: Any, kind: type[Any]) -> Any:
    return _exactly(decode_value(value), kind)


def _marked_float(value: Any, kind: type[Any]) -> Any:
    marked = decode_value(value) if type(value) is dict else None
    return marked if type(marked) is float else _number(value if marked is None else marked, kind)


def _bytes(value: Any, _: Any) -> Any:
    value = decode_value(value)
    if type(value) is not bytes:
        raise TypeError(f"expected bytes, not {shown(value)}")
    return value


def _time(value: Any, _: Any) -> datetime:
    return value if type(value) is datetime else datetime.fromisoformat(_exactly(value, str))


def structure_problems(error: BaseException, place: str = "") -> Iterator[str]:
    """Yield what is wrong, each with its place: ``items[3].outcome: 1.5 is not a valid Outcome``.

    Args:
        error: what the converter raised.
        place: of the value that it was given.
    """
    from cattrs.errors import (
        ClassValidationError,
        ForbiddenExtraKeysError,
        IterableValidationError,
    )

    if isinstance(error, ClassValidationError):
        fields, rest = error.group_exceptions()
        for one, field in fields:
            yield from structure_problems(one, f"{place}.{field.name}" if place else field.name)
        for one in rest:
            yield from structure_problems(one, place)
    elif isinstance(error, IterableValidationError):
        items, rest = error.group_exceptions()
        for one, item in items:
            yield from structure_problems(one, f"{place}[{item.index!r}]")
        for one in rest:
            yield from structure_problems(one, place)
    elif isinstance(error, ForbiddenExtraKeysError):
        names = ", ".join(sorted(error.extra_fields))
        yield _at(place, f"unknown field {sanitize(names)}")
    elif isinstance(error, KeyError):
        yield _at(place, "is missing")
    else:
        yield _at(place, sanitize(error_message(error)) or type(error).__name__)


def _at(place: str, text: str) -> str:
    return f"{place}: {text}" if place else text
