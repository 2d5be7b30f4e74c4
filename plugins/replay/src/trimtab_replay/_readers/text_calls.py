"""Calls that a model wrote as text: tags with JSON, actions with a fenced block.

Everything here walks through the text once, by `str.find`; text that was cut off has no call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab_replay._values import arguments, as_dict, dicts, named

MAX_CALLS = 100
CALL_TAG, RESULT_TAG = "tool_call", "tool_response"
_ACTIONS = ("action:", "act:")
_FENCE = "```"


def between_tags(text: str, tag: str) -> Iterator[str]:
    """Yield what stands between ``<tag>`` and ``</tag>``, at most 100 times."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    at = 0
    for _ in range(MAX_CALLS):
        start = text.find(opening, at)
        end = text.find(closing, start + len(opening)) if start >= 0 else -1
        if end < 0:
            return
        yield text[start + len(opening) : end].strip()
        at = end + len(closing)


def without_tags(text: str, tag: str) -> str:
    """Return `text` up to the first ``<tag>``."""
    start = text.find(f"<{tag}>")
    return (text if start < 0 else text[:start]).strip()


def tagged_calls(text: str) -> Iterator[tuple[str, Any]]:
    """Yield tool and arguments of each ``<tool_call>`` that holds JSON, or the tags of a call."""
    for inner in between_tags(text, CALL_TAG):
        yield from json_calls(inner) if inner[:1] in {"{", "["} else _tag_call(inner)


def json_calls(text: str) -> Iterator[tuple[str, Any]]:
    """Yield tool and arguments of a JSON object, or of each in an array."""
    value = arguments(text)
    for call in [value] if isinstance(value, dict) else dicts(value):
        function = as_dict(call.get("function")) or call
        name = named(function.get("name"))
        if name:
            yield name, arguments(function.get("arguments", function.get("parameters", {})))


def _tag_call(inner: str) -> Iterator[tuple[str, Any]]:
    """Read ``<function=NAME><parameter=KEY>VALUE</parameter>…</function>``."""
    opening = "<function="
    if not inner.startswith(opening) or ">" not in inner:
        return
    name, _, rest = inner.removeprefix(opening).partition(">")
    params: dict[str, str] = {}
    for piece in rest.split("<parameter=")[1 : MAX_CALLS + 1]:
        key, _, value = piece.partition(">")
        params[key.strip()] = value.partition("</parameter>")[0].strip("\n")
    yield name.strip(), params


def action_call(text: str) -> tuple[str, Any] | None:
    """Return tool and arguments of the last line ``Action: NAME``, with its block or input."""
    lines = text.splitlines()
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number].strip().strip("*")
        if line.lower().startswith(_ACTIONS):
            name = line.partition(":")[2].strip()
            return _action(name, lines[number + 1 :]) if name else None
    return None


def _action(name: str, following: list[str]) -> tuple[str, Any]:
    rest = "\n".join(following)
    _, fence, fenced = rest.partition(_FENCE)
    if fence:
        body = fenced.partition("\n")[2].partition(_FENCE)[0]
        return name, {"command": body.strip()}
    label, _, value = rest.strip().partition(":")
    if label.strip().lower() == "action input":
        return name, arguments(value.strip())
    tool, opening, inside = name.partition("(")
    if opening and inside.endswith(")"):
        return tool.strip(), {"input": inside[:-1]}
    tool, _, words = name.partition(" ")
    return tool, {"input": words} if words else {}
