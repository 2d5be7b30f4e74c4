"""When to come back: the spans of time that an answer tells."""

from __future__ import annotations

from trimtab.text import LazyPattern
from trimtab_signals._waiting import Span, spaced

_LONGEST = 400
"""Characters of an answer that tells when to come back."""
_A_SECOND = r"сек|秒|초|detik|giây|saniye|วินาที|ثان|שני|δευτ|másodp"
_A_MINUTE = r"мин|хв|λεπτ|(?<!másod)perc|dakika|phút|دق|मिनट|分|분|menit|นาที|דק"
"""The beginning of the words for them in the languages that answers and tools are seen in."""
_SECONDS = LazyPattern(
    r"(?i)(?:re(?:try|set)[-_ ]?after|wait|\beta_\w{1,8})\W{1,5}(?:PT)?(\d{1,5})(?:\.\d+)?"
    r"(?! ?m(?:in\w*)?\b)"
    r"|\b(?:in|after|for) (?:about )?(\d{1,5})(?:\.\d+)? ?(?:s|sec|second)"
    rf"|(?<![A-Za-z\d.,:])(\d{{1,5}}) ?(?:s\b|se[ckg]\w{{0,8}}\b|{_A_SECOND})"
)
MINUTES = LazyPattern(rf"(?i)(?<![a-z\d.,:])(\d{{1,4}}) ?(?:min\w{{0,8}}\b|{_A_MINUTE})")
_IN_SECONDS = LazyPattern(rf"(?i)se[ckg][ou]n|(?<![^\W_])se[ck](?![^\W_])|{_A_SECOND}")
_IN_MINUTES = LazyPattern(rf"(?i)min[uú]|(?<![^\W_])min(?![^\W_])|{_A_MINUTE}")
_DURATION = LazyPattern(r"(?<!\w)PT(?=\d)(?:(\d{1,4})M)?(?:(\d{1,5})S)?(?!\w)")
TOOK = LazyPattern(
    r"(?i)time(?:d|s)?[ -]?out|(?<!retry.)\bafter\b|elapsed|expire|took\b"
    r"|(?<!\bbe )\b(?:built|compiled|completed|done|executed|exited|failed|finished|passed|ran"
    r"|successful|succeeded|tests?)(?: run)? in (?:about )?\d"
)
"""Beside a span of time it says how long something lasted, and not when to come back."""
SECONDS_A_MINUTE = 60.0
"""By definition."""
_SHORTEST_SPAN = 5.0
"""Seconds: a model takes as long to answer."""
_LATE = 3
"""Whoever comes back after more than three times the span does not wait for it."""


def unit_of(told: str) -> str:
    """Return in which unit of time a tool waits, by its name and what it says of itself; empty if
    it names none or both.
    """
    minutes, seconds = (pattern.search(told) is not None for pattern in (_IN_MINUTES, _IN_SECONDS))
    return "" if minutes is seconds else "minutes" if minutes else "seconds"


def tells_when(text: str) -> float | None:
    """Return a span of time that an answer tells, and that nothing has taken."""
    return None if TOOK.search(text) else seconds_in(text)


def comes_back_as_told(said: str, earlier: Span, later: Span) -> bool:
    """Tell whether a call is made again when its answer said, and not much later.

    Args:
        said: the answer; one that is short and names a span of time tells when.
        earlier: when the call was made that brought it.
        later: when it was made again.
    """
    spans = earlier, later
    if len(said) > _LONGEST or not spaced(spans, _SHORTEST_SPAN):
        return False
    seconds = seconds_in(said)
    if seconds is None or TOOK.search(said) is not None:
        return False
    return spaced(spans, seconds - 1) and not spaced(spans, _LATE * seconds + 1)


def seconds_in(text: str) -> float | None:
    """Return the first span of time of a text, in seconds; None if it has none."""
    found = _SECONDS.search(text)
    parts = _DURATION.search(text)
    if parts is not None:
        return float(parts[1] or 0) * SECONDS_A_MINUTE + float(parts[2] or 0)
    if found is not None:
        return float(next(group for group in found.groups() if group))
    found = MINUTES.search(text)
    return None if found is None else float(found[1]) * SECONDS_A_MINUTE
