"""Texts without what differs by chance: times, ids, pids, nonces, addresses (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab._types.patterns import LazyPattern
from trimtab.trajectory._canonical import canonical

EDGE = 1_500
"""Characters kept of each end of a text that is longer than both."""

_OUTPUTS = ("output", "stdout", "content", "text", "result", "message")
_GAP = "\n[…]\n"
_TIMES = LazyPattern(
    r"(?=\d)(?<![\w.])(?:"
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d\d?:\d\d:\d\d(?:[.,]\d+)?"
    r"|1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?![\w.])"
    r"|(?:\d+(?:[.,]\d+)?(?:\s?(?:[nmuµ]s|milliseconds?|seconds?|secs?|minutes?|mins?|hours?)"
    r"|[smh])(?!\w)\s?)+)"
)
_IDS = LazyPattern(
    r"(?=[0-9a-fA-F])(?<![\w.])(?:"
    r"0[xX][0-9a-fA-F]+"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{8,39}(?![0-9A-Za-z]))"
)
_LABELLED = LazyPattern(
    r"(?<![A-Za-z])(?:[pP]?[iI][dD]|PID|[nN]once|[pP]ort|[sS]ession|[tT]race|[tT]oken"
    r"|(?:took|elapsed|duration|latency)(?:_\w+)?)"
    r"[\"']?(?:\s?[=:#]\s?|\s)[\"']?[\w-]*\d[\w-]*"
)
_ANSI = LazyPattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_BINARY = LazyPattern(r"(?:data:[\w/+.-]+;base64,|b(?:ase)?64[:,]\s?)[\w+/=-]*")
_SCRATCH = LazyPattern(r"(?<=/)tmp[\w.-]{4,}")


def bounded(text: str, edge: int = EDGE) -> str:
    """Return head and tail of a long `text`, `edge` characters each; a short one as it is."""
    return text if len(text) <= 2 * edge else text[:edge] + _GAP + text[-edge:]


def normalise_text(text: str) -> str:
    """Return `text` without what differs by chance, so that two tellings of one thing are equal.

    Dates, times and durations, hexadecimal ids and addresses, process ids, nonces and other
    labelled ids, colours and binary payloads go; white space is folded. Counts, percentages,
    "3 failed", offsets and plain numbers stay, for they may be progress. Texts over 3,000
    characters are cut to head and tail first.
    """
    text = bounded(text)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "64" in text:
        text = _BINARY.sub("~", text)
    if "tmp" in text:
        text = _SCRATCH.sub("~", text)
    for pattern in (_TIMES, _IDS, _LABELLED):
        text = pattern.sub("~", text)
    return " ".join(text.split())


def text_of(result: Any) -> str:
    """Return a tool's answer as text: as it is, its text blocks, or its canonical form."""
    if type(result) is str:
        return result
    if result is None:
        return ""
    blocks = "\n".join(_blocks(result))
    return blocks or canonical(result)


def shown_of(result: Any, text: str) -> str:
    """Return what of an answer its reader looks at: the output of a structured one, else `text`."""
    if isinstance(result, dict):
        for name in _OUTPUTS:
            if isinstance(result.get(name), str):
                return str(result[name])
    return text


def _blocks(result: Any) -> Iterator[str]:
    """Yield the texts of a list of content blocks, as several protocols answer."""
    if not isinstance(result, list):
        return
    for block in result:
        if not isinstance(block, dict) or not isinstance(block.get("text"), str):
            return
        yield block["text"]
