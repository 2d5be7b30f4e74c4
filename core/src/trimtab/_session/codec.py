"""Records, values and states of projections as JSON, and back: the one codec of them all."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterator, Mapping, Set as AbstractSet
from datetime import datetime
from enum import Enum
from functools import cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import attrs

from trimtab._events import ResultDigest
from trimtab._session.projection import BaseProjection, saved_class
from trimtab._types.text import DEEPEST, as_text, error_message, field_names, sanitize, shown

if TYPE_CHECKING:
    from cattrs import Converter

_MARK = "$"
_FLOATS = ("nan", "inf", "-inf")
_LEAST_INT, _MOST_INT = -(1 << 63), (1 << 64) - 1  # what 64 bits hold, signed or not
_SCALARS = (Enum, str, int, float, bytes, bytearray, ResultDigest)


def encode_value(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return what JSON can hold of `value`, from which `decode_value` returns an equal value.

    JSON lacks bytes, sets, numbers that are not finite or take more than 64 bits, and the digests
    that a session keeps of old results: each becomes an object with one key that begins with
    ``$``. Sets have one order. Keys become text, tuples lists, enum members their values, records
    objects. What has no counterpart, is nested deeper than 64, or contains itself becomes its
    text.

    Args:
        value: anything.
        inside: identities of the containers around it.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int or kind is float:
        return encode_number(value)
    if len(inside) >= DEEPEST or id(value) in inside:
        return as_text(value)
    if kind is dict or kind is list:
        return _plain(value, kind, (*inside, id(value)))
    try:
        return _scalar(value) if isinstance(value, _SCALARS) else _container(value, inside)
    except Exception:  # noqa: BLE001 - the methods of a class that others wrote
        return as_text(value)


def _plain(value: Any, kind: type[Any], inside: tuple[int, ...]) -> Any:
    if kind is list:
        return [item if type(item) is str else encode_value(item, inside) for item in value]
    return {
        key if type(key) is str and key[:1] != _MARK else _key(key): (
            item if type(item) is str else encode_value(item, inside)
        )
        for key, item in value.items()
    }


def _scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        return encode_value(value.value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, ResultDigest):
        return {"$digest": [value.length, value.digest]}
    if isinstance(value, bytes | bytearray):
        return {"$bytes": b64encode(value).decode()}
    return encode_number(value)


def _container(value: Any, inside: tuple[int, ...]) -> Any:
    inside = (*inside, id(value))
    if isinstance(value, Mapping):
        return {_key(key): encode_value(item, inside) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode_value(item, inside) for item in value]
    if isinstance(value, set | frozenset):
        return {"$set": in_order([encode_value(_member(item), inside) for item in value])}
    kind: Any = type(value)
    names = field_names(kind)
    if names:
        return {_key(name): encode_value(getattr(value, name, None), inside) for name in names}
    return as_text(value)


def encode_number(value: float) -> Any:
    """Return a number, marked if it is not finite or takes more than 64 bits.

    Fast JSON libraries, and those of most other languages, read such a number as a float.
    """
    if isinstance(value, float):
        number = float.__float__(value)
        return number if isfinite(number) else {"$float": repr(number)}
    whole = int.__int__(value)
    return whole if _LEAST_INT <= whole <= _MOST_INT else {"$int": hex(whole)}


def in_order(items: list[Any]) -> list[Any]:
    """Return the encoded items of a set in the order of their JSON text.

    The order of a set itself differs from process to process.
    """
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _member(value: Any) -> Any:
    """Return an item of a set as what can be hashed when it is read back."""
    if isinstance(value, tuple):
        return tuple([_member(item) for item in value])
    if value is None or isinstance(value, str | int | float | bytes | frozenset):
        return value
    return as_text(value)


def _key(key: Any) -> str:
    """Return a key as text; one that begins like a mark gets a second ``$``."""
    text = key if type(key) is str else as_text(key)
    return _MARK + text if text.startswith(_MARK) else text


def decode_value(value: Any) -> Any:
    """Return what `encode_value` was given, as far as JSON could hold it.

    Args:
        value: as parsed from JSON.

    Raises:
        ValueError: an object with one of the marks holds something else.
    """
    kind = type(value)
    if kind is list:
        return [decode_value(item) for item in value]
    if kind is not dict:
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        read = _MARKED.get(key)
        if read is not None:
            return _read_mark(read, key, item)
    return {
        key[1:] if key.startswith("$$") else key: decode_value(item) for key, item in value.items()
    }


def _read_mark(read: Callable[[Any], Any], mark: str, value: Any) -> Any:
    try:
        return read(value)
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"{mark} can't hold {shown(value)}") from None


def read_digest(raw: list[Any]) -> tuple[int, str]:
    """Return the length and the digest of a text; raise an error where they are none."""
    length, digest = raw
    bytes.fromhex(digest)
    if type(length) is not int or length < 0:
        raise ValueError(f"the length of a text can't be {shown(length)}")
    return length, digest


def _set(value: Any) -> frozenset[Any]:
    if type(value) is not list:
        raise TypeError("not a list")
    return frozenset([_hashable(item) for item in decode_value(value)])


def _hashable(value: Any) -> Any:
    return tuple([_hashable(item) for item in value]) if type(value) is list else value


_MARKED: dict[str, Callable[[Any], Any]] = {
    "$bytes": lambda value: b64decode(value, validate=True),
    "$digest": lambda value: ResultDigest(*read_digest(value)),
    "$float": lambda value: float(_FLOATS[_FLOATS.index(value)]),
    "$int": lambda value: int(value, 16),
    "$set": _set,
}


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
    converter.register_structure_hook_factory(
        lambda kind: isinstance(kind, type) and bool(field_names(kind)),
        partial(_record_reader, converter),
    )
    if marks:
        converter.register_unstructure_hook(int, encode_number)
        converter.register_unstructure_hook(float, encode_number)
        converter.register_unstructure_hook(bool, _itself)
        converter.register_structure_hook(
            int, lambda value, kind: _exactly(decode_value(value), kind)
        )
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
    lists = [name for name in field_names(kind) or () if _is_list(hints.get(name))]

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
    from cattrs import transform_error

    for line in transform_error(error, place, lambda one, _: f"{_problem(one)}\0"):
        text, _, found = line.partition("\0 @ ")
        at = found if place else found.removeprefix(".")
        yield f"{at}: {text}" if at else text


def _problem(error: BaseException) -> str:
    from cattrs.errors import ForbiddenExtraKeysError

    if isinstance(error, ForbiddenExtraKeysError):
        return f"unknown field {sanitize(', '.join(sorted(error.extra_fields)))}"
    if isinstance(error, KeyError):
        return "is missing"
    return sanitize(error_message(error)) or type(error).__name__


def encode_state(projection: BaseProjection) -> Any:
    """Return the state of a projection as JSON-like data of its own."""
    kind: Any = type(projection)
    declared = _declared(kind)  # first, for it may not be readable
    return record_converter().unstructure(projection.state(), declared)


def decode_state(projection: BaseProjection, saved: Any) -> tuple[Any] | None:
    """Return the state that `load_state` takes, None if what was saved does not fit.

    It does not fit if it is damaged, or if another version of the provider wrote it.
    """
    kind: Any = type(projection)
    try:
        return (record_converter().structure(saved, _declared(kind)),)
    except Exception as error:  # noqa: BLE001 - also what the classes of the state raise
        import logging  # the codec is imported where nothing is logged

        logging.getLogger("trimtab").warning(
            "the saved state of %s does not fit and is made anew from the record: %s",
            kind.__qualname__,
            next(structure_problems(error, "state")),
        )
        return None


@cache
def _declared(kind: Any) -> Any:
    """Return the type that a projection's states have, else `Any`."""
    try:
        if kind.state is BaseProjection.state:
            return saved_class(kind) or Any
        return get_type_hints(kind.state).get("return", Any)
    except NameError as error:
        raise TypeError(
            f"the types of the state of {kind.__qualname__} can't be read: {error}; import them "
            "where the module runs, not for type checkers only"
        ) from None
