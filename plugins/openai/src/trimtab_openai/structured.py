"""Structured output: the schema that the service gets, and its answer as an object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import attrs

from trimtab import PromptEvaluationError, json_schema
from trimtab.hosting import from_json
from trimtab_openai.reply import Json

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


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

        Raises:
            PromptEvaluationError: it is no JSON, or does not fit.
        """
        try:
            return from_json(self.output_type, json.loads(text), name="output")
        except (ValueError, RecursionError) as error:
            name = self.output_type.__name__
            raise PromptEvaluationError(f"the final answer is no {name}: {error}") from error


def can_be_strict(schema: Any) -> bool:
    """Whether the service's strict mode can say all of `schema`: no open objects, no tuples."""
    if not schema or "prefixItems" in schema:
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
