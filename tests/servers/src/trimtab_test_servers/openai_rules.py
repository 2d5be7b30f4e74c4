"""What both endpoints of the OpenAI service refuse, in its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab_test_servers.loopback import Refused
from trimtab_test_servers.openai_schemas import check_name, check_schema


def check_key(headers: Mapping[str, str]) -> None:
    """Authentication."""
    if not headers.get("authorization", "").startswith("Bearer "):
        raise Refused(
            "You didn't provide an API key. You need to provide your API key in an Authorization"
            " header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            status=401,
        )


def check_common(body: Mapping[str, Any]) -> None:
    """Fields that mean the same on both endpoints."""
    if not body.get("model"):
        raise Refused("you must provide a model parameter")
    if body.get("tools") == []:
        raise empty_array("tools")
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in body and not body.get("tools"):
            raise Refused(f"'{name}' is only allowed when 'tools' are specified.", param=name)


def check_function(function: Mapping[str, Any], param: str) -> None:
    """One function that the model may call."""
    name = function.get("name")
    check_name(name, f"{param}.name")
    check_schema(
        function.get("parameters") or {"type": "object"},
        what=f"function '{name}'",
        param=f"{param}.parameters",
        code="invalid_function_parameters",
        strict=bool(function.get("strict")),
    )


def check_format(form: Mapping[str, Any], param: str) -> None:
    """The schema of a structured output."""
    name = form.get("name")
    check_name(name, f"{param}.name")
    check_schema(
        form.get("schema"),
        what=f"response_format '{name}'",
        param=f"{param}.schema",
        code="invalid_json_schema",
        strict=bool(form.get("strict")),
    )


def check_speaks_of_json(conversation: Any, param: str) -> None:
    """JSON mode wants the word in the conversation."""
    if "json" not in str(conversation).lower():
        raise Refused(
            f"'{param}' must contain the word 'json' in some form, to use 'response_format' of type"
            " 'json_object'.",
            param=param,
        )


def missing(param: str) -> Refused:
    """A required parameter is not there."""
    message = f"Missing required parameter: '{param}'."
    return Refused(message, param=param, code="missing_required_parameter")


def empty_array(param: str) -> Refused:
    """An array that must not be empty is."""
    message = (
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty"
        " array instead."
    )
    return Refused(message, param=param, code="empty_array")


def bad_value(value: Any, supported: tuple[str, ...], param: str) -> Refused:
    """A value outside its enumeration."""
    *most, last = [f"'{name}'" for name in supported]
    listed = f"{', '.join(most)}, and {last}"
    message = f"Invalid value: '{value}'. Supported values are: {listed}."
    return Refused(message, param=param, code="invalid_value")
