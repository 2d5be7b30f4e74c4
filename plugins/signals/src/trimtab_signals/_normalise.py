"""Texts without what differs by chance: times, ids, pids, nonces, addresses."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from trimtab.text import LazyPattern
from trimtab_signals._canonical import canonical

EDGE = 1_500
"""Characters kept of each end of a text that is longer than both."""

_OUTPUTS = ("output", "stdout", "content", "text", "result", "message")
_STATES = ("status", "state", "phase")
_FINE = frozenset({"ok", "success", "succeeded"})
_LONGEST_STATE = 24
"""Characters of the value of a field such as "status"; a longer one is a message."""
_GAP = "\n[…]\n"
# Each begins with a set of characters, so that the engine skips to the first that fits.
_UNIT = (
    r"(?:\s?(?:毫秒|ミリ秒|分钟|小时|時間|秒|초|분)"
    r"|(?:\s?(?:[nmuµ]s|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?"
    r"|[mM]illisekunden|[sS]ekunden?|[mM]inuten?|[sS]tunden?|(?:mili)?segundos?|minutos?"
    r"|(?:milli)?secondes?|heures?|мс|сек\w{0,4}|мин\w{0,3})|[smhd])"
    r"(?:(?!\w)|(?=\d{1,15}(?:[.,]\d{1,15})?[smhd](?:(?!\w)|\d))))"
)
_TIMES = LazyPattern(
    r"\d(?<![A-Za-z0-9_.]\d)(?:"
    r"\d{3}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d?:\d\d:\d\d(?:[.,]\d+)?"
    r"|(?<=1)[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?![\w.])"
    rf"|\d{{0,15}}(?:[.,]\d{{1,15}})?{_UNIT}(?:\s?\d{{1,15}}(?:[.,]\d{{1,15}})?{_UNIT})*)"
)
_HEX = "[0-9a-fA-F]"
# Three characters before anything that takes longer: few words begin with so many.
_IDS = LazyPattern(
    rf"{_HEX}[\dxXa-fA-F][\da-fA-F](?<![\w.]...)(?:"
    rf"(?<=0[xX]{_HEX}){_HEX}*|(?<= at \d\d\d)\d{{7,16}}(?!\w)"
    rf"|(?<={_HEX}{_HEX}{_HEX})(?:{_HEX}{{5}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"
    r"|(?:(?<=\d\d\d)(?=\d*[a-fA-F])|(?<=[a-fA-F]{3})(?=[a-fA-F]*\d)|(?<!\d\d\d)(?<![a-fA-F]{3}))"
    rf"{_HEX}{{5,36}}(?![0-9A-Za-z])))"
)
_LABELLED = LazyPattern(
    r"[iIpPnNsStTrRcCedlu](?=[dDiIoepraqlu])(?<![A-Za-z][a-zA-Z])(?:(?<=[iI])[dD]|(?<=[pP])(?:[iI][dD]|ort)|(?<=P)ID"
    r"|(?<=[nN])once|(?<=[sS])(?:ession|pan)(?:[ _-]?[iI]d)?|(?<=[tT])(?:race"
    r"|oken)(?:[ _-]?[iI]d)?"
    r"|(?<=[rR])equest[-_]?[iI]d|(?<=[cC])orrelation[-_]?[iI]d"
    r"|(?:(?<=t)ook|(?<=e)lapsed|(?<=d)uration|(?<=l)atency|(?<=u)ptime)(?:[_A-Z]\w{0,20})?)"
    r"[\"']?(?:\s?[=:#]\s?|\s)[\"']?[\w-]*\d[\w-]*(?:\.\d+)?"
)
_MEASURED = LazyPattern(
    r"[pPmMaAfFsSbBwWrRuUtT](?<!\w\w)(?i:(?<=p)\d\d|(?<=m)e(?:an|dian)|(?<=a)v(?:g|erage)"
    r"|(?<=f)astest|(?<=s)(?:lowest|ys)|(?<=b)est|(?<=w)orst|(?<=r)eal|(?<=u)ser"
    r"|(?<=t)hroughput)\b[ \t:=~]{0,4}[\d.,]+"
)
_DURATION = LazyPattern(r"\s*+[\d.,]++\s?[nmuµ]?s\s*+")
_DIGIT = LazyPattern(r"\d")
_ANSI = LazyPattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_BINARY = LazyPattern(r"(?:data:[\w/+.-]+;base64,|b(?:ase)?64[:,]\s?)[\w+/=-]*")
_SCRATCH = LazyPattern(r"(?<=/)(?:tmp[\w.-]{4,}|pytest-\d+)")
_SPINNER = LazyPattern(r"[\u2800-\u28ff\u25d0-\u25d3\u25f4-\u25f7]")
# Runs of more than one, and single ones that are no blank.
_SPACES = LazyPattern(r"[ \t\r\f\v](?:(?<! )|[ \t\r\f\v])[ \t\r\f\v]*")
_MEASURED_WITHIN = 2_000
_LATELY = 16
"""Texts kept with what they became: most that come back do so soon."""
_KIN = LazyPattern("[\u0130\u0131\u017f\u212a]")
_OF_ASCII = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")


def lowered(text: str) -> str:
    """Return `text` in lower case, each character for itself.

    An expression in lower case finds in it what one that ignores case finds in `text`, in a
    fraction of the time. The four letters beyond ASCII that count as i, s and k then do here.
    """
    if not text.isascii() and _KIN.search(text) is not None:
        text = text.translate(_OF_ASCII)
    return text.lower()


def bounded(text: str, edge: int = EDGE) -> str:
    """Return head and tail of a long `text`, `edge` characters each; a short one as it is."""
    return text if len(text) <= 2 * edge else text[:edge] + _GAP + text[-edge:]


def plain_text(text: str) -> str:
    """Return `text` without colours and without the frame of a spinner."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text if text.isascii() else _SPINNER.sub("", text)


def measures(text: str) -> bool:
    """Tell whether an answer is a measurement, so that a duration in it is its matter."""
    if len(text) > _MEASURED_WITHIN:
        return False
    return _MEASURED.search(text) is not None or _DURATION.fullmatch(text) is not None


def normalise_lines(text: str) -> str:
    """Return what `normalise_text` returns, its lines kept."""
    return str(_SPACES.sub(" ", _without_chance(bounded(text))))


@lru_cache(maxsize=_LATELY)
def _without_chance(text: str) -> str:
    text = plain_text(text)
    if "64," in text or "64:" in text:
        text = _BINARY.sub("~", text)
    if "tmp" in text or "pytest-" in text:
        text = _SCRATCH.sub("~", text)
    if _DIGIT.search(text) is None:  # most texts: of the rest an id of letters alone may be there
        return _IDS.sub("~", text) if "-" in text else text
    timeless = _TIMES.sub("~", text)
    if timeless != text and not measures(text):
        text = timeless
    return str(_LABELLED.sub("~", _IDS.sub("~", text)))


def normalise_text(text: str) -> str:
    """Return `text` without what differs by chance: outputs that mean the same become equal.

    Dates, times and durations, hexadecimal ids and addresses, process ids, nonces and other
    labelled ids, colours and binary payloads are removed; white space is folded. Counts,
    percentages, "3 failed", offsets and plain numbers stay, for they may be progress; so do the
    durations of a measurement. Texts over 3,000 characters are cut to head and tail first.
    """
    return " ".join(_without_chance(bounded(text)).split())


def without_times(text: str) -> str:
    """Return `text` without dates, times and durations."""
    return str(_TIMES.sub("~", text))


def text_of(result: Any) -> str:
    """Return a tool's `result` as text: itself, its text blocks, or its canonical form."""
    if type(result) is str:
        return result
    if result is None:
        return ""
    blocks = "\n".join(blocks_of(result))
    return blocks or canonical(result)


def shown_of(result: Any, text: str) -> str:
    """Return what of an answer its reader looks at: the output of a structured one, after a state
    that it has besides, else `text`.
    """
    if isinstance(result, dict):
        for name in _OUTPUTS:
            if isinstance(result.get(name), str):
                return _state_of(result) + str(result[name])
    return text


def _state_of(result: dict[Any, Any]) -> str:
    """Return the line ``status: …`` of an answer that states what goes on besides its output."""
    for name in _STATES:
        state = result.get(name)
        if isinstance(state, str) and 0 < len(state) <= _LONGEST_STATE:
            return f"{name}: {state}\n" if state.lower() not in _FINE else ""
    return ""


def blocks_of(result: Any) -> Iterator[str]:
    """Yield the texts of a list of content blocks, as several protocols answer."""
    if not isinstance(result, list):
        return
    for block in result:
        if not isinstance(block, dict) or not isinstance(block.get("text"), str):
            return
        yield block["text"]


def unaccented(text: str) -> str:
    """Return a text with the plain letters of the Latin ones that have accents, as names do."""
    plain = (unicodedata.normalize("NFD", sign)[0] for sign in text)
    return "".join(new if new.isascii() else old for new, old in zip(plain, text, strict=True))
