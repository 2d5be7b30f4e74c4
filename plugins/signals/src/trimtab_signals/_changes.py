"""Which argument of a call an answer wants to be another, and what it wants there.

A weak model that reads "other arguments" repeats the call, and copies what it is shown. So where
it follows from the answer by form, the argument is named with what belongs there: a date as the
answer wants it, a number within its bounds, one of its values, a field that the call lacks.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping

import attrs

from trimtab.text import LazyPattern, quote

_LONGEST = 90
"""Characters of what is wanted; a longer one does not fit into a text beside the rest."""
_LONGEST_VALUE = 24
"""Characters of one of several values: more do not fit beside the rest either."""
_LONGEST_MONTH = 8
"""Letters: "marraskuu" is no March."""
_MOST_WORDS = 2
"""Of one of several values; more of them are a sentence."""

GIVEN = LazyPattern(r"[(,](\w{1,40})=('[^']{0,400}'|[\w.+-]{0,80})(?=[,)])")
_MISSING = LazyPattern(
    r"(?i)\b(?:missing|required|lacks?|fehlt|fehlend\w*|falta|manquant|requis)\b[^\n]{0,40}?"
    r"(?:[:\uff1a]\s?|\b(?:argument|field|parameter|property)s? )"
    r"[\"'`“„«]?(?P<a>[a-z_][\w-]{1,30}(?-i:(?:, ?[a-z_][\w-]{1,30}){0,3}))[\"'`”“»]?"
    r"(?P<b>\s?\([^()\n]{1,40}\))?\s?(?:\Z|[.!;\n}\]])"
    r"|[\"'`“„«](?P<c>[a-z_][\w-]{1,30})[\"'`”“»] (?:is |are )?(?:missing|required)\b"
    r"|\b(?P<e>[a-z_]{2,30}) (?:is |was )?not (?:given|provided|set|specified)\W{0,2}\Z"
    r"|\A\W{0,3}missing (?P<f>[a-z_]{3,30})\W{0,2}\Z"
    r"|\b(?P<d>[a-z]+_[\w-]{1,30}|(?<=field )[a-z]{2,30}|(?<=parameter )[a-z]{2,30}"
    r"|(?<=argument )[a-z]{2,30}) (?:is |are )?(?:an? )?(?:missing|required)\b"
)
_DATE = LazyPattern(  # letters for a year, a month and a day, in whatever alphabet
    r"(?<![A-Za-z\u0410-\u044f\d_])"
    r"(?:(?P<y>([^\W\d_])\2{3})(?P<s>[-/. ]?)([^\W\d_])\4(?P=s)([^\W\d_])\5"
    r"|([^\W\d_])\6(?P<t>[-/. ]?)(?:([^\W\d_])\8(?P=t)([^\W\d_])\9{3}|([Mm])\10\10(?P=t)"
    r"([^\W\d_])\11(?:\11\11)?))(?![A-Za-z\u0410-\u044f\d_])"
)
_NAMED_MONTH = LazyPattern(r"(?<!\w)\d\d[-/. ]?([A-Za-z]{3})[-/. ]?(?:\d\d){1,2}(?!\w)")
_MONTH = LazyPattern(
    r"(?<!\w)(?:([^\W\d_])\1[-/. ]([^\W\d_])\2{3}|([^\W\d_])\3{3}[-/. ]([^\W\d_])\4)(?!\w)"
)
_FOR_EXAMPLE = (
    r"(?<![A-Za-z\u0410-\u044f])(?:e\.g\.|z\. ?B\.|p\. ?ej\.|p\. ?ex\.|t\. ?ex\.|bijv|b\.v\.|f\.eks"
    r"|np\.|např|örn|pl\."
    r"|π\.χ|lik[en]\b"
    r"|ex[ae]mp\w{1,3}|ejemplo|esempio|esim\w{0,7}|beispiel\w{0,7}|voorbeeld"
    r"|напр\w{0,6}|пример\w?|contoh|ví dụ|例如?|예"
    r"|उदा\w{0,6}|مثل|מثال|לדוגמה|เช่น)"
)
"""The words for an example, in the languages that answers are seen in."""
_TIME = LazyPattern(
    r"(?<![\w:])([^\W\d_])\1?:([^\W\d_])\2(?![\w:])"
    rf"|(?i:{_FOR_EXAMPLE})\W{{1,4}}(?P<sample>\d\d:\d\d)(?![\d:])"
)
_BOTH = LazyPattern(
    r"(?<!\w)([^\W\d_])\1{3}-([^\W\d_])\2-([^\W\d_])\3[T ]"
    r"([^\W\d_])\4:([^\W\d_])\5(?::([^\W\d_])\6)?Z?(?!\w)"
    rf"|(?:(?i:{_FOR_EXAMPLE})\W{{1,4}}|\((?=[\d-]*T))(?P<sample>\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d"
    r"(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)(?!\w)"
)
"""A date with a time, in letters or as an example."""
_MOMENT = LazyPattern(
    r"\A(.{5,}?)(?:T|,? )(\d{1,2}(?:[:.h]\d\d)?(?: ?[AaPp]\.?[Mm]\.?)?)(?::\d\d)?Z?\Z"
)
_EXAMPLE = LazyPattern(
    rf"(?i:{_FOR_EXAMPLE})\W{{1,3}}(?P<code>(?=[\w/-]{{0,20}}\d\d)[^\W\d_]{{1,5}}[\w/-]{{2,20}})(?!\w)"
)
"""A code that is given as an example: letters, and digits after them."""
_FORM = LazyPattern(
    r"(?<![\w-])(?=[^\s]{0,30}[AX#N])(?:[AX#N]{1,6}|[09]{1,8})"
    r"(?:[-/.:](?:[AX#N]{1,6}|[09]{1,8})){1,4}(?![\w-])"
)
LIKE_DATE = LazyPattern(r"\d[-/. ]\w{1,9}[-/. ]\d|\d:\d")
_WRITTEN_DATE = LazyPattern(r"\A(\d{1,4})([-/. ])(\d{1,2})\2(\d{1,4})\Z")
_SIGNED_DATE = LazyPattern(r"\A(\d{4})[^\W\d] ?(\d{1,2})[^\W\d] ?(\d{1,2})[^\W\d]?\Z")
"""The year first, each number with the sign of what it counts."""
_NAMED_DATE = LazyPattern(
    r"\A(?:(\d{1,2})(?:\.|er|º)? (?:de )?)?([^\W\d_]{3,10})\.?(?: (\d{1,2}),?)? (?:de )?(\d{4})\Z"
)
_MONTHS = {
    "ene": 1, "gen": 1, "fév": 2, "fev": 2, "mär": 3, "maa": 3, "mrt": 3, "abr": 4, "avr": 4,
    "mag": 5, "mai": 5, "maj": 5, "mei": 5, "giu": 6, "juin": 6, "juil": 7, "lug": 7, "ago": 8,
    "aoû": 8, "set": 9, "okt": 10, "ott": 10, "out": 10, "des": 12, "dez": 12, "dic": 12, "déc": 12,
}  # fmt: skip
"""How months begin whose names begin otherwise in English, in Germanic and Romance languages: a
small model that has to write another form of a date gives up (1 of 2 moments)."""
_WRITTEN_TIME = LazyPattern(r"\A(\d{1,2})(?:[:.h](\d{2}))? ?([AaPp])?\.?(?:[Mm]\.?)?\Z")
_BRACKETS = LazyPattern(r"\s?\([^()\n]{0,80}\)")
_STOP = LazyPattern(r"[.!;](?:\s|\Z)|。")
_COMMA = LazyPattern(
    r"\s?[,/|、\uff0c]\s?(?:(?:or|and|oder|und|ou|et|o|y|e|или|и) )?"
    r"| (?:or|and|oder|und|ou|et|o|y|e|или|и) "
)
_QUOTES = " \t\"'`“”„«»「」[]()."
_LESS = LazyPattern(
    r"(?i)\b(?:ask for|choose|give|request|select|set|specify|try|use) ((?:an? |the )?(?:\w+ ){0,2}"
    r"(?:fewer|lower|narrower|shorter|smaller|larger|higher|longer|later|earlier)"
    r"(?: (?!(?:than|per|in|and|or)\b)\w+){0,2})"
    r"|\b((?:at most|no more than|höchstens|au plus|como máximo) \d{1,9} [a-zA-Z]{1,10}\b)"
)
_MEANT = LazyPattern(
    r"(?i)\bdid you mean:? (?:(?:the )?\w{1,12} \w{1,12} (?=[\"'`“]))?"
    r"[\"'`“]?([\w./@-]{1,60})[\"'`”]?\s?\?"
)
_SPAN = LazyPattern(r"\b(\d{1,7}) ?(?:[-–—]|to) ?(\d{1,7})\b")
_WHOLE = LazyPattern(r"-?\d{1,9}")
_WORD = LazyPattern(r"[^\W\d_]{3,}|\d+")
TIES = ("a", "an", "and", "are", "er", "es", "est", "este", "is", "ist", "je", "jest", "of", "or",
        "the", "to", "was", "were")  # fmt: skip
"""What stands before the word for what lacks, and is no name of a field."""
Arguments = Mapping[str, str]
"""Those of a call by name, each as it would be written."""


@attrs.frozen
class Change:
    """What to change in a call, in characters of the answer.

    Args:
        call: what follows "call TOOL", such as ``with date='2025-06-12'``.
        refused: the argument as it was, ready to be shown; empty if it is not known.
        lacks: whether the call lacks a field, so that it is to be added.
        is_form: whether only the form is known, and not the value.
    """

    call: str
    refused: str = ""
    lacks: bool = False
    is_form: bool = False


def arguments_in(given: str) -> Arguments:
    """Return the arguments of a call as `describe_call` names it, those that are whole."""
    return {found[1]: found[2].strip("'") for found in GIVEN.finditer(given)}


def shown(change: Change | None, given: str) -> Change | None:
    """Return a change as a text shows it, numbers as they were given; None if it is too long."""
    if change is None or len(change.call) > _LONGEST:
        return None
    name = change.refused.partition("=")[0]
    bare = bool(name) and f"{name}=" in given and f"{name}='" not in given
    call, refused = (
        _shown(text.replace("'", "") if bare else text) for text in (change.call, change.refused)
    )
    return attrs.evolve(change, call=call, refused=refused)


def _shown(text: str) -> str:
    """Return a text as a nudge may hold it: of an answer, nothing is taken for markup."""
    return quote(text, 2 * _LONGEST)[1:-1]


def key_in(line: str, arguments: Arguments) -> str:
    """Return the one argument that a line speaks of, by its name or by what was given."""
    named = [key for key in arguments if is_named(key, line)]
    if not named:
        named = [key for key, value in arguments.items() if len(value) > 1 and stands(value, line)]
    named = named or list(arguments)
    return named[0] if len(named) == 1 else ""


def is_named(key: str, line: str) -> bool:
    """Return whether a line names an argument, also as its first word."""
    return stands(key, line) or stands(key.capitalize(), line)


def stands(text: str, line: str) -> bool:
    """Return whether a text stands in a line, and is not a part of a word."""
    at = line.find(text) if text else -1
    while at >= 0:
        end = at + len(text)
        if not line[at - 1 : at].isalnum() and not line[end : end + 1].isalnum():
            return True
        at = line.find(text, end)
    return False


def instead(key: str, value: str, arguments: Arguments) -> Change:
    return Change(f"with {key}='{value}'", f"{key}='{arguments[key]}'")


def swapped(first: str, last: str, arguments: Arguments, line: str) -> Change | None:
    """Return the ends of a stretch the other way round, if `line` speaks of one that ends first."""
    one, other = arguments[first], arguments[last]
    begins, ends = _size(one), _size(other)
    names = [first, last, *(value for value in (one, other) if len(value) > 3)]
    if not any(stands(name, line) for name in names):
        return None
    if begins is None or ends is None or begins <= ends or len(begins) != len(ends):
        return None  # a date and a number can't be compared
    return Change(f"with {first}='{other}', {last}='{one}'", f"{first}='{one}', {last}='{other}'")


def _size(value: str) -> tuple[int, ...] | None:
    """Return what two dates, times or numbers are compared by."""
    return (int(value),) if _WHOLE.fullmatch(value) else read_date(value[:10]) or _read_time(value)


def lacking(line: str, _: str, arguments: Arguments) -> Change | None:
    """Return the field that a call lacks, or has without a value."""
    found = _MISSING.search(line)
    if found is None:
        return None
    groups = found.groupdict()
    name = next((groups[mark] for mark in "acdef" if groups.get(mark)), "")
    if arguments.get(name) or not name or name.lower() in TIES:
        return None
    what = (groups["b"] or "").strip(" ()\uff08\uff09")
    return Change(f'{name} ("{what}")' if what else name, lacks=True)


def formed(line: str, key: str, arguments: Arguments) -> Change | None:
    """Return values in the form that is wanted, dates or times; else the form itself.

    What looks as the refused value does is changed as well, for it would be refused next.
    """
    for pattern, read, write in (
        (_BOTH, _read_both, _as_both),
        (_DATE, read_date, as_date),
        (_TIME, _read_time, _as_time),
    ):
        found = next((f for f in pattern.finditer(line) if f[0] not in arguments.values()), None)
        if found is None:
            continue
        form = found.groupdict().get("sample") or found[0]
        fits = [k for k, value in arguments.items() if read(value)]
        if not key and not fits:
            like = [k for k, value in arguments.items() if LIKE_DATE.search(value)]
            key = like[0] if len(like) == 1 else ""
        if key and key not in fits:
            return _shaped(key, form, arguments)
        if key:
            fits = [k for k in fits if _shape(arguments[k]) == _shape(arguments[key])]
        sample = _NAMED_MONTH.search(line) if "MMM" in form.upper() else None
        if sample is not None and sample[1].title() not in calendar.month_abbr:
            return _shaped(key, form, arguments)  # in a language that is not known
        letters = form.lower() if sample is not None and not sample[1].isupper() else form
        made = {k: write(letters, read(arguments[k]) or ()) for k in fits}
        told = [f"{k}='{value}'" for k, value in made.items() if value != arguments[k]]
        first = key or next(iter(made), "")
        return Change(f"with {', '.join(told)}", f"{first}='{arguments[first]}'") if told else None
    form = _FORM.search(line) or _MONTH.search(line) or _EXAMPLE.search(line)
    if not key or form is None or form[form.lastindex or 0] in arguments[key]:
        return None
    return _shaped(key, form["code"] if "code" in form.re.groupindex else form[0], arguments)


def _shape(value: str) -> str:
    return "".join("9" if sign.isdigit() else "A" if sign.isalpha() else sign for sign in value)


def _shaped(key: str, form: str, arguments: Arguments) -> Change:
    return Change(f"with {key} in the form {form}", f"{key}='{arguments[key]}'", is_form=True)


def read_date(value: str) -> tuple[int, int, int] | None:
    """Return year, month and day, if they can be told apart."""
    if (found := _WRITTEN_DATE.match(value)) is not None:
        return _in_order(*found.groups())
    if (found := _SIGNED_DATE.match(value)) is not None:
        return _date(int(found[1]), int(found[2]), int(found[3]))
    found = _NAMED_DATE.match(value)
    if found is None or bool(found[1]) == bool(found[3]):
        return None
    month = _month_of(found[2].lower())
    return None if month is None else _date(int(found[4]), month, int(found[1] or found[3]))


def _in_order(one: str, mark: str, middle: str, three: str) -> tuple[int, int, int] | None:
    """Return year, month and day of three numbers."""
    first, two = int(one), int(middle)
    if len(one) == 4:
        return _date(first, two, int(three))
    if len(three) != 4:
        return None
    if mark == "." or first > 12 or first == two:  # with points the day is first everywhere
        return _date(int(three), two, first)
    return _date(int(three), first, two) if two > 12 else None


def _month_of(said: str) -> int | None:
    """Return the number of a month; English ones may be cut short, others begin like them."""
    names = [name.lower() for name in calendar.month_name]
    months = [n for n, name in enumerate(names) if name and name.startswith(said)]
    if not months and len(said) <= _LONGEST_MONTH:  # in another language, as "Juli" and "marzo"
        months = [n for n, name in enumerate(names) if name and name[:3] == said[:3]]
    months = months or [n for begin, n in _MONTHS.items() if said.startswith(begin)]
    return months[0] if len(months) == 1 else None


def _date(year: int, month: int, day: int) -> tuple[int, int, int] | None:
    return (year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def as_date(form: str, date: tuple[int, ...]) -> str:
    year, month, day = (f"{date[0]:04}", f"{date[1]:02}", f"{date[2]:02}")
    mark = next((letter for letter in form if not letter.isalpha()), "")
    if form[0] == form[3]:
        return mark.join((year, month, day))
    if "MMM" in form.upper():
        name = calendar.month_abbr[date[1]]
        short = year[5 - len([letter for letter in form if letter.isalpha()]) :]
        return mark.join((day, name.upper() if form[0].isupper() else name, short))
    first = form[0] in "Mm\u041c\u043c"  # the month, also in Cyrillic
    return mark.join((month, day, year) if first else (day, month, year))


def _read_time(value: str) -> tuple[int, int] | None:
    """Return hour and minute, if a value is a time."""
    found = _WRITTEN_TIME.match(value)
    if found is None or not (found[2] or found[3]):
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _read_both(value: str) -> tuple[int, ...] | None:
    """Return date and time, if a value holds both."""
    found = _MOMENT.match(value)
    day, time = (read_date(found[1]), _read_time(found[2])) if found else (None, None)
    return (*day, *time) if day and time else None


def _as_both(form: str, moment: tuple[int, ...]) -> str:
    """Write date and time as an example does, which may have words before it."""
    year, month, day, hour, minute = moment
    mark, rest = form[form.index("-") + 6], form[form.index(":") + 3 :]
    seconds = ":00" if rest.startswith(":") else ""
    zone = rest[3:] if seconds else rest
    return f"{year:04}-{month:02}-{day:02}{mark}{hour:02}:{minute:02}{seconds}{zone}"


def _as_time(_: str, time: tuple[int, ...]) -> str:
    return f"{time[0]:02}:{time[1]:02}"


def meant(line: str, key: str, arguments: Arguments) -> Change | None:
    """Return the value, or the argument, that an answer takes to be meant."""
    found = _MEANT.search(line)
    if found is None or not key:
        return None
    if stands(key, line) and not stands(arguments[key], line):
        return Change(f"with {found[1]}='{arguments[key]}' instead of {key}")
    return instead(key, found[1], arguments)


def choice_of(key: str, values: list[str], arguments: Arguments) -> Change:
    """Return one of several values for an argument, what is like the given one first."""
    inside = [value for value in values if len(value) > 1 and stands(value, arguments[key])]
    if len(inside) == 1:
        return instead(key, inside[0], arguments)
    values = sorted(values, key=lambda value: -_likeness(value, arguments[key]))
    shown = [f"'{value}'" for value in values]
    return Change(f"with {key}={', '.join(shown[:-1])} or {shown[-1]}", f"{key}='{arguments[key]}'")


def values_in(said: str) -> Iterator[str]:
    """Return the values of a list; none if it is a sentence."""
    said = _BRACKETS.sub("", said)
    stop = _STOP.search(said)
    values = _COMMA.split(said[: stop.start()] if stop else said)
    tidy = [value.strip(_QUOTES) for value in values if value]
    if all(
        value and len(value) <= _LONGEST_VALUE and len(value.split()) <= _MOST_WORDS
        for value in tidy
    ):
        yield from dict.fromkeys(tidy)


def _likeness(one: str, other: str) -> int:
    """Return how many words and numbers two values share, a word also by its beginning."""
    ours, theirs = (
        {w.lower()[:3] if w[0].isalpha() else w.lstrip("0") for w in _WORD.findall(value)}
        for value in (one, other)
    )
    return len(ours & theirs)


def less(line: str, key: str, arguments: Arguments) -> Change | None:
    """Return what an answer tells to ask for, in its words: "a shorter period"."""
    found = _LESS.search(line)
    if found is None:
        return None
    refused = f"{key}='{arguments[key]}'" if key else ""
    return Change(f"with {found[1] or found[2]}", refused)


def next_in(said: str, part: str, given: str) -> str:
    """Return what to call a part's tool with to have the next part; empty if it does not follow."""
    arguments = arguments_in(given)
    if part.startswith("page ") and "page" in arguments:
        return f"with page='{part[5:]}'"
    span = _SPAN.search(said)
    if span is not None:  # what began with the first of them begins with what comes after the last
        first, last = span[1], int(span[2])
        begins = [key for key, value in arguments.items() if value == first]
        name = begins[0] if len(begins) == 1 else ""
        mark = "'" if f"{name}='" in given else ""
        return f"with {name}={mark}{last + 1}{mark}" if name else ""
    found = re.fullmatch(r"(?i)[\"']?(?:next|continuation)_?(\w*)\W{1,5}([\w.+/=-]{1,60})\W*", said)
    if found is None:
        return ""
    name = found[1].lower()
    keys = [key for key in arguments if name and key.lower().replace("_", "").endswith(name)]
    keys = keys or [key for key, value in arguments.items() if not name and value == ""]
    if not keys and name:  # the field says what the argument is called that it is for
        mark = "" if found[2].isdecimal() else "'"
        return _shown(f"with {found[1][:1].lower()}{found[1][1:]}={mark}{found[2]}{mark}")
    return _shown(f"with {keys[0]}='{found[2]}'") if len(keys) == 1 else ""
