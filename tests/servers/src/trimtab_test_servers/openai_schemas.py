"""JSON Schema as the OpenAI service takes it, for functions and for structured outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from trimtab_test_servers.loopback import Refused

FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

Schema = Mapping[str, Any]
Context = tuple[str, ...]


def check_name(name: Any, param: str) -> None:
    """A function's or format's name."""
    if not isinstance(name, str):
        raise Refused(
            f"Missing required parameter: '{param}'.",
            param=param,
            code="missing_required_parameter",
        )
    if not FUNCTION_NAME.fullmatch(name):
        raise Refused(
            f"Invalid '{param}': string does not match pattern. Expected a string that matches the"
            " pattern '^[a-zA-Z0-9_-]+$'.",
            param=param,
            code="invalid_value",
        )


def check_schema(schema: Any, *, what: str, param: str, code: str, strict: bool) -> None:
    """Raise `Refused` where ``schema`` is none, or breaks the rules of strict mode."""
    problem = _problem(schema) or (next(_strict_problems(schema, ()), None) if strict else None)
    if problem:
        raise Refused(f"Invalid schema for {what}: {problem}", param=param, code=code)


def _problem(schema: Any) -> str | None:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind != "object":
        found = "None" if kind is None else kind
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{found}\"'."
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"{error.message}."
    return None


def _strict_problems(schema: Schema, context: Context) -> Iterator[str]:
    if "properties" in schema or schema.get("type") == "object":
        yield from _object_problems(schema, context)
    for step, part in _parts(schema):
        yield from _strict_problems(part, (*context, *step))


def _object_problems(schema: Schema, context: Context) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield (
            f"In context={context}, 'additionalProperties' is required to be supplied and to be"
            " false."
        )
    for name in schema.get("properties", {}):
        if name not in schema.get("required", []):
            yield (
                f"In context={context}, 'required' is required to be supplied and to be an array"
                f" including every key in properties. Missing '{name}'."
            )


def _parts(schema: Schema) -> Iterator[tuple[Context, Schema]]:
    for group in ("properties", "$defs"):
        for name, part in schema.get(group, {}).items():
            yield (group, name), part
    for index, part in enumerate(schema.get("anyOf", [])):
        yield ("anyOf", str(index)), part
    if isinstance(schema.get("items"), Mapping):
        yield ("items",), schema["items"]
