"""Other values in a call: one of those that an answer lists or explains."""

from __future__ import annotations

from trimtab.text import LazyPattern
from trimtab_signals._changes import (
    Arguments,
    Change,
    choice_of,
    instead,
    is_named,
    stands,
    values_in,
)
from trimtab_signals._parts import LONGEST_TIME, OBJECT, OPEN, SHUT, WORDED

_PAIR = LazyPattern(
    r"(?<![^\s(\[{\"'])([\w+-]{1,24})(?: ?[=\u2013\u2192] ?| \()"
    r"([\w+-][\w +-]{0,23}?)\)?(?=[,;|/)\]}]|\Z)"
)
"""A code beside what it means."""
_JSON_LIST = LazyPattern(r'(?<!\w)(\w{1,40})"?\s{0,3}[:=]\s{0,3}\[([^\[\]{}\n]{2,300})\]')
_JSON_KEYS = LazyPattern(r"(?<!\w)([\"'])(\w{1,40})\1\s{0,3}:\s{0,3}\{([^\[\]{}\n]{7,400})\}")
_JSON_KEY = LazyPattern(r"(?:\A|,)\s{0,3}[\"']([^\"'\n]{1,40})[\"']\s{0,3}:")
"""What may be given, as the keys of an object that tells what each means or costs."""
_ONE_OF = LazyPattern(
    r"(?i:one of|(?<![^\W\d_])(?:allowed|valid|accepted|known|possible|supported)(?: \w{1,8})?"
    r"(?: (?:are|is))?)\s?[:\uff1a]?\s?([^\n:]{1,200})"
)
_IN_BRACKETS = LazyPattern(r"[(\[{\uff08]([^()\[\]{}\uff08\uff09\n:]{3,160})[)\]}\uff09]")
_BEHIND_COLON = LazyPattern(r"[:\uff1a]\s?(?!/)([^\n:\uff1a]{3,160}?)\s?[.。]?(?:\Z|\n)")
_QUOTE = rf"{OPEN}([^\"'`\u201d\u201c\u00bb\u300d\n]{{1,24}}){SHUT}"
_QUOTED = LazyPattern(_QUOTE)
_QUOTED_LIST = LazyPattern(
    rf"{_QUOTE}(?:(?:\s?[,;/|\u3001\uff0c]\s?(?:\w{{1,3}} )?|\s?\w{{1,5}} |\s?){_QUOTE}){{1,8}}"
)
"""Values side by side; two that stand apart are states: one that is, and one that is wanted."""
_CODE_LIST = LazyPattern(
    r"(?<![\w-])(?:[A-Z\d][A-Z\d_+-]{0,11}(?: ?[,|\u3001\uff0c] ?(?:\w{1,5} )?| \w{1,5} |/))"
    r"{1,7}[A-Z\d][A-Z\d_+-]{0,11}(?![\w-])"
)
_CODED = LazyPattern(r"(?<![\w-])(?=\d{0,11}[A-Z])(?!([A-Z])\1+\b)[A-Z\d][A-Z\d_+-]{0,11}(?![\w-])")
"""Codes, without a colon or brackets: N1, N2 or D1."""
_JSON_PROSE = LazyPattern(r'[:\[]\s?"([^"\n]{3,100}? [^"\n]{3,200})"')
_REMARK = LazyPattern(r"\s?\([^()\n:]{1,40}: ?[^()\n]{1,60}\)|\s\[\w{1,20}=[^\[\]\n]{1,200}\]")
_MOST_VALUES = 8
"""More do not fit into a text beside the rest."""
_FILE = LazyPattern(r"\w\.[a-z]{1,4}\Z")


def explained(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the code of a value, if an answer says of several codes what they mean: 3 = hard."""
    pairs = [(one.strip(), other.strip()) for one, other in _PAIR.findall(text)]
    for key, value in arguments.items() if len(pairs) > 1 else ():
        for one, other in pairs:
            if value.lower() in (one.lower(), other.lower()) and one != key:
                return instead(key, other if value.lower() == one.lower() else one, arguments)
    return None


def offered(text: str, key: str, arguments: Arguments) -> Change | None:
    """Return the values that stand beside one that was given, or beside its name."""
    worded = [name for name, value in arguments.items() if WORDED.search(value)]
    for said in _JSON_LIST.finditer(text):
        of = key or (worded[0] if len(worded) == 1 else _begun(arguments, said[2]))
        if of and said[2].count('"') != 2:  # one text, with a comma
            found = _chosen(of, list(values_in(said[2])), 2, arguments)
            if found is not None:
                return found
    keyed = _keyed(text, key, arguments)
    if keyed is not None:
        return keyed
    given = arguments.get(key, "")
    plain = _REMARK.sub(lambda remark: "" if given and given in remark[0] else remark[0], text)
    if OBJECT.search(plain):
        plain = "\n".join(_JSON_PROSE.findall(plain))
        if not plain or not key:
            return None
    if not key:  # of an open list of values the one argument in words takes one
        open_list = _BEHIND_COLON.search(text)
        values = list(values_in(open_list[1])) if open_list else []
        return _chosen(worded[0], values, 3, arguments) if len(worded) == 1 else None
    is_only = len(arguments) == 1 and bool(WORDED.search(given))
    if not (is_named(key, text) or (len(given) > 1 and stands(given, text)) or is_only):
        return None
    quoted = [
        [value.strip() for value in _QUOTED.findall(found[0]) if value.strip() not in (key, given)]
        for found in _QUOTED_LIST.finditer(plain)
    ]
    listed = [
        list(values_in(found[1]))
        for pattern in (_BEHIND_COLON, _IN_BRACKETS)
        for found in pattern.finditer(plain)
    ]
    cued = [list(values_in(found[1])) for found in _ONE_OF.finditer(plain)]
    made = [_chosen(key, values, 2, arguments) for values in (*cued, *quoted)]
    made += [_chosen(key, values, 3, arguments) for values in listed]
    if given.isalpha() and given.islower() and not OBJECT.search(text):
        coded = _CODE_LIST.search(text.partition(given)[2] or text)
        codes = [code[0] for code in _CODED.finditer(coded[0])] if coded else []
        made.append(_chosen(key, codes, 3 if coded and "/" in coded[0] else 2, arguments))
    return next((change for change in made if change is not None), None)


def _keyed(text: str, key: str, arguments: Arguments) -> Change | None:
    """Return the keys of an object that may be given: codes, or of a field named as the argument.

    Others are mostly fields of their own, such as the time and the id of a request.
    """
    if not WORDED.search(arguments.get(key, "")):
        return None
    for found in _JSON_KEYS.finditer(text):
        keys = _JSON_KEY.findall(found[3])
        is_named_alike = len(key) > 2 and found[2].lower().startswith(key.lower())
        if is_named_alike or all(map(_CODED.fullmatch, keys)):
            change = _chosen(key, keys, 2, arguments)
            if change is not None:
                return change
    return None


def _begun(arguments: Arguments, said: str) -> str:
    """Return the one argument whose value begins as one of a list does: Hindi, of hi, en, bn."""
    listed = [value.lower()[:3] for value in values_in(said) if len(value) > 1]
    keys = [key for key, value in arguments.items() if value.lower().startswith((*listed,))]
    return keys[0] if len(keys) == 1 else ""


def _chosen(key: str, values: list[str], least: int, arguments: Arguments) -> Change | None:
    if not least <= len(values) <= _MOST_VALUES or {key, arguments[key]} & set(values):
        return None
    if any(map(_FILE.search, values)) or len(arguments[key]) > LONGEST_TIME:
        return None  # parts of a path, or files; nor is a text one of several
    return choice_of(key, values, arguments)
