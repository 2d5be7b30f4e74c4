"""From the annotations of a class to its type in JSON: resolved once, refused at once."""

from __future__ import annotations

import dataclasses
import re
import sys
import types
import typing
from collections import OrderedDict, abc, deque
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import Path, PurePath
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    ForwardRef,
    Literal,
    LiteralString,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

import attrs

from trimtab._types.errors import ToolError
from trimtab._types.json_types import (
    Anything,
    Array,
    Choice,
    Described,
    Either,
    Field,
    FixedArray,
    JsonType,
    Pydantic,
    Record,
    Scalar,
    Table,
)
from trimtab._types.options import is_finite, is_number
from trimtab._types.text import shown

_USE = "use str, int, float, bool, date, UUID, Decimal, Enum, Literal, lists, dicts or records"


def type_of(cls: Any) -> Record | Pydantic:
    """Return the type of a record, as `json_schema` names them."""
    if not isinstance(cls, abc.Hashable):
        raise _unknown(cls, "params")
    return _type_of(cls)


@lru_cache(maxsize=256)  # a class is resolved once; its schema is asked for in each request
def _type_of(cls: Any) -> Record | Pydantic:
    made = Resolver().resolve(cls, _name(cls))
    if not isinstance(made, Record | Pydantic):
        raise ToolError(
            f"params must be a record, not {_name(cls)}; use an attrs class, a dataclass, "
            "a pydantic model, a TypedDict or a NamedTuple"
        )
    return made


@attrs.frozen
class Resolver:
    """From annotations to types in JSON; a class below may know more of them."""

    outer: tuple[Any, ...] = ()
    variables: Mapping[Any, Any] = attrs.field(factory=dict)

    def resolve(self, annotation: Any, where: str) -> JsonType:
        if annotation in (None, type(None)):
            return _NULL
        if isinstance(annotation, str | ForwardRef):
            raise ToolError(
                f"{where}: {shown(annotation)} can't be resolved; define it at module level"
            )
        if isinstance(annotation, TypeVar):
            return self._variable(annotation, where)
        if hasattr(annotation, "__supertype__"):  # NewType
            return self.resolve(annotation.__supertype__, where)
        if type(annotation).__name__ == "TypeAliasType":
            return self._within(annotation).resolve(annotation.__value__, where)
        origin = get_origin(annotation)
        if origin is None:
            return self.bare(annotation, where)
        return self.generic(annotation, origin, get_args(annotation), where)

    def _variable(self, variable: TypeVar, where: str) -> JsonType:
        if variable in self.variables:
            return attrs.evolve(self, variables={}).resolve(self.variables[variable], where)
        if variable.__constraints__:
            return self._union(variable.__constraints__, where)
        return Anything() if variable.__bound__ is None else self.resolve(variable.__bound__, where)

    def bare(self, kind: Any, where: str) -> JsonType:
        if not isinstance(kind, abc.Hashable):
            raise _unknown(kind, where)
        if kind in _SCALARS:
            return _SCALARS[kind]
        if kind in _ARRAYS:
            return Array(None, _ARRAYS[kind])
        if kind in _TABLES:
            return Table(None, None, _TABLES[kind])
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _choice(((member.value, member) for member in kind), where)
        return self._record(kind, kind, where)

    def generic(self, kind: Any, origin: Any, args: tuple[Any, ...], where: str) -> JsonType:
        if origin in _SPECIAL:
            return _SPECIAL[origin](self, args, where)
        if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
            items = [self.resolve(arg, f"{where}[{n}]") for n, arg in enumerate(args)]
            return FixedArray(tuple(items))
        if origin in _ARRAYS:
            return Array(self.resolve(args[0], f"{where}[…]"), _ARRAYS[origin])
        if origin in _TABLES:
            value = self.resolve(args[1], f"{where}[…]")
            return Table(self._key(args[0], where), value, _TABLES[origin])
        return self._record(kind, origin, where)

    def _annotated(self, args: tuple[Any, ...], where: str) -> JsonType:
        made = self.resolve(args[0], where)
        words = next((note for note in args[1:] if isinstance(note, str)), None)
        return made if words is None else Described(made, words)

    def _union(self, args: tuple[Any, ...], where: str) -> JsonType:
        return Either(tuple(self.resolve(arg, where) for arg in args))

    def _key(self, annotation: Any, where: str) -> JsonType | None:
        kind = self.resolve(annotation, f"the names of {where}")
        if kind == _SCALARS[str] or isinstance(kind, Anything):
            return None
        if kind == _SCALARS[int]:
            return _INT_AS_NAME
        named = isinstance(kind, Scalar) and "format" in kind.form
        chosen = isinstance(kind, Choice) and all(isinstance(one, str) for one, _ in kind.members)
        if not named and not chosen:
            raise ToolError(f"{where}: {_name(annotation)} can't be a name in a JSON object")
        return kind

    def _record(self, kind: Any, cls: Any, where: str) -> JsonType:
        if not isinstance(cls, type):
            raise _unknown(kind, where)
        if hasattr(cls, "__pydantic_validator__"):
            return _pydantic(kind, where)
        read = next((read for is_one, read in _RECORDS if is_one(cls)), None)
        if read is None:
            raise _unknown(kind, where)
        within = attrs.evolve(self._within(cls), variables=_bindings(kind, self.variables))
        fields = []
        for name, argument, annotation, required, words in read(cls):
            made = within.resolve(annotation, f"{cls.__name__}.{name}")
            described = made if words is None else Described(made, words)
            fields.append(Field(name, argument, described, required))
        return Record(cls.__name__, tuple(fields), dict if _is_typed_dict(cls) else cls)

    def _within(self, cls: Any) -> Resolver:
        if cls in self.outer:
            raise ToolError(f"{_name(cls)} contains itself; a flat schema can't say that")
        return attrs.evolve(self, outer=(*self.outer, cls))


Found = tuple[str, str, Any, bool, str | None]
"""A field as a class declares it: name, argument, annotation, required, description."""


def _attrs_fields(cls: type[Any]) -> Iterator[Found]:
    hints = _hints(cls)
    for field in attrs.fields(cls):
        if field.init:
            annotation = hints.get(field.name, Any if field.type is None else field.type)
            required = field.default is attrs.NOTHING
            yield field.name, field.alias, annotation, required, field.metadata.get("description")


def _dataclass_fields(cls: type[Any]) -> Iterator[Found]:
    hints, missing = _hints(cls), dataclasses.MISSING
    for name, field in cls.__dataclass_fields__.items():
        hint = hints[name]
        if isinstance(hint, dataclasses.InitVar):
            hint = hint.type
        elif get_origin(hint) is ClassVar or hint is ClassVar or not field.init:
            continue
        required = field.default is missing and field.default_factory is missing
        yield name, name, hint, required, field.metadata.get("description")


def _typed_dict_fields(cls: type[Any]) -> Iterator[Found]:
    for name, hint in _hints(cls).items():
        # Annotations that are text hide NotRequired from the class itself.
        marks = {Required: True, NotRequired: False}
        required = marks.get(get_origin(hint), name in cls.__required_keys__)
        yield name, name, hint, required, None


def _named_tuple_fields(cls: Any) -> Iterator[Found]:
    hints = _hints(cls)
    for name in cls._fields:
        yield name, name, hints.get(name, Any), name not in cls._field_defaults, None


def _is_typed_dict(cls: type[Any]) -> bool:
    return issubclass(cls, dict) and hasattr(cls, "__required_keys__")


_RECORDS: tuple[tuple[Callable[[type[Any]], bool], Callable[[type[Any]], Iterator[Found]]], ...] = (
    (attrs.has, _attrs_fields),
    (dataclasses.is_dataclass, _dataclass_fields),
    (_is_typed_dict, _typed_dict_fields),
    (lambda cls: issubclass(cls, tuple) and hasattr(cls, "_fields"), _named_tuple_fields),
)


def _hints(cls: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception as error:  # an annotation is an expression of the user
        if attrs.has(cls) and getattr(cls, "__attrs_types_resolved__", None) is cls:
            return {field.name: field.type for field in attrs.fields(cls)}
        raise ToolError(f"{cls.__name__}: {error}; define the type at module level") from error


def _bindings(kind: Any, outer: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return what the type variables of a class and its bases stand for."""
    origin = get_origin(kind) or kind
    given = [outer.get(arg, arg) if isinstance(arg, TypeVar) else arg for arg in get_args(kind)]
    bound = dict(zip(getattr(origin, "__parameters__", ()), given, strict=False))
    for base in getattr(origin, "__orig_bases__", ()):
        if get_origin(base) not in (None, origin):
            bound = _bindings(base, bound) | bound
    return bound


def _choice(pairs: Iterator[tuple[Any, Any]], where: str) -> Choice:
    members: tuple[tuple[Any, Any], ...] = tuple(pairs)
    for value, _ in members:
        if value is None or isinstance(value, str | bool):
            continue
        if not is_number(value) or not is_finite(value):
            raise ToolError(f"{where}: {shown(value)} has no counterpart in JSON")
    return Choice(members)


def _pydantic(cls: Any, where: str) -> Pydantic:
    """Return the type of a class of pydantic, which is imported, since the class is there."""
    try:
        adapter = sys.modules["pydantic"].TypeAdapter(cls)
        adapter.json_schema()
    except Exception as error:
        raise ToolError(f"{where}: pydantic has no schema for {_name(cls)}: {error}") from error
    return Pydantic(_name(cls), adapter)


def _unknown(annotation: Any, where: str) -> ToolError:
    return ToolError(f"{where}: {_name(annotation)} has no counterpart in JSON; {_USE}")


def _name(annotation: Any) -> str:
    plain = isinstance(annotation, type) and get_origin(annotation) is None
    return annotation.__name__ if plain else shown(annotation).removeprefix("typing.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


_WHOLE = r"-?(0|[1-9][0-9]*)"
_DECIMAL = rf"{_WHOLE}(\.[0-9]+)?([eE][+-]?[0-9]+)?"


def _is_decimal(value: Any) -> bool:
    if isinstance(value, str):
        return re.fullmatch(_DECIMAL, value) is not None
    return is_number(value) and is_finite(value)


_NULL = Scalar({"type": "null"}, "null", lambda value: value is None)
_PATH = Scalar({"type": "string"}, "str", _is_text, Path)
_INT_AS_NAME = Scalar(
    {"pattern": f"^{_WHOLE}$"}, "int", lambda name: re.fullmatch(_WHOLE, name) is not None, int
)


def _written(form: str, words: str, read: Callable[[str], Any]) -> Scalar:
    return Scalar({"type": "string", "format": form}, words, _is_text, read)


_SCALARS: Mapping[Any, JsonType] = {
    Any: Anything(),
    object: Anything(),
    str: Scalar({"type": "string"}, "str", _is_text),
    LiteralString: Scalar({"type": "string"}, "str", _is_text),
    bool: Scalar({"type": "boolean"}, "bool", lambda value: isinstance(value, bool)),
    int: Scalar({"type": "integer"}, "int", _is_whole, int),
    float: Scalar(
        {"type": "number"}, "float", lambda value: is_number(value) and is_finite(value), float
    ),
    Path: _PATH,
    PurePath: _PATH,
    date: _written("date", "a date (YYYY-MM-DD)", date.fromisoformat),
    datetime: _written("date-time", "a time (YYYY-MM-DDTHH:MM:SSZ)", datetime.fromisoformat),
    time: _written("time", "a time of day (HH:MM:SS)", time.fromisoformat),
    UUID: _written("uuid", "a UUID", UUID),
    Decimal: Scalar(
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_DECIMAL}$"}]},
        "a decimal number",
        _is_decimal,
        lambda value: Decimal(str(value)),
    ),
}
_ARRAYS: Mapping[Any, Callable[[list[Any]], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
    deque: deque,
    abc.Iterable: tuple,
    abc.Collection: tuple,
    abc.Sequence: tuple,
    abc.MutableSequence: list,
    abc.Set: frozenset,
    abc.MutableSet: set,
}
_TABLES: Mapping[Any, Callable[[dict[Any, Any]], Any]] = {
    dict: dict,
    OrderedDict: OrderedDict,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
}
_SPECIAL: Mapping[Any, Callable[[Resolver, tuple[Any, ...], str], JsonType]] = {
    Annotated: Resolver._annotated,
    Union: Resolver._union,
    types.UnionType: Resolver._union,
    Literal: lambda _, args, where: _choice(
        ((arg.value if isinstance(arg, Enum) else arg, arg) for arg in args), where
    ),
} | dict.fromkeys(
    (Required, NotRequired, Final, getattr(typing, "ReadOnly", Final)),
    lambda resolver, args, where: resolver.resolve(args[0], where),
)
