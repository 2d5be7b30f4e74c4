"""Whether a text holds a tool call that was meant to be run. Every check takes linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MARKS = (
    "<tool_call>",
    "<tool_calls>",
    "<function_calls>",
    "<function=",
    "<invoke name=",
    "<|python_tag|>",
    "<|tool_call|>",
    "[TOOL_CALLS]",
)
"""What models write around calls when the service has not turned them into calls."""

LONGEST = 20_000
"""Characters that are looked at, at the beginning and at the end of a longer text."""

_FENCE = "```"
_NAME = re.compile(r'"(?:name|tool|tool_name|function)"\s{0,8}:\s{0,8}"([^"\\\n]{1,80})"')
_ARGUMENTS = re.compile(r'"(?:arguments|parameters|params|args|input)"\s{0,8}:')


def find_written_call(text: str, tools: frozenset[str] | None) -> str | None:
    """Return the name of a tool that `text` tries to call; "" if the name can't be read.

    Args:
        text: what the model answered.
        tools: names of the agent's tools; None if they are unknown.

    Returns:
        None if the text holds no such call.
    """
    text = _bounded(text)
    if any(mark in text for mark in MARKS):
        return _named_tool(text, tools) or ""
    for block in _blocks(text):
        if not _ARGUMENTS.search(block):
            continue
        name = _NAME.search(block)
        if name and (tools is None or name[1] in tools):
            return name[1]
    return None


def _bounded(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}\n{text[-half:]}"


def _blocks(text: str) -> Iterator[str]:
    """Yield the whole text, and the texts in fences, that begin like JSON."""
    stripped = text.strip()
    if stripped.startswith(("{", "[{")):
        yield stripped
    for block in text.split(_FENCE)[1::2]:
        first, _, rest = block.partition("\n")
        body = block if first.lstrip().startswith(("{", "[")) else rest
        if body.lstrip().startswith(("{", "[")):
            yield body


def _named_tool(text: str, tools: Iterable[str] | None) -> str | None:
    found = _NAME.search(text)
    known = frozenset(tools or ())
    if found and (not known or found[1] in known):
        return found[1]
    quoted = (name for name in sorted(known) if f"={name}>" in text or f'"{name}"' in text)
    return next(quoted, None)
