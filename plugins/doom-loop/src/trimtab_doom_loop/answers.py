"""Kinds of answers that bring nothing new by themselves."""

from __future__ import annotations

import re

from trimtab import LazyPattern

_ACKNOWLEDGED = LazyPattern(
    r"\b(?:accepted|added|affected|applied|approved|archived|assigned|booked|cancell?ed|changed"
    r"|clicked|closed|committed|completed?|confirmed|converted|copied|created|delivered|deleted"
    r"|disabled|done|edited|enabled|exported|finished|generated|granted|image|imported|inserted"
    r"|installed|labell?ed|merged|modified|moved|none|null|ok|okay|opened|pass(?:ed|ing)|posted"
    r"|pressed|processed|published|queued|registered|removed|renamed|replaced|restarted|restored"
    r"|reverted|saved|scheduled|screenshot|scrolled|sent|set|started|stopped|stored|submitted"
    r"|succeeded|success\w*|translated|true|typed|undone|updated|uploaded|written)\b"
    r"|\b(?:no|0|zero) (?:\w+ )?(?:diagnostics|errors?|issues?|offenses|problems?|violations?"
    r"|vulnerabilities|warnings?)\b",
    re.IGNORECASE,
)
_REFUSED = LazyPattern(
    r"\b(?:blocked|cannot|denied|failed|forbidden|invalid|never|not|refused|rejected|unable)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_UNCHANGED = LazyPattern(
    r"\bunchanged\b|\bno (?:visible )?(?:change|difference|effect)s?\b|\bnothing (?:has )?changed\b"
    r"|\b(?:did|has|have|was|were)(?: not|n't) changed?\b",
    re.IGNORECASE,
)
# What a shell's harness puts around nothing.
_FRAME = LazyPattern(r"<?\b(?:exit|return)[ _]?code\W{1,3}0\b|</?\w+>", re.IGNORECASE)
_NOTHING = LazyPattern(
    r"\b(?:no|0|zero) (?:\w+ )?(?:results?|match(?:es)?|hits?|files?|items?|rows?|records?"
    r"|entries|data|documents?|pages?|usages?|references?)\b"
    r"|\bnot found\b|\bnothing\b|\bnone (?:found|available)\b|\bfound (?:0|no)\b|\bempty\b"
    r"|\bdoes(?: not|n't) exist\b|\bno such\b",
    re.IGNORECASE,
)
_IN_PROGRESS = LazyPattern(
    r"\b(?:building|deploying|in[ _-]?progress|pending|processing|provisioning|queued|running"
    r"|starting|still|waiting|not (?:yet )?(?:complete|done|finished|ready))\b",
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
    if len(said) > _BRIEF:
        return False
    if _ACKNOWLEDGED.search(said) is not None:
        return not stays(said) and _REFUSED.search(said) is None
    return not _FRAME.sub("", said).strip()


def stays(said: str) -> bool:
    """Tell whether an answer says that what was done changed nothing."""
    return len(said) <= _SHORT and _UNCHANGED.search(said) is not None


def finds_nothing(said: str) -> bool:
    """Tell whether an answer says that there is nothing."""
    return said.strip().lower() in _BARE or tells_of_nothing(said)


def tells_of_nothing(said: str) -> bool:
    """Tell whether an answer says in words that there is nothing."""
    said = said.strip()
    return len(said) <= _SHORT and _NOTHING.search(said) is not None


def in_progress(said: str) -> bool:
    """Tell whether an answer says that something is not finished yet."""
    return len(said) <= _SHORT and _IN_PROGRESS.search(said) is not None
