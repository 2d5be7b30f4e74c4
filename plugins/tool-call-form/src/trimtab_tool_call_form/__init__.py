"""Guidance for LLM agents: reminds of the form of tool calls when one was written as text.

A call that was meant to be run stands where a call would: on a line of its own, or with its
arguments right behind it, and hardly any prose follows. What stands in quotes, in backticks, in
code or in an example of a longer explanation is talk about calls.

The forms that models are trained on are many, and new ones come with each family. So apart from
the marks that only calls have, one thing is looked for: the name of one of the agent's tools that
is bound to arguments, whatever stands around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

import attrs

from trimtab import (
    NOT_RELEVANT,
    ClassificationResult,
    DecisionPoint,
    GuidanceContext,
    GuidanceInjection,
    ToolInvoked,
)
from trimtab.events import UserMessage
from trimtab.text import quote, shorten, text_option

__all__ = ["ToolCallForm"]


LONGEST = 20_000
"""Characters that are looked at, at the beginning and at the end of a longer text."""

_FENCE = "```"
_AROUND = 160
_REMARK = 24
"""Letters around a fence, and behind marks in it: more of them make it an example, for who wants an
answer waits for it."""
_LEFT = 40
"""Letters behind a call, as many as "I wait for the result" has; a remark is enough where the user
has named the tool.
"""
_SEVERAL = 80
"""Letters that two sentences count for beside their own."""
_LATEST = 16
"""Names of tools in a text that are looked at, from its end: a call stands there."""
_GLUE_WORDS = 3
"""Words around a name that bind it to its arguments: ``Action Input``, ``called tool … with``."""
_LABEL_WORDS = 4
"""Words behind a name: ``Entrada de la acción`` has four."""
_BRACKET = frozenset("<{[(")

# In JSON, or as Python prints it: a call where the agent's tools are unknown.
_NAME = re.compile(
    r"[\"'](?:name|tool|tool_name|function)[\"']\s{0,8}:\s{0,8}[\"']([^\"'\\\n]{1,80})"
    r"(?=[\"']\s{0,8},\s{0,8}[\"'](?:arguments|parameters|params|args|input)[\"'])"
)
# What is no argument of a call: the answer of one that was made, and the schema of a tool.
_RECORD = re.compile(r"[\"'](?:data|error|output|response|results?|returns)[\"']\s{0,8}:\s{0,8}\Z")
_ANSWERS = frozenset({"data", "error", "output", "response", "result", "results", "status"})
"""Keys of the answer of a call that was made."""
_SCHEMA = re.compile(r"\{\s*(?:[\"']type[\"']\s*:[^{}]{0,80})?[\"']properties[\"']\s*:")
# Code within a line, quotes that hold a mark, indented code and quoted lines.
_CITED = (
    r"``[^`\n]{1,400}``|`[^`\n]{1,400}`|“[^”\n]{1,400}”|«[^»\n]{1,400}»|»[^«\n]{1,400}«"
    r"|「[^」\n]{1,400}」|[\"„'][^\"“”„'\n]{0,8}<[^\"“”„'\n]{1,80}[\"”“']|^>[^\n]*$"
    r"|^\|[^\n]*\|[ \t]*$"
)
_TALK = re.compile(rf"{_CITED}|(?<=\n\n)(?:(?: {{4}}|\t)[^\n]*\n?)+", re.MULTILINE)
_QUOTED = re.compile(_CITED, re.MULTILINE)
# Marks of several families of models, with and without their bars: what belongs to a call only.
_MARK = re.compile(
    r"(?P<start>^[ \t]{0,3})?(?:"
    r"<[|\uff5c]{0,2}(?:\w{1,12}:)?(?:DSML[|\uff5c]{1,2})?"
    r"(?:(?:tool|function)[▁_ ]?calls?(?:[▁_]begin)?|invoke name=|function=|python_tag)"
    r"|<[|\uff5c]{1,2}(?:DSML[|\uff5c]{1,2}|tool▁)"
    r"|(?<=[}\]])\s{0,8}</(?:tool|function)_calls?>|<parameter=|</(?:function|invoke)>"
    r"|<function>\s{0,8}<name>|\[TOOL_CALLS\]|\bto=functions\.)",
    re.MULTILINE,
)
# What follows a mark in the middle of a line if it is no talk about the mark.
_GOES_ON = re.compile(r"[\w▁|\uff5c=\"' ]{0,80}>?\s{0,8}(?:[\[{<\n]|\Z)")
# Tokens that steer a model, of any family; no answer holds them.
_CONTROL = re.compile(r"<[|\uff5c][\w▁]{1,40}[|\uff5c]>|<end_code>")
_BARE_ARGUMENTS = re.compile(r"\s*(?:tool|function)?[_ ]?calls?:?[ \t]*\n\s*[\[{]", re.IGNORECASE)
# Fences that hold what the reader is to run or to save, rather than a call.
_DATA = frozenset(
    {"", "json", "jsonc", "markdown", "md", "plaintext", "text", "txt", "xml", "yaml", "yml"}
)
_SENTENCE = r"[.!?。\uff01\uff1f\uff1a]\s|[。\uff01\uff1f\uff1a]"
_SENTENCE_END = re.compile(_SENTENCE)
# JSON may begin right behind a sentence, or behind a colon.
_AHEAD = re.compile(rf"{_SENTENCE}|[.:!?…>]\s?(?=[{{\[]\s{{0,8}}[\"'{{])")
_WORD = re.compile(r"\w+")
_TAG = re.compile(r"<[^<>\n]{1,200}(?:>|\Z)")
# An element that has the tool's name in an attribute.
_ELEMENT = re.compile(r"<[\w-]{1,40}[ \t]+[\w-]{1,40}=[\"']\Z")
# Up to where the arguments begin: a call of Python, an object, elements, or lines of YAML.
_BINDS = re.compile(
    r"(?P<glue>[^({\[<\n]{0,60}(?:[>\]]?[ \t]*\n{1,3}[^({\[<\n:]{0,24}[:>]?[*_ \t]*){0,2}"
    r"(?:</?\w[\w ]{0,30}>\s{0,8}){0,3})"
    r"(?:(?P<open>\((?=\s*(?:\)|[\w]+\s*=|[\"'{\[\d]))|\{(?=\s*(?:[\"'}\\]|\w+\s*:))|\[(?=\s*[\"'{\w])"
    r"|\"(?<=_input\": \"))"
    r"|(?P<tag><\w[\w.= \"'-]{0,60}>)|(?P<inside>[ \t]+[\w-]+=[\"'{]))"
)
_YAML = re.compile(
    r"[\"']?[ \t]*\n[ \t]*(?:arguments?|args|parameters|params|input)s?:[ \t]*(?:\n[ \t]+[^\n]+)+"
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
# A user who asks how a call is written, in eight languages: a word of calls and one of forms.
_OF_CALLS = re.compile(
    r"\bcalls?\b|\btools?\b|aufruf|\bappels?\b|llamada|chamada|вызов|调用|呼び出し|호출",
    re.IGNORECASE,
)
_OF_FORMS = re.compile(
    r"\bexamples?\b|\bformat\b|\bjson\b|\blooks? like\b|\bmarkup\b|\bpayload\b|\braw\b|\bsamples?\b"
    r"|\bsyntax\b|\btemplate\b|\btool_calls\b|\bxml\b"
    r"|beispiel|exemple|ejemplo|exemplo|пример|示例|标记|格式|書き方|マークアップ|예시|형식",
    re.IGNORECASE,
)


def find_written_call(text: str, tools: frozenset[str] | None, request: str = "") -> str | None:
    """Return the name of a tool that `text` tries to call; "" if the name can't be read.

    Args:
        text: what the model answered.
        tools: names of the agent's tools; None if they are unknown.
        request: the user's last message.

    Returns:
        None if the text holds no such call, or the user asked how one is written.
    """
    spelt = request.replace(" ", "_")
    named = tools is not None and any(tool in request or tool in spelt for tool in tools)
    if _asks_for_form(request[:LONGEST], named=named):
        return None
    text = _bounded(text)
    prose = _TALK.sub(" ", "".join(text.split(_FENCE)[::2]))
    if _is_marked(prose) or any(map(_is_marked, _blocks(text))):
        found = _names_of(tools).search(text)
        return "" if found is None else _whole(found[1], tools)
    if _BARE_ARGUMENTS.match(text) and text.rstrip()[-1:] in ("]", "}"):
        return ""
    if flat := _flat_call(text, tools):
        return flat
    # Prose on both sides of a fence makes it an example.
    before, fence, _ = text.partition(_FENCE)
    left = _REMARK if named or (fence and before.strip()) else _LEFT
    return _bound_to_arguments(_with_data(text), tools, left) or None


def _flat_call(text: str, tools: frozenset[str] | None) -> str:
    """Return the tool that an object, which is the whole text, names beside its arguments."""
    if not tools or not (text.lstrip()[:1] == "{" and text.rstrip()[-1:] == "}"):
        return ""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not _ANSWERS.isdisjoint(found):
        return ""
    names = (found.get(key) for key in ("tool", "tool_name", "function", "action"))
    return next((name for name in names if isinstance(name, str) and name in tools), "")


def _quotes(text: str, shown: str) -> bool:
    """Tell whether each line with a bracket stands in what was shown: the text repeats it."""
    lines = [line.strip() for line in text.splitlines() if not _BRACKET.isdisjoint(line)]
    return bool(lines) and all(line in shown for line in lines)


def _asks_for_form(request: str, *, named: bool) -> bool:
    """Tell whether a user, who has perhaps named a tool, asks how a call is written."""
    return _OF_FORMS.search(request) is not None and (
        named or _OF_CALLS.search(request) is not None
    )


def _bounded(text: str) -> str:
    text, half = text.replace("\r\n", "\n"), LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}\n{text[-half:]}"


def _is_marked(text: str) -> bool:
    ends = max(map(text.rfind, ">}])")) + 1
    return any(
        found["start"] is not None
        or (_GOES_ON.match(text, found.end()) and _letters(text[max(ends, found.end()) :]) <= _LEFT)
        for found in _MARK.finditer(text)
    )


def _blocks(text: str) -> Iterator[str]:
    """Yield what stands in fences that hold data, with hardly any prose around or behind them."""
    parts = text.split(_FENCE)
    lengths = [_letters(part) for part in parts[::2]]
    for number, block in enumerate(parts[1::2], 1):
        short = sum(lengths) <= _AROUND and sum(lengths[number:]) <= _REMARK
        if short and _holds_data(block):
            yield _QUOTED.sub("", block)


def _holds_data(block: str) -> bool:
    return _language(block) in _DATA or "tool" in _language(block)


def _language(block: str) -> str:
    first = block.partition("\n")[0].strip().lower()
    return "" if first[:1] in ("{", "[", "<") else first


def _with_data(text: str) -> str:
    """Return a text without the fences that hold code, without talk, and without control tokens."""
    parts = text.split(_FENCE)
    kept = [_data(part) if number % 2 else part for number, part in enumerate(parts)]
    return str(_TALK.sub(" ", _CONTROL.sub(" ", "\n".join(kept))))


def _data(block: str) -> str:
    """Return what a fence holds that may be a call, or the arguments of one named before it."""
    language = _language(block)
    is_code = "(" in block and not _holds_data(block)
    data = block.partition("\n")[2] if language in _DATA - {""} else block
    return "" if is_code or _is_marked(block) else data


@lru_cache(maxsize=16)
def _names_of(tools: frozenset[str] | None) -> re.Pattern[str]:
    """Return an expression for the names of tools, with or without that of their server."""
    if not tools:
        return _NAME
    names = {name for tool in tools for name in (tool, tool.rpartition("__")[2]) if name}
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])")


def _whole(name: str, tools: frozenset[str] | None) -> str:
    known = tools or {name}
    return name if name in known else next(t for t in sorted(known) if t.endswith(f"__{name}"))


def _bound_to_arguments(text: str, tools: frozenset[str] | None, left: int) -> str:
    """Return the tool whose name stands where a call would, with arguments behind it and hardly
    anything behind them; empty if there is none.
    """
    for found in [*_names_of(tools).finditer(text)][-1 : -1 - _LATEST : -1]:
        before = text[text.rfind("\n", 0, found.start(1)) + 1 : found.start(1)]
        element = _ELEMENT.search(before) is not None
        if not (element or _leads_to_call(before)):
            continue
        end = _end_of_arguments(text, found.end(1))
        if end is not None and _letters(text[end:]) <= (0 if element else left):
            return _whole(found[1], tools)
    return ""


def _leads_to_call(before: str) -> bool:
    """Tell whether a name may be that of a call, by what stands before it on its line."""
    said = _TAG.sub("", before)
    ends = [found.end() for found in _AHEAD.finditer(said)]
    said = said[ends[-1] :].strip() if ends else said.strip()
    if said.endswith("<"):
        return said == "<"
    if not said or said[0] in _BRACKET:
        return True
    bare = said[-1].isalnum() and said[0].isalnum() and said != "await"
    return not bare and said[0] != "-" and len(_WORD.findall(said)) <= _GLUE_WORDS


def _end_of_arguments(text: str, start: int) -> int | None:
    """Return where the arguments end that begin soon behind `start`; None if there are none."""
    listed = _YAML.match(text, start)
    if listed:
        return listed.end()
    found = _BINDS.match(text, start)
    if found is None or len(_WORD.findall(_TAG.sub("", found["glue"]))) > _LABEL_WORDS:
        return None
    if found["open"] is not None:
        is_none = _RECORD.search(found["glue"]) or _SCHEMA.match(text, found.start("open"))
        return None if is_none else _end_of(text, found.start("open"))
    return max(text.rfind(">"), found.end() - 1) + 1


def _end_of(text: str, start: int) -> int:
    """Return where the bracket or quote at `start` is closed; the end of the text if it is not."""
    closing: list[str] = []
    quote = ""
    place = start
    while place < len(text):
        char = text[place]
        if quote:
            if char == "\\":
                place += 1
            elif char == quote:
                quote = ""
                if not closing:
                    return place + 1
        elif char == '"' or (char == "'" and not text[place - 1].isalnum()):
            quote = char
        elif char in _CLOSING:
            closing.append(_CLOSING[char])
        elif closing and char == closing[-1]:
            closing.pop()
            if not closing:
                return place + 1
        place += 1
    return len(text)


def _letters(text: str) -> int:
    """Return how many letters of prose a text has, and many more if these are two sentences."""
    prose = _CONTROL.sub("", _TAG.sub("", text)).strip()
    several = _SEVERAL if _SENTENCE_END.search(prose.rstrip(".!?。")) else 0
    return several + sum(map(len, _WORD.findall(prose)))


NAME = "tool-call-form"
LONGEST_NAME = 40
LONGEST_TEXT = 400
"""Together with the name of a tool, and the words around it, they fit into a nudge."""
MESSAGE = (
    "Your answer holds a tool call written as text{tool}, so nothing was run and there is no"
    " result. Do not write calls into the answer: make the call through the tool interface, with"
    " its arguments as a JSON object. If no call is needed, answer in plain words."
)


@attrs.frozen
class ToolCallForm:
    """Reminds of the form of tool calls when the agent's answer only contains one as text.

    It is asked before the agent ends (PRE_RESPONSE), and sends it back.

    Args:
        message: what the agent reads, with ``{tool}``, e.g. ``" (to read)"``; empty if the name
            can't be read.

    Raises:
        ValueError: the message is empty, too long, or names an unknown field.
    """

    message: str = attrs.field(default=MESSAGE, validator=text_option(LONGEST_TEXT, tool=""))
    name: str = attrs.field(default=NAME, init=False)
    category: str = attrs.field(default="tool-form", init=False)
    decision_points: tuple[DecisionPoint, ...] = attrs.field(
        default=(DecisionPoint.PRE_RESPONSE,), init=False
    )

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Return whether the last response ends the turn with a call as text."""
        tool = self._written(context)
        if tool is None:
            return attrs.evolve(NOT_RELEVANT, episode=NAME)
        return ClassificationResult(
            relevant=True,
            confidence=0.9,
            reason=f"a call as text: {tool or '?'}",
            episode=NAME,
            found=tool,
        )

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        """Return the reminder."""
        tool: str = context.found
        named = f" (to {quote(shorten(tool, LONGEST_NAME))})" if tool else ""
        text = self.message.format(tool=named)
        return GuidanceInjection(NAME, text, priority=50, category=self.category)

    def _written(self, context: GuidanceContext) -> str | None:
        response = context.last_response
        if response is None or response.tool_calls:
            return None
        asked = context.session[UserMessage].latest()
        request = asked.text if asked else ""
        found = find_written_call(response.text, context.tools, request)
        if found is None:
            return None
        answers = (call.result for call in context.session[ToolInvoked].all()[-_LATEST:])
        shown = [one[:LONGEST] for one in answers if isinstance(one, str)]
        return None if _quotes(response.text[:LONGEST], "\n".join([request, *shown])) else found
