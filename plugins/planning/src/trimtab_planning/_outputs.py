"""Inputs and outputs of stages as the types that their schemas name."""

from __future__ import annotations

import json
from typing import Any

from trimtab import PromptResponse, TrimtabError
from trimtab.hosting import from_json, to_json
from trimtab_planning._policy import Failure, FailureKind
from trimtab_planning._stages import StageDefinition


def output_of(stage: StageDefinition, response: PromptResponse[Any]) -> Any:
    """Return the typed output.

    Raises:
        ValueError: there is none, or it does not fit; the message is meant for the model.
    """
    kind = stage.output
    if kind is None:
        return response.output if response.output is not None else response.text
    if isinstance(response.output, kind):
        return response.output
    value = response.output if response.output is not None else response.text
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the output is no {kind.__name__}: no JSON, {error}") from None
    if value is None:
        raise ValueError(f"there is no output; a {kind.__name__} is needed")
    return from_json(kind, to_json(value), name="output")


def typed_output(stage: StageDefinition, value: Any) -> Any:
    """Return the output that an event holds as JSON, as its type."""
    kind = stage.output
    return value if kind is None or value is None else from_json(kind, value, name="output")


def fitting_input(kind: type[Any] | None, value: Any) -> Any:
    """Return an input as its type.

    Raises:
        ValueError: it does not fit.
    """
    if kind is None or isinstance(value, kind):
        return value
    return from_json(kind, to_json(value), name="input")


def evaluation_failure(stage: StageDefinition, error: TrimtabError) -> Failure:
    """Return what it means that an evaluation raised `error`."""
    kind = FailureKind.SCHEMA if stage.output is not None else FailureKind.EVALUATION
    return Failure(kind, error_words(error))


def error_words(error: Exception) -> str:
    """Return the text of an error, never empty."""
    return str(error) or type(error).__name__
