"""What the user asks of the agent, and whether the agent asks something of its user."""

from __future__ import annotations

import re
from functools import lru_cache

import attrs

from trimtab.text import LazyPattern
from trimtab_signals._normalise import lowered

_NUMBERS = {
    "two": 2, "twice": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100,
    "zwei": 2, "drei": 3, "fünf": 5, "zehn": 10, "zwanzig": 20, "dix": 10, "diez": 10,
}  # fmt: skip
# The first three are for text in lower case.
_TIMES = LazyPattern(
    r"\b(\d{1,4}|"
    + "|".join(_NUMBERS)
    + r")\s?(?:times|runs?|x|iterations|rounds|repetitions|attempts"
    r"|tries|samples|mal|fois|veces|volte|раз|次|回)(?![a-z])"
    r"|(?<![\d.])(\d{1,4})\s?(?:次|回|遍)"
)
_UNTIL = LazyPattern(
    r"\b(?:keep|continue) (?:on )?(?:\w+ing|an eye)\b|\b(?:every|each) (?:\d+ |few |other )?"
    r"(?:s|sec|seconds?|min|minutes?|hours?)\b|\b(?:poll|monitor|watch|wait|retry|repeat)\b"
    r"|\b(?:over and over|again and again|in a loop|repeatedly|until it)\b"
)
_ALONE = LazyPattern(
    r"\b(?:one|a single|1)(?: (?:tool|function|request|call|query|file|command|step|thing))?"
    r"(?: calls?)?(?: at a time| per (?:turn|message|step|response)| each turn| after the other)"
    r"|\b(?:sequentially|serially|one[ -]by[ -]one|not? (?:\w+ ){0,2}in parallel|rate[- ]limited?"
    r"|(?:only|just) (?:\w+ ){0,2}one (?:tool|function) call)\b"
)
_ALONE_WORDS = (
    "at a time", " per ", "each turn", "after the other", "ially", "by one", "by-one",
    "in parallel", "rate", "one tool call", "one function call",
)  # fmt: skip
"""Each match of `_ALONE` holds one of them, few texts do."""
_QUESTION = LazyPattern(r"[?\uff1f]")
_CLOSING_QUESTION = LazyPattern(r"[?\uff1f][\W_]*$")
_ADDRESSED = LazyPattern(
    r"\b(?:you|your|(?:shall|should|may|can|could) (?:I|we)|would|prefer)\b"
    r"|[您你吗]|\b(?:soll|möchtest|willst|kannst|welche|quieres|debo|puedo|veux|dois|puis)\w*",
    re.IGNORECASE,
)
_REQUEST = LazyPattern(
    r"\b(?:please|kindly) (?:\w+ )?(?:add|approve|check|choose|confirm|decide|enter|give|grant"
    r"|install|let|log|look|pick|provide|read|reply|respond|review|run|select|send|set|share|sign"
    r"|supply|tell|test|try|verify)\b"
    r"|\blet me know\b|\btell me (?:if|how|what|when|whether|which)\b|\bI(?:'ll| will"
    r"| need to)? ?(?:am |'m )?"
    r"(?:wait(?:ing)?|await(?:ing)?|pause|paused|pausing|stop(?:ping)?|hold(?:ing)?) (?:here"
    r"|for|on|until|now)\b"
    r"|\b(?:a?waiting|waits?) (?:for|on) (?:your|you|the user|approval|review|feedback"
    r"|confirmation)\b"
    r"|\bI need (?:you|your|a|the|an) \b|\bneeds? (?:your|a human|the user)\b|\brequires? your\b"
    r"|\b(?:once|when|after|until|as soon as) you(?:'ve| have|r)?\b|\bup to you\b|\byour (?:call"
    r"|approval|confirmation|decision|go-ahead|input|permission|choice|review)\b"
    r"|\bready for (?:your )?(?:review|approval)\b|\bblocked (?:on|by|until)\b"
    r"|\bcan(?:no|')t (?:go on|proceed|continue) (?:without|until)\b"
    r"|请您?|麻烦|等待(?:您|你)|需要(?:您|你)|ください|お願い|待って"
    r"|\bbitte\b|\bsag(?:en Sie)? mir\b|\bgib (?:mir )?bescheid\b|\bwarte auf\b"
    r"|\bbrauche (?:dein|von dir|Ihre)"
    r"|\bpor favor\b|\bavísame\b|\bveuillez\b|\bs'il (?:te|vous) pla[iî]t\b|\bdites?-moi\b",
    re.IGNORECASE,
)
_LONGEST = 20_000
_LONGEST_ORDER = 600
_MANY = 20
_EDGE = 600
_LAST = 240


@attrs.frozen
class Orders:
    """What the latest message of the user asks for.

    Args:
        times: how often it wants a thing done, 0 where it doesn't say.
        alone: it wants one call at a time.
    """

    times: int = 0
    alone: bool = False


NO_ORDERS = Orders()


@lru_cache(maxsize=8)
def orders_in(message: str) -> Orders:
    """Return the orders that a user's message gives; words that name no number count as 20."""
    text = lowered(message[:_LONGEST])
    alone = _is_alone(text)
    if len(text) > _LONGEST_ORDER:
        return Orders(alone=alone)  # a report or a file, in which such words are about other things
    counts = [_number(number or sign) for number, sign in _TIMES.findall(text)]
    times = max(counts, default=0)
    if times <= 2:
        times = _MANY if _UNTIL.search(text) is not None else 0
    return Orders(times, alone)


def wants_one_at_a_time(text: str) -> bool:
    """Tell whether a text, such as a system prompt or a policy, asks for one call at a time."""
    return _is_alone(lowered(text[:_LONGEST]))


def _is_alone(text: str) -> bool:
    return any(word in text for word in _ALONE_WORDS) and _ALONE.search(text) is not None


def asks_user(text: str) -> bool:
    """Tell whether an agent's closing text asks something of its user.

    A question that ends the last paragraph, a question to "you", or a request such as "please
    confirm" counts; a question that the text itself answers does not.

    Args:
        text: the text; its last 600 characters are looked at.
    """
    last = text.strip()[-_EDGE:]
    closing = last.rpartition("\n\n")[2][-_LAST:]
    if _CLOSING_QUESTION.search(closing):
        return True
    asked = any(_ADDRESSED.search(part[-_LAST:]) for part in _QUESTION.split(last)[:-1])
    return asked or _REQUEST.search(last) is not None


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word]
