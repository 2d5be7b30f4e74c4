"""Other numbers in a call: the bound, the length or the days that an answer tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta

from trimtab.text import LazyPattern
from trimtab_signals._changes import Arguments, Change, instead, is_named, read_date, stands
from trimtab_signals._parts import GROUPED, OBJECT, STRETCH, is_place, numbers_in

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
_SHORTEST = 10
"""Characters of a text whose length an answer may speak of."""
_FIELD_LINE = LazyPattern(r"\n\w{1,40}: \d")
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


def only_digits(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the digits of a value, if an answer says how many there are of them."""
    told = set(numbers_in(text))
    for key, value in arguments.items():
        digits = "".join(filter(str.isdigit, value))
        is_mixed = 4 < len(digits) < len(value) <= 2 * len(digits) and not read_date(value)
        if is_mixed and told == {len(digits)}:
            return instead(key, digits, arguments)
    return None


def fewer_days(text: str, _: str, arguments: Arguments) -> Change | None:
    """Return the last day of a stretch, if an answer says how many days it may have."""
    days = {key: date(*found) for key, value in arguments.items() if (found := read_date(value))}
    told = [number for number in numbers_in(text) if number not in _STATUSES]
    if len(days) != 2 or len(told) != 1 or not 1 < told[0] < 400 or _YOUNGER.search(text):
        return None
    first, last = sorted(days, key=lambda key: days[key])
    end = days[first] + timedelta(told[0] - 1)
    is_iso = arguments[first] == days[first].isoformat()
    return instead(last, end.isoformat(), arguments) if is_iso and end < days[last] else None


def sooner_end(text: str, _: str, arguments: Arguments) -> Change | None:
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


def _told(text: str) -> list[float]:
    """Return the numbers of a text, but for what labels it: a status, or which thing it is."""
    plain = _LABEL.sub(lambda at: at[0] if _LIMIT.search(at[0]) else " ", text.replace("..", " - "))
    told = list(dict.fromkeys(numbers_in(plain)))
    if len(told) == 2 and told[0] == 1:
        return told[1:]  # so many in one call
    ends = {float(end) for span in STRETCH.findall(text) for end in span}
    is_few = len(told) <= 2
    return [number for number in told if is_few or number not in _STATUSES or number in ends]


def below_zero(text: str, _: str, arguments: Arguments) -> Change | None:
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


def bounded(text: str, _: str, arguments: Arguments) -> Change | None:
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
    if OBJECT.search(text) or _FIELD_LINE.search(text):
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


def shortened(text: str, _: str, arguments: Arguments) -> Change | None:
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
