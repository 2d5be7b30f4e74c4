"""What the user asks of the agent: how often, and one call at a time."""

from __future__ import annotations

from functools import lru_cache

import attrs

from trimtab.text import LazyPattern
from trimtab_signals._normalise import lowered
from trimtab_signals._numerals import times_in
from trimtab_signals._particles import in_turn
from trimtab_signals._profiles import name_words

# These are for text in lower case.
_NUMBERS = {
    "two": 2, "twice": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100,
    "zwei": 2, "drei": 3, "fünf": 5, "zehn": 10, "zwanzig": 20, "dix": 10, "diez": 10,
}  # fmt: skip
# A number of things, in which the words of a tool's name may stand: "five front flips".
_THINGS = LazyPattern(
    r"(?<![\w.,-])(\d{1,3}|" + "|".join(_NUMBERS) + r") ((?:[^\W\d_]{2,24} ){0,2}[^\W\d_]{3,24})"
)
_BANNED = LazyPattern(
    r"(?:\b(?:not|never|no|without|stop|nicht|keine?|nie|ne|pas|jamais|nunca|não|не|нельзя)\b|n't\b"
    r"|不要|别|勿|ないで|마세요|말고)[^.!?\n]{0,80}$"
)
_ALONE = LazyPattern(
    r"\b(?:one|a single|1)(?: (?:tool|function|request|call|query|file|command|step|thing))?"
    r"(?: calls?)?(?: at a time| per (?:turn|message|step|response)| each turn)"
    r"|\b(?:rate[- ]limited?|(?:only|just) (?:\w+ ){0,2}one (?:tool|function) call"
    r"|ein \w{4,20} pro \w{4,20})\b"
)
_LONGEST = 20_000
"""Characters of a message; longer ones are files that the user pasted."""
_LONGEST_ORDER = 600
"""Characters of a message that is an order to repeat and nothing else."""
_SHORTEST_NAME = 4
"""Letters of a word in a tool's name that stands in few others."""
_CLAUSE = 100
"""Characters before an order in which a ban of it would stand."""


# A number, or a name with one in it, and what lies between two numbers. Some scripts set no space.
_ITEM = LazyPattern(
    r"(?a:(?<![\w.,-])(?:(\d{1,6}) ?[-–—~] ?(\d{1,6})(?![\w-]|[.,]\d)|[a-z_]*\d[\w-]*))"
)
_MOST_ITEMS = 256
"""Items of one list; a longer one is a file."""


@attrs.frozen
class Orders:
    """What the latest message of the user asks for.

    Args:
        times: how often it wants a thing done, 0 where it doesn't say.
        alone: it wants one call at a time.
        things: how many of what it names, each in up to three words.
        items: numbers, and names with a number in them, that it lists.
    """

    times: int = 0
    alone: bool = False
    things: tuple[tuple[int, str], ...] = ()
    items: frozenset[str] = frozenset()

    def of_tool(self, tool: str) -> int:
        """Return how many it wants of what `tool` makes or does; 0 where it doesn't say."""
        words = [word for word in name_words(tool) if len(word) >= _SHORTEST_NAME]
        return max((n for n, thing in self.things if any(w in thing for w in words)), default=0)


NO_ORDERS = Orders()


@lru_cache(maxsize=8)
def orders_in(message: str) -> Orders:
    """Return the orders that a user's message gives."""
    text = lowered(message[:_LONGEST])
    alone = _is_alone(text)
    if len(text) > _LONGEST_ORDER:
        return Orders(alone=alone)  # a report or a file, in which such words are about other things
    counts = [
        count
        for count, end in times_in(text)
        if _BANNED.search(text[max(0, end - _CLAUSE) : end]) is None
    ]
    times = max(counts, default=0)
    things = tuple((_number(found[1]), found[2]) for found in _THINGS.finditer(text))
    return Orders(times if times > 2 else 0, alone, things, items_of(text))


def items_of(text: str) -> frozenset[str]:
    """Return the numbers and the names with a number in them that stand in `text` in lower case,
    at most 256, and the numbers of a range.

    Args:
        text: such as "books 41-47 and b12".
    """
    items: set[str] = set()
    for found in _ITEM.finditer(text):
        if found[1] is None:
            items.add(found[0])
        elif 0 < int(found[2]) - int(found[1]) < _MOST_ITEMS:
            items.update(map(str, range(int(found[1]), int(found[2]) + 1)))
        if len(items) >= _MOST_ITEMS:
            break
    return frozenset(items)


def wants_one_at_a_time(text: str) -> bool:
    """Tell whether a text, such as a system prompt or a policy, asks for one call at a time."""
    return _is_alone(lowered(text[:_LONGEST]))


def _is_alone(text: str) -> bool:
    return in_turn(text) or _ALONE.search(text) is not None


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word]
