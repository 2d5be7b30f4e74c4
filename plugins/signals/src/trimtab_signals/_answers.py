"""What an answer says by itself, whatever was asked."""

from __future__ import annotations

import re

from trimtab.text import LazyPattern
from trimtab_signals._normalise import lowered

_CONFIRMED = LazyPattern(
    r"\b(?:accepted|added|affected|applied|approved|archived|assigned|booked|cancell?ed|changed"
    r"|clicked|closed|committed|completed?|configured|confirmed|converted|copied|created"
    r"|delivered"
    r"|deleted|disabled|done|edited|enabled|exported|finished|generated|granted|image|imported"
    r"|inserted|installed|labell?ed|merged|modified|moved|none|null|ok|okay|opened|pass(?:ed|ing)"
    r"|posted|pressed|processed|published|queued|registered|removed|renamed|replaced|restarted"
    r"|restored|reverted|saved|scheduled|screenshot|scrolled|sent|set|started|stopped|stored"
    r"|submitted|succeeded|success\w*|translated|true|typed|undone|updated|uploaded|written)\b"
    r"|^HTTP/\d(?:\.\d)? 2\d\d\b"
    r"|\b(?:no|0|zero) (?:\w+ )?(?:diagnostics|errors?|issues?|offenses|problems?|violations?"
    r"|vulnerabilities|warnings?)\b",
    re.IGNORECASE,
)
_REFUSED = LazyPattern(
    r"\b(?:blocked|cannot|connection closed|denied|error|failed|forbidden|invalid|never|not|refused"
    r"|rejected|unable)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_UNCHANGED = LazyPattern(
    r"\bunchanged\b|\bno (?:\w{1,20} ){0,2}(?:change|difference|effect)s?\b"
    r"|\bnothing (?:has )?(?:changed|to (?:commit|do))\b|\bnot changed\b|\bunmodified\b"
    r"|\b(?:did|has|have|was|were)(?: not|n't) changed?\b|\balready up[- ]to[- ]date\b"
    r"|\b(?:changed|modified|updated)\W{0,2}[=:]\W{0,2}(?:0|false|no|none)\b",
    re.IGNORECASE,
)
_NOTHING = LazyPattern(
    r"\b(?:no|0|zero) (?:\w+ )?(?:results?|match(?:es)?|hits?|files?|items?|rows?|records?"
    r"|entries|data|documents?|pages?|usages?|references?)\b"
    r"|\bnot found\b|\bnothing\b|\bnone (?:found|available)\b|\bfound (?:0|no)\b|\bempty\b"
    r"|\bdoes(?: not|n't) exist\b|\bno such\b",
    re.IGNORECASE,
)
# These two are for text in lower case.
_IN_PROGRESS = LazyPattern(
    r"(?<![a-z])(?:booting|building|deploying|downloading|executing|initiali[sz]ing|installing"
    r"|in[ _-]?progress|pending|processing|provisioning|queued|running|scheduled|starting|syncing"
    r"|still (?:\w+ing|in|being)|submitted|waiting|warming|creating|updating|preparing"
    r"|working(?! (?:copy|dir|tree))"
    r"|not (?:yet )?(?:complete|completed|done|finished|ready|started)|not yet available"
    r"|(?:retry|try again|check back) (?:in|later|after)"
    r"|no (?:new )?output(?: yet)?)(?![a-z])",
)
# What a field denies is not the case; a field such as ``is_compiling`` that holds goes on.
_DENIED = LazyPattern(
    r"[\w ]{1,40}[\"']?\s?[=:]\s?(?:false|no|none|null|0)(?![\w.])", re.IGNORECASE
)
_HELD = LazyPattern(r"[\w ]{1,40}[\"']?\s?[=:]\s?true(?![\w.])", re.IGNORECASE)
_WORDS = LazyPattern(r"[^\W\d_]{3,}")
_TOLD = 4
"""Words beside a flag that holds: more of them are content, and the flag says only that it came."""
_GOING = LazyPattern(r"(?<![a-z])[a-z_]{2,24}ing[\"']?\s?[=:]\s?true\b")
_STATE = LazyPattern(
    r"(?:\b(?:state|status|phase|stage|conclusion)\"?\s?[:=]\s?|<(?:state|status)>)\"?"
    r"([a-z_ -]{2,24})"
)
_STATE_NAMES = ("stat", "phase", "stage", "conclusion")
_NOT_YET = LazyPattern(
    r"\b(?:not (?:yet )?(?:ready|finished|complete|started)|not yet available"
    r"|still (?:starting|booting|running|building|processing)|in progress"
    r"|(?:retry|try again|check back) (?:in|later|after)"
    r"|starting up|warming up|booting)\b",
    re.IGNORECASE,
)
_ENDED = LazyPattern(
    r"(?<![A-Za-z])(?:aborted|cancell?ed|completed?|crashed|deleted|died|dead|done|ended|errored"
    r"|exited|expired|failed|failure|finished|killed|terminated|succeeded|success|stopped"
    r"|timed?[ _]out|no (?:such|longer)|not running|oomkilled|not found)(?![A-Za-z])",
    re.IGNORECASE,
)
_ASKS = LazyPattern(
    r"(?:\b(?:password|passphrase|passcode|otp|verification code|username|login"
    r"|pin)\b[^\n]{0,60}[:?]"
    r"|[\[(](?:y(?:es)?/no?|n/y|Y/n|y/N)[^\])]{0,20}[\])]|\bpress (?:any key|enter|return)\b"
    r"|\bare you sure\b|\bwaiting for (?:your |user )?input\b|\(yes/no)",
    re.IGNORECASE,
)
# The command itself is wrong: no waiting mends that.
_MALFORMED = LazyPattern(
    r"(?:^|[\s:])(?:usage:|syntax error|parse error|command not found"
    r"|(?:invalid|unknown|unrecogni[sz]ed|unexpected) (?:argument|command|field|flag|json|operator"
    r"|option|query|subcommand|syntax|token)"
    r"|expected\b[^\n]{1,60}\bbut got\b|(?:attribute|key|name|reference|syntax|type)error\b)",
    re.IGNORECASE,
)
_ZERO = LazyPattern(
    r"\W{0,3}0 ?[^\W\d]{2,40}(?: [^\W\d]{2,20})?\W{0,3}"
    r"|[^\W\d]{2,40}(?: [^\W\d]{2,20})? ?[:=] ?0\W{0,3}"
)
"""A count of nothing, in any language: "0 αποτελέσματα", "Treffer: 0"."""
_BARE = frozenset({"", "[]", "{}", "()", "null", "none", "0", "''", '""', "false"})
_BRIEF = 80
_SHORT = 160
_STATED = 600
"""Characters: of an answer that says nothing else, of a sentence or two, and of the beginning in
which a complaint names its reason. In a longer text such words may stand by chance."""


def confirms(said: str) -> bool:
    """Tell whether the output `said` only confirms in known words that something was done."""
    said = said.strip()
    if not said:
        return True
    if len(said) > _BRIEF or says_unchanged(said):
        return False
    told = _DENIED.sub("", said)
    content = _HELD.sub("", told)
    flagged = content != told and len(_WORDS.findall(content)) > _TOLD
    confirmed = _CONFIRMED.search(content if flagged else told) is not None
    return confirmed and _REFUSED.search(told) is None


def refuses(said: str) -> bool:
    """Tell whether the output `said`, if short, says that something was not done."""
    return len(said) <= _SHORT and _REFUSED.search(said) is not None


def says_unchanged(said: str) -> bool:
    """Tell whether the output `said` says that nothing has changed."""
    return len(said) <= _SHORT and _UNCHANGED.search(said) is not None


def finds_nothing(said: str) -> bool:
    """Tell whether the output `said` is empty, or says that there is nothing."""
    said = said.strip()
    if len(said) > _SHORT:
        return False
    none = said.lower() in _BARE or _ZERO.fullmatch(said) is not None
    return none or _NOTHING.search(said) is not None


def reports_nothing(said: str) -> bool:
    """Tell whether the output `said` says in words that there is nothing."""
    said = said.strip()
    return len(said) <= _SHORT and _NOTHING.search(said) is not None


def in_progress(said: str) -> bool:
    """Tell whether the output `said` says that something is not finished yet."""
    if len(said) <= _SHORT:
        told = _DENIED.sub("", lowered(said))
        goes_on = _IN_PROGRESS.search(told) is not None or _GOING.search(told) is not None
    else:
        goes_on = any(_IN_PROGRESS.search(state) is not None for state in _states_in(said))
    return goes_on and not asks_for_input(said)


def _states_in(said: str) -> list[str]:
    text = lowered(said[:_STATED])
    return _STATE.findall(text) if any(name in text for name in _STATE_NAMES) else []


def not_yet(said: str) -> bool:
    """Tell whether `said`, of a failure, means "not yet", which excuses those who wait."""
    return len(said) <= _SHORT and _NOT_YET.search(said) is not None


def without_not_yet(said: str) -> str:
    """Return an output without the words that say that something is not finished yet."""
    return str(_NOT_YET.sub("", said))


def has_ended(said: str) -> bool:
    """Tell whether by `said` the process waited for has ended, in success or failure."""
    if len(said) <= _SHORT:
        ended = _ENDED.search(_DENIED.sub("", said)) is not None
    else:
        states = _states_in(said)
        ended = bool(states) and all(_ENDED.search(state) is not None for state in states)
    return ended and not in_progress(said)


def blames_call(said: str) -> bool:
    """Tell whether the answer `said` says that the command itself is wrong."""
    return len(said) <= _STATED and _MALFORMED.search(said) is not None


def asks_for_input(said: str) -> bool:
    """Tell whether the output `said` ends with a prompt that somebody must answer."""
    return _ASKS.search(said[-_SHORT:]) is not None
