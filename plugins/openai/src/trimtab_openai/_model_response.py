"""One response of a model, in one form for both APIs: calls, structured output, errors."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

import attrs

from trimtab import PromptEvaluationError, Tool, ToolCall, TrimtabError, Usage
from trimtab.hosting import append_text, from_json, json_schema
from trimtab.text import quote, replace_surrogates, shorten


class ClientMismatch(TrimtabError):
    """A synchronous client was given where an asynchronous one is needed, or the reverse."""


class ModelFailed(PromptEvaluationError):
    """The service answered, and what it answered is a failure or no answer at all."""


class LoopStopped(PromptEvaluationError):
    """The loop ended before the agent did.

    Args:
        text: why.
        messages: the conversation so far, to read or to go on with.
    """

    def __init__(self, text: str, messages: Iterable[Any] = ()) -> None:
        super().__init__(text)
        self.messages = list(messages)


class TurnLimitReached(LoopStopped):
    """The model has answered `max_turns` times without coming to an end."""


class Exhausted(LoopStopped):
    """The deadline has passed or the budget is used up."""


class UnmeasuredBudget(UserWarning):
    """A limit of the budget can't hold, because the service reports no usage or no price."""


Json = dict[str, Any]
TRUNCATED = frozenset(
    {"length", "max_tokens", "max_output_tokens", "content_filter", "incomplete", "safety"}
)
"""Stop reasons of responses that lack their end."""
Read = TypeVar("Read", bound=Callable[..., Any])


@attrs.frozen(kw_only=True)
class ModelResponse:
    """One response of the model.

    Args:
        items: what it adds to the conversation, in the API's own form.
        text: what it says to the user.
        refusal: what it says instead if it refuses.
        reasoning: its visible thinking.
        tool_calls: what it asks for; `params` is the raw text if that is not a JSON object.
        usage: tokens, if the service reports them.
        stop_reason: why the service ended the response, in its words.
        model: which model answered; empty if the service does not say.
    """

    items: tuple[Json, ...]
    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop_reason: str | None = None
    model: str = ""

    @property
    def truncated(self) -> bool:
        """Whether the service cut the response off, or filtered it."""
        return (self.stop_reason or "").lower() in TRUNCATED


def field(value: Any, name: str) -> Any:
    """Return one field of a client's object or of a decoded response; None if absent."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def as_dict(value: Any) -> Json:
    """Return a client's object, or a decoded one, as a dict without nulls; empty for None."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if item is not None}
    dumped: Json = value.model_dump(exclude_none=True, warnings=False)
    return dumped


def as_messages(given: Any) -> list[Any]:
    """Return a conversation as a list; a string is what the user says, a mapping one message."""
    if isinstance(given, str):
        return [{"role": "user", "content": replace_surrogates(given)}]
    return [given] if isinstance(given, Mapping) else list(given)


def model_of(response: Any) -> str:
    """Return the model that a response, or a piece of a stream, names; empty if none."""
    name = field(response, "model")
    return name[:200] if isinstance(name, str) else ""


def provider_of(host: str, model: str) -> str:
    """Return whose service answered, as the conventions of OpenTelemetry name it.

    Args:
        host: the name of the host; another service behind OpenAI's client is told as OpenAI's.
        model: as ``provider/model`` where one client serves several; else of no matter.
    """
    prefix, divided, _ = model.partition("/")
    return prefix if divided and host != "openai" else "openai" if host == "openai" else ""


def append_to(content: Any, text: str, *, part: str) -> Any:
    """Return the content of a message with `text` as its last paragraph."""
    if isinstance(content, list | tuple):
        return [*content, {"type": part, "text": text}]
    return append_text(content, text) if content else text


def text_of(content: Any) -> str:
    """Return the text of a content; some services send parts, including thinking."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(field(part, "text") or "" for part in content)


def without_surrogates(value: Any) -> Any:
    """Return a decoded value whose texts all are UTF-8, so that it can be sent back."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {replace_surrogates(name): without_surrogates(item) for name, item in value.items()}
    return [without_surrogates(item) for item in value] if isinstance(value, list) else value


def as_json(given: Any) -> str:
    """Return the arguments of a call as text; some services send the object."""
    return given if isinstance(given, str) else json.dumps(given)


def decode_errors(read: Read) -> Read:
    """Make `read` raise `ModelFailed` where a service's answer is of no known form."""

    @functools.wraps(read)
    def checked(self: Any, *given: Any) -> Any:
        try:
            return read(self, *given)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            told = quote(f"{type(error).__name__}: {error}")
            raise ModelFailed(f"the service's answer can't be read: {told}") from error

    return cast("Read", checked)


def parse_arguments(text: Any) -> Any:
    """Return the arguments of a call; the text itself where it is not a JSON object.

    Some services send the object and not its text.
    """
    if not text:
        return {}
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


UNNAMED = "unnamed_tool"
"""Stands for the name of a call that has none: services refuse a history without it."""


def call_name(given: Any) -> str:
    """Return the name of a call as the model gave it; `UNNAMED` if it gave none."""
    return given if isinstance(given, str) and given else UNNAMED


def make_call_id(given: Any) -> str:
    """Return the id of a call; some services give none, and then one is made up."""
    return str(given) if given else f"call_{os.urandom(8).hex()}"


def read_usage(used: Any, response: Any = None) -> Usage | None:
    """Return tokens and, if the service or litellm reports it, cost; None if nothing is reported.

    Args:
        used: the ``usage`` of a response.
        response: the response itself; litellm keeps the price in its ``_hidden_params``.
    """
    if used is None:
        return None
    details = field(used, "prompt_tokens_details") or field(used, "input_tokens_details")
    return Usage(
        _count(field(used, "prompt_tokens")) or _count(field(used, "input_tokens")),
        _count(field(used, "completion_tokens")) or _count(field(used, "output_tokens")),
        _reported_cost(used, response),
        cached_tokens=_count(field(details, "cached_tokens")),
    )


def _reported_cost(used: Any, response: Any) -> float:
    more = used if isinstance(used, dict) else getattr(used, "model_extra", None) or {}
    hidden = getattr(response, "_hidden_params", None)
    priced = hidden.get("response_cost") if isinstance(hidden, dict) else None
    for cost in (more.get("cost"), priced):
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e12:
            return float(cost)
    return 0.0


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value is not True and 0 < value < 1 << 62 else 0


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
        """Return the form of a prompt's output; None for free text."""
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
    """Return the JSON value that `text` is, or the only one that it holds, else a ValueError."""
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
    """Return a tool as both APIs take it; `strict` holds the model to the schema, if it can."""
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
