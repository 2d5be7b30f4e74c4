"""How similar calls are, in their arguments and in their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from trimtab.text import LazyPattern
from trimtab_signals import (
    CallRecord,
    finds_nothing,
    mentions_failure,
    reports_nothing,
)

_NUMBER = LazyPattern(r"\d+")
_NUMBERED = LazyPattern(r"\b[A-Za-z]\w*\d\w*")
_NAME = LazyPattern(r"(?a:(?<![A-Za-z_-])[A-Za-z_](?:\w*-)?\w*\d\w*)")
_PART = LazyPattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+(?![^\W\d_])|[^\W\d_]+")
_SERVER = LazyPattern(r"(?<=\w)@\w[\w.-]+")
"""Who shares a mail server is not one person."""
_WIDE = LazyPattern(r"[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that set no space between words: two characters count as one."""
_TOKEN = LazyPattern(r"\w+")
_OTHER = LazyPattern(r"[\W_]")
_PARTED = 3
"""Letters of a part of a name (``getUser``) that is a word; shorter ones are endings."""
_SHARED = 4
"""Texts are about unlike things if they share a quarter of their words or less."""
_ATTEMPTS = 4
"""A part that a quarter of the calls have goes round; three quarters of them make attempts."""
_SHORT = 300
"""Characters of an answer that says one thing, such as an error, and not what a file holds."""
_NAME_OR_NUMBER = LazyPattern(r"(?a:\b\w*\d\w*)")
_TEXT = LazyPattern(r'"([^"]+)"')
_THING = LazyPattern(r'(?<==")[^"]{1,24}(?=")|(?<==)\d{2,24}')
"""A value that names a thing; a longer one is a text, and one digit is in most answers."""
_CONTENT = LazyPattern(r"(?<![\w-])[A-Za-z_][\w./-]+")
_LETTERS = LazyPattern(r"[^\W\d_]+")
_FEWEST_WORDS = 2
"""One word is a name or a value; two may greet."""
_RETOLD = 0.4
"""Of what not all of some texts hold, the share that others hold too: 0.43 and more in messages,
notes and questions in other words, 0.25 and less where each is about another thing."""
_KEPT = 0.9
"""Of the parts of a draft, what the next one still holds."""
_BARE = 3
"""Times that a deed was done without its additions: then they are decoration."""
_STEM = 4
"""Four letters tell most words apart and leave their endings out."""


def retold(calls: Sequence[CallRecord], most: int = 8) -> bool:
    """Tell whether calls say one thing in other words, in any language: much of what their texts
    are made of stands in some others, though not in all. Of a list, all share the same, and each
    has the rest for itself.
    """
    numbers = [frozenset(_NAME_OR_NUMBER.findall(call.params_text)) for call in calls]
    if not calls[0].profile.writes and len({*numbers}) > 1:
        return False  # another thing is asked for
    if frozenset().union(*numbers) not in numbers:  # one of them says all that the others do
        return False
    columns = _columns(calls)
    differing = [texts for texts in columns if len({*texts}) > 1]
    if sum(2 * len({*texts}) > len(texts) for texts in differing) > most:
        return False
    texts = dict.fromkeys(" ".join(texts) for texts in zip(*differing, strict=True))
    parts = list(map(_grams_of, texts))
    if _grows(parts) or _grows(parts[::-1]):
        return False  # a text that is being written
    counts = Counter(part for one in parts for part in one)
    again = sum(count for count in counts.values() if 1 < count < len(parts))
    alone = sum(count == 1 for count in counts.values())
    return bool(parts) and all(parts) and again >= _RETOLD * (again + alone) > 0


def _grows(parts: Sequence[frozenset[str]]) -> bool:
    return all(
        len(one) < len(other) and len(one & other) >= _KEPT * len(one)
        for one, other in pairwise(parts)
    )


def _columns(calls: Sequence[CallRecord]) -> list[tuple[str, ...]]:
    """Return the texts in the arguments of calls, those of one place together; none of commands,
    and none if anything else differs.
    """
    if calls[0].command is not None or len({_TEXT.sub("", c.params_text) for c in calls}) > 1:
        return []
    return list(zip(*(_TEXT.findall(call.params_text) for call in calls), strict=True))


def _grams_of(text: str) -> frozenset[str]:
    """Return the parts of the words in a text, across blanks; none if it is no sentence."""
    words = _LETTERS.findall(_SERVER.sub("", text.lower()))
    if len(words) < _FEWEST_WORDS and not any(map(_WIDE.match, words)):
        return frozenset()
    text = " ".join(words)
    return frozenset(
        text[place : place + (2 if _WIDE.match(text[place]) else _STEM)]
        for place in range(len(text) - 1)
    )


def answer_key(call: CallRecord) -> str:
    """Return a key that is equal for equal answers, whatever the arguments were.

    A failure's key is its signature, unless the answer is much longer (a rejected change is often
    shown in full). All answers of a tool that found nothing have one key.
    """
    if call.signature and (call.size <= _SHORT or call.profile.writes):
        return f"{call.tool}\n{call.signature}"
    if call.profile.read_only and call.size <= _SHORT and finds_nothing(call.output):
        return f"{call.tool}\n"
    return f"{call.tool}\n{call.output_hash}"


def stable_answer_key(call: CallRecord) -> str:
    """Return `answer_key` without what differs by chance, to recognise a known loop."""
    key = answer_key(call)
    return (
        f"{call.tool}\n{call.output_fingerprint}" if key.endswith(f"\n{call.output_hash}") else key
    )


def alike(calls: Sequence[CallRecord], similarity: float) -> bool:
    """Tell whether each call's arguments are near-equal to the next one's."""
    from rapidfuzz.fuzz import ratio  # needed by the few runs that come here

    return all(
        ratio(a.params_text, b.params_text, score_cutoff=100 * similarity) > 0
        for a, b in pairwise(calls)
    )


def one_deed(calls: Sequence[CallRecord]) -> bool:
    """Tell whether commands do one thing in several forms: flags, pipes and shells around it
    change, and three of the commands are it and nothing else.
    """
    deeds = [frozenset(_CONTENT.findall(call.command)) for call in calls if call.command]
    if len(deeds) < len(calls):
        return False
    bare = min(deeds, key=len)
    return all(bare <= deed for deed in deeds) and deeds.count(bare) >= _BARE


def alike_but_for_numbers(calls: Sequence[CallRecord]) -> bool:
    """Tell whether nothing but numbers differs in the arguments."""
    return len({_NUMBER.sub("0", call.params_text) for call in calls}) == 1


def different_things(calls: Sequence[CallRecord]) -> bool:
    """Tell whether calls are about different things: what differs in the arguments of one has no
    beginning of a word in common with the others. Calls that look for one thing in other words
    have.
    """
    words = [_parts(call.params_text).union(_NUMBERED.findall(call.params_text)) for call in calls]
    frame = frozenset.intersection(*words)
    own = [parts - frame for parts in words]
    counts = Counter(part for parts in own for part in parts)
    shared = sum(any(counts[part] > 1 for part in parts) for parts in own)
    return all(own) and _SHARED * shared <= len(own)


def each_names_its_own(calls: Sequence[CallRecord]) -> bool:
    """Tell whether each answer names what its deed alone was for: the things of a list."""
    named = [set(_THING.findall(call.params_text)) for call in calls]
    counts = Counter(name for names in named for name in names)
    return all(
        not (call.reads or mentions_failure(call) or reports_nothing(call.output))
        and any(counts[name] == 1 and name in call.output for name in names)
        for call, names in zip(calls, named, strict=True)
    )


def attempts(calls: Sequence[CallRecord]) -> bool:
    """Tell whether calls try to get at one thing in several ways: what differs in the
    arguments of most has a beginning of a word in common with what differs in others. Calls that
    go through a list have names of their own.
    """
    if numbered_names(calls) or alike_but_for_numbers(calls):
        return False
    words = [_parts(call.params_text) for call in calls]
    counts = Counter(part for parts in words for part in parts)
    often = {part for part, count in counts.items() if _ATTEMPTS * count >= len(calls) > count}
    texts = [frozenset(_TOKEN.findall(call.params_text.lower())) for call in calls]
    most = Counter(token for text in texts for token in text)
    # Nothing of its own: the words of others in another order, or fewer of them.
    borrowed = [all(most[token] > 1 for token in text) for text in texts]
    tries = sum(bool(parts & often) or old for parts, old in zip(words, borrowed, strict=True))
    return tries * _ATTEMPTS >= (_ATTEMPTS - 1) * len(calls)


def respelled(calls: Sequence[CallRecord]) -> bool:
    """Tell whether calls try one value in several spellings, or with additions, and all else is
    equal: three quarters of the values hold the letters of one (``won``, ``Won``, ``closed_won``).
    """
    differing = [column for column in _columns(calls) if len({*column}) > 1]
    if len(differing) != 1 or numbered_names(calls):  # web8 is no spelling of web80
        return False
    bare = [_OTHER.sub("", value.lower()) for value in differing[0]]
    core = min(bare, key=lambda one: (-sum(one in other for other in bare), len(one)))
    held = sum(core in other for other in bare)
    return len(core) >= _PARTED and held * _ATTEMPTS >= (_ATTEMPTS - 1) * len(calls)


def _parts(text: str) -> frozenset[str]:
    """Return the beginnings of the words in a text; of ``getUser`` and ``get_user`` they are the
    same.
    """
    found: list[str] = []
    for part in _PART.findall(_SERVER.sub("", text)):
        if _WIDE.match(part):
            found += map("".join, pairwise(part))
        elif len(part) >= _PARTED:
            found.append(part[:_STEM].lower())
    return frozenset(found)


def numbered_names(calls: Sequence[CallRecord]) -> bool:
    """Tell whether calls differ in names alone that end in a number, as ``web1`` and ``web2`` do:
    each is another subject, not another attempt at the same one.
    """
    return len({_NAME.sub("0", call.params_text) for call in calls}) == 1
