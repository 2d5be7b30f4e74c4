"""Tool calls that a model wrote as text instead of asking for them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from trimtab import ToolCall
from trimtab_openai._model_response import make_call_id

_OPEN, _CLOSE, _FENCE = "<tool_call>", "</tool_call>", "```"
_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "params", "args", "input")
_OTHERS = frozenset({"type", "id"})


@attrs.frozen
class TextCalls:
    """Calls found in a text.

    Args:
        calls: the calls, with identifiers made up here.
        text: what the model says besides.
    """

    calls: tuple[ToolCall, ...]
    text: str


def read_text_calls(text: str, tools: Collection[str]) -> TextCalls | None:
    """Return the calls that `text` consists of or ends with; None if that is not certain.

    A call is certain if it is in ``<tool_call>`` tags, or is the whole text or a fence at its
    end; if it names one of `tools`; if its arguments are an object; and if nothing else in
    the text looks like a call.

    Args:
        text: what the model answered.
        tools: names of the tools that it may call.
    """
    before, bodies = _bodies(text.strip())
    calls = [_call(body, tools) for body in bodies]
    found = [call for call in calls if call is not None]
    if not found or len(found) != len(calls):
        return None
    return TextCalls(tuple(found), before.strip())


def _bodies(text: str) -> tuple[str, list[str]]:
    """Return what stands before the calls, and the texts that may be calls."""
    if _OPEN in text:
        before, *tagged = text.split(_OPEN)
        return before, [_between_tags(part) for part in tagged]
    if text.endswith(_FENCE) and text.count(_FENCE) == 2:
        before, fenced, _ = text.split(_FENCE)
        first, _, rest = fenced.partition("\n")
        return before, [fenced if first.lstrip().startswith("{") else rest]
    return "", [text] if text.startswith("{") else []


def _between_tags(part: str) -> str:
    """Return the body of a tag; empty, so no call, if text follows it or it is left open."""
    body, closed, after = part.partition(_CLOSE)
    return body if closed and not after.strip() else ""


def _call(body: str, tools: Collection[str]) -> ToolCall | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    described = inner if isinstance(inner, Mapping) else value
    names = list(_values(described, (*_NAMES, "function")))
    given = list(_values(described, _ARGUMENTS))
    known = {*_NAMES, "function", *_ARGUMENTS, *_OTHERS}
    if len(names) != 1 or names[0] not in tools or set(described) - known or len(given) > 1:
        return None
    arguments = given[0] if given else {}
    return (
        ToolCall(names[0], arguments, make_call_id(None)) if isinstance(arguments, dict) else None
    )


def _values(value: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[Any]:
    for name in names:
        if name in value:
            yield value[name]
