"""Structured output and strict tools: the schema that the service gets, and its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from trimtab import PromptEvaluationError, Tool
from trimtab.hosting import from_json, json_schema
from trimtab.text import shorten
from trimtab_openai._model_response import Json

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_FENCE = "```"
_SHOWN = 300
_STRICT = {
    *("type", "description", "enum", "anyOf", "items", "format"),
    *("properties", "required", "additionalProperties"),
}
"""Keywords that our schemas use and that strict mode takes; models of pydantic bring others."""


@attrs.frozen
class OutputForm:
    """What a final answer must look like.

    Args:
        output_type: the attrs class or dataclass that it becomes.
        schema: its JSON Schema.
        strict: whether the service can hold the model to it.
    """

    output_type: type[Any]
    schema: Json
    strict: bool

    @classmethod
    def of(cls, output_type: type[Any] | None) -> OutputForm | None:
        """Return the form of a prompt's output; None for free text.

        Raises:
            ToolError: the type has no counterpart in JSON Schema.
        """
        if output_type is None or output_type is str:
            return None
        schema = json_schema(output_type)
        strict = can_be_strict(schema)
        return cls(output_type, all_required(schema) if strict else schema, strict)

    def describe(self) -> Json:
        """Return name, schema and strictness, as both APIs take them."""
        name = _UNFIT.sub("_", self.output_type.__name__)[:64]
        return {"name": name, "schema": self.schema, "strict": self.strict}

    def parse(self, text: str) -> Any:
        """Return the model's final text as an object.

        The text may be JSON, or hold one JSON object, in a fence or among prose.

        Raises:
            PromptEvaluationError: it holds no JSON, or does not fit; quotes the text.
        """
        try:
            return from_json(self.output_type, decode_answer(text), name="output")
        except (ValueError, RecursionError) as error:
            name = self.output_type.__name__
            raise PromptEvaluationError(
                f"the final answer is not a valid {name}: {error}. The answer: "
                f"{shorten(text, _SHOWN) or 'empty'}"
            ) from error

    def request_again(self, problem: str) -> str:
        """Return the message that asks the model for a valid answer."""
        return (
            f"{problem}\nAnswer again with one JSON object and nothing else. Its JSON Schema: "
            f"{json.dumps(self.schema)}"
        )


def decode_answer(text: str) -> Any:
    """Return the JSON value that `text` is, or the only one that it holds.

    Raises:
        ValueError: it holds none, or several.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        found = [value for value in _enclosed(text) if isinstance(value, dict)]
        if len(found) == 1:
            return found[0]
        what = f"it holds {len(found)} JSON objects" if found else f"it is not JSON: {error}"
        raise ValueError(what) from error


def _enclosed(text: str) -> Iterator[Any]:
    """Yield the values in fences; without fences, the object from the first brace to the last."""
    parts = text.split(_FENCE)
    if len(parts) < 3:
        begin, end = text.find("{"), text.rfind("}")
        parts = ["", text[begin : end + 1]] if 0 <= begin < end else []
    for block in parts[1::2]:
        opening, _, rest = block.partition("\n")
        body = block if opening.lstrip().startswith(("{", "[")) else rest
        try:
            yield json.loads(body)
        except (ValueError, RecursionError):
            continue


def describe_tool(tool: Tool[Any, Any], *, strict: bool) -> Json:
    """Return name, description and parameters of a tool, as both APIs take them.

    Args:
        strict: ask the service to hold the model to the schema, if it can express it.
    """
    schema = tool.schema
    described: Json = {"name": tool.name, "description": tool.description, "parameters": schema}
    if strict and can_be_strict(schema):
        described |= {"parameters": all_required(schema), "strict": True}
    return described


def can_be_strict(schema: Any) -> bool:
    """Return whether strict mode can express `schema`: no open objects, no tuples, no models."""
    if not schema or not schema.keys() <= _STRICT:
        return False
    if schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False
        return closed and all(map(can_be_strict, schema["properties"].values()))
    if schema.get("type") == "array":
        return can_be_strict(schema.get("items"))
    return all(map(can_be_strict, schema.get("anyOf", ())))


def all_required(schema: Any) -> Any:
    """Return `schema` with every property required, as strict mode wants it.

    What fits the result fits the original: the model only has to write out what it could have
    left to a default.
    """
    if isinstance(schema, list):
        return [all_required(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {name: all_required(item) for name, item in schema.items()}
    if made.get("type") == "object" and isinstance(made.get("properties"), dict):
        made["required"] = list(made["properties"])
    return made
