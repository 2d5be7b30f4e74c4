"""What is new in an answer: pieces that were not there before, and values that have moved.

Learned from the answers themselves. What stays the same is the frame, what differs are values
in it. A value that counts the calls, is labelled as one of a clock, or is another random name each
time says nothing about the work. Any other value that moves is news.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import ne
from typing import Any, NamedTuple
from zlib import crc32

from trimtab.text import LazyPattern
from trimtab_signals._canonical import digest

# Begins with a set of characters, so that the engine skips to the first that fits.
_SPLIT = LazyPattern(r"[\n{}\[\];, ](?:(?<![, ])|(?<=,)(?: |(?=[\"'{\[]|\w{1,40}=))|(?<=[.!?] ) *)")
_MARKER = LazyPattern(r"^\W*(?:\d{1,3}[.):|]\s*)?")
_SCORE = LazyPattern(
    r"\b(?:score|relevance|rank|similarity|distance|position|query|id)\W{1,4}[\d.]+\W*$", 2
)
_WHOLE_NUMBER = LazyPattern(r"(?<![\w.])\d+(?![\w.])")
_SHORTEST = 3
"""Characters of a piece that may be news; shorter ones are marks."""
_SHORTEST_ECHO = 4
_LONGEST_ECHO = 1_000
"""Characters of an argument that an answer repeats: shorter ones stand in it by chance."""
# A path or a name with more than letters in it, which a command gives to its program.
_NAMES_IN = LazyPattern(r"(?<![\w./\\:-])(?=[\w-]{1,64}[./\\:])[\w./\\:-]{5,200}\w")
_SMALLEST_ECHO = 10
"""Numbers below ten are in most answers."""
_MOST = 400
_DEEP = 4
"""Pieces of an answer that are compared, and how deep its arguments are looked into."""
_WORD = LazyPattern(r"~|[^\W_]+(?:[_.-][^\W_]+)*")
_CHANCE = "~"
"""What stands for a time or an id in a normalised text."""
_NUMBER = LazyPattern(r"\d+(?:\.\d+)?")
_CAMEL = LazyPattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
_FEW = 96
"""Numbers and names of an answer that are followed from call to call; a table has more."""
_NEAR = 3
"""Words before a number that may say what it counts."""
_HEX = frozenset("0123456789abcdef")
_HEX_ID = 6
_HEX_TAIL = 16
"""Hexadecimal digits, some of them letters: short ids of runs and commits have six or seven; so
many are one whatever stands before them."""
_LENGTHY = 12
"""Words of an answer beside which a number that grows by one is a tally; alone it may be news."""

CLOCKS = frozenset(
    {
        "age", "ago", "clock", "date", "duration", "elapsed", "expires", "latency", "millis",
        "milliseconds", "ms", "now", "runtime", "seconds", "secs", "since", "timestamp", "took",
        "ts", "ttl", "uptime", "waited",
    }
)  # fmt: skip
COSTS = frozenset(
    {
        "billed", "budget", "cost", "credit", "credits", "quota", "rate",
        "ratelimit", "spent", "tokens", "usage",
    }
)  # fmt: skip
NAMES = frozenset(
    {
        "etag", "id", "nonce", "pid", "port",
    }
)  # fmt: skip
_REQUESTS = frozenset({"correlation", "req", "request", "span", "trace"})
"""Labels of names that each call gets anew; numbers behind them may count the work."""
_SCORES = frozenset(
    {
        "distance", "rank", "relevance", "score", "similarity",
    }
)  # fmt: skip
_RESULTS = frozenset({"failed", "left", "passed", "remaining"})
"""What tests and queues count: one more or one less is the result of the work."""
_SERIES = 1_000
"""A number that grows by less than so small a part of it is the next of a long series, such as that
of cases or requests, which grows with what others do."""
_WORK = frozenset(
    {
        "chapter", "completed", "count", "done", "files", "items", "level", "line", "lines", "page",
        "processed", "progress", "row", "step", "total",
    }
)  # fmt: skip
"""What work is counted in: a number of these that grows by one is no tally of the calls."""

Pieces = frozenset[int]


class Slot(NamedTuple):
    """A value in an answer.

    Attributes:
        value: as it stands there.
        label: the words before it, lower case; empty if nothing is.
        behind: the three characters after it.
    """

    value: str
    label: tuple[str, ...]
    behind: str


class Shape(NamedTuple):
    """An answer as a frame with values.

    Attributes:
        frame: fingerprint of the text without its values.
        slots: the values, at most 96.
        words: how many words it has, values among them.
    """

    frame: str
    slots: tuple[Slot, ...]
    words: int = 0


def shape_of(text: str) -> Shape:
    """Return the frame and the values of a normalised answer."""
    frame: list[str] = []
    slots: list[Slot] = []
    end, before, words = 0, "", 0
    for match in _WORD.finditer(text):
        word, words = match[0], words + 1
        if not word.isalpha() and _is_value(word):
            frame.append(text[end : match.start()])
            end = match.end()
            frame.append(_take(word, before, text[end : end + 3], slots))
        before = word if word != _CHANCE else before
    frame.append(text[end:])
    return Shape(digest("".join(frame)), tuple(slots[:_FEW]), words)


def _is_value(word: str) -> bool:
    if "-" in word:
        return True
    plain = word.replace("_", "").replace(".", "")
    return not plain.isalpha() and (plain.isascii() or any(map(str.isdigit, plain)))


def _take(word: str, before: str, behind: str, slots: list[Slot]) -> str:
    """Note the values in `word`, and return what stays of it."""
    made_of_words = "-" in word and not any(map(str.isdigit, word))
    of = before.lower()
    is_named = of in NAMES or (of in _REQUESTS and not word.isdigit())
    if made_of_words or word == _CHANCE or is_random(word) or is_named:
        slots.append(Slot(word, label_words(before), behind))
        return "#"
    label = before
    for match in _NUMBER.finditer(word):
        front = word[: match.start()]
        words = (*label_words(label), *label_words(front))
        slots.append(Slot(match[0], words, word[match.end() :][:3] or behind))
    return str(_NUMBER.sub("#", word))


@lru_cache(maxsize=1024)
def label_words(text: str) -> tuple[str, ...]:
    """Return the last three words of a label, lower case: ``requestId`` → request, id."""
    return tuple(word.lower() for word in _CAMEL.findall(text)[-_NEAR:])


def is_random(word: str) -> bool:
    """Tell whether a word looks random: letters and digits in turn, or hexadecimal digits."""
    if len(word) < 4 or word.isdigit():
        return False
    plain = word.replace("_", "").replace("-", "").replace(".", "")
    kinds = list(map(str.isdigit, plain))
    turns: int = sum(map(ne, kinds, kinds[1:]))
    if turns and _HEX.issuperset(plain[-_HEX_TAIL:]) and len(plain) >= _HEX_ID:
        return turns > 1 or _HEX.issuperset(plain)
    return turns >= 2 and turns * 4 >= len(kinds)


def names_in(text: str) -> tuple[str, ...]:
    """Return the values in `text`, as it came, that name something: random ones, and those of a
    label such as ``messageId``.
    """
    return tuple(
        slot.value
        for slot in shape_of(text).slots
        if is_random(slot.value) or not NAMES.isdisjoint(slot.label)
    )


@lru_cache(maxsize=16)
def may_say_same(earlier: str, later: str) -> bool:
    """Tell cheaply whether two normalised outputs may have one frame.

    They may if they differ only in words that may be values.
    """
    a, b = earlier.split(), later.split()
    if len(a) != len(b):
        return False
    return all(x == y or not (x.isalpha() or y.isalpha()) for x, y in zip(a, b, strict=True))


def says_same(earlier: Shape, later: Shape, *, reads: bool, complains: bool) -> bool:
    """Tell whether the later of two outputs of one call differs by nothing new.

    Args:
        earlier, later: the outputs, normalised.
        reads: whether the call only reads; then another name in its output is new.
        complains: whether they tell of a failure; then a number that grows by one counts the
            tries, while what an answer counts else may be the work.
    """
    pairs = moved(earlier, later, reads=reads, complains=complains)
    if not pairs:
        return pairs is not None
    return len(pairs) == 1 and later.words >= _LENGTHY and steps_of(pairs) == (1,)


def moved(
    earlier: Shape, later: Shape, *, reads: bool, complains: bool = False
) -> tuple[tuple[Slot, Slot], ...] | None:
    """Return the values that may be news in the later of two outputs, each with what it was.

    Args:
        earlier, later, reads, complains: as in `says_same`.

    Returns:
        None if the outputs differ in more than values, or consist of such.
    """
    if earlier.frame != later.frame or len(earlier.slots) != len(later.slots):
        return None
    pairs = [
        (a, b)
        for a, b in zip(earlier.slots, later.slots, strict=True)
        if a.value != b.value or a.value == _CHANCE
    ]
    if 2 * len(pairs) > later.words:
        return None
    return tuple((a, b) for a, b in pairs if not _idle(a, b, reads=reads, complains=complains))


def steps_of(pairs: Iterable[tuple[Slot, Slot]]) -> tuple[float, ...]:
    """Return by how much the numbers in `pairs` grow; empty if one of them does not, or counts
    the work, so much of a whole.
    """
    steps = []
    for a, b in pairs:
        if not _NUMBER.fullmatch(a.value) or not _NUMBER.fullmatch(b.value):
            return ()
        step = round(float(b.value) - float(a.value), 6)
        if step <= 0 or _is_of_many(b) or not _WORK.isdisjoint(b.label):
            return ()
        steps.append(step)
    return tuple(steps)


def _is_of_many(slot: Slot) -> bool:
    """Tell whether a number is so much of a whole, or counts pieces of the work."""
    return (
        slot.behind[:1] in ("/", "%") or slot.behind == " of" or not _RESULTS.isdisjoint(slot.label)
    )


def _idle(a: Slot, b: Slot, *, reads: bool, complains: bool) -> bool:
    label = set(b.label)
    named = bool(label & NAMES) and not reads
    if not _NUMBER.fullmatch(a.value) or not _NUMBER.fullmatch(b.value):
        chance = _CHANCE in (a.value, b.value) or bool(label & _REQUESTS)
        random = is_random(a.value) and is_random(b.value)
        return chance or named or random or ("-" in a.value and "-" in b.value and not reads)
    if label & (COSTS | _SCORES) or named:
        return True
    if _is_of_many(b):
        return False
    if label & CLOCKS:
        return True
    tally = float(b.value) - float(a.value) == 1 or is_next_of_series(a.value, b.value)
    return complains and bool(label) and tally


def is_next_of_series(was: str, now: str) -> bool:
    """Tell whether a number that has grown is the next of a long series, such as one of orders.

    Args:
        was: the number as it stood in an answer before.
        now: as it stands in the answer of an equal call.
    """
    if not _NUMBER.fullmatch(was) or not _NUMBER.fullmatch(now):
        return False
    return 0 < float(now) - float(was) < float(was) / _SERIES


def pieces_of(text: str, params: Any) -> Pieces:
    """Return the parts of a normalised `text`: its lines and items, without order, numbering,
    scores and what it repeats of the arguments.
    """
    for echo in sorted(_echoes(params), key=len, reverse=True):
        if echo in text:
            text = _without(text, echo)
    if "\\n" in text:  # the lines of a text in a structured answer
        text = text.replace("\\n", "\n").replace('="', "=\n")
    found: set[int] = set()
    for part in dict.fromkeys(_SPLIT.split(text)):  # logs say the same line again and again
        piece = (_MARKER.sub("", part) or part).strip(" \t\r\"',:.")
        if piece == "~" or (len(piece) < _SHORTEST and not piece.isdecimal()):
            continue
        if piece[-1].isalpha() or not _SCORE.search(piece):
            found.add(crc32(piece.encode("utf-8", "replace")))
            if len(found) >= _MOST:
                break
    return frozenset(found)


def _without(text: str, echo: str) -> str:
    if not echo.isdecimal():
        return text.replace(echo, "~")
    return _WHOLE_NUMBER.sub(lambda match: "~" if match[0] == echo else match[0], text)


def _echoes(params: Any, depth: int = 0) -> Iterator[str]:
    if type(params) is int and params >= _SMALLEST_ECHO:
        yield str(params)
    elif isinstance(params, str):
        if len(params) >= _SHORTEST_ECHO:
            yield " ".join(params.split())
            yield from _NAMES_IN.findall(params[:_LONGEST_ECHO])
    elif isinstance(params, Mapping) and depth < _DEEP:
        for value in params.values():
            yield from _echoes(value, depth + 1)
    elif isinstance(params, list | tuple) and depth < _DEEP:
        for value in params[:_MOST]:
            yield from _echoes(value, depth + 1)


def brings_nothing(pieces: Pieces, before: Iterable[Pieces]) -> bool:
    """Tell whether all `pieces` of an output were brought `before`; an empty one brings nothing."""
    left = set(pieces)
    for known in before:
        left -= known
        if not left:
            return True
    return not left
