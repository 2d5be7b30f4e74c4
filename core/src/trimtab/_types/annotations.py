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
    ANYTHING,
    DECIMAL,
    DECIMAL_PATTERN,
    WHOLE_PATTERN,
    JsonType,
    Schema,
    array,
    choice,
    either,
    fixed_array,
    is_list,
    is_object,
    pydantic,
    record,
    scalar,
    table,
)
from trimtab._types.options import is_finite, is_number
from trimtab._types.text import shown

_USE = "use str, int, float, bool, date, UUID, Decimal, Enum, Literal, lists, dicts or records"


def type_of(cls: Any) -> JsonType:
    """Return the type of a record, as `json_schema` names them; its schema is complete."""
    if not isinstance(cls, abc.Hashable):
        raise _unknown(cls, "params")
    return _type_of(cls)


@lru_cache(maxsize=256)  # a class is resolved once; its schema is asked for in each request
def _type_of(cls: Any) -> JsonType:
    resolver = Resolver()
    made = resolver.resolve(cls, _name(cls))
    if not made.name:
        raise ToolError(
            f"params must be a record, not {_name(cls)}; use an attrs class, a dataclass, "
            "a pydantic model, a TypedDict or a NamedTuple"
        )
    schema, defs = dict(made.schema), resolver.defs
    if "$ref" in schema:  # services want a schema that does not begin with a reference
        schema = {**defs[schema.pop("$ref").removeprefix("#/$defs/")], **schema}
    return attrs.evolve(made, schema={**schema, "$defs": defs} if defs else schema)


@attrs.frozen
class Resolver:
    """From annotations to types in JSON; a class below may know more of them."""

    outer: tuple[Any, ...] = ()
    variables: Mapping[Any, Any] = attrs.field(factory=dict)
    defs: Schema = attrs.field(factory=dict)
    is_list = staticmethod(is_list)
    is_table = staticmethod(is_object)

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
        if not isinstance(annotation, abc.Hashable):
            raise _unknown(annotation, where)
        return self._generic(annotation, where)

    def _generic(self, annotation: Any, where: str) -> JsonType:
        origin, args = get_origin(annotation) or annotation, get_args(annotation)
        if origin in _SPECIAL and args:
            return _SPECIAL[origin](self, args, where)
        if origin is tuple and annotation is not tuple and args[1:] != (Ellipsis,):
            items = [self.resolve(arg, f"{where}[{n}]") for n, arg in enumerate(args)]
            return fixed_array(items)
        if origin in _ARRAYS:
            item = self.resolve(args[0] if args else Any, f"{where}[…]")
            return array(item, _ARRAYS[origin], self.is_list)
        if origin in _TABLES:
            key, value = args or (Any, Any)
            made = self.resolve(value, f"{where}[…]")
            return table(self.key(key, where), made, _TABLES[origin], self.is_table)
        return self.leaf(annotation, origin, where)

    def _variable(self, variable: TypeVar, where: str) -> JsonType:
        if variable in self.variables:
            return attrs.evolve(self, variables={}).resolve(self.variables[variable], where)
        if variable.__constraints__:
            return self._union(variable.__constraints__, where)
        return ANYTHING if variable.__bound__ is None else self.resolve(variable.__bound__, where)

    def leaf(self, kind: Any, cls: Any, where: str) -> JsonType:
        """Return the type of a class that is no collection."""
        if cls in _SCALARS:
            return _SCALARS[cls]
        if isinstance(cls, type) and issubclass(cls, Enum):
            return _choice(((member.value, member) for member in cls), where)
        return self._record(kind, cls, where)

    def _annotated(self, args: tuple[Any, ...], where: str) -> JsonType:
        made = self.resolve(args[0], where)
        words = next((note for note in args[1:] if isinstance(note, str)), None)
        return _described(made, words)

    def _union(self, args: tuple[Any, ...], where: str) -> JsonType:
        return either([self.resolve(arg, where) for arg in args])

    def key(self, annotation: Any, where: str) -> JsonType:
        """Return the type of the names of an object."""
        kind = self.resolve(annotation, f"the names of {where}")
        if kind is _SCALARS[int]:
            return _INT_AS_NAME
        chosen = kind.schema.get("enum", [None])
        if kind is ANYTHING or kind.schema.get("type") == "string" or all(map(_is_text, chosen)):
            return kind
        raise ToolError(f"{where}: {_name(annotation)} can't be a name in a JSON object")

    def _record(self, kind: Any, cls: Any, where: str) -> JsonType:
        if not isinstance(cls, type):
            raise _unknown(kind, where)
        if hasattr(cls, "__pydantic_validator__"):
            return _pydantic(kind, where, self.defs)
        read = next((read for is_one, read in _RECORDS if is_one(cls)), None)
        if read is None:
            raise _unknown(kind, where)
        within = attrs.evolve(self._within(cls), variables=_bindings(kind, self.variables))
        fields, required = {}, []
        for name, argument, annotation, is_required, words in read(cls):
            made = within.resolve(annotation, f"{cls.__name__}.{name}")
            fields[name] = (argument, _described(made, words))
            required += [name] * is_required
        return record(cls.__name__, fields, required, dict if _is_typed_dict(cls) else cls)

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


def _described(kind: JsonType, words: str | None) -> JsonType:
    if words is None:
        return kind
    return attrs.evolve(kind, schema={**kind.schema, "description": words})


def _choice(pairs: Iterator[tuple[Any, Any]], where: str) -> JsonType:
    members = list(pairs)
    for value, _ in members:
        if value is None or isinstance(value, str | bool):
            continue
        if not is_number(value) or not is_finite(value):
            raise ToolError(f"{where}: {shown(value)} has no counterpart in JSON")
    return choice(members)


def _pydantic(cls: Any, where: str, defs: Schema) -> JsonType:
    """Return the type of a class of pydantic, which is imported, since the class is there."""
    try:
        return pydantic(_name(cls), sys.modules["pydantic"].TypeAdapter(cls), defs)
    except Exception as error:
        raise ToolError(f"{where}: pydantic has no schema for {_name(cls)}: {error}") from error


def _unknown(annotation: Any, where: str) -> ToolError:
    return ToolError(f"{where}: {_name(annotation)} has no counterpart in JSON; {_USE}")


def _name(annotation: Any) -> str:
    plain = isinstance(annotation, type) and get_origin(annotation) is None
    return annotation.__name__ if plain else shown(annotation).removeprefix("typing.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def _is_decimal(value: Any) -> bool:
    if isinstance(value, str):
        return re.fullmatch(DECIMAL_PATTERN, value) is not None
    return is_number(value) and is_finite(value)


def _written(form: str, read: Callable[[str], Any]) -> JsonType:
    return scalar({"type": "string", "format": form}, _is_text, read)


_NULL = scalar({"type": "null"}, lambda value: value is None)
_TEXT = scalar({"type": "string"}, _is_text)
_PATH = scalar({"type": "string"}, _is_text, Path)
_INT_AS_NAME = scalar(
    {"pattern": f"^{WHOLE_PATTERN}$"},
    lambda name: isinstance(name, str) and re.fullmatch(WHOLE_PATTERN, name) is not None,
    int,
    words="integer",
)
_SCALARS: Mapping[Any, JsonType] = {
    Any: ANYTHING,
    object: ANYTHING,
    str: _TEXT,
    LiteralString: _TEXT,
    bool: scalar({"type": "boolean"}, lambda value: isinstance(value, bool)),
    int: scalar({"type": "integer"}, _is_whole, int),
    float: scalar({"type": "number"}, lambda value: is_number(value) and is_finite(value), float),
    Path: _PATH,
    PurePath: _PATH,
    date: _written("date", date.fromisoformat),
    datetime: _written("date-time", datetime.fromisoformat),
    time: _written("time", time.fromisoformat),
    UUID: _written("uuid", UUID),
    Decimal: scalar(DECIMAL, _is_decimal, lambda value: Decimal(str(value))),
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
