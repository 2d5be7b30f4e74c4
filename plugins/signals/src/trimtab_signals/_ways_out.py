"""What an answer asks for: other arguments, time, or a decision of the user.

A model that is stuck mostly does what a nudge names first, so that a list of other tools takes the
right call away if the answer itself says what to do: then another tool was called 10 times of 10.
So the answer is read before any tool is named. Fields of JSON, patterns and status codes
count in every language; words are a second look, and those here are English.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum

import attrs

from trimtab.text import LazyPattern
from trimtab_signals._bounds import is_limit
from trimtab_signals._changes import (
    LIKE_DATE,
    Change,
    arguments_in,
    is_named,
    next_in,
    shown,
    stands,
)
from trimtab_signals._failure_lines import excerpt
from trimtab_signals._forms import change_in, untagged
from trimtab_signals._particles import is_later
from trimtab_signals._parts import (
    DECIDES,
    SECONDS_A_MINUTE,
    TOOK,
    next_by_form,
    seconds_in,
    several_of,
    wait_by_form,
)
from trimtab_signals._people import ASKS_USER, DECIDER, has_to_confirm
from trimtab_signals._records import CallRecord, describe_call

_READ = 1_500
"""Characters of an answer that are read from each end: what asks for something is short."""
_SHORT = 400
"""Characters of a refusal; what is longer, or has many lines, tells more than what is wanted."""
LONGEST_QUOTE = 70
"""A quote shows which words are meant; the agent has the answer."""


_LONGEST_CALL = 600
"""Characters of a call that are read: more than a record keeps of its arguments."""


class WayOut(StrEnum):
    """What an answer asks for."""

    ARGUMENTS = "arguments"
    PAGE = "page"
    LATER = "later"
    ASK = "ask"


@attrs.frozen
class Asked:
    """What an answer asks for, and where it says so.

    Args:
        way: what it asks for.
        said: the characters of the answer that say it.
        seconds: how long to wait, if it says so.
        part: the part that comes next, if it follows from what the answer says.
        change: what to change in the call, if that follows; for a part, what to call it with.
        unit: "minutes" or "seconds", if the tool that waits is known to count in these.
    """

    way: WayOut
    said: str
    seconds: float | None = None
    part: str = ""
    change: Change | None = None
    unit: str = ""

    @property
    def quoted(self) -> bool:
        """Whether the sentence about it quotes the answer, so that no other has to."""
        return self.way in (WayOut.ARGUMENTS, WayOut.PAGE)


_TOLD = LazyPattern(r'"((?:[^"\\]|\\.){20,400})"')
"""A sentence in an object."""
_UNIT = LazyPattern(r"(?i)min|se[ckg]|dur|time")
"""The beginning of an argument's name that is a time."""
_NUMBERS = LazyPattern(r"\d+")
_SENTENCE = LazyPattern(r"[.;!?]\s|\n|。")
_TOO_LARGE = "413"
_COUNTED = LazyPattern(r"[-+]?\d|\[")
_LEAST_TEXT = 10
"""Characters: the least bound of a text; smaller ones count things."""
_LATER = LazyPattern(
    r"(?i)\A(?:HTTP\S{0,6} )?202(?=\s|\Z)|retry[-_ ]?after|\beta_se?c"
    r"|try again (?:later|in|after|shortly|at|\d)|please (?:try again|retry)"
    r"|\be?busy\b|\bEAGAIN\b|temporarily|rate.?limit|too many requests|\b(?:429|503)\b"
    r"|not (?:yet )?ready"
    r"|\b(?:locked by|lock (?:is )?held)|come back|quota .{0,40}reset|\bready in (?:about )?\d"
    # the word for "later" beside the word for "again", in the languages that answers are seen in
    r"|réessay\w+ plus tard|später (?:erneut|noch ?mal|wieder)|inténtel?o más tarde"
    r"|riprova più tardi|tente mais tarde|попробуйте позже|稍后[再重]|後でもう一度|나중에 다시"
)
_STILL = LazyPattern(
    # the word for "later", and that for "goes on", in the languages that answers are seen in
    r"(?i)plus tard|\bspäter\b|más tarde|più tardi|mais tarde|позже|пізніше|稍后|後で|나중에"
    r"|později|później|senare|senere|myöhemmin|\blater (?:opnieuw|nog)|daha sonra|később|mai târziu"
    r"|αργότερα|لاحقا"
    r"|in progress|still (?:running|processing|being)|being (?:built|created|generated|processed)"
    r"|läuft noch|en cours\b|en curso\b|in corso\b|em andamento|w toku|pågår|käynnissä|lopende"
    r"|обрабатывается|выполняется|处理中|処理中|처리 중|devam ed|folyamatban|probíhá"
)
_NEGATED = LazyPattern(
    r"(?i)(?<!\w)(?:ei|ikke|inte|keine?|nem|nicht|niet|no|non|not|nu|pas|ne|не|нет|δεν)"
    r"\W{1,3}(?:\w{1,6} )?\Z"
)
"""The word for "not" before it, in those languages."""
_HELD = LazyPattern(
    r"(?i)\b(?:locked|in use|bloquead[ao]|bloccat[ao]|verrouillée?|gesperrt|belegt|заблокирован\w*"
    r"|занят\w*)\b[^\n]{0,80}\b\d{1,2}[:h]\d{2}\b|(?:锁定|占用|ロック中|使用中)[^\n]{0,80}\d{1,2}[:\uff1a]\d{2}"
)
"""What is held by another, with the time of day until which it is."""
_SECRET = LazyPattern(r"\b(?:SMS|OTP|TAN|2FA|MFA|CAPTCHA|captcha)\b")
"""What only a person can read, or do, under the same name in most languages."""
_QUESTION = LazyPattern(r"[?\uff1f\u061f]\W{0,3}\Z")  # also the wide and the Arabic mark
_NEXT = LazyPattern(
    r"(?i)\b(?:next_?(?:page_?)?(?:page|cursor|token|offset|key|marker)|continuation_?token)\W{1,4}(?!null|none|false|\W)"
    r'|"next"\s{0,3}:\s{0,3}(?:"[^"\n]|\d)'
)
_PAGE = LazyPattern(
    r"(?i)\bhas_?more\W{1,4}true"
    r"|\b(?:page|seite|página|pagina|страница) (?P<page>\d{1,6})"
    r" (?:of|von|sur|de|di|из) (?!(?P=page)\b)\d{1,6}"
    r"|第 ?(?P<sheet>\d{1,6}) ?[页頁ペ]\w{0,3}\W{0,3}共 ?(?!(?P=sheet)(?!\d))\d{1,6}"
    r"|\b(?:showing|shown|lines?) (?:lines? )?\d{1,7}(?:-|–| to )(?P<line>\d{1,7})"
    r" of (?!(?P=line)\b)\d"
    r'|"page"\s?:\s?(?P<leaf>\d{1,6}),\s?"(?:total_?)?pages"\s?:\s?(?!(?P=leaf)\b)\d{1,6}'
    # a stretch of a whole in brackets: "[Zeilen 1–120 von 304]"
    r"|[(\[](?:\w{1,20} )?\d{1,7} ?[-–—] ?(?P<last>\d{1,7}) ?(?:\w{1,4}|/) ?"
    r"(?!(?P=last)\b)\d{1,7}[)\]]"
)
_VALUE = LazyPattern(r"[\w.+/=-]*")
_ARGUMENTS = LazyPattern(
    # a form, a list of values, a field that lacks, a bound
    r"\b(?:YYYY|yyyy|MM|DD|HH)[-/:.](?:MM|mm|DD|dd|SS|ss|YYYY)\b"
    r'|\A\s{0,8}[{\[][^\n]{0,400}"(?:allowed(?:_values)?|enum|expected|pattern|format|required'
    r'|missing)"\s{0,3}:'
    r"|(?i:must (?:be|have|match|contain|start|end|not)\b|should be (?:one|a|an|in)\b|one of[: \[(]"
    r"|(?:allowed|valid|accepted|possible|supported) (?:values?|options?|choices?|names?)"
    r"|(?:allowed|valid) (?:are|is) |erlaubt (?:sind|ist)|valeurs? (?:autoris|possibles)"
    r"|valores? (?:permitidos?|válidos?)|допустимы|允许的值|有效值|使用できる値"
    r"|missing (?:\d+ )?(?:required |positional )*(?:field|argument|parameter|property)"
    r"|(?:field|argument|parameter|property) .{0,40}(?:is )?(?:required|missing)"
    r"|\b[a-z]{1,20}_\w{1,20} is (?:required|missing)\b"
    r"|(?:invalid|wrong|bad) (?:date |time )?format|in the form(?:at)? "
    r"|expected .{1,40}(?:got|but)\b|did you mean|use .{1,40} instead"
    # a range that is too large, an upper or lower bound
    r"|(?:\A|\b(?:code|error|http|status)\W{1,3})413\b"
    r"|too (?:few|high|large|long|many|short|small|wide)\b"
    r"|\b(?:ask for|choose|give|request|specify|try|use) (?:\w+ ){0,3}(?:fewer|lower|narrower"
    r"|shorter|smaller)\b"
    r"|(?:[≤≥]|[<>]=|\bmax(?:imal|imum)?\b\W{1,3}(?:is |of )?|\bat most )\s?(?:PT?)?\d"
    # at most so many, in the languages that answers are seen in
    r"|(?:\b(?:höchstens|maximal|máximo(?: de)?|massimo(?: di)?|au (?:maximum|plus)|не более)"
    r"|最大|最多|최대)\s?\d)"
    # what is wrong with a field, below its name; "expected" in those languages
    r"|\"(?:errors|fields|details)\"\s{0,3}:\s{0,3}\{\s{0,8}\"\w{1,40}\"\s{0,3}:"
    r"|(?i:\b(?:verwacht|erwartet|attendu|esperad[oa]|previsto|ожидается|oczekiwano|应为|应是)\s?[:\uff1a])"
)
_MARKS = "\"'`\u201e\u201c\u00ab\u300c"
_LONGEST_LINE = 160
"""Characters of an answer of one sentence; in a longer one a name in quotes ends it by chance."""


# What blames the command line itself. What else a command prints is about files, code and tests:
# "expected 3 but got 4" or "Did you mean: 'name'?" asks for another change, not another command.
_COMMAND_LINE = LazyPattern(
    r"(?i)\b(?:illegal|invalid|missing|unknown|unrecogni[sz]ed|unsupported)"
    r" (?:arguments?|command|flag|operand|option|subcommand|switch)(?:\b(?! of| type)|:)"
    r"|\b(?:option|flag|argument)s? [^\n]{1,60} (?:is|are) required\b|\brequires an argument\b"
    r"|\bdid you mean -"
)


_USAGE = LazyPattern(r"(?i)(?<!\w)usage: ")
_HINTS = LazyPattern(r"(?im)^(?:(?:usage|try|hint|note|for more)\b[^\n]{0,200})?(?:\n|\Z)")
"""What a command line says besides what was wrong."""
_HEADERS = LazyPattern(
    r"\AHTTP\S{0,6} [^\n]{3,60}(?:\r?\n[\w-]{1,40}: [^\n]{0,200}){0,9}\r?\n\r?\n(?=\S)"
)
_PROSE = LazyPattern(r"(?s)\A[{\[<].*|\n {0,4}[-*\u2022\u2013] ?\S[^\n]{0,40}(?=\n|\Z)")
"""What may take many lines in a short answer: an object, or a list."""
_CUT = "[…]"
"""Stands in what is kept of a long answer: there words are mostly those of a file or of a page."""


# What the user decides comes first: a wrong guess there does most harm.
_Ways = tuple[tuple[WayOut, LazyPattern], ...]
_WAYS: _Ways = (
    (WayOut.ASK, ASKS_USER),
    (WayOut.ASK, DECIDER),
    (WayOut.LATER, _LATER),
    (WayOut.LATER, _HELD),
    (WayOut.ARGUMENTS, _ARGUMENTS),
    (WayOut.PAGE, _NEXT),
    (WayOut.PAGE, _PAGE),
)
_WAYS_OF_COMMANDS: _Ways = (
    (WayOut.LATER, _LATER),
    (WayOut.ARGUMENTS, _COMMAND_LINE),
    (WayOut.ARGUMENTS, _USAGE),
)
_WAYS_OF_LONG: _Ways = ((WayOut.PAGE, _NEXT), (WayOut.PAGE, _PAGE))
_WAYS_OF_LONG_COMMANDS: _Ways = ((WayOut.ARGUMENTS, _COMMAND_LINE),)


def asked_of(call: CallRecord) -> Asked | None:
    """Return what the answer of a call asks for; None if it asks for nothing that it names.

    Args:
        call: its record.
    """
    is_whole = call.command is None and len(call.whole) <= _SHORT
    said = call.whole if is_whole else call.output if call.failed else excerpt(call.output)
    given = describe_call(call, _LONGEST_CALL)
    return asked_by(said, command=call.command is not None, given=given, failed=call.failed)


def asked_by(
    answer: str, *, command: bool = False, given: str = "", failed: bool = False
) -> Asked | None:
    """Return what an answer asks for; None if it asks for nothing that it names.

    Args:
        answer: what the tool said, as text.
        command: whether it is what a command line printed.
        given: the call with its arguments, as far as known; a name that the answer ends with and
            that is not in it is one that the call lacks.
        failed: whether the call failed; then numbers and lists are no data, and are read as well.
    """
    text = answer if len(answer) <= 2 * _READ else f"{answer[:_READ]}\n{answer[-_READ:]}"
    is_long = _CUT in text or (not failed and len(text) > _SHORT // 2)  # then mostly data
    if is_long:
        ways = _WAYS_OF_LONG_COMMANDS if command else _WAYS_OF_LONG
    else:
        ways = _WAYS_OF_COMMANDS if command else _WAYS
    for way, pattern in ways:
        found = None if failed and way is WayOut.PAGE else pattern.search(text)
        if found is not None and (way is not WayOut.ARGUMENTS or _concerns(found, given)):
            return _asked(way, text, found, "" if command else given, failed=failed)
    stripped = _HEADERS.sub("", text.rstrip())
    if command or _CUT in text:
        return None
    if is_long:
        return _part_by_form(stripped, given)
    by_form = None
    if not failed:
        by_form = _part_by_form(text.rstrip(), given)
    elif len(stripped) <= _SHORT:
        stripped = _HINTS.sub("", stripped)
        if _PROSE.sub("", stripped).count("\n") < 3:
            by_form = _failing(stripped, given)
    return by_form or (None if "\n" in stripped else _by_form(stripped, given))


def _concerns(found: re.Match[str], given: str) -> bool:
    """Return whether what an answer says may be about the arguments: a bound (which ends with its
    first digit) is about a number, a date, a list or a text of more characters.

    "At most 2 an address" is no bound of an address: it tells what is the case.
    """
    arguments = arguments_in(given).values()
    if not arguments or not found[0][-1:].isdigit() or found[0].endswith(_TOO_LARGE):
        return True
    bound = _NUMBERS.match(found.string[found.end() - 1 :])
    most = int(bound[0][:9]) if bound else 0
    return any(_COUNTED.match(value) or len(value) > most >= _LEAST_TEXT for value in arguments)


def _failing(text: str, given: str) -> Asked | None:
    """Return what a failure asks for by its form alone: time, a decision, other arguments."""
    arguments, text = arguments_in(given), untagged(text)
    wait = wait_by_form(text, arguments)
    if wait is not None:
        return Asked(WayOut.LATER, *wait)
    several = several_of(text, arguments)
    change = change_in(text, given, failed=True)
    if change is not None and not change.lacks and lacks_value(given):
        change = change if f"{change.refused.partition('=')[0]}=''" in given else None
    if several and (change is None or " or " not in change.call or f"'{several} " in change.call):
        change = None
    told = set(_NUMBERS.findall(text)) - {*arguments.values()}
    # a sentence that has one number, and that is a span of time
    said = next((said for said in _SENTENCE.split(text) if seconds_in(said) is not None), "")
    lasted = TOOK.search(text) or len({*_NUMBERS.findall(said)} - {*arguments.values()}) > 1
    span = None if lasted or lacks_value(given) else seconds_in(said)
    name, _, was = (change.refused if change else "").partition("=")
    is_known = change is not None and (
        not change.is_form
        or len(arguments) == 1
        or is_named(name, text)
        or stands(was.strip("'"), text)
        or LIKE_DATE.search(was)
    )
    is_span = span is not None and (_raises(change, told) or puts_a_span(change, text, span))
    if change is not None and is_known and not is_span:
        return Asked(WayOut.ARGUMENTS, text, change=change)
    if several or DECIDES.search(text) or has_to_confirm(text):
        return Asked(WayOut.ASK, several or text)
    goes_on = _STILL.search(text)
    comes = (is_later(text) and not any(map(is_later, arguments.values()))) or (
        goes_on is not None and _NEGATED.search(text[: goes_on.start()]) is None
    )
    return Asked(WayOut.LATER, text, span) if comes or span is not None else None


def puts_a_span(change: Change | None, text: str, seconds: float) -> bool:
    """Return whether a change puts the number of a span of time in the place of another number.

    Without a word for a bound, and in an argument that is not called after a unit of time, it says
    when to come back.
    """
    if change is None or is_limit(text):
        return False
    name, _, was = change.refused.partition("=")
    value = change.call.rpartition("=")[2].strip("'")
    is_span = value.isdecimal() and int(value) in (seconds, seconds / SECONDS_A_MINUTE)
    return is_span and was.strip("'").isdecimal() and not _UNIT.match(name)


def _raises(change: Change | None, told: Collection[str]) -> bool:
    """Return whether a change puts a larger number, which was told, in the place of one: of a span
    of time it is when to come back, for the bounds of arguments are mostly upper ones.
    """
    if change is None:
        return False
    value, was = (text.rpartition("=")[2].strip("'") for text in (change.call, change.refused))
    return value in told and was.isdecimal() and int(value) > int(was)


def _part_by_form(text: str, given: str) -> Asked | None:
    found = next_by_form(text, arguments_in(given))
    if found is None:
        return None
    said, call = found
    key = call.removeprefix("with ").partition("=")[0]
    change = shown(Change(call, f"{key}=''"), given)
    return None if change is None else Asked(WayOut.PAGE, said, change=Change(change.call))


def _asked(way: WayOut, text: str, found: re.Match[str], given: str, *, failed: bool) -> Asked:
    if way is WayOut.PAGE:
        return _part(text, found, given)
    said = _line(text, found.start())
    if way is WayOut.LATER:
        wait = wait_by_form(text, arguments_in(given)) if failed else None
        return Asked(way, said, wait[1] if wait and wait[1] else seconds_in(text))
    if way is WayOut.ARGUMENTS:
        return Asked(way, said, change=change_in(text if failed else said, given, failed=failed))
    return Asked(way, said)


def _by_form(line: str, given: str) -> Asked | None:
    """Return what a short answer asks for in whatever language: a name, a choice, a question."""
    change = change_in(line, given) if len(line) <= _LONGEST_LINE else None
    if change is not None:
        was = change.refused.partition("=")[2].strip("'")
        if change.lacks or (was and any(f"{mark}{was}" in line for mark in _MARKS)):
            return Asked(WayOut.ARGUMENTS, line, change=change)
    asks = _QUESTION.search(line) or (lacks_value(given) and _SECRET.search(line))
    return Asked(WayOut.ASK, line) if asks else None


def lacks_value(given: str) -> bool:
    """Return whether a call has an argument without a value: a code that only the user has."""
    return any(value == "" for value in arguments_in(given).values())


def _part(text: str, found: re.Match[str], given: str) -> Asked:
    """Return what a part says of the next: in a few characters, of many."""
    rest = _VALUE.match(text[found.end() :][:LONGEST_QUOTE])
    said = found[0] + (rest[0].rstrip(".") if rest else "")
    named = found.groupdict()
    page = named.get("page") or named.get("sheet") or named.get("leaf")
    line = named.get("line") or named.get("last")
    part = f"page {int(page) + 1}" if page else f"what follows line {line}" if line else ""
    call = next_in(said, part, given)
    arguments = arguments_in(given)
    at = arguments.get("page", "")
    if not call and not part and at.isdigit():  # "has_more"
        call = f"with page={int(at) + 1}"
    is_clear = len({*arguments.values()}) == len(arguments)
    if not call and is_clear and (by_form := _part_by_form(text, given)) is not None:
        return by_form
    return Asked(WayOut.PAGE, said, part=part, change=Change(call) if call else None)


def _line(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)].strip()
    told = (part for part in _TOLD.finditer(line) if part.start() <= at - start < part.end())
    said = next(told, None) if line[:1] in ("{", "[") else None
    return line if said is None else said[1].replace('\\"', '"')
