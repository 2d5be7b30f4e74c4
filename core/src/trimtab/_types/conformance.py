"""Whether a JSON value has the form that a schema of ours asks for: nothing is converted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

from trimtab._types.text import as_text, shorten

Schema = Mapping[str, Any]
MAX_PROBLEMS = 8
_SHOWN = 60


def problems_of(schema: Schema, value: Any, path: str) -> list[str]:
    """Return what is wrong with a value, at most `MAX_PROBLEMS` lines; empty if it conforms.

    Args:
        schema: made by `json_schema`.
        value: decoded JSON.
        path: what the messages call the value, e.g. ``"params"``.
    """
    found = []
    for problem in _problems(schema, value, path):
        found.append(problem)
        if len(found) == MAX_PROBLEMS:
            break
    return found


def describe_fields(schema: Schema) -> str:
    """Return the fields of an object in one line: ``path (str), limit (int, optional)``."""
    needed = schema.get("required", ())
    return ", ".join(
        f"{name} ({expected(field)}{'' if name in needed else ', optional'})"
        for name, field in schema.get("properties", {}).items()
    )


def expected(schema: Schema) -> str:
    """Return the name of what a schema asks for, as messages say it."""
    if "enum" in schema:
        return "one of " + ", ".join(_shown(member) for member in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(expected(arm) for arm in schema["anyOf"]))
    if "format" in schema:
        return _FORMATS[schema["format"]][0]
    kind = schema.get("type")
    return _WORDS.get(kind, "any value") if isinstance(kind, str) else "any value"


def _problems(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if "anyOf" in schema:
        yield from _none_fits(schema, value, path)
    elif "enum" in schema:
        if not any(_same(value, member) for member in schema["enum"]):
            yield _unexpected(schema, value, path)
    elif "type" in schema and not _is_of(schema, value):
        yield _unexpected(schema, value, path)
    elif schema.get("type") == "object":
        yield from _in_object(schema, value, path)
    elif schema.get("type") == "array":
        yield from _in_array(schema, value, path)


def _none_fits(schema: Schema, value: Any, path: str) -> Iterator[str]:
    """Yield the problems of the only arm that takes such a value, if there is one."""
    arms = schema["anyOf"]
    if any(not problems_of(arm, value, path) for arm in arms):
        return
    close = [arm for arm in arms if "type" in arm and _is_of(arm, value)]
    if len(close) == 1:
        yield from _problems(close[0], value, path)
    else:
        yield _unexpected(schema, value, path)


def _in_object(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[str]:
    fields: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"missing {path}.{name} ({expected(fields[name])})"
    others = schema.get("additionalProperties", {})
    for name, item in value.items():
        if name in fields:
            yield from _problems(fields[name], item, f"{path}.{name}")
        elif others is False:
            yield f"unknown field {_shown(name)} in {path}"
        else:
            yield from _problems(others, item, f"{path}[{_shown(name)}]")


def _in_array(schema: Schema, value: list[Any], path: str) -> Iterator[str]:
    each = schema.get("prefixItems")
    if each is None:
        for index, item in enumerate(value):
            yield from _problems(schema.get("items", {}), item, f"{path}[{index}]")
    elif len(each) != len(value):
        yield f"expected {len(each)} items at {path}, not {len(value)}"
    else:
        for index, (arm, item) in enumerate(zip(each, value, strict=True)):
            yield from _problems(arm, item, f"{path}[{index}]")


def _unexpected(schema: Schema, value: Any, path: str) -> str:
    return f"expected {expected(schema)} at {path}, not {_shown(value)}"


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = as_text(value)
    return shorten(text, _SHOWN)


def _is_of(schema: Schema, value: Any) -> bool:
    if not _KINDS[schema["type"]](value):
        return False
    return "format" not in schema or _is_read(_FORMATS[schema["format"]][1], value)


def _is_read(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


def _is_finite(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or math.isfinite(value))


def _same(value: Any, member: Any) -> bool:
    return bool(value == member) and isinstance(value, bool) is isinstance(member, bool)


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_whole,
    "number": _is_finite,
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, Mapping) and all(isinstance(n, str) for n in value),
    "array": lambda value: isinstance(value, list | tuple),
}
_FORMATS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "date": ("a date (YYYY-MM-DD)", date.fromisoformat),
    "date-time": ("a time (YYYY-MM-DDTHH:MM:SSZ)", datetime.fromisoformat),
}
_WORDS = {
    "string": "str",
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "null": "null",
    "object": "object",
    "array": "list",
}
