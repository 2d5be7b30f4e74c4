"""One answer of a model, told one way for both APIs."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import attrs

from trimtab import ToolCall, Usage, quote
from trimtab.hosting import replace_surrogates
from trimtab_openai.errors import ModelFailed

Json = dict[str, Any]
Read = TypeVar("Read", bound=Callable[..., Any])


@attrs.frozen(kw_only=True)
class Reply:
    """One response of the model.

    Args:
        items: what it adds to the conversation, in the API's own form.
        text: what it said; `refusal` holds its words where it refused.
        reasoning: its visible thinking.
        tool_calls: what it asked for; `params` is the raw text where that is no JSON object.
        usage: tokens, where the service tells them.
        stop_reason: the service's word for why it stopped.
    """

    items: tuple[Json, ...]
    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop_reason: str | None = None


def field(value: Any, name: str) -> Any:
    """Return one field of a client's object or of a decoded response; None where absent."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def plain(value: Any) -> Json:
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


def words(content: Any) -> str:
    """Return the words of a content; some services send parts, thinking among them."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(field(part, "text") or "" for part in content)


def wholly(value: Any) -> Any:
    """Return a decoded value whose texts all are UTF-8, so that it can be sent back."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {replace_surrogates(name): wholly(item) for name, item in value.items()}
    return [wholly(item) for item in value] if isinstance(value, list) else value


def as_json(given: Any) -> str:
    """Return the arguments of a call as text; some services send the object."""
    return given if isinstance(given, str) else json.dumps(given)


def readable(read: Read) -> Read:
    """Make `read` raise `ModelFailed` where a service's answer is of no known form."""

    @functools.wraps(read)
    def checked(self: Any, *given: Any) -> Any:
        try:
            return read(self, *given)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            told = quote(f"{type(error).__name__}: {error}")
            raise ModelFailed(f"the service's answer can't be read: {told}") from error

    return cast("Read", checked)


def arguments(text: Any) -> Any:
    """Return the arguments of a call; the text itself where it is no JSON object.

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


def call_id(given: str | None) -> str:
    """Return the id of a call; some services give none, and then one is made up."""
    return given or f"call_{os.urandom(8).hex()}"


def usage(value: Any) -> Usage | None:
    """Return tokens and, where the service tells it, cost."""
    if value is None:
        return None
    more = value if isinstance(value, dict) else getattr(value, "model_extra", None) or {}
    cost = more.get("cost")
    return Usage(
        _count(field(value, "prompt_tokens")) or _count(field(value, "input_tokens")),
        _count(field(value, "completion_tokens")) or _count(field(value, "output_tokens")),
        cost if isinstance(cost, int | float) else 0.0,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
