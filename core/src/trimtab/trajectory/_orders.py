"""What the user ordered that looks like a fault: doing a thing many times, or one at a time."""

from __future__ import annotations

import re
from functools import lru_cache

import attrs

from trimtab._types.text import LazyPattern

_NUMBERS = {
    "two": 2, "twice": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100,
    "zwei": 2, "drei": 3, "fünf": 5, "zehn": 10, "zwanzig": 20, "dix": 10, "diez": 10,
}  # fmt: skip
_TIMES = LazyPattern(
    r"\b(\d{1,4}|"
    + "|".join(_NUMBERS)
    + r")\s?(?:times|runs?|x|iterations|rounds|repetitions|attempts"
    r"|tries|samples|mal|fois|veces|volte|раз|次|回)(?![A-Za-z])"
    r"|(?<![\d.])(\d{1,4})\s?(?:次|回|遍)",
    re.IGNORECASE,
)
_UNTIL = LazyPattern(
    r"\b(?:keep|continue) (?:on )?(?:\w+ing|an eye)\b|\b(?:every|each) (?:\d+ |few |other )?"
    r"(?:s|sec|seconds?|min|minutes?|hours?)\b|\b(?:poll|monitor|watch|wait|retry|repeat)\b"
    r"|\b(?:over and over|again and again|in a loop|repeatedly|until it)\b",
    re.IGNORECASE,
)
_ALONE = LazyPattern(
    r"\b(?:one|a single|1)(?: (?:tool|function|request|call|query|file|command|step|thing))?"
    r"(?: calls?)?(?: at a time| per (?:turn|message|step|response)| each turn| after the other)"
    r"|\b(?:sequentially|serially|one[ -]by[ -]one|not? (?:\w+ ){0,2}in parallel|rate[- ]limited?"
    r"|(?:only|just) (?:\w+ ){0,2}one (?:tool|function) call)\b",
    re.IGNORECASE,
)
_LONGEST = 20_000
_LONGEST_ORDER = 600
_MANY = 20


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
    text = message[:_LONGEST]
    alone = _ALONE.search(text) is not None
    if len(text) > _LONGEST_ORDER:
        return Orders(alone=alone)  # a report or a file, in which such words are about other things
    counts = [_number(number or sign) for number, sign in _TIMES.findall(text)]
    times = max(counts, default=0)
    if times <= 2:
        times = _MANY if _UNTIL.search(text) is not None else 0
    return Orders(times, alone)


def wants_one_at_a_time(text: str) -> bool:
    """Tell whether a text, such as a system prompt or a policy, asks for one call at a time."""
    return _ALONE.search(text[:_LONGEST]) is not None


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]
