"""Kinds of answers that bring nothing new by themselves."""

from __future__ import annotations

import re

_ACKNOWLEDGED = re.compile(
    r"\b(?:accepted|added|applied|closed|completed?|copied|created|delivered|deleted|done|edited"
    r"|finished|image|inserted|installed|moved|none|null|ok|okay|opened|pressed|queued|removed"
    r"|renamed|replaced|saved|scheduled|screenshot|scrolled|sent|set|stored|submitted|success\w*"
    r"|true|typed|updated|uploaded|written|clicked)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\b(?:no|0|zero) (?:\w+ )?(?:results?|match(?:es)?|hits?|files?|items?|rows?|records?"
    r"|entries|data|documents?|pages?|usages?|references?)\b"
    r"|\bnot found\b|\bnothing\b|\bnone (?:found|available)\b|\bfound (?:0|no)\b|\bempty\b"
    r"|\bdoes(?: not|n't) exist\b|\bno such\b",
    re.IGNORECASE,
)
_BARE = frozenset({"", "[]", "{}", "()", "null", "none", "0", "''", '""', "false"})
_SHORT = 160
_BRIEF = 80


def acknowledges(said: str) -> bool:
    """Tell whether an answer only confirms that something was done, and not what is there."""
    said = said.strip()
    if not said:
        return True
    return len(said) <= _BRIEF and _ACKNOWLEDGED.search(said) is not None


def finds_nothing(said: str) -> bool:
    """Tell whether an answer says that there is nothing."""
    said = said.strip()
    return said.lower() in _BARE or (len(said) <= _SHORT and _NOTHING.search(said) is not None)
