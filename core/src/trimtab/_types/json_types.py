"""Types as JSON has them: the schema of each, and how a JSON value becomes an object of it.

`annotations` makes these from the annotations of a class, once; schema, conversion and messages
all follow from the same tree, so that what a schema admits is also what is converted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import attrs

from trimtab._types.text import as_text, describe_error, error_message, shorten

Schema = dict[str, Any]
Problems = list[str]
MAX_PROBLEMS = 8
_SHOWN = 60
_SHOWN_ERROR = 300
_SHOWN_ARMS = 4
"""What a model reads when its arguments don't fit: enough to correct the call, in a few lines."""


class JsonType(Protocol):
    """A type that JSON values can be read as."""

    @property
    def words(self) -> str:
        """What messages call a value of this type."""
        ...

    def schema(self, defs: Schema, /) -> Schema:
        """Return the JSON Schema; what it refers to by name is put into `defs`."""
        ...

    def read(self, value: Any, path: str, found: Problems, /) -> Any:
        """Return `value` as an object of this type; else add to `found` what is wrong where."""
        ...


def is_object(value: Any) -> bool:
    """Return whether a value is what JSON calls an object."""
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def is_list(value: Any) -> bool:
    """Return whether a value is what JSON calls an array."""
    return isinstance(value, list | tuple)


@attrs.frozen
class Anything:
    words = "any value"

    def schema(self, _: Schema) -> Schema:
        return {}

    def read(self, value: Any, _: str, __: Problems) -> Any:
        return value


@attrs.frozen
class Scalar:
    """Text, numbers and what is written as text."""

    form: Mapping[str, Any]
    words: str
    fits: Callable[[Any], bool]
    make: Callable[[Any], Any] = lambda value: value

    def schema(self, _: Schema) -> Schema:
        return dict(self.form)

    def read(self, value: Any, path: str, found: Problems) -> Any:
        if self.fits(value):
            try:
                return self.make(value)
            except (ValueError, OverflowError):
                pass
        return refuse(self, value, path, found)


@attrs.frozen
class Choice:
    members: tuple[tuple[Any, Any], ...]  # the JSON value of each, and what it becomes

    @property
    def words(self) -> str:
        return "one of " + ", ".join(_shown(value) for value, _ in self.members)

    def schema(self, _: Schema) -> Schema:
        return {"enum": [value for value, _ in self.members]}

    def read(self, value: Any, path: str, found: Problems) -> Any:
        for member, made in self.members:
            alike = value == member and isinstance(value, bool) is isinstance(member, bool)
            if alike or value is made:
                return made
        return refuse(self, value, path, found)


@attrs.frozen
class Array:
    """A list of any length whose items are of one type."""

    item: JsonType | None  # None for any
    make: Callable[[list[Any]], Any]
    fits: Callable[[Any], bool] = is_list
    words = "list"

    def schema(self, defs: Schema) -> Schema:
        return {"type": "array"} | ({} if self.item is None else {"items": self.item.schema(defs)})

    def read(self, value: Any, path: str, found: Problems) -> Any:
        if not self.fits(value):
            return refuse(self, value, path, found)
        before, made = len(found), []
        for index, item in enumerate(value):
            place = f"{path}[{index}]"
            made.append(item if self.item is None else self.item.read(item, place, found))
            if len(found) >= MAX_PROBLEMS:
                break
        return _made(self.make, (made,), {}, path, found) if len(found) == before else None


@attrs.frozen
class FixedArray:
    """A list with a type for each place, which becomes a tuple."""

    items: tuple[JsonType, ...]
    words = "list"

    def schema(self, defs: Schema) -> Schema:
        count = len(self.items)
        if not count:
            return {"type": "array", "maxItems": 0}
        each = [item.schema(defs) for item in self.items]
        return {"type": "array", "prefixItems": each, "minItems": count, "maxItems": count}

    def read(self, value: Any, path: str, found: Problems) -> Any:
        if not isinstance(value, list | tuple):
            refuse(self, value, path, found)
        elif len(value) != len(self.items):
            found.append(f"expected {len(self.items)} items at {path}, not {len(value)}")
        else:
            pairs = enumerate(zip(self.items, value, strict=True))
            return tuple(kind.read(one, f"{path}[{n}]", found) for n, (kind, one) in pairs)
        return None


@attrs.frozen
class Table:
    """An object with any names."""

    key: JsonType | None  # None for text
    value: JsonType | None  # None for any
    make: Callable[[dict[Any, Any]], Any]
    fits: Callable[[Any], bool] = is_object
    words = "object"

    def schema(self, defs: Schema) -> Schema:
        made: Schema = {"type": "object"}
        if self.key is not None:
            made["propertyNames"] = self.key.schema(defs)
        if self.value is not None:
            made["additionalProperties"] = self.value.schema(defs)
        return made

    def read(self, value: Any, path: str, found: Problems) -> Any:
        if not self.fits(value):
            return refuse(self, value, path, found)
        before, made = len(found), {}
        for name, item in value.items():
            place = f"{path}[{_shown(name)}]"
            key = name if self.key is None else self.key.read(name, f"the name {place}", found)
            known = item if self.value is None else self.value.read(item, place, found)
            if len(found) >= MAX_PROBLEMS:
                break
            if len(found) == before:
                made[key] = known
        return _made(self.make, (made,), {}, path, found) if len(found) == before else None


@attrs.frozen
class Described:
    """A type with words for the model: ``Annotated[T, "text"]``, or in a field's metadata."""

    kind: JsonType
    description: str

    @property
    def words(self) -> str:
        return self.kind.words

    def schema(self, defs: Schema) -> Schema:
        return {**self.kind.schema(defs), "description": self.description}

    def read(self, value: Any, path: str, found: Problems) -> Any:
        return self.kind.read(value, path, found)


@attrs.frozen
class Field:
    """A field of a record: its name in JSON, and as an argument of the constructor."""

    name: str
    argument: str
    kind: JsonType
    required: bool


@attrs.frozen
class Record:
    """An object with known names."""

    name: str
    fields: tuple[Field, ...]
    make: Callable[..., Any]
    words = "object"

    def schema(self, defs: Schema) -> Schema:
        return {
            "type": "object",
            "properties": {field.name: field.kind.schema(defs) for field in self.fields},
            "required": [field.name for field in self.fields if field.required],
            "additionalProperties": False,
        }

    def read(self, value: Any, path: str, found: Problems) -> Any:
        if not is_object(value):
            return refuse(self, value, path, found)
        before = len(found)
        for field in self.fields:
            if field.required and field.name not in value:
                found.append(f"missing {path}.{field.name} ({field.kind.words})")
        known, arguments = {field.name: field for field in self.fields}, {}
        for name, item in value.items():
            if name in known:
                made = known[name].kind.read(item, f"{path}.{name}", found)
                arguments[known[name].argument] = made
            else:
                found.append(f"unknown field {_shown(name)} in {path}")
            if len(found) >= MAX_PROBLEMS:
                break
        return _made(self.make, (), arguments, path, found) if len(found) == before else None

    def describe_fields(self) -> str:
        return ", ".join(
            f"{field.name} ({field.kind.words}{'' if field.required else ', optional'})"
            for field in self.fields
        )

    def is_meant(self, value: Mapping[str, Any]) -> bool:
        """Return whether the fields that tell records apart (``kind: "circle"``) say this one."""
        tags = [field for field in self.fields if isinstance(_bare(field.kind), Choice)]
        return any(tag.name in value for tag in tags) and all(
            _fits(tag.kind, value[tag.name]) for tag in tags if tag.name in value
        )


@attrs.frozen
class Either:
    """One of several types: the first that the value fits, but a number stays what it is."""

    arms: tuple[JsonType, ...]

    @property
    def words(self) -> str:
        return " or ".join(dict.fromkeys(arm.words for arm in self.arms))

    def schema(self, defs: Schema) -> Schema:
        return {"anyOf": [arm.schema(defs) for arm in self.arms]}

    def read(self, value: Any, path: str, found: Problems) -> Any:
        misfits: list[tuple[JsonType, Problems]] = []
        fits: list[Any] = []
        for arm in self.arms:
            problems: Problems = []
            made = arm.read(value, path, problems)
            if problems:
                misfits.append((arm, problems))
            elif made.__class__ is value.__class__ or not isinstance(value, int | float):
                return made
            else:
                fits.append(made)
        if fits:
            return fits[0]
        found += self._misfit(value, path, misfits)
        return None

    def _misfit(
        self, value: Any, path: str, misfits: list[tuple[JsonType, Problems]]
    ) -> Iterable[str]:
        """Return what is wrong: with the arm that is meant, if the value shows which."""
        bare = [(_bare(arm), problems) for arm, problems in misfits]
        near = [(arm, problems) for arm, problems in bare if _is_near(arm, value)]
        meant = [
            (arm, problems)
            for arm, problems in near
            if isinstance(arm, Record) and arm.is_meant(value)
        ]
        if len(meant) == 1 or len(near) == 1:
            return (meant or near)[0][1]
        if not near:
            return [_unexpected(self, value, path)]
        each = [f"as {_name(arm)}: {problems[0]}" for arm, problems in near[:_SHOWN_ARMS]]
        return [f"{path} fits none of its types ({'; '.join(each)})"]


@attrs.frozen
class Pydantic:
    """A model of pydantic, or a dataclass of its: schema and conversion are its own."""

    name: str
    adapter: Any = attrs.field(repr=False)

    @property
    def words(self) -> str:
        return _words_of(self.schema({}))

    def schema(self, defs: Schema) -> Schema:
        made, own = self._schema("")
        if any(name in defs and defs[name] != own[name] for name in own):
            made, own = self._schema(f"{self.name}_{len(defs)}_")
        defs.update(own)
        return made

    def _schema(self, prefix: str) -> tuple[Schema, Schema]:
        made = self.adapter.json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
        return made, {f"{prefix}{name}": one for name, one in made.pop("$defs", {}).items()}

    def read(self, value: Any, path: str, found: Problems) -> Any:
        try:
            return self.adapter.validate_json(json.dumps(value))
        except Exception as error:  # noqa: BLE001 - validators of the user raise what they like
            found += list(_told(error, path)) or [f"{_message(error)} at {path}"]
            return None

    def describe_fields(self) -> str:
        defs: Schema = {}
        form = resolve_root(self.schema(defs), defs)
        needed = form.get("required", ())
        return ", ".join(
            f"{name} ({_words_of(field)}{'' if name in needed else ', optional'})"
            for name, field in form.get("properties", {}).items()
        )


def resolve_root(schema: Schema, defs: Schema) -> Schema:
    """Return a schema that does not begin with a reference, as services want it."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name not in defs:
        return schema
    return {**defs[name], **{key: value for key, value in schema.items() if key != "$ref"}}


def _made(
    make: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, path: str, found: Problems
) -> Any:
    """Return what `make` returns; what it raises is a problem at `path`, in its own words."""
    try:
        return make(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - validators of the user raise what they like
        found.append(f"{_message(error)} at {path}")
        return None


def _message(error: Exception) -> str:
    plain = isinstance(error, ValueError | TypeError | AssertionError)
    text = error_message(error) if plain else ""
    return shorten(text or describe_error(error, _SHOWN_ERROR), _SHOWN_ERROR)


def _told(error: Exception, path: str) -> Iterator[str]:
    """Yield the problems that an error of pydantic lists."""
    listed: Callable[..., Iterable[Any]] | None = getattr(error, "errors", None)
    for problem in listed(include_url=False, include_context=False) if callable(listed) else ():
        steps = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in problem["loc"])
        words = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        yield f"{shorten(words, _SHOWN_ERROR)} at {path}{''.join(steps)}"


def _words_of(schema: Mapping[str, Any]) -> str:
    """Return what messages call a value of a foreign schema."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(map(_words_of, schema[key])))
    if "enum" in schema:
        return "one of " + ", ".join(map(_shown, schema["enum"]))
    if "const" in schema:
        return _shown(schema["const"])
    if "$ref" in schema:
        return "object"
    return _WORDS.get(str(schema.get("type")), "any value")


def _bare(kind: JsonType) -> JsonType:
    while isinstance(kind, Described):
        kind = kind.kind
    return kind


def _fits(kind: JsonType, value: Any) -> bool:
    problems: Problems = []
    kind.read(value, "", problems)
    return not problems


def _is_near(arm: JsonType, value: Any) -> bool:
    """Return whether a value is at least a list or an object, as the type wants it."""
    if isinstance(arm, Record | Table | Pydantic):
        return is_object(value)
    return isinstance(arm, Array | FixedArray) and isinstance(value, list | tuple)


def _name(arm: JsonType) -> str:
    return arm.name if isinstance(arm, Record | Pydantic) else arm.words


def refuse(kind: JsonType, value: Any, path: str, found: Problems) -> None:
    """Add to `found` that a value is not of the type."""
    found.append(_unexpected(kind, value, path))


def _unexpected(kind: JsonType, value: Any, path: str) -> str:
    return f"expected {kind.words} at {path}, not {_shown(value)}"


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = as_text(value)
    return shorten(text, _SHOWN)


_WORDS = {
    "string": "str",
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "null": "null",
    "object": "object",
    "array": "list",
}
