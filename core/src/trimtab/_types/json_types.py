"""Types as JSON has them: the schema of each, and how a JSON value becomes an object of it.

`annotations` makes these from the annotations of a class, once; schema, conversion and messages
all follow from the same tree, so that what a schema admits is also what is converted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from trimtab._types.text import as_text, describe_error, error_message, shorten

Schema = dict[str, Any]
Problems = list[str]
MAX_PROBLEMS = 8
_SHOWN = 60
_SHOWN_ERROR = 300
_SHOWN_ARMS = 4
"""What a model reads when its arguments don't fit: enough to correct the call, in a few lines."""


class Misfit(Exception):
    """A value is not of the type at all."""


@attrs.frozen(eq=False)
class JsonType:
    """A type that JSON values can be read as.

    Args:
        schema: its JSON Schema.
        convert: returns a value as an object of the type, and adds to a list what is wrong at and
            below a path; raises `Misfit` if the value is not of the type.
        name: of a record; empty for other types.
        told: what messages call a value, where the schema does not say.
    """

    schema: Schema
    convert: Callable[[Any, str, Problems], Any]
    name: str = ""
    told: str = ""

    @property
    def words(self) -> str:
        return self.told or words_of(self.schema)

    def read(self, value: Any, path: str, found: Problems) -> Any:
        """Return `value` as an object of this type; else add to `found` what is wrong where."""
        try:
            return self.convert(value, path, found)
        except Misfit:
            found.append(f"expected {self.words} at {path}, not {_shown(value)}")
        except Exception as error:  # noqa: BLE001 - validators of the user raise what they like
            found.append(f"{_message(error)} at {path}")
        return None


def is_object(value: Any) -> bool:
    """Return whether a value is what JSON calls an object."""
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def is_list(value: Any) -> bool:
    """Return whether a value is what JSON calls an array."""
    return isinstance(value, list | tuple)


ANYTHING = JsonType({}, lambda value, _, __: value)


def scalar(
    schema: Schema,
    fits: Callable[[Any], bool],
    make: Callable[[Any], Any] = lambda value: value,
    *,
    words: str = "",
) -> JsonType:
    """Return the type of texts, numbers and what is written as text."""

    def convert(value: Any, _: str, __: Problems) -> Any:
        if not fits(value):
            raise Misfit
        try:
            return make(value)
        except (ValueError, OverflowError):
            raise Misfit from None

    return JsonType(schema, convert, told=words)


def choice(members: Sequence[tuple[Any, Any]]) -> JsonType:
    """Return the type of some values: the JSON value of each, and what it becomes."""

    def convert(value: Any, _: str, __: Problems) -> Any:
        for member, made in members:
            if _is_same(value, member) or value is made:
                return made
        raise Misfit

    return JsonType({"enum": [value for value, _ in members]}, convert)


def array(
    item: JsonType, make: Callable[[list[Any]], Any], fits: Callable[[Any], bool] = is_list
) -> JsonType:
    """Return the type of a list of any length whose items are of one type."""

    def convert(value: Any, path: str, found: Problems) -> Any:
        if not fits(value):
            raise Misfit
        before, made = len(found), []
        for index, one in enumerate(value):
            made.append(item.read(one, f"{path}[{index}]", found))
            if len(found) >= MAX_PROBLEMS:
                break
        return make(made) if len(found) == before else None

    return JsonType({"type": "array", "items": item.schema}, convert)


def fixed_array(items: Sequence[JsonType]) -> JsonType:
    """Return the type of a list with a type for each place, which becomes a tuple."""
    count = len(items)

    def convert(value: Any, path: str, found: Problems) -> Any:
        if not is_list(value):
            raise Misfit
        if len(value) != count:
            return found.append(f"expected {count} items at {path}, not {len(value)}")
        pairs = enumerate(zip(items, value, strict=True))
        return tuple(kind.read(one, f"{path}[{n}]", found) for n, (kind, one) in pairs)

    schema: Schema = {"type": "array", "maxItems": count}
    if count:
        schema |= {"prefixItems": [item.schema for item in items], "minItems": count}
    return JsonType(schema, convert)


def table(
    key: JsonType,
    value: JsonType,
    make: Callable[[dict[Any, Any]], Any],
    fits: Callable[[Any], bool] = is_object,
) -> JsonType:
    """Return the type of an object with any names."""

    def convert(given: Any, path: str, found: Problems) -> Any:
        if not fits(given):
            raise Misfit
        before, made = len(found), {}
        for name, item in given.items():
            place = f"{path}[{_shown(name)}]"
            read = key.read(name, f"the name {place}", found)
            known = value.read(item, place, found)
            if len(found) >= MAX_PROBLEMS:
                break
            if len(found) == before:
                made[read] = known
        return make(made) if len(found) == before else None

    schema: Schema = {"type": "object", "additionalProperties": value.schema}
    if key.schema not in ({}, {"type": "string"}):
        schema["propertyNames"] = key.schema
    return JsonType(schema, convert)


def record(
    name: str,
    fields: Mapping[str, tuple[str, JsonType]],
    required: Sequence[str],
    make: Callable[..., Any],
) -> JsonType:
    """Return the type of an object with known names.

    Args:
        name: of its class.
        fields: the arguments of `make` and their types, by their names in JSON.
        required: names of the fields that have no default.
        make: makes the object.
    """

    def convert(value: Any, path: str, found: Problems) -> Any:
        if not is_object(value):
            raise Misfit
        before, arguments = len(found), {}
        for one in required:
            if one not in value:
                found.append(f"missing {path}.{one} ({fields[one][1].words})")
        for one, item in value.items():
            if one in fields:
                argument, kind = fields[one]
                arguments[argument] = kind.read(item, f"{path}.{one}", found)
            else:
                found.append(f"unknown field {_shown(one)} in {path}")
            if len(found) >= MAX_PROBLEMS:
                break
        return make(**arguments) if len(found) == before else None

    schema = {
        "type": "object",
        "properties": {one: kind.schema for one, (_, kind) in fields.items()},
        "required": [*required],
        "additionalProperties": False,
    }
    return JsonType(schema, convert, name)


def either(arms: Sequence[JsonType]) -> JsonType:
    """Return one of several types: the first that a value fits, but a number stays what it is."""

    def convert(value: Any, path: str, found: Problems) -> Any:
        misfits: list[tuple[JsonType, Problems]] = []
        fits: list[Any] = []
        for arm in arms:
            problems: Problems = []
            made = arm.read(value, path, problems)
            if problems:
                misfits.append((arm, problems))
            elif made.__class__ is value.__class__ or not isinstance(value, int | float):
                return made
            else:
                fits.append(made)
        if not fits:
            found += _misfit(value, path, misfits)
            return None
        return fits[0]

    words = " or ".join(dict.fromkeys(arm.words for arm in arms))
    return JsonType({"anyOf": [arm.schema for arm in arms]}, convert, told=words)


def _misfit(value: Any, path: str, misfits: list[tuple[JsonType, Problems]]) -> Iterable[str]:
    """Return what is wrong: with the arm that is meant, if the value shows which."""
    near = [(arm, problems) for arm, problems in misfits if _is_near(arm.schema, value)]
    meant = [problems for arm, problems in near if _is_meant(arm.schema, value)]
    if not near:
        raise Misfit
    if len(meant) == 1 or len(near) == 1:
        return meant[0] if meant else near[0][1]
    each = [f"as {arm.name or arm.words}: {problems[0]}" for arm, problems in near[:_SHOWN_ARMS]]
    return [f"{path} fits none of its types ({'; '.join(each)})"]


def _is_near(schema: Schema, value: Any) -> bool:
    """Return whether a value is at least a list or an object, as the type wants it."""
    if "$ref" in schema or schema.get("type") == "object":
        return is_object(value)
    return schema.get("type") == "array" and is_list(value)


def _is_meant(schema: Schema, value: Any) -> bool:
    """Return whether the fields that tell records apart (``kind: "circle"``) say this one."""
    tags = [
        any(_is_same(value[name], one) for one in field["enum"])
        for name, field in schema.get("properties", {}).items()
        if "enum" in field and name in value
    ]
    return bool(tags) and all(tags)


def _is_same(value: Any, member: Any) -> bool:
    return bool(value == member) and isinstance(value, bool) is isinstance(member, bool)


def pydantic(name: str, adapter: Any, defs: Schema) -> JsonType:
    """Return the type of a model of pydantic: schema and conversion are its own.

    What the schema refers to by name is put into `defs`.
    """

    def refer(prefix: str) -> tuple[Schema, Schema]:
        made = adapter.json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
        return made, {f"{prefix}{one}": form for one, form in made.pop("$defs", {}).items()}

    def convert(value: Any, path: str, found: Problems) -> Any:
        try:
            return adapter.validate_json(json.dumps(value))
        except Exception as error:
            if not (told := list(_told(error, path))):
                raise
            found += told

    schema, own = refer("")
    if any(one in defs and defs[one] != form for one, form in own.items()):
        schema, own = refer(f"{name}_{len(defs)}_")
    defs.update(own)
    return JsonType(schema, convert, name)


def _told(error: Exception, path: str) -> Iterator[str]:
    """Yield the problems that an error of pydantic lists."""
    listed: Callable[..., Iterable[Any]] | None = getattr(error, "errors", None)
    for problem in listed(include_url=False, include_context=False) if callable(listed) else ():
        steps = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in problem["loc"])
        words = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        yield f"{shorten(words, _SHOWN_ERROR)} at {path}{''.join(steps)}"


def _message(error: Exception) -> str:
    plain = isinstance(error, ValueError | TypeError | AssertionError)
    text = error_message(error) if plain else ""
    return shorten(text or describe_error(error, _SHOWN_ERROR), _SHOWN_ERROR)


def words_of(schema: Mapping[str, Any]) -> str:
    """Return what messages call a value of a schema, whoever made it."""
    if schema.get("anyOf") == DECIMAL["anyOf"]:
        return "a decimal number"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(map(words_of, schema[key])))
    if "enum" in schema:
        return "one of " + ", ".join(map(_shown, schema["enum"]))
    if "const" in schema:
        return _shown(schema["const"])
    if "$ref" in schema:
        return "object"
    kinds = schema.get("type", "any value")
    kind = kinds if isinstance(kinds, str) else " or ".join(map(str, kinds))
    return _FORMATS.get(str(schema.get("format")), kind)


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = as_text(value)
    return shorten(text, _SHOWN)


WHOLE_PATTERN = r"-?(0|[1-9][0-9]*)"
DECIMAL_PATTERN = rf"{WHOLE_PATTERN}(\.[0-9]+)?([eE][+-]?[0-9]{{1,15}})?"
"""Python's decimals refuse exponents of 19 digits."""
DECIMAL = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{DECIMAL_PATTERN}$"}],
}
_FORMATS = {
    "date": "a date (YYYY-MM-DD)",
    "date-time": "a time (YYYY-MM-DDTHH:MM:SSZ)",
    "time": "a time of day (HH:MM:SS)",
    "uuid": "a UUID",
}
