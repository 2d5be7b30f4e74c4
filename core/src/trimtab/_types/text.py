"""Foreign text, hostile until it is escaped and bounded, and values as a record keeps them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from math import isfinite
from typing import Any

from trimtab._types.errors import class_name, is_interruption

__all__ = ["blake2b"]

try:
    from _blake2 import blake2b
except ImportError:  # not CPython
    from hashlib import blake2b


class LazyPattern:
    """A regular expression with the methods of `re.Pattern`, compiled when the first is called.

    A short process, such as a command hook, uses few of those that its modules hold. A method
    is looked up once and is the compiled pattern's own from then on.

    Args:
        text: the expression.
        flags: those of `re`.
    """

    _METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub")
    __slots__ = ("_flags", "_text", *_METHODS)

    search: Callable[[str], re.Match[str] | None]
    match: Callable[[str], re.Match[str] | None]
    fullmatch: Callable[[str], re.Match[str] | None]
    finditer: Callable[[str], Iterator[re.Match[str]]]
    findall: Callable[[str], list[Any]]
    split: Callable[[str], list[str | Any]]
    sub: Callable[[str | Callable[[re.Match[str]], str], str], str]

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in self._METHODS:
            raise AttributeError(f"a LazyPattern has no {name!r}")
        compiled = re.compile(self._text, self._flags)
        for each in self._METHODS:
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


CONTROL_CHARACTERS = LazyPattern(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    r"\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)
"""What no text for an agent may hold: control characters, halves of characters, invisible ones.

Unicode's Default_Ignorable_Code_Point and Cf, and the blank braille pattern; formats of numbers
and verses (Arabic, Syriac, Kaithi) are seen.
U+FE0F, which turns a sign into an emoji, is allowed: a single character hides nothing.
"""


def escape(text: str) -> str:
    """Return `text` in which no tag can open or close."""
    return _escaped(text, quote=False)


def _escaped(text: str, *, quote: bool) -> str:
    from html import escape  # with all names of characters, for those few that have words to say

    return escape(CONTROL_CHARACTERS.sub(" ", text), quote=quote)


def render_block(tag: str, content: str, **attributes: str) -> str:
    """Return one well-formed block: ``<tag name="value">content</tag>``.

    Args:
        tag: its name.
        content: any text; it is escaped.
        attributes: the attributes by name; their values are escaped.
    """
    pairs = "".join(
        f' {name}="{_escaped(value, quote=True)}"' for name, value in attributes.items()
    )
    return f"<{tag}{pairs}>{escape(content)}</{tag}>"


def as_text(value: object) -> str:
    """Return ``str(value)``; or ``<TypeName>`` if that raises.

    Args:
        value: any object.
    """
    try:
        return str.__str__(str(value))
    except BaseException as error:
        if is_interruption(error):
            raise
        return f"<{class_name(value)}>"


def shown(value: object) -> str:
    """Return a value as an error message shows it, at most 100 characters."""
    try:
        return f"{value!r:.100}"
    except BaseException as error:
        if is_interruption(error):
            raise
        return f"a value of type {class_name(value)}"


def replace_surrogates(text: str) -> str:
    """Return `text` with halves of characters joined, or replaced where the other half is missing.

    Such halves come from file names that are no UTF-8 and from streams cut within a character;
    no service can be sent one.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def shorten(text: str, limit: int) -> str:
    """Return `text` cut to `limit` characters, with ``…`` where something is left out."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> from trimtab.text import plural
    >>> plural(1, "run"), plural(1234, "run")
    ('1 run', '1,234 runs')

    Args:
        count: how many.
        noun: in the singular; its plural ends in "s".
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def quote(text: str, limit: int = 120) -> str:
    """Return untrusted text for use in a sentence: one line, no controls, bounded, quoted.

    Args:
        text: e.g. a tool's output.
        limit: characters, the quotes included.
    """
    line = " ".join(CONTROL_CHARACTERS.sub(" ", text).replace('"', "'").split())
    return f'"{shorten(line, limit - 2)}"'


def sanitize(text: str, limit: int = 200) -> str:
    """Return `text` on one line, without characters that a terminal would obey, bounded.

    Args:
        text: foreign text.
        limit: most characters of the result.
    """
    line = text[: limit + 1]
    if not line.isprintable() or CONTROL_CHARACTERS.search(line):
        line = "".join(map(_shown_character, line))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _shown_character(character: str) -> str:
    if character.isprintable() and not CONTROL_CHARACTERS.match(character):
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")


def describe_error(error: BaseException, limit: int = 200) -> str:
    """Return an error's type and message, whatever its own methods do.

    Args:
        error: the error.
        limit: most characters of the result.
    """
    name, text = class_name(error), error_message(error)
    return sanitize(f"{name}: {text}" if text else name, limit)


def error_message(error: BaseException) -> str:
    """Return an error's message; empty if it has none, or can't be had.

    attrs' validators write for programmers, with the attribute and the value behind the message:
    what they refuse is said in plain words.
    """
    for message in (_plain_message, str):
        try:
            return str.__str__(message(error))
        except BaseException as other:
            if is_interruption(other):
                raise
    return ""


def _plain_message(error: BaseException) -> str:
    arguments = list(error.args)
    refused = isinstance(error, TypeError | ValueError) and bool(arguments)
    return (refused and refusal(error)) or str(
        arguments[0] if refused and len(arguments) > 1 else error
    )


_COMPARED = LazyPattern(
    r"(Length of )?'(\w{1,100})' must be (>=|<=|>|<) ([^:]{1,100}): (.*)", re.DOTALL
)
_NAMED = LazyPattern(r"'(\w{1,100})' must (?:be|match) ")
_BOUNDS = {">=": "{} or more", "<=": "{} or less", ">": "more than {}", "<": "less than {}"}
TYPE_WORDS: dict[type, str] = {
    bool: "true or false",
    str: "text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "a table",
}
_LONGEST_VALUE = 60
"""Characters of a refused value in an error, which stays on one line."""


def refusal(error: BaseException) -> str:
    """Return in plain words what a validator of attrs refuses; empty for other errors."""
    text = error.args[0] if error.args else None
    if not isinstance(text, str):
        return ""
    compared = _COMPARED.fullmatch(text)
    if compared is not None:
        length, name, sign, bound, value = compared.groups()
        bounded = _BOUNDS[sign].format(bound)
        subject = f"the length of {name}" if length else name
        return f"{subject} must be {bounded}, not {sanitize(value, _LONGEST_VALUE)}"
    named = _NAMED.match(text)
    if named is None or len(error.args) != 4:  # message, attribute, wanted, value
        return ""
    wanted = _wanted(error.args[2])
    return f"{named[1]} must {wanted}, not {_shown(error.args[3])}" if wanted else ""


def _wanted(expected: object) -> str:
    """Return what a validator asks for: a type, several, a pattern, or one of some values."""
    if isinstance(expected, re.Pattern):
        return f"match {sanitize(str(expected.pattern), 200)!r}"
    if isinstance(expected, type):
        return f"be {_type_words(expected)}"
    if isinstance(expected, tuple | list | set | frozenset) and expected:
        if all(isinstance(one, type) for one in expected):
            return "be " + " or ".join(dict.fromkeys(map(_type_words, expected)))
        return "be one of " + ", ".join(_shown(one) for one in expected)
    return ""


def _type_words(kind: type) -> str:
    return TYPE_WORDS.get(kind) or f"of type {kind.__name__}"


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    return sanitize(repr(value), _LONGEST_VALUE)


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word that is most like another, if it is like it by the share `cutoff`."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?``, or empty text if no known word is near.

    Args:
        word: what was written.
        known: what could have been meant.
    """
    near = nearest(word, known)
    return f" Did you mean {near!r}?" if near else ""


def quoted_list(names: Iterable[str]) -> str:
    """Return the names as ``'a', 'b'``, or ``none``."""
    return ", ".join(map(repr, names)) or "none"


MOST_BITS = 10_000  # Python neither writes nor reads a number of more than 4,300 digits
DEEPEST = 64
"""Containers in each other: arguments nest less, and Python allows some 1,000 frames."""
SMALL_INT = 1 << 62
"""Far below `MOST_BITS`, and cheaper to compare with."""
LEAST_INT = -SMALL_INT
_AS_THEY_ARE = frozenset({str, bool, type(None)})
_EXACT = _AS_THEY_ARE | {int, float}


def exact(value: Any) -> Any:
    """Return a text or number without what a subclass adds; anything else as it is."""
    if type(value) in _EXACT:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def digest_of(text: str, size: int = 8) -> str:
    """Return a digest of any text, halves of characters included, in hexadecimal."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


@cache
def field_names(kind: Any, *, init: bool = False) -> tuple[str, ...] | None:
    """Return the fields of a class of attrs or dataclasses; None for other classes.

    With `init` only those that its constructor takes.
    """
    import attrs

    fields: Any = None
    if attrs.has(kind):
        fields = attrs.fields(kind)
    else:
        import dataclasses  # imported by whoever has made one

        if dataclasses.is_dataclass(kind):
            fields = dataclasses.fields(kind)
    if fields is None:
        return None
    return tuple(field.name for field in fields if field.init or not init)


def reduced(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return `value` as a record keeps it; nothing that the caller changes later reaches it.

    Dicts, lists and tuples are copied. Sets become lists in one order, as their own order
    differs from process to process. A whole number of more than 10,000 bits, a number
    that is not finite, and what is nested too deep or contains itself become text. So does a
    container whose own methods raise. Other objects stay as they are.
    """
    kind = value.__class__
    if kind is dict:
        for item in value.values():  # texts and small numbers, as arguments mostly are
            kind = item.__class__
            if kind is not str and (kind is not int or not LEAST_INT < item < SMALL_INT):
                return _copied(value, dict, inside)
        return value.copy()
    if kind in _AS_THEY_ARE:
        return value
    if kind is int or kind is float:
        return _number(value)
    if kind is list or kind is tuple:
        return _copied(value, kind, inside)
    return _odd(value, inside)


def _copied(value: Any, kind: type[Any], inside: tuple[int, ...]) -> Any:
    if len(inside) >= DEEPEST or id(value) in inside:
        return as_text(value)
    inside = (*inside, id(value))
    if kind is dict:
        return {
            key: (item if item.__class__ is str else reduced(item, inside))
            for key, item in value.items()
        }
    items = [item if item.__class__ is str else reduced(item, inside) for item in value]
    return items if kind is list else tuple(items)


def _odd(value: Any, inside: tuple[int, ...]) -> Any:
    """Return what is kept of a value of no plain class; foreign methods may raise."""
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return str.__str__(value)  # a plain one: JSON can't tell, and repr would
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return value
    if id(value) in inside:
        return as_text(value)
    try:
        return _foreign(value, (*inside, id(value)))
    except BaseException as error:
        if is_interruption(error):
            raise
        return as_text(value)


def _foreign(value: Any, inside: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return _copied(dict(value.items()), dict, inside)
    if isinstance(value, list):
        return _copied(list(value), list, inside)
    if isinstance(value, tuple):
        return _copied(tuple(value), tuple, inside)
    return sorted([reduced(item, inside) for item in value], key=_rank)


def _rank(item: Any) -> tuple[str, str]:
    """Return where an item of a set stands: items of any types can be compared by this."""
    return type(item).__name__, as_text(item)


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else float.__str__(value)
    bits = int.bit_length(value)
    if bits < MOST_BITS:
        return value
    raw = int.to_bytes(value, bits // 8 + 1, "big", signed=True)
    return f"<int of {bits:,} bits, {blake2b(raw, digest_size=8).hexdigest()}>"
