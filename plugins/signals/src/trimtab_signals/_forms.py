"""What the answer of a failed call asks for, read from its form alone, in any language.

Words differ from language to language; what an answer repeats of its call does not. A number
beside the one that was given is a bound, a number that counts the letters of a text is its length,
a list beside a value that was given holds what may be given instead, and an example looks like what
is wanted. All of it holds for answers of calls that failed: elsewhere numbers and lists are data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta

from trimtab.text import LazyPattern
from trimtab_signals._changes import (
    TIES,
    Change,
    arguments_in,
    choice_of,
    formed,
    instead,
    is_named,
    key_in,
    lacking,
    less,
    meant,
    read_date,
    shown,
    stands,
    swapped,
    values_in,
)
from trimtab_signals._parts import GROUPED, LONGEST_TIME, STRETCH, WORDED, is_place, numbers_in

_STATUSES = frozenset({400, 403, 404, 405, 409, 412, 413, 415, 422, 423, 429, 500, 502, 503})
_SIGNED = LazyPattern(r"(?<![\w.,:/)-])[-\u2212]?\d{1,6}(?:\.\d{1,4})?(?![\w:/-]|[.,]\d)")
_WHOLE = LazyPattern(r"(?!0\d)\d{1,9}(?:\.\d{1,4})?")
_LABEL = LazyPattern(
    r"\A\W{0,3}(?:[A-Z]{2,20}\w{0,9} |\w{1,20}: ?)\d{1,5}(?![\w.,%])"
    r"|\A\W{0,3}[^\W\d]{2,20} \d{1,5}(?=[.:)] )"
    r"|(?<![\w.,])\d{1,5}(?= ?[:\uff1a])|[(\uff08](?!max|min)[^\W\d]{3,20} \d{1,5}(?![\w.,%])"
)
"""A number that an answer begins with, or before a colon, says which thing or error it is about."""
_IDS = frozenset(
    {"code", "id", "key", "no", "nr", "number", "pr", "ref", "sku", "uuid", "year", "zip"}
)
"""What ends the names of arguments whose numbers count nothing, so that no bound holds for them."""
_PLAIN_NUMBER = LazyPattern(
    r"(?<![A-Za-z0-9_.:/-])(?<!line )\d{1,9}(?![.:/-]?\d|[A-Za-z_])"
    r"(?: ?([^\W\d_]{1,20})(?![A-Za-z]))?"
)
_SHARES = LazyPattern(r"(?<![\w.])[\d.]{1,6} ?[%‰°℃℉€$£¥₹]")
_TIME_OF_DAY = LazyPattern(r"(?<![\d:])\d{1,2}:\d\d(?::\d\d)?(?![\d:])")
_LIMIT = LazyPattern(
    r"(?i)[<>≤≥]|\bless\b|max|\bmin(?:i|\W{1,3}\d)|most|least|limit|exceed|between|höchst|mindest|plus|moins|máx|mín"
    r"|mass?im|μέγισ|สูงสุด|более|менее|больше|[最限]|tối đa|अधिकतम|الحد|以[上下内]|최[대소]"
)
"""What says of a number that it is a bound, where it may be something else."""
_MULTIPLE = LazyPattern(r"(?i)m[uú]ltip|vielfach|veelvoud|wielokrotn|násob|кратн|倍|배수")
_FAR_OFF = 1_000
"""A bound is within so many times of what was given; an id or a sum is not."""
_PAIR = LazyPattern(
    r"(?<![^\s(\[{\"'])([\w+-]{1,24})(?: ?[=\u2013\u2192] ?| \()"
    r"([\w+-][\w +-]{0,23}?)\)?(?=[,;|/)\]}]|\Z)"
)
"""A code beside what it means."""
_SHORTEST = 10
"""Characters of a text whose length an answer may speak of."""
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
_OPEN, _SHUT = r"[\"'`\u201e\u201c\u00ab\u300c]", r"[\"'`\u201d\u201c\u00bb\u300d]"
_QUOTE = rf"{_OPEN}([^\"'`\u201d\u201c\u00bb\u300d\n]{{1,24}}){_SHUT}"
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
_OBJECT = LazyPattern(r"[{\[]\s{0,8}(?:\"|\w{1,40}=)|\{\s{0,8}'\w{1,40}'\s?:")
_LETTERS = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%H": "HH", "%M": "MM"}
_STRFTIME = LazyPattern("|".join(_LETTERS))
_FIELD_LINE = LazyPattern(r"\n\w{1,40}: \d")
_SIBLINGS = LazyPattern(r"</(\w{1,40})>\s{0,20}<\1>")
_TAG = LazyPattern(r"<([A-Za-z]\w{0,39})[^<>]{0,200}>")
_ABOUT = LazyPattern(r'<\w{1,40} (?:field|name|param\w*|path)="(\w{1,40})">')
_CLOSING = LazyPattern(r"</[\w:]{1,60}>|<[?!][^<>]{0,200}>")
_MOST_VALUES = 8
"""More do not fit into a text beside the rest."""
_FILE = LazyPattern(r"\w\.[a-z]{1,4}\Z")
_YOUNGER = LazyPattern(
    r"(?i)\b(?:less|younger|newer|moins|weniger|jünger|menos|meno|minder|mindre|mniej|менее|молодше)"
    r" (?:than |de |als |di |dan |än |niż )?\d"
)
"""What has to be there that is no older than so many days: no bound of a stretch."""
_AT = LazyPattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)?")
_LASTS = LazyPattern(
    r"(?<!\w)(?:P(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,4})M)?)?"
    r"|(\d{1,3}) ?h(?:(?:ou)?rs?)?)(?!\w)"
)
"""How long something lasts: PT4H, P1D, 4h."""
_SAMPLE = LazyPattern(
    r"(?<![\w-])(?!RFC|ISO)(?:[A-Z]{1,4} |[A-Za-z]{1,5}[-/]?)?(?<!RFC )(?<!ISO )"
    r"\d{2,8}(?:[-/ ]?[A-Z\d]{1,6}\b)?(?![\w-])"
)
_VERSION = LazyPattern(r"(?<![\w.-])\d{1,4}\.\d{1,4}\.\d{1,4}(?![\w-]|\.\d)")
_SHORT_VERSION = LazyPattern(r"\d{1,4}(?:\.\d{1,4})?")
"""A number in three parts, and one that lacks some of them."""
_NAMED_FIELD = LazyPattern(
    r'(?<!\w)(?:missing\w*|required\w*|fields?|param\w*|argument\w*|property|path|pointer|loc)"?'
    r'\s{0,3}[:=]\s{0,3}\[?\s{0,3}(?:"(?:body|path|query)",\s?)?"(?:body)?[/#.]{0,2}([a-z_]\w{1,30})"'
)
_LACKING = (
    r"(?:missing|missed|lack\w{0,9}|fehl[et]\w{0,9}|manqu\w{1,9}|falta\w{0,9}|manca\w{0,9}|saknas"
    r"|puuttu\w{1,3}|mangler|brak\w{0,9}|chybí|hiányz\w{1,9}|eksik|ontbre\w{1,9}|отсутств\w{1,9}|缺\w{0,3}"
    r"|欠\w{0,4}|누락\w{0,3}|thiếu|kurang|λείπ\w{0,6}|חסר\w{0,2}|відсутн\w{1,9}|lipse\w{1,9})"
)
_MISSES = LazyPattern(
    rf"(?i:{_LACKING})"
    r"[^\n:\uff1a]{0,30}?(?:[:\uff1a]\s?[\"'`\u201e\u201c\u00ab]?([a-z_][\w-]{1,30}"
    r"(?:, ?[a-z_][\w-]{1,30}){0,3})[\"'`\u201d\u201c\u00bb]?[.。]?(?:\Z|[\"\n])"
    r"|[\u201e\u201c\u00ab]([a-z_][\w-]{1,30})[\u201d\u201c\u00bb])"
)
"""The word for what lacks, in the languages that answers are seen in, before a name that ends the
line; without the word a line may end with any word after a colon."""
_EMPTY = LazyPattern(r"[:\uff1a] ?([a-z_]\w{1,30}) ?\(([^()\n]{1,40}[,/|][^()\n]{1,40})\)\W{0,3}\Z")
"""A name that ends an answer, with what it may be in brackets."""
_FIELD = (
    r"(?:f(?:ie|e|ä)ld\w*|fält|felt\w*|champ|campo|veld|pole|поле|mező|alan\w*|πεδίο|kenttä|trường|字段|項目"
    r"|필드|שדה|حقل|param\w*|paramètre|параметр|argument|propert\w*|attribut\w*|option|flag|column"
    r"|value for)"
)
"""What an argument is called, and what is said of one that must be there, in the languages that
answers are seen in: next to each other they say that it is the name between them that lacks."""
_NEEDED = (
    r"(?:obb?ligat\w*|obrigat\w*|required|requis\w*|requer\w*|missing|specify|null value"
    r"|no(?= value)|not (?:given|present|provided|set|supplied)|ang[ei]\w{1,6}|pflicht\w*"
    r"|erforderlich|vereist|verplicht|påkrev\w*|krävs|povinn\w*|wymagan\w*|kötelező|zorunlu\w*|обяза\w*|обов\W?яз\w*"
    r"|obavez\w*|задълж\w*|υποχρεωτ\w*|必須|必填|필수|wajib|bắt buộc|pakollinen|مطلوب|חובה)"
)
_NAME = rf"{_OPEN}?\s?-{{0,2}}([a-z_][\w-]{{1,30}})\s?{_SHUT}?"
_NEEDS = LazyPattern(
    rf"(?i:\b{_FIELD})(?:\(s\))?\W{{1,4}}?{_NAME}[^\n]{{0,25}}?(?i:{_NEEDED}|{_LACKING})"
    rf"|(?i:{_NEEDED}|{_LACKING})[^\n]{{0,25}}?(?i:{_FIELD})(?:\(s\))?\W{{1,4}}?{_NAME}(?!\w)"
    rf"|{_OPEN}\s?([a-z_][\w-]{{1,30}})\s?{_SHUT}[^\n\"'`]{{0,25}}?(?i:{_NEEDED})"
    rf"(?![^\n]{{0,20}}{_OPEN})"
    rf'|(?i:{_NEEDED}\w{{0,3}})"\s?:\s?\[\s?"([a-z_]\w{{1,30}})"'
    r"|KeyError: '([a-z_]\w{1,30})'"
    # the name ends the answer, is one in JSON, or begins it
    rf"|(?i:\b{_FIELD})[^\n:]{{0,20}}?(?i:{_NEEDED}|{_LACKING})[^\n:]{{0,20}}?"
    r":\s?([a-z_]\w{1,30})\W{0,2}\Z"
    rf'|"(?i:{_FIELD})"\s?:\s?"([a-z_]\w{{1,30}})"'
    rf"|(?i:{_NEEDED})[^\n]{{0,25}}?\s([a-z]{{1,20}}_\w{{1,30}})\W?\Z"
    rf"|\A\W{{0,3}}([a-z_]\w{{1,30}}): [^\n]{{0,20}}(?i:{_FIELD})[^\n]{{0,20}}(?i:{_NEEDED})"
    r"|required[^\n]{0,60}:\s{1,8}--([a-z][\w-]{1,30})"
    r"|(?i:enter|give|provide|supply)\W{1,3}([a-z]{1,20}_\w{1,30})(?!\w)"
    rf'|:\s?\{{\s?"([a-z_]\w{{1,30}})"\s?:\s?"[^"\n]{{0,60}}?(?i:{_NEEDED})'
)
_BLAMED = LazyPattern(
    r'"([A-Za-z_]\w{1,30})"\s?:\s?\[\s?"[^"\n]{0,100}?[ \u3000][^"\n]{1,100}"\s?\]'
)
"""A field with what is wrong with it, as frameworks for web services tell it."""
_NO_FIELD = LazyPattern(
    r"(?i)(?:\w{1,20}_)?(?:errors?|details?|messages?|reasons?|warnings?|hints?)"
)
_PLAIN = LazyPattern(r'(?<![\w.-])([a-z][a-z_]{2,30})(?![\w.-]|"\s?:)')
_ALPHABET = LazyPattern(r"[\u0370-\u1dff\u2e80-\ufeff]")
_NO_FIELDS = frozenset(
    {"denied", "error", "failed", "false", "invalid", "none", "null", "rejected"}
)
_TOKEN = LazyPattern(r"[^\s\"'`<>()\[\]{}=\u00ab\u00bb\u201c-\u201e\u300c\u300d?!]{3,60}")
_MARK = LazyPattern(r"[\W_]")
_BEGIN = frozenset({"after", "begin", "depart", "first", "from", "low", "min", "since", "start"})
_END = frozenset({"before", "end", "high", "last", "max", "return", "stop", "to", "until"})
"""Names of arguments of which one can't be above the other, in part of the name."""

_Arguments = Mapping[str, str]


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
        *((_respelt, _explained, _emptied) if failed else ()),
        *_MAKERS,
        *((_digits, _days, _lasting, _sampled, _needed, _foreign) if failed else ()),
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


def _respelt(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return a value that an answer spells with other marks: KAB123 of ``k ab 123``."""
    for key, value in arguments.items():
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


def _explained(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the code of a value, if an answer says of several codes what they mean: 3 = hard."""
    pairs = [(one.strip(), other.strip()) for one, other in _PAIR.findall(text)]
    for key, value in arguments.items() if len(pairs) > 1 else ():
        for one, other in pairs:
            if value.lower() in (one.lower(), other.lower()) and one != key:
                return instead(key, other if value.lower() == one.lower() else one, arguments)
    return None


def _emptied(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the name that ends an answer, and is followed by what it may be."""
    found = _EMPTY.search(text)
    if found is None or found[1] in arguments:
        return None
    return Change(f'{found[1]} ("{found[2]}")', lacks=True)


def _digits(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the digits of a value, if an answer says how many there are of them."""
    told = set(numbers_in(text))
    for key, value in arguments.items():
        digits = "".join(filter(str.isdigit, value))
        is_mixed = 4 < len(digits) < len(value) <= 2 * len(digits) and not read_date(value)
        if is_mixed and told == {len(digits)}:
            return instead(key, digits, arguments)
    return None


def _days(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the last day of a stretch, if an answer says how many days it may have."""
    days = {key: date(*found) for key, value in arguments.items() if (found := read_date(value))}
    told = [number for number in numbers_in(text) if number not in _STATUSES]
    if len(days) != 2 or len(told) != 1 or not 1 < told[0] < 400 or _YOUNGER.search(text):
        return None
    first, last = sorted(days, key=lambda key: days[key])
    end = days[first] + timedelta(told[0] - 1)
    is_iso = arguments[first] == days[first].isoformat()
    return instead(last, end.isoformat(), arguments) if is_iso and end < days[last] else None


def _lasting(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the last moment of a stretch, if an answer says how long it may last: PT4H."""
    moments = {key: at for key, value in arguments.items() if (at := _moment(value)) is not None}
    if len(moments) != 2 or len({moment.tzinfo for moment in moments.values()}) != 1:
        return None
    first, last = sorted(moments, key=lambda key: moments[key])
    was = moments[last] - moments[first]
    told = {*map(_lasts, _LASTS.finditer(text))} - {timedelta()}
    is_bound = was in told or _LIMIT.search(text)
    told.discard(was)
    if not is_bound or len(told) != 1 or (most := told.pop()) > was:
        return None
    value, end = arguments[last], (moments[first] + most).isoformat()
    return instead(last, end[: len(value.rstrip("Z"))] + "Z" * value.endswith("Z"), arguments)


def _moment(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if _AT.fullmatch(value) else None
    except ValueError:  # there is no such day
        return None


def _lasts(found: re.Match[str]) -> timedelta:
    days, hours, minutes, more = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours + more, minutes=minutes)


def _lacking(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return a field that an object in JSON names, and that the call lacks."""
    found = _NAMED_FIELD.search(text) or _MISSES.search(text)
    name = next(filter(None, found.groups()), "") if found is not None else ""
    return Change(name, lacks=True) if name and name not in arguments else None


def _needed(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the name that stands between the words for a field and for what must be there."""
    for found in (*_BLAMED.finditer(text), *_NEEDS.finditer(text)):
        name = next(filter(None, found.groups()), "")
        is_given = not arguments.keys().isdisjoint((name, name.replace("-", "_")))
        if not is_given and name not in (*TIES, *_NO_FIELDS) and not _NO_FIELD.fullmatch(name):
            return Change(name, lacks=True)
    return None


def _foreign(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the one plain name in an answer of another alphabet: a field that the call lacks."""
    if not _ALPHABET.search(text):
        return None
    names = [name for name in _PLAIN.findall(text) if name not in _NO_FIELDS]
    is_one = len(names) == 1 and names[0] not in {*arguments, *arguments.values()}
    return Change(names[0], lacks=True) if is_one else None


def _told(text: str) -> list[float]:
    """Return the numbers of a text, but for what labels it: a status, or which thing it is."""
    plain = _LABEL.sub(lambda at: at[0] if _LIMIT.search(at[0]) else " ", text.replace("..", " - "))
    told = list(dict.fromkeys(numbers_in(plain)))
    if len(told) == 2 and told[0] == 1:
        return told[1:]  # so many in one call
    ends = {float(end) for span in STRETCH.findall(text) for end in span}
    is_few = len(told) <= 2
    return [number for number in told if is_few or number not in _STATUSES or number in ends]


def _below_zero(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the bound that a number is beyond where one of them is below zero."""
    told = [
        float(one.replace("\u2212", "-"))
        for one in _SIGNED.findall(_TIME_OF_DAY.sub(" ", text.replace("..", " ")))
    ]
    numbers = {key: float(one) for key, one in arguments.items() if _SIGNED.fullmatch(one)}
    named = [key for key, number in numbers.items() if number in told or is_named(key, text)]
    if len(named) != 1 or min([*told, numbers[named[0]]]) >= 0:
        return None
    number = numbers[named[0]]
    bounds = sorted(set(told) - {number})
    if len(bounds) != 2 or bounds[0] <= number <= bounds[1]:
        return None
    return instead(named[0], f"{bounds[0] if number < bounds[0] else bounds[1]:g}", arguments)


def _bounded(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the bound that stands beside a number that was given."""
    text = _TIME_OF_DAY.sub(" ", text)
    told = _told(text)
    given = {
        key: float(value)
        for key, value in arguments.items()
        if _WHOLE.fullmatch(value) and _IDS.isdisjoint(re.split(r"_|(?=[A-Z])", key.lower()))
    }
    named = [key for key, number in given.items() if number in told or is_named(key, text)]
    rest = arguments.keys() - given.keys()
    if not any(is_named(key, text) for key in named) and any(is_named(key, text) for key in rest):
        return None  # what is named is no number
    if not named and not any(is_named(key, text) or stands(arguments[key], text) for key in rest):
        counts = {key: number for key, number in given.items() if not is_place(key)}
        named = [*_counting(text, told, counts)]
    if len(named) != 1:
        return None
    number = given[named[0]]
    others = [other for other in told if other != number]
    if number in numbers_in(text):  # beside a number without it, a share is one of something else
        shares = set(numbers_in(" ".join(_SHARES.findall(text))))
        others = [other for other in others if other not in shares or number in shares]
    if not 1 <= len(others) <= 2 or not all(
        max(number, 1) / _FAR_OFF <= max(other, 1) <= max(number, 1) * _FAR_OFF for other in others
    ):
        return None
    low, high = min(others), max(others)
    if len(others) == 2 and low <= number <= high:
        return None
    wanted = high if number > high else low
    if _MULTIPLE.search(text):
        wanted = max(number // low, 1) * low
    is_range = any({float(one), float(other)} == {*others} for one, other in STRETCH.findall(text))
    if wanted == 0 or (
        not (is_range or _LIMIT.search(text))
        and (_labels(named[0], number, text) or (len(others) == 1 and wanted > number))
    ):
        return None  # it counts what there is, or what else is the case
    return instead(named[0], f"{wanted:g}" if wanted < 1e6 else f"{wanted:.0f}", arguments)


def _counting(text: str, told: list[float], counts: Mapping[str, float]) -> Iterable[str]:
    """Return the arguments of which the bounds may be that a text tells without their names."""
    is_told = _LIMIT.search(text) is not None
    if _OBJECT.search(text) or _FIELD_LINE.search(text):
        over = [key for key in counts if counts[key] > max(told, default=0)]
        under = [key for key in counts if counts[key] < min(told, default=0)]
        return (over or under) if len(told) == 2 or (len(told) == 1 and is_told) else ()
    said = _PLAIN_NUMBER.search(GROUPED.sub("", text))
    if len(told) != 1 or told[0] in _STATUSES or said is None:
        return ()
    unit = (said[1] or "").lower()
    return [
        key
        for key, number in counts.items()
        if (is_told and number > told[0] and (len(unit) != 1 or not unit.isascii()))
        or _measures(key, unit, is_over=bool(unit) and number > told[0])
    ]


def is_limit(text: str) -> bool:
    """Return whether a text has a word for a bound."""
    return _LIMIT.search(text) is not None


def _labels(key: str, number: float, text: str) -> bool:
    """Return whether a number says which thing an answer is about: "Machine 5: door is open"."""
    word = rf"(?:\A\W{{0,3}}[^\W\d_]{{2,20}}[ -]|(?<!\w){re.escape(key)}\W{{1,3}})"
    return re.search(rf"{word}{number:g}(?![\w.,]|%)", text) is not None


def _measures(key: str, unit: str, *, is_over: bool) -> bool:
    """Return whether a bound is one of an argument: of its own unit, or of what was too much."""
    name = key.lower()
    if len(unit) > 2 and name.startswith(unit[:3]):
        return True
    return is_over and (len(unit) > 3 or name.startswith(unit))


def _shortened(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the most characters of a text, of which an answer counts those that it had."""
    told = set(numbers_in(text))
    for key, value in arguments.items():
        lengths = {float(len(value)), float(len(value.split()))} if len(value) >= _SHORTEST else ()
        for length in told.intersection(lengths):
            less = [number for number in told if 1 < number < length]
            if len(less) == 1:
                unit = "characters" if length == len(value) else "words"
                return Change(
                    f"with a {key} of at most {less[0]:g} {unit}", f"a {key} of {length:g} {unit}"
                )
    return None


def _offered(text: str, key: str, arguments: _Arguments) -> Change | None:
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
    if _OBJECT.search(plain):
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
    if given.isalpha() and given.islower() and not _OBJECT.search(text):
        coded = _CODE_LIST.search(text.partition(given)[2] or text)
        codes = [code[0] for code in _CODED.finditer(coded[0])] if coded else []
        made.append(_chosen(key, codes, 3 if coded and "/" in coded[0] else 2, arguments))
    return next((change for change in made if change is not None), None)


def _keyed(text: str, key: str, arguments: _Arguments) -> Change | None:
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


def _begun(arguments: _Arguments, said: str) -> str:
    """Return the one argument whose value begins as one of a list does: Hindi, of hi, en, bn."""
    listed = [value.lower()[:3] for value in values_in(said) if len(value) > 1]
    keys = [key for key, value in arguments.items() if value.lower().startswith((*listed,))]
    return keys[0] if len(keys) == 1 else ""


def _chosen(key: str, values: list[str], least: int, arguments: _Arguments) -> Change | None:
    if not least <= len(values) <= _MOST_VALUES or {key, arguments[key]} & set(values):
        return None
    if any(map(_FILE.search, values)) or len(arguments[key]) > LONGEST_TIME:
        return None  # parts of a path, or files; nor is a text one of several
    return choice_of(key, values, arguments)


def _sampled(text: str, _: str, arguments: _Arguments) -> Change | None:
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


def _ordered(text: str, _: str, arguments: _Arguments) -> Change | None:
    """Return the two ends of a stretch the other way round, if the first is the later one."""
    first = [key for key in arguments if not _BEGIN.isdisjoint(re.split(r"_|\W", key.lower()))]
    last = [key for key in arguments if not _END.isdisjoint(re.split(r"_|\W", key.lower()))]
    if len(first) != 1 or len(last) != 1:
        return None
    return swapped(first[0], last[0], arguments, text)


_MAKERS: tuple[Callable[[str, str, _Arguments], Change | None], ...] = (
    _lacking,
    lacking,
    meant,
    _ordered,
    formed,
    _offered,
    _shortened,
    _below_zero,
    _bounded,
)
"""The surest form first; an example is the least sure."""
