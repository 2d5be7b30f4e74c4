"""What a harness puts around an answer: status lines, tags, counters, prompts, notices.

A frame says how a call was run and how far the whole run is, never what the call found. It is
recognised by its form and by where it stands: on lines of its own, above or below what was said.
"""

from __future__ import annotations

import re

from trimtab.text import LazyPattern
from trimtab_signals._normalise import lowered
from trimtab_signals._novelty import CLOCKS, COSTS, NAMES, label_words

_LONGEST_LINE = 240
_MOST_LINES = 12
_LONGEST_NOTICE = 1_200
_LONGEST_ECHO = 40
_MOST_WORDS = 4
"""What a host writes around an answer is short: a few lines, of which one may repeat the command,
and a notice. Whatever is longer is the answer itself."""
# What a frame on one line with the answer begins with; what one below an answer ends with.
_OPENERS = frozenset("[(<>$#+`~OoTt0123456789\n")
_ENDS_ABOVE = frozenset("])>=*-0123456789")
_ENDS_BELOW = frozenset("])>$#%-=*")
_ECHOES = (">", "$", "#", "+")

# "Output:" below lines that state how the call went.
_HEADINGS = frozenset(
    {"content", "observation", "output", "outputs", "response", "result", "results", "stdout"}
)
_STATED = frozenset(
    {
        "code", "command", "count", "cwd", "directory", "duration", "elapsed", "id", "latency",
        "signal", "status", "time", "token", "tokens", "tool", "took",
    }
)  # fmt: skip
_ENDED = LazyPattern(
    r"^\W{0,3}(?:process|command) \w{2,12} with (?:exit )?(?:code|status) -?\d+\W{0,3}$",
    re.IGNORECASE,
)
_AROUND = " \t:=*#[]()-"
_PREFIX = LazyPattern(r"^(?:observation|tool (?:output|result|response))\s?: {0,4}", re.IGNORECASE)
_DIGIT = LazyPattern(r"\d")
_HINT = LazyPattern(  # for text in lower case
    r"turn|step|iter|call|round|context|token|budget|session|cost|request|message"
)
_RUN = LazyPattern(
    r"\b\d{1,6} (?:\w{1,12} )?(?:turn|step|iteration|call|message|request)s?"
    r" (?:are )?(?:left|remaining|remain)\b"
    r"|\b(?:context|token|turn|step|budget)s?(?: \w{1,12})? (?:left|remaining|used|usage)\W{1,3}"
    r"[\d$]"
    r"|\b(?:turn|step|iteration)\W{0,2}\d{1,6}\s?(?:/|of)\s?\d{1,6}\b|\b(?:call|session) ?#\s?\d"
    r"|^<(?:budget|context|cost|tokens?|turns?|usage)>[^<]{0,160}</\w{1,12}>$"
    r"|^[\[(][^\]\n]{0,60}\b(?:tokens?|cost)\b[^\]\n]{0,60}\d[^\]\n]{0,60}[\])]$",
    re.IGNORECASE,
)
_SHELL = LazyPattern(
    r"^[\[(](?:(?:the )?command (?:completed|finished|exited) with exit code -?\d{1,4}\.?"
    r"|(?:current )?(?:working )?(?:directory|dir|cwd)\b.{0,160}|open file\b.{0,160}"
    r"|(?:python )?interpreter\b.{0,160})[\])]$"
    r"|^(?:[\w.-]{1,40}@[\w.-]{1,60}[:\s][^\s]{0,120}|bash[\w.-]{0,8}|sh[\w.-]{0,8})\s?[$#%>]$"
    r"|^[-=*\s]{2,20}end of (?:the )?(?:output|result|response)[-=*\s]{0,20}$"
    r"|^[.…\s\[(<*]{0,6}(?:(?:the )?(?:output|result|response)s? )?(?:was |is )?"
    r"truncated\b.{0,100}$",
    re.IGNORECASE,
)
_NOTICE = LazyPattern(r"^<(/?)((?:system|environment|context|user)[\w-]{0,30})>$", re.IGNORECASE)
_OPENS = LazyPattern(r"^<(\w[\w:.-]{0,40})(?: [^<>\n]{0,160})?>\s{0,4}")
_STATUS_TAG = LazyPattern(
    r"^<(returncode|return_code|exit_code|exitcode|exit_status)>\s?-?\w{1,12}\s?</\1>\s{0,4}",
    re.IGNORECASE,
)
_TAGS = frozenset(
    {
        "body", "content", "error", "function_result", "function_results", "observation", "output",
        "response", "result", "stderr", "stdout", "tool_error", "tool_output", "tool_response",
        "tool_result", "tool_use_error",
    }
)  # fmt: skip
# A state is no frame, unless an element follows that holds what was said.
_VERDICT_TAG = LazyPattern(
    r"^<(status|state)>\s?(?:ok|success|error|failed|failure)\s?</\1>\s{0,4}(?=<\w)", re.IGNORECASE
)
# What a terminal shows of a download: a part of a hundred, beside a bar or a rate.
_BAR = LazyPattern(
    r"\d\s?%[^\n]{0,40}(?:[#=█▓━>-]{3}|\d\s?[kKMG]?i?B/s)|[#=█▓━>-]{3}[^\n%]{0,20}\d\s?%"
)
_CALLS = frozenset({"call", "correlation", "request", "seq", "span", "trace"})
_FACTS = CLOCKS | COSTS | NAMES | _CALLS
_TICKS = CLOCKS | COSTS | _CALLS
_FENCE = LazyPattern(r"^(```|~~~)\w{0,20}$")
_TIME = LazyPattern(
    r"^[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?![:.,]?\d)"
    r"(?:Z|[+-]\d\d:?\d\d)?[\])]?[ :-]{1,3}(?:(?:DEBUG|INFO|NOTICE|TRACE)[ :-]{1,3})?",
    re.MULTILINE,
)


def without_frame(text: str, tool: str = "", command: str | None = None) -> str:
    """Return a `text` without what its harness put around it, and without space at its ends."""
    for _ in range(_MOST_LINES):
        inner = _above(text) if may_end(text) else text
        if inner == text and may_begin(text):
            inner = _below(_within(text), tool, command)
        if inner == text:
            break
        text = inner
    return text.strip()


def as_shown(text: str) -> str:
    """Return a text as a terminal shows it: a line that begins anew takes the place of itself."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def may_begin(text: str) -> bool:
    """Tell cheaply whether a frame may be above an answer; above most none is."""
    if text[:1] in _OPENERS:
        return True
    line, end, _ = text[:_LONGEST_LINE].partition("\n")
    if not (line and end):
        return False
    return line[-1] in _ENDS_ABOVE or ":" in line or "=" in line or "%" in line


def may_end(text: str) -> bool:
    """Tell cheaply whether a frame may be below an answer."""
    begin = text.rfind("\n", 0, -2)
    if begin < 0:
        return False
    tail = text[begin : begin + _LONGEST_LINE].rstrip()
    return (
        tail[-1:] in _ENDS_BELOW
        or "=" in tail
        or "left" in tail
        or "remaining" in tail
        or ("runcated" in tail and ("truncated" in tail or "Truncated" in tail))
        or "used" in tail
        or "usage" in tail
    )


def _below(text: str, tool: str, command: str | None) -> str:
    """Return `text` without the frame above it."""
    if (text[:1].isdigit() or text[:1] == "[") and (found := _TIME.match(text)):
        on_each_line = len(_TIME.findall(text)) > text.count("\n")
        return str(_TIME.sub("", text)) if on_each_line else text[found.end() :]
    if text[:1] in ("O", "o", "T", "t") and (found := _PREFIX.match(text)):
        return text[found.end() :].lstrip("\n")
    end = text.find("\n", 0, _LONGEST_LINE)
    if end < 0:
        return text
    line = text[:end].strip()
    if not line or _names(line, tool, command) or _counts(line):
        return text[end + 1 :]
    if ("=" in line and _are_facts(line)) or ("%" in line and _BAR.search(line) is not None):
        return text[end + 1 :]
    return _after_heading(text) if _is_heading(line) or _is_stated(line) else text


def _is_heading(line: str) -> bool:
    return line[0] != "<" and line.strip(_AROUND).lower() in _HEADINGS


def _is_stated(line: str) -> bool:
    """Tell whether a line states in a word and a value how the call went."""
    label, sign, _ = line.partition(":")
    words = (label if sign else line.partition("=")[0]).split()
    if 0 < len(words) <= _MOST_WORDS and words[-1].strip(_AROUND).lower() in _STATED:
        return line[0] != "<"
    return "xited" in line and _ENDED.match(line) is not None


def _are_facts(line: str) -> bool:
    """Tell whether a line states facts about the call alone: ``request_id=f00 duration_ms=12``."""
    words = set[str]()
    for part in line.split():
        key, sign, _ = part.partition("=")
        told = _FACTS.intersection(label_words(key))
        if not (sign and told):
            return False
        words |= told
    return not words.isdisjoint(_TICKS)


def _names(line: str, tool: str, command: str | None) -> bool:
    """Tell whether a heading names the tool, or repeats the command."""
    if line[-1:] == ":":
        return len(tool) > 2 and tool in line
    if line[0] not in _ECHOES:
        return False
    return tool in line or (bool(command) and str(command)[:_LONGEST_ECHO] in line)


def _counts(line: str) -> bool:
    """Tell whether a line says how far the run is."""
    if _DIGIT.search(line) is None or _HINT.search(lowered(line)) is None:
        return False
    return _RUN.search(line) is not None


def _after_heading(text: str) -> str:
    """Return what follows a heading that nothing but stated facts stands before."""
    place = 0
    for _ in range(_MOST_LINES):
        end = text.find("\n", place, place + _LONGEST_LINE)
        line = text[place : None if end < 0 else end].strip()
        if line and _is_heading(line):
            return "" if end < 0 else text[end + 1 :]
        if end < 0 or (line and not _is_stated(line)):
            break
        place = end + 1
    return text


def _within(text: str) -> str:
    """Return what a pair of tags or fences holds, where that is all there is."""
    first = text[:1]
    if first == "<":
        if found := _STATUS_TAG.match(text) or _VERDICT_TAG.match(text):
            return text[found.end() :]
        found = _OPENS.match(text)
        if found and found[1].lower() in _TAGS:
            body, tag, rest = text[found.end() :].rpartition(f"</{found[1]}>")
            if tag and not rest.strip():
                return body
    elif first in ("`", "~") and text.rstrip()[-3:] == first * 3:
        line, _, rest = text.partition("\n")
        if _FENCE.match(line) and rest:
            return rest.rstrip()[:-3]
    return text


def _above(text: str) -> str:
    """Return `text` without the frame below it."""
    kept = text.rstrip()
    begin = kept.rfind("\n", max(0, len(kept) - _LONGEST_LINE)) + 1
    if begin == 0:
        return text
    line = kept[begin:].strip()
    if line[-1:] == ">" and (found := _NOTICE.match(line)):
        return _before_notice(kept, found[2], text) if found[1] else text
    is_shell = line[-1] in _ENDS_BELOW or "runcated" in line
    is_fact = "=" in line and _are_facts(line)
    if is_fact or (is_shell and _SHELL.match(line)) or _counts(line):
        return kept[: begin - 1]
    return text


def _before_notice(kept: str, tag: str, text: str) -> str:
    begin = kept.rfind(f"\n<{tag}>", max(0, len(kept) - _LONGEST_NOTICE))
    return text if begin < 0 else kept[:begin].rstrip()
