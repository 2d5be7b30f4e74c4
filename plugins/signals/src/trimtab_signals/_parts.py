"""When to come back, which of several is meant, and what comes next, as an answer tells it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from trimtab.text import LazyPattern
from trimtab_signals._changes import Arguments, is_named, stands
from trimtab_signals._waiting import Span, spaced

OPEN, SHUT = r"[\"'`\u201e\u201c\u00ab\u300c]", r"[\"'`\u201d\u201c\u00bb\u300d]"
"""Marks around a quotation."""
OBJECT = LazyPattern(r"[{\[]\s{0,8}(?:\"|\w{1,40}=)|\{\s{0,8}'\w{1,40}'\s?:")
"""The beginning of an object or a list."""
_NUMBER = LazyPattern(
    r"(?<![A-Za-z0-9_#+./-])(?<!\d[:,])(\d{1,3}(?:[ ,.\u202f]\d{3})+(?!\d)|\d{1,9}(?:\.\d{1,4})?)"
    r"(?![:/-]?\d|[A-Za-z]{0,8}\d|[-/][A-Za-z])"
)
GROUPED = LazyPattern(r"(?<=\d)[ ,.\u202f](?=\d{3}(?:\D|\Z))")
STATUS = LazyPattern(r"(?:HTTP\S{0,6} |\A)[45]\d\d\b|\b(?:code|error|status)\W{1,4}\d{3,6}\b")
WORDED = LazyPattern(r"[^\W\d_]{2}")
_SPAN_FIELD = LazyPattern(
    r"(?P<said>(?<!\w)(?:\w{0,30}_s|(?:\w{0,30}_)?[Ss]e[ckg]\w{0,30}|\w{0,30}S(?:ecs?|econds?)"
    r"|\w{0,30}_(?:сек\w{0,6}|초|秒)"
    r"|(?P<ms>\w{0,30}(?:_ms|Ms|_?[Mm]illis))|(?P<min>\w{0,30}(?:_min|Min|_?[Mm]inut\w{0,3})))"
    r'"?\s{0,3}[:=]\s{0,3}(?P<n>\d{1,7}))(?![\d.]*\d)'
)
_CLOCK = LazyPattern(
    r"(?<![\d:.T])([01]?\d|2[0-3])[:\uff1ah]([0-5]\d)(?:[:\uff1a]([0-5]\d))?(?![\d:])"
)
_LONGEST_WAIT = 4 * 3_600.0
"""Seconds; a time that is further off opens a shop, and ends no lock."""
LONGEST_TIME = 70
"""Characters that are quoted of what stands before a time."""
_TIMED = LazyPattern(r"\d[:.h]\d\d(?!\d)|\d ?[AaPp]\.?[Mm]\b")
_LETTERED = LazyPattern(r"(?<![\w:])([^\W\d_])\1:([^\W\d_])\2(?![\w:])")
_SINCE = LazyPattern(r"(?i)\b(?:since|seit|depuis|sinds|sedan|siden)\W{1,3}\Z")
_INSTANT = LazyPattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
DECIDES = LazyPattern(
    r"(?i)two-factor|one-time (?:code|password|pin)\b|verification code"
    r"|confirm(?!ed\b)|conferm|approv(?!ed\b|al date)|consent\b|bestätig|freigabe|genehmig|zustimm"
    r"|autori[sz](?:ar|er|ieren|zare|ación d|ação d)\b|подтвер|одобр|соглас"
    r"|确认|確認|批准|承認|同意|확인이? ?필요|승인|동의|potwierdz|zgod[ay]\b|bevestig|godk[äje]"
    r"|aprob|toestemming|samt[yj][kc]|suostumu|onay|s[oú]u?hlas|hozzájárul|consim|persetuj|згод"
    r"|موافق|אישור"
    r"|συγκατ|đồng ý|podpis(?!an)|handtekening|unterschrift|underskrift|allekirjoit|firma d"
    r"|signature\b|sign-?off\b"
    # what can be meant in two ways, or is several objects
    r"|einwillig|(?:ein|mehr)deutig|flertydig|víceznač|jednoznač|однознач|entydig|ambig[uüo]|yksiselitt"
    r"|dubbelzinnig|niet duidelijk"
    r"|\[\s{0,8}\{[^{}]{3,200}\}\s{0,3},\s{0,8}\{"
)
"""The word for what only a person gives, in the languages that answers are seen in."""
_RANGE_OF_IDS = LazyPattern(
    r"(?<!\w)([^\W\d_a-z]{1,4}-?)\d{1,6} ?"
    r"(?:[-–~]|\.\.|\b(?:to|bis|tot|til|do|до|à|al?)\b) ?\1\d{1,6}"
)
"""The first and the last of all that there are, among which nobody has to choose."""
_CODE = LazyPattern(r"[;{}=<>()]")
_ALIKE = LazyPattern(r"(?<![\w.,:/-])(?:(\d{4,6}|\d{3}),? (?:\w{1,5} )?\d{3,6}(?![\w:/-]|\.\d))")
"""Two ids of digits side by side."""
_COUNT = LazyPattern(r"\W{0,3}([2-4]) ?[^\W\d]")
_NUMBERED = LazyPattern(r"(?<![\w-])([^\W\d_a-z]{1,4}-?)(\d{1,6})(?![\w-])")
_EITHER = LazyPattern(
    r"(?<![\w-])([^\W\d_a-z]{1,4}-?)(\d{1,6})(?:,? \w{1,4} | ?/ ?)\1(?!\2\b)\d{1,6}(?![\w-])"
)
"""One thing or the other."""
_WORDS = LazyPattern(r"[^\W\d_]+(?:[ .'-]{1,2}[^\W\d_]+){0,4}")
_PLACES = frozenset(
    {"after", "continuation", "continue", "cursor", "first", "from", "marker", "next", "offset",
     "page", "part", "position", "skip", "start", "token"}
)  # fmt: skip
"""What arguments are called that say which part is wanted."""
_ANY_NUMBER = LazyPattern(r"\d{1,9}")
_WORDED_STRETCH = LazyPattern(
    r"(?<![\w.,:/-])(\d{1,7})(?=[^\W\d]{0,3} ?(?:[-–—~]|\.\.|[^\W\d]{1,4}) ?(\d{1,7})(?!\d))"
)
_SHEET = LazyPattern(r"(?i)p[aá]?g|se?it|si[dv]|say|str[ao]n|oldal|hal|tra|стр")
"""What arguments are called that count pages; others say with which row a part begins."""
_COUNTED_PART = LazyPattern(
    r"\W{0,3}[^\W\d_]{3,20} (\d{1,5}) ?(?:/|[^\W\d_]{1,3}) ?(\d{1,5})(?![\w.:/-]*\d)"
)
"""Page 1 of 4, as an answer begins with it in any language."""
_OF_SHEETS = LazyPattern(r"(\d{1,6})([^\W\d]{1,6}?)[^\W\d]{0,3}(\d{1,6})\2")
_COUNT_FIELD = LazyPattern(r'"([^"\n]{1,40})"\s?:\s?(\d{1,7})(?![\d.])')
_GOES_ON = LazyPattern(r'(?i)"?(?:has_?)?(?:more|next)\w{0,8}"?\s?[:=]\s?true')
_TEXT_FIELD = LazyPattern(r'"(\w{1,40})"\s?:\s?"([^"\s]{1,80})"')
_SIZES = frozenset({"count", "limit", "per", "size"})
"""What says of such a name that it counts what one part holds."""
STRETCH = LazyPattern(r"(?<![\w.,:/-])(\d{1,7}) ?(?:[-–—~]|\.\.) ?(\d{1,7})(?![\w.:/-])")
_PLACE_TOLD = LazyPattern(r"(?<=[ (`])(\w{1,20})=[\"'`]?([\w.:-]{1,60})(?![\w,}])")
"""What a call is told to say in prose or in markup: ``offset=101``, ``<next after="e3"/>``."""
_SHORT = 200
"""Characters of an answer that is no data, such as code with values of its own."""
_LINK = LazyPattern(r"[?&][$]?(\w{1,30})=([\w.%~+=-]{1,60})")
_PART = LazyPattern(
    r"(?<![\w.,:/-])(\d{1,6})(?: ?[-–—~] ?(\d{1,6}))?"
    r"(?: ?/ ?| ?[^\W\d]{1,4} ?)(\d{1,7})(?![\w./-]|:\d)"
)
_LONGEST = 400
"""Characters of an answer that tells when to come back."""
_A_SECOND = r"сек|秒|초|detik|giây|saniye|วินาที|ثان|שני|δευτ|másodp"
_A_MINUTE = r"мин|хв|λεπτ|(?<!másod)perc|dakika|phút|دق|मिनट|分|분|menit|นาที|דק"
"""The beginning of the words for them in the languages that answers and tools are seen in."""
_SECONDS = LazyPattern(
    r"(?i)(?:re(?:try|set)[-_ ]?after|wait|\beta_\w{1,8})\W{1,5}(?:PT)?(\d{1,5})(?:\.\d+)?"
    r"(?! ?m(?:in\w*)?\b)"
    r"|\b(?:in|after|for) (?:about )?(\d{1,5})(?:\.\d+)? ?(?:s|sec|second)"
    rf"|(?<![A-Za-z\d.,:])(\d{{1,5}}) ?(?:s\b|se[ckg]\w{{0,8}}\b|{_A_SECOND})"
)
MINUTES = LazyPattern(rf"(?i)(?<![a-z\d.,:])(\d{{1,4}}) ?(?:min\w{{0,8}}\b|{_A_MINUTE})")
_IN_SECONDS = LazyPattern(rf"(?i)se[ckg][ou]n|(?<![^\W_])se[ck](?![^\W_])|{_A_SECOND}")
_IN_MINUTES = LazyPattern(rf"(?i)min[uú]|(?<![^\W_])min(?![^\W_])|{_A_MINUTE}")
_DURATION = LazyPattern(r"(?<!\w)PT(?=\d)(?:(\d{1,4})M)?(?:(\d{1,5})S)?(?!\w)")
TOOK = LazyPattern(
    r"(?i)time(?:d|s)?[ -]?out|(?<!retry.)\bafter\b|elapsed|expire|took\b"
    r"|(?<!\bbe )\b(?:built|compiled|completed|done|executed|exited|failed|finished|passed|ran"
    r"|successful|succeeded|tests?)(?: run)? in (?:about )?\d"
)
"""Beside a span of time it says how long something lasted, and not when to come back."""
SECONDS_A_MINUTE = 60.0
"""By definition."""
_SHORTEST_SPAN = 5.0
"""Seconds: a model takes as long to answer."""
_LATE = 3
"""Whoever comes back after more than three times the span does not wait for it."""


def wait_by_form(text: str, arguments: Arguments) -> tuple[str, float | None] | None:
    """Return what the answer of a failed call says of time, and the seconds to wait.

    A span in a field whose name has its unit, or a time after the one that the answer begins with.

    Args:
        text: the answer.
        arguments: of the call.
    """
    found = _SPAN_FIELD.search(text)
    if found is not None and arguments.get(re.split(r"\W", found["said"])[0]) != found["n"]:
        factor = 0.001 if found["ms"] else 60.0 if found["min"] else 1.0
        return found["said"], int(found["n"]) * factor
    times = list(_CLOCK.finditer(text))
    if len(times) == 2 and times[0].start() < 24:
        now, then = (3_600.0 * int(t[1]) + 60.0 * int(t[2]) + float(t[3] or 0) for t in times)
        if 0 < then - now <= _LONGEST_WAIT:
            return text[times[0].end() :].strip(" ]|-")[:LONGEST_TIME], then - now
    if (
        _INSTANT.search(text)
        or _LETTERED.search(text)
        or any(map(_TIMED.search, arguments.values()))
    ):
        return None  # a time that was given may be what is wrong
    if len(times) == 1 and _SINCE.search(text[: times[0].start()]):
        return None
    if len(times) == 1 and len(text.rstrip(' .。)]}"')) == times[0].end() and times[0].start() > 4:
        return text[-LONGEST_TIME:], None
    return None


def several_of(text: str, arguments: Arguments) -> str:
    """Return what was given in words and is several things: Anna Bauer and Anna Costa, or a lamp
    at a house that has L-401 and L-402.

    Args:
        text: the answer.
        arguments: of the call.
    """
    for value in arguments.values():
        is_name = WORDED.match(value) and (" " in value or not value.islower())
        if is_name and len(value) <= LONGEST_TIME and not _CODE.search(value):
            after = re.findall(rf"(?<!\w){re.escape(value)} \(?([A-Z\d]\w{{1,30}})", text)
            before = re.findall(rf"(?<!\w)([A-Z]\w{{1,30}}) {re.escape(value)}(?!\w)", text)
            rest = _RANGE_OF_IDS.sub(" ", text.partition(value)[2])
            kinds = [kind for kind, _ in set(_NUMBERED.findall(rest))]
            if max(len(set(after)), len(set(before))) > 1 or any(
                kinds.count(kind) > 1 for kind in kinds
            ):
                return value
            if stands(value, text) and _ALIKE.search(text.partition(value)[2]):
                return value
            if _WORDS.fullmatch(value) and _EITHER.search(_RANGE_OF_IDS.sub(" ", text)):
                return value
    return ""


def counts_choices(text: str) -> bool:
    """Return whether an answer counts a few things and lists them by their ids: a name that was
    given is that of each of them.
    """
    count = _COUNT.match(text)
    if count is None:
        return False
    kinds = Counter(kind for kind, _ in set(_NUMBERED.findall(text)))
    return max(kinds.values(), default=0) == int(count[1])


def next_by_form(text: str, arguments: Arguments) -> tuple[str, str] | None:
    """Return what an answer says of its next part, and what to call it with.

    Args:
        text: the answer.
        arguments: of the call.
    """
    places = {
        key: value for key, value in arguments.items() if is_place(key) or is_named(key, text)
    }
    empty = [key for key, value in places.items() if not value]
    goes_on = empty and _GOES_ON.search(text)
    told = [
        *(
            (told[0], told[1], told[2])
            for pattern in (_LINK, _PLACE_TOLD)
            for told in pattern.finditer(text)
            if told[2] != arguments.get(told[1])
            and (
                is_place(told[1])
                or (arguments.get(told[1]) == "" and pattern is _LINK)
                or (told[0] == f"{told[1]}={told[2]}" and _follows(told[2], text))
            )
        ),
        *(
            (told[0], empty[0], told[2])
            for told in _TEXT_FIELD.finditer(text if goes_on else "")
            if is_place(told[1])
        ),
    ]
    for said, key, value in told:
        return said.lstrip("?&"), f"with {key}='{value}'"
    found = _of_lines(text, arguments) or _of_fields(text, arguments)
    return found or _of_parts(text, arguments, places)


def _follows(value: str, text: str) -> bool:
    """Return whether a value is what comes after so many that a short answer counts."""
    is_count = value.isdecimal() and int(value) > 9 and len(text) < _SHORT
    return is_count and int(value) - 1 in numbers_in(text)


def _of_parts(text: str, arguments: Arguments, places: Arguments) -> tuple[str, str] | None:
    """Return what follows the part that was asked for, of an answer that counts its parts."""
    begins = _COUNTED_PART.match(text)
    if begins is not None and int(begins[1]) < int(begins[2]):
        keys = [key for key, value in arguments.items() if value == begins[1]]
        if len(keys) == 1:
            return begins[0], f"with {keys[0]}='{int(begins[1]) + 1}'"
    most = max(numbers_in(text), default=0.0)
    for key, value in places.items():
        spans = (span for span in STRETCH.finditer(text) if span[1] == value)
        span = next(spans, None)
        if span is not None and int(span[2]) < most:
            return span[0], f"with {key}='{int(span[2]) + 1}'"
        found = next((part for part in _PART.finditer(text) if part[1] == value), None)
        if found is not None and int(found[2] or value) < int(found[3]):
            return found[0], f"with {key}='{int(found[2] or value) + 1}'"
    return None


def _of_lines(text: str, arguments: Arguments) -> tuple[str, str] | None:
    """Return what follows a stretch, or a page, of which a line tells the whole as well."""
    for line in text.splitlines():
        spans = _WORDED_STRETCH.finditer(line)
        span = next((span for span in spans if int(span[1]) < int(span[2])), None)
        keys = [key for key, value in arguments.items() if span is not None and value == span[1]]
        pages = _OF_SHEETS.search(line)
        at = pages[3] if pages is not None else ""
        if pages is not None and arguments.get("page") == at and int(pages[1]) > int(at):
            return pages[0], f"with page='{int(at) + 1}'"
        if span is None or len(keys) != 1 or len(numbers := _ANY_NUMBER.findall(line)) != 3:
            continue
        first, last = int(span[1]), int(span[2])
        if first < last < max(map(int, numbers)):
            following = first + 1 if _SHEET.match(keys[0]) else last + 1
            return span[0], f"with {keys[0]}='{following}'"
    return None


def _of_fields(text: str, arguments: Arguments) -> tuple[str, str] | None:
    """Return what follows, if fields with numbers are named alike, or one as the argument is."""
    told = list(_COUNT_FIELD.finditer(text))
    fields = [(found[1], int(found[2])) for found in told]
    at_key = [(key, int(arguments[key])) for key, at in fields if arguments.get(key) == str(at)]
    if len(fields) == 3 and len(at_key) == 1 and not _SHEET.match(at_key[0][0]):
        key, at = at_key[0]
        size, most = sorted(number for name, number in fields if name != key)
        if is_place(key) and size and at + size < most:
            return told[0][0], f"with {key}='{at + size}'"
    for (name, at), (other, most), said in zip(fields, fields[1:], told, strict=False):
        keys = [key for key in (name, "page") if arguments.get(key) == str(at)]
        keys += [name] if is_place(name) and name not in arguments else []
        is_same = name[:3] == other[:3] or any(not c.isascii() and c in other for c in name)
        is_same = is_same or other in ("of", "last", "last_page")
        if keys and at < most and is_same:
            return said[0], f"with {keys[0]}='{at + 1}'"
    return None


def is_place(name: str) -> bool:
    words = {word.lower() for word in re.split(r"_|(?=[A-Z])", name)}
    return not _PLACES.isdisjoint(words) and _SIZES.isdisjoint(words)


def numbers_in(text: str) -> Iterator[float]:
    """Yield the numbers of a text, without what looks like a status."""
    for found in _NUMBER.finditer(STATUS.sub(" ", text)):
        yield float(GROUPED.sub("", found[1]))


def unit_of(told: str) -> str:
    """Return in which unit of time a tool waits, by its name and what it says of itself; empty if
    it names none or both.
    """
    minutes, seconds = (pattern.search(told) is not None for pattern in (_IN_MINUTES, _IN_SECONDS))
    return "" if minutes is seconds else "minutes" if minutes else "seconds"


def tells_when(text: str) -> float | None:
    """Return a span of time that an answer tells, and that nothing has taken."""
    return None if TOOK.search(text) else seconds_in(text)


def comes_back_as_told(said: str, earlier: Span, later: Span) -> bool:
    """Tell whether a call is made again when its answer said, and not much later.

    Args:
        said: the answer; one that is short and names a span of time tells when.
        earlier: when the call was made that brought it.
        later: when it was made again.
    """
    spans = earlier, later
    if len(said) > _LONGEST or not spaced(spans, _SHORTEST_SPAN):
        return False
    seconds = seconds_in(said)
    if seconds is None or TOOK.search(said) is not None:
        return False
    return spaced(spans, seconds - 1) and not spaced(spans, _LATE * seconds + 1)


def seconds_in(text: str) -> float | None:
    """Return the first span of time of a text, in seconds; None if it has none."""
    found = _SECONDS.search(text)
    parts = _DURATION.search(text)
    if parts is not None:
        return float(parts[1] or 0) * SECONDS_A_MINUTE + float(parts[2] or 0)
    if found is not None:
        return float(next(group for group in found.groups() if group))
    found = MINUTES.search(text)
    return None if found is None else float(found[1]) * SECONDS_A_MINUTE
