"""What the answer of a failed call asks for, read from its form alone, in any language.

Words differ from language to language; what an answer repeats of its call does not. A number
beside the one that was given is a bound, a number that counts the letters of a text is its length,
a list beside a value that was given holds what may be given instead, and an example looks like what
is wanted. All of it holds for answers of calls that failed: elsewhere numbers and lists are data.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from trimtab.text import LazyPattern
from trimtab_signals._bounds import (
    below_zero,
    bounded,
    fewer_days,
    only_digits,
    shortened,
    sooner_end,
)
from trimtab_signals._changes import (
    Arguments,
    Change,
    arguments_in,
    formed,
    instead,
    key_in,
    lacking,
    less,
    meant,
    read_date,
    shown,
    stands,
    swapped,
)
from trimtab_signals._offers import emptied, explained, foreign, missing, needed, offered

_LETTERS = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%H": "HH", "%M": "MM"}
_STRFTIME = LazyPattern("|".join(_LETTERS))
_SIBLINGS = LazyPattern(r"</(\w{1,40})>\s{0,20}<\1>")
_TAG = LazyPattern(r"<([A-Za-z]\w{0,39})[^<>]{0,200}>")
_ABOUT = LazyPattern(r'<\w{1,40} (?:field|name|param\w*|path)="(\w{1,40})">')
_CLOSING = LazyPattern(r"</[\w:]{1,60}>|<[?!][^<>]{0,200}>")
_SAMPLE = LazyPattern(
    r"(?<![\w-])(?!RFC|ISO)(?:[A-Z]{1,4} |[A-Za-z]{1,5}[-/]?)?(?<!RFC )(?<!ISO )"
    r"\d{2,8}(?:[-/ ]?[A-Z\d]{1,6}\b)?(?![\w-])"
)
_VERSION = LazyPattern(r"(?<![\w.-])\d{1,4}\.\d{1,4}\.\d{1,4}(?![\w-]|\.\d)")
_SHORT_VERSION = LazyPattern(r"\d{1,4}(?:\.\d{1,4})?")
"""A number in three parts, and one that lacks some of them."""
_TOKEN = LazyPattern(r"[^\s\"'`<>()\[\]{}=\u00ab\u00bb\u201c-\u201e\u300c\u300d?!]{3,60}")
_MARK = LazyPattern(r"[\W_]")
_BEGIN = frozenset({"after", "begin", "depart", "first", "from", "low", "min", "since", "start"})
_END = frozenset({"before", "end", "high", "last", "max", "return", "stop", "to", "until"})
"""Names of arguments of which one can't be above the other, in part of the name."""


def change_in(text: str, given: str, *, failed: bool = False) -> Change | None:
    """Return what an answer wants to be changed in a call; None if that does not follow from it.

    Args:
        text: the answer, or its line that says what it wants.
        given: the call with its arguments.
        failed: whether the call failed; else an example is one of many things.
    """
    if not given:
        return None
    text = untagged(_STRFTIME.sub(lambda mark: _LETTERS[mark[0]], text.replace('\\"', '"')))
    arguments = arguments_in(given)
    key, form = key_in(text, arguments), None
    tool = given.partition("(")[0]
    for made in (
        *((_respelt, explained, emptied) if failed else ()),
        *_MAKERS,
        *((only_digits, fewer_days, sooner_end, _sampled, needed, foreign) if failed else ()),
        less,
    ):
        change = shown(made(text, key, arguments), given)
        if change is not None and not change.is_form and change.call != tool:
            return change
        form = form or (change if change is not None and change.is_form else None)
    return form


def untagged(text: str) -> str:
    """Return the fields of markup as lines, and what stands side by side as a list."""
    if text[:1] != "<":
        return text
    text = _ABOUT.sub(r"\1 ", text)
    return _TAG.sub(r"\n\1: ", _CLOSING.sub("\n", _SIBLINGS.sub(", ", text))).strip()


def _respelt(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return a value that an answer spells otherwise: KAB123 of ``k ab 123``, another form of a
    date.
    """
    for key, value in arguments.items():
        day = read_date(value)
        for found in _TOKEN.finditer(text if day else ""):
            token = found[0].strip(".,:;")
            if token != value and read_date(token) == day:
                return instead(key, token, arguments)
        core = _MARK.sub("", value).lower()
        for found in _TOKEN.finditer(text if len(core) > 2 else ""):
            token = found[0].strip(".,:;")
            is_like = stands(value, text) and _is_like(token, value)
            if token.lower() != value.lower() and (_MARK.sub("", token).lower() == core or is_like):
                return instead(key, token, arguments)
    return None


def _is_like(one: str, other: str) -> bool:
    """Return whether two words differ by a few letters, of which none is a digit."""
    if not (len(one) > 4 and one.isalpha() and other.isalpha() and one[0] == other[0]):
        return False
    return len(one) == len(other) and 3 * sum(map(str.__ne__, one, other)) <= len(one)


def _sampled(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the part of a value that looks like the example that an answer gives."""
    told = " ".join(arguments.values())
    samples = [found[0] for found in _SAMPLE.finditer(text)]
    for key, value in arguments.items():
        for sample in samples:
            if sample in told:
                continue
            part = _in_digits(sample, value) if sample.isdigit() else _alike(sample, value)
            if part:
                return instead(key, part, arguments)
        if _VERSION.search(text) is not None and _SHORT_VERSION.fullmatch(value) is not None:
            return instead(key, value + ".0" * (2 - value.count(".")), arguments)
    return None


def _form_of(text: str) -> str:
    return "".join("A" if c.isalpha() else "9" if c.isdigit() else c for c in text)


def _in_digits(sample: str, value: str) -> str:
    """Return a date in eight digits, as a sample has it, the year first."""
    day = read_date(value) if len(sample) == 8 else None
    if day is None or not read_date(f"{sample[:4]}-{sample[4:6]}-{sample[6:]}"):
        return ""
    return "{:04}{:02}{:02}".format(*day)


def _alike(sample: str, value: str) -> str:
    """Return the part of a value that has the form of a sample: letters, digits and marks."""
    if len(sample) < 4:
        return ""
    core = _MARK.sub("", value)
    if sample[0].isalpha() and _form_of(core) == _form_of(_MARK.sub("", sample)):
        signs = iter(core.upper() if sample.isupper() else core)
        made = "".join(next(signs) if sign.isalnum() else sign for sign in sample)
        return made if made != value else ""
    if len(value) <= len(sample):
        return ""
    form, held = _form_of(sample), _form_of(value)
    at = held.find(form)
    while at >= 0:
        end = at + len(form)
        if held[at - 1 : at] not in ("A", "9") and held[end : end + 1] not in ("A", "9"):
            return value[at:end]
        at = held.find(form, at + 1)
    return ""


def _ordered(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the two ends of a stretch the other way round, if the first is the later one."""
    first = [key for key in arguments if not _BEGIN.isdisjoint(re.split(r"_|\W", key.lower()))]
    last = [key for key in arguments if not _END.isdisjoint(re.split(r"_|\W", key.lower()))]
    if len(first) != 1 or len(last) != 1:
        return None
    return swapped(first[0], last[0], arguments, text)


_MAKERS: tuple[Callable[[str, str, Arguments], Change | None], ...] = (
    missing,
    lacking,
    meant,
    _ordered,
    formed,
    offered,
    shortened,
    below_zero,
    bounded,
)
"""The surest form first; an example is the least sure."""
