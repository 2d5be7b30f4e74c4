"""Whether a text holds a tool call that was meant to be run. Every check takes linear time.

A call that was meant to be run stands where a call would: on a line of its own, or with its
arguments right behind it, and hardly any prose follows. What stands in quotes, in backticks or in
an example of a longer explanation is talk about calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 20_000
"""Characters that are looked at, at the beginning and at the end of a longer text."""

_FENCE = "```"
_AFTERWORD = 80
"""More prose behind a fence makes the fence an example."""

_AROUND_MARKS = 160
_REMARK = 24
"""More prose around a fence with marks, or a sentence behind it, makes them an example: who wants
an answer waits for it."""

# JSON, and the same as Python prints it.
_NAME = re.compile(
    r"[\"'](?:name|tool|tool_name|function)[\"']\s{0,8}:\s{0,8}[\"']([^\"'\\\n]{1,80})[\"']"
)
# Where JSON may begin that is no part of a sentence.
_AT_END = re.compile(r"(?:\n|[.!?…。\uff01\uff1f>]\s{0,2})(?=[{\[]\s{0,8}[\"'{])")
_ARGUMENTS = re.compile(r"[\"'](?:arguments|parameters|params|args|input)[\"']\s{0,8}:")
# Code within a line, quotes that hold a mark, indented code and quoted lines.
_TALK = re.compile(
    r"``[^`\n]{1,400}``|`[^`\n]{1,400}`|[\"“„«'][^\"“”„«»'\n]{0,8}<[^\"“”„«»'\n]{1,80}[\"”»']"
    r"|^(?: {4}|\t|>)[^\n]*$",
    re.MULTILINE,
)
# Marks of several families of models, with and without their bars: what belongs to a call only.
_MARK = re.compile(
    r"(?P<start>^[ \t]{0,3})?(?:"
    r"<[|\uff5c]{0,2}(?:DSML[|\uff5c]{1,2})?"
    r"(?:(?:tool|function)[▁_ ]?calls?(?:[▁_]begin)?|invoke name=|function=|python_tag)"
    r"|<[|\uff5c]{1,2}(?:DSML[|\uff5c]{1,2}|tool▁)"
    r"|(?<=[}\]])\s{0,8}</(?:tool|function)_calls?>|<parameter=|</(?:function|invoke)>"
    r"|<function>\s{0,8}<name>|\[TOOL_CALLS\]|\bto=functions\.)",
    re.MULTILINE,
)
# What follows a mark in the middle of a line if it is no talk about the mark.
_GOES_ON = re.compile(r"[\w▁|\uff5c=\"' ]{0,80}>?\s{0,8}(?:[\[{<\n]|\Z)")
_REACT = re.compile(r"^Action:[ \t]{0,8}([\w.-]{1,80})[ \t]*\n+Action Input:", re.MULTILINE)
_BARE_ARGUMENTS = re.compile(r"\s*(?:tool|function)?[_ ]?calls?:?[ \t]*\n\s*[\[{]", re.IGNORECASE)
_PYTHON_API = re.compile(r"\b(?:default_api|functions)\.(\w{1,80})\(")
_PYTHON_CALL = re.compile(r"([A-Za-z_]\w{0,80})\([^\n]*\)\s*\Z")
_TAG = re.compile(r"^[ \t]{0,3}<(\w[\w.-]{0,80})>", re.MULTILINE)
_NAMED = re.compile(
    r"(?:<function=|name=\"|to=functions\.|<name>|tool_call>\s{0,8}|tool▁sep\uff5c>)([\w.-]{1,80})"
)


def find_written_call(text: str, tools: frozenset[str] | None) -> str | None:
    """Return the name of a tool that `text` tries to call; "" if the name can't be read.

    Args:
        text: what the model answered.
        tools: names of the agent's tools; None if they are unknown.

    Returns:
        None if the text holds no such call.
    """
    text = _bounded(text)
    prose = _TALK.sub(" ", "".join(text.split(_FENCE)[::2]))
    if _is_marked(prose):
        return _named_tool(text, tools)
    for block, around, behind in _blocks(text):
        if around <= _AROUND_MARKS and behind <= _REMARK and _is_marked(block):
            return _named_tool(text, tools)
        tag = _in_tag(block, tools) if around <= _AROUND_MARKS else ""
        name = tag or _in_json(block, tools) or _in_python(block, tools)
        if name and behind <= _AFTERWORD:
            return name
    return _in_lines(prose, text, tools)


def _bounded(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}\n{text[-half:]}"


def _is_marked(text: str) -> bool:
    return any(
        found["start"] is not None or _GOES_ON.match(text, found.end())
        for found in _MARK.finditer(text)
    )


def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the texts in fences, with how much prose is around and behind each, and what the whole
    text ends with if that begins like JSON on a line of its own.
    """
    parts = text.split(_FENCE)
    lengths = [len(part.strip()) for part in parts[::2]]
    for number, block in enumerate(parts[1::2], 1):
        yield block, sum(lengths), sum(lengths[number:])
    if len(parts) == 1:
        stripped = text.strip()
        found = _AT_END.search(stripped) if stripped[:1] not in ("{", "[") else None
        start = found.end() if found else 0
        if stripped[start : start + 1] in ("{", "["):
            yield stripped[start:], start, 0


def _in_json(block: str, tools: frozenset[str] | None) -> str:
    """Return the tool that JSON with a name and arguments calls; empty if it calls none."""
    first, _, rest = block.partition("\n")
    body = (block if first.lstrip()[:1] in ("{", "[") else rest).lstrip()
    if not body.startswith(("{", "[")) or not _ARGUMENTS.search(body):
        return ""
    name = _NAME.search(body)
    return name[1] if name and (tools is None or name[1] in tools) else ""


def _in_python(block: str, tools: frozenset[str] | None) -> str:
    """Return the tool that code calls through the names that some models are trained on."""
    found = _PYTHON_API.search(block)
    if found is None and block.startswith("tool_code"):
        found = _PYTHON_CALL.match(block.removeprefix("tool_code").strip())
    return found[1] if found and (tools is None or found[1] in tools) else ""


def _in_lines(prose: str, text: str, tools: frozenset[str] | None) -> str | None:
    """Return the tool that a text without marks and fences calls in one of the other forms."""
    found = _REACT.search(prose)
    if found and (tools is None or found[1] in tools):
        return found[1]
    if _BARE_ARGUMENTS.match(text) and text.rstrip()[-1:] in ("]", "}"):
        return ""
    if tools is None:
        return None
    called = _PYTHON_CALL.match(text.strip())
    if called and called[1] in tools:
        return called[1]
    return _in_tag(prose, tools) or None


def _in_tag(text: str, tools: frozenset[str] | None) -> str:
    """Return the tool whose own name is a tag on a line of its own; empty if there is none."""
    tags = {tag[1] for tag in _TAG.finditer(text)} & (tools or frozenset())
    return next((tag for tag in sorted(tags) if f"</{tag}" in text), "")


def _named_tool(text: str, tools: frozenset[str] | None) -> str:
    """Return the tool that a marked call names; empty if it can't be read."""
    names = [found[1] for found in (*_NAME.finditer(text), *_NAMED.finditer(text))]
    known = [name for name in names if tools is None or not tools or name in tools]
    return known[0] if known else ""
