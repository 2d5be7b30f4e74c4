"""One response of a model, in one form for both APIs."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import attrs

from trimtab import ToolCall, Usage
from trimtab.hosting import append_text
from trimtab.text import quote, replace_surrogates
from trimtab_openai._errors import ModelFailed

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
    """Return the content of a message with `text` as its last paragraph.

    Args:
        content: text or a list of parts.
        text: what is appended.
        part: the type of a text part in this API.
    """
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
