"""JSON Schema of attrs classes and dataclasses, and conversion from and to JSON."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from datetime import date, datetime
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs
import cattrs

from trimtab._types.conformance import problems_of
from trimtab._types.errors import ToolError

Schema = dict[str, Any]

_PLAIN: Mapping[Any, Schema] = {
    Any: {},
    object: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    Path: {"type": "string"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
}


def json_schema(cls: type[Any]) -> Schema:
    """Return the JSON Schema of an attrs class or dataclass, from its annotations.

    ``Annotated[T, "text"]`` and a field's metadata ``{"description": "text"}`` describe fields;
    fields with a default are optional; classes may nest but not contain themselves.

    Args:
        cls: the class.

    Raises:
        ToolError: an annotation has no counterpart in JSON, or can't be resolved.
    """
    return _object(cls, ())


def _object(cls: type[Any], outer: tuple[type[Any], ...]) -> Schema:
    if cls in outer:
        raise ToolError(f"{cls.__name__} contains itself; a flat schema can't say that")
    hints = _hints(cls)
    properties: Schema = {}
    required: list[str] = []
    for name, described, optional in _fields(cls):
        properties[name] = {**_schema(hints[name], (*outer, cls)), **described}
        required += [] if optional else [name]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _hints(cls: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise ToolError(f"{cls.__name__}: {error}; define the type at module level") from error


def _fields(cls: type[Any]) -> Iterator[tuple[str, Schema, bool]]:
    """Yield name, description and whether it may be left out, for each field of `__init__`."""
    if attrs.has(cls):
        for field in attrs.fields(cls):
            if field.init:
                yield field.name, _described(field.metadata), field.default is not attrs.NOTHING
    elif dataclasses.is_dataclass(cls):
        for item in dataclasses.fields(cls):
            if item.init:
                yield item.name, _described(item.metadata), _has_default(item)
    else:
        raise ToolError(f"{cls!r} has no counterpart in JSON; use an attrs class or a dataclass")


def _has_default(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


def _described(metadata: Mapping[Any, Any]) -> Schema:
    return {"description": metadata["description"]} if "description" in metadata else {}


def _schema(annotation: Any, outer: tuple[type[Any], ...]) -> Schema:
    origin = get_origin(annotation)
    if origin is None:
        return _bare(annotation, outer)
    if origin not in _GENERIC:
        raise ToolError(f"{annotation!r} has no counterpart in JSON Schema")
    return _GENERIC[origin](get_args(annotation), outer)


def _bare(cls: Any, outer: tuple[type[Any], ...]) -> Schema:
    if cls in _PLAIN:
        return dict(_PLAIN[cls])
    if isinstance(cls, type) and issubclass(cls, Enum):
        return {"enum": [member.value for member in cls]}
    return _object(cls, outer)


def _annotated(args: tuple[Any, ...], outer: tuple[type[Any], ...]) -> Schema:
    words = [note for note in args[1:] if isinstance(note, str)]
    return {**_schema(args[0], outer), **({"description": words[0]} if words else {})}


def _union(args: tuple[Any, ...], outer: tuple[type[Any], ...]) -> Schema:
    return {"anyOf": [_schema(arg, outer) for arg in args]}


def _literal(args: tuple[Any, ...], _: tuple[type[Any], ...]) -> Schema:
    return {"enum": list(args)}


def _array(args: tuple[Any, ...], outer: tuple[type[Any], ...]) -> Schema:
    return {"type": "array", "items": _schema(args[0], outer)}


def _tuple(args: tuple[Any, ...], outer: tuple[type[Any], ...]) -> Schema:
    if len(args) == 2 and args[1] is Ellipsis:
        return _array(args, outer)
    items = [_schema(arg, outer) for arg in args]
    return {
        "type": "array",
        "prefixItems": items,
        "minItems": len(items),
        "maxItems": len(items),
    }


def _mapping(args: tuple[Any, ...], outer: tuple[type[Any], ...]) -> Schema:
    return {"type": "object", "additionalProperties": _schema(args[1], outer)}


_GENERIC: Mapping[Any, Callable[[tuple[Any, ...], tuple[type[Any], ...]], Schema]] = {
    Annotated: _annotated,
    Literal: _literal,
    Union: _union,
    types.UnionType: _union,
    tuple: _tuple,
    dict: _mapping,
    Mapping: _mapping,
    list: _array,
    set: _array,
    frozenset: _array,
    Sequence: _array,
    AbstractSet: _array,
}

T = TypeVar("T")


def from_json(cls: type[T], value: Any, *, name: str) -> T:
    """Return `value`, decoded JSON, as an object of `cls`; nothing is converted silently.

    The value must conform to the schema of `cls`: a whole float is an int, texts become dates,
    paths and members of enums, lists become tuples and sets. All else is a problem.

    Args:
        cls: an attrs class or dataclass.
        value: decoded JSON.
        name: what the message calls `value`, e.g. ``"params"``.

    Raises:
        ValueError: it does not conform; the message lists the problems, in words for the model.
        ToolError: `cls` has no counterpart in JSON.
    """
    import cattrs

    problems = problems_of(_schema_of(cls), value, name)  # type: ignore[arg-type]
    if problems:
        raise ValueError("; ".join(problems))
    try:
        return _converter(strict=True).structure(value, cls)
    except Exception as error:  # cattrs and validators raise what they like
        reasons = [reason.replace(" @ ", " at ") for reason in cattrs.transform_error(error, name)]
        raise ValueError("; ".join(reasons)) from error


def to_json(value: Any) -> Any:
    """Return `value` in lists, dicts and plain values."""
    return _converter(strict=False).unstructure(value)


@lru_cache(maxsize=256)
def _schema_of(cls: type[Any]) -> Schema:
    return json_schema(cls)


@cache  # a converter compiles its hooks for a class once
def _converter(*, strict: bool) -> cattrs.Converter:
    import cattrs
    from cattrs.strategies import configure_union_passthrough

    converter = cattrs.Converter(forbid_extra_keys=strict)
    converter.register_structure_hook(Path, lambda value, _: Path(value))
    converter.register_structure_hook(date, lambda value, _: date.fromisoformat(value))
    converter.register_structure_hook(datetime, lambda value, _: datetime.fromisoformat(value))
    configure_union_passthrough(str | bool | int | float | None, converter)
    return converter
