"""By which of its tools an agent waits or asks its user, what its last answer asks for, and a
sentence about it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from trimtab import GuidanceContext
from trimtab.text import LazyPattern, quote
from trimtab_signals._calls import Calls
from trimtab_signals._normalise import unaccented
from trimtab_signals._parts import MINUTES, SECONDS_A_MINUTE, counts_choices, tells_when, unit_of
from trimtab_signals._people import names_a_person
from trimtab_signals._profiles import READING, name_words
from trimtab_signals._records import describe_call
from trimtab_signals._tool_words import LONGEST_DESCRIPTION, spoken
from trimtab_signals._ways_out import (
    LONGEST_QUOTE,
    Asked,
    WayOut,
    asked_of,
    lacks_value,
    puts_a_span,
)

_LONGEST_WAIT = 6
"""Words of a description that says no more: a longer one is of a tool that waits for a result."""
_WAITING = frozenset({"delay", "pause", "sleep", "wait"})
_WAITS = LazyPattern(
    r"\A(?:aguard|aspett|ast[eę]pt|asteapt|așt|attend|bekle|cek|čak|ček|chờ|czek|đợi|esper|gaid|lauk|odot|oota|poczek"
    r"|počk|tunggu|v[aá]r(?:ak|j|\b)|vent|vant|vänt|wacht|wart|zachek|зачек|чека|ожид|подожд|ждать|περ[ιί]μ|انتظ|ينتظ|प्रतीक्षा"
    r"|המתן|ממתין|รอ|pauses?\b|sleeps?\b|等|待|기다|대기)"
)
"""The beginning of "wait" in the languages that tools are named in."""
_UNITS = LazyPattern(
    r"(?:a|for|ms?|s|mi?n\w*|se[ckgq]\w*|time|tid|tiempo|temps|tempo|zeit|while|čas|aika)\Z"
)
"""All that the name of a tool for waiting may hold besides: `pause_sale` does something else."""
_ASKING = frozenset({"ask", "clarify", "confirm", "input", "question"})
_PUT = frozenset({"for", "question", "questions"})
"""What follows "ask" where it is open who is asked; anything else is whom."""
_PEOPLE = frozenset(
    {"caller", "client", "customer", "guest", "human", "maintainer", "operator", "owner", "person",
     "patient", "user", "users"}
)  # fmt: skip
_QUESTION_WORDS = (
    r"(?<![^\W\d_])(?:ask(?:s|ed)?\b|chied|demand|domand|dotaz|fråg|frag[etns]|întreab|intreb|kérd|küsi|klaus|kysy"
    r"|otáz|pergunt|pita|pregunt|pyta|question|sor(?:ar|ma|u)|spør|spurg|spyr|tany|vraag|vrag|zapyt|zepta|вопрос|запит"
    r"|питан|спит|спрос|ερώτ|ρωτ|ρώτ)"
    r"|[问問]|尋ね|聞く|質問|물어|묻|질문|पूछ|प्रश्न|سؤال|سأل|שאל|ถาม|\bhỏi"
)
_QUESTIONS = LazyPattern(_QUESTION_WORDS)
"""The beginning of "ask" and "question" in the languages that descriptions are written in."""
_PLAIN_QUESTIONS = LazyPattern(unaccented(_QUESTION_WORDS))
_OTHER_WORDS = LazyPattern(r"ask|demand(?!e)|que")
"""The beginning of English words for it, and of one for a claim: they say less of who is asked."""
_WRITING = frozenset({"contact", "message"})
"""What is followed by whom to write to, and by nothing else, where a person can be asked."""
_LONGEST_NAME = 3
"""Words of a name that is one of a person and a question."""
_CHOICE = LazyPattern(r"[(\uff08]\w[\w ]{0,20}(?: ?/ ?\w[\w ]{0,20}){1,3}[)\uff09]")
"""Words in brackets, of which one is wanted: (left / right)."""
_SHORT = 400
"""Characters of an answer in which it says what it wants."""
_PATH = LazyPattern(r"(?<![\w:/.])(?:~|\.{1,2}|[\w-]{1,64}|[A-Za-z]:)?[/\\][\w./\\-]{2,}")


def advice(asked: Asked, tool: str, helper: str = "") -> str:
    """Return a sentence that says what to do with what an answer asks for.

    It begins with the call that is right: a weak model does what a text says first.

    Args:
        asked: what `asked_by` found.
        tool: the name of the tool that answered, ready to be shown.
        helper: that of the tool by which the agent can wait, or ask its user; empty if it has none.
    """
    change = asked.change
    if asked.way is WayOut.LATER:
        return _come_back(asked, tool, helper)
    if asked.way is WayOut.ASK:
        return f"The answer needs a decision of your user: {f'call {helper}' if helper else 'ask'}."
    if change is not None and change.lacks:
        return f"Add {change.call} to the arguments, then call {tool}."
    if change is not None and asked.way is WayOut.ARGUMENTS:
        return f"Call {tool} {change.call}."
    how = "again with other arguments, as its answer says"
    if asked.way is WayOut.PAGE:
        how = change.call if change is not None else f"for {asked.part or 'the next part'}"
    return f"Call {tool} {how}: {quote(asked.said, LONGEST_QUOTE)}."


def asked_of_last(context: GuidanceContext, tools: Collection[str]) -> Asked | None:
    """Return what the answer of the last call asks for, if that is one of `tools`.

    Args:
        context: the run.
        tools: those that the problem is about.
    """
    asked = _asked_of_last(context, tools)
    waits = helpers_of(context).get(WayOut.LATER, "") if asked is not None else ""
    if asked is None or asked.way is not WayOut.LATER or not waits:
        return asked
    told = f"{waits} {context.tool_descriptions.get(waits, '')}"
    return attrs.evolve(asked, unit=unit_of(told[:LONGEST_DESCRIPTION]))


def _asked_of_last(context: GuidanceContext, tools: Collection[str]) -> Asked | None:
    last = context.trajectory.follow(Calls).recent(1)
    if not last or last[0].tool not in tools:
        return None
    call = last[0]
    asked, has = asked_of(call), helpers_of(context)
    if len(call.whole) > _SHORT:
        return asked
    seconds = tells_when(call.output) if WayOut.LATER in has else None
    if seconds is not None and (asked is None or puts_a_span(asked.change, call.output, seconds)):
        return Asked(WayOut.LATER, call.output, seconds)
    if asked is not None or WayOut.ASK not in has:
        return asked
    given = describe_call(call, LONGEST_DESCRIPTION)
    # what only the user has was left out, or has to be chosen
    is_left = lacks_value(given) and not _PATH.search(given)
    chooses = is_left or _CHOICE.search(call.output) if call.failed else counts_choices(call.output)
    return Asked(WayOut.ASK, call.output) if chooses else None


def helpers_of(context: GuidanceContext) -> Mapping[WayOut, str]:
    """Return the tools by which an agent can do what an answer asks for: wait, or ask its user.

    Args:
        context: the run.
    """
    return helpers(context.tools or (), context.tool_descriptions)


def helpers(tools: Iterable[str], descriptions: Mapping[str, str]) -> Mapping[WayOut, str]:
    """Return the tool that waits and the one that asks, as far as `tools` have them.

    Args:
        tools: all that the agent has.
        descriptions: what they say of themselves, by name, as far as known.
    """
    found: dict[WayOut, str] = {}
    for name in sorted(tools, reverse=True):
        words, told = name_words(name), _first_sentence(descriptions.get(name, ""))
        if _waits(spoken(name)) or _waits_so_long(told):
            found[WayOut.LATER] = name
        elif words and words[0] in READING:
            continue  # lists the questions of customers, or asks a modem
        elif _asks(words, name_words(told)) or _questions(told) or _asks_by_name(spoken(name)):
            found[WayOut.ASK] = name
        elif len(words) == 2 and words[0] in _WRITING and words[1] in _PEOPLE:
            found.setdefault(WayOut.ASK, name)
    return found


def _waits(words: Sequence[str]) -> bool:
    """Return whether the name of a tool says that it waits, and nothing else."""
    if not words or not (words[0] in _WAITING or _WAITS.match(words[0])):
        return False
    return all(_UNITS.match(word) for word in words[1:])


def _waits_so_long(told: str) -> bool:
    """Return whether a description says no more than that a tool waits, and in which unit."""
    said = told.lower().split()
    return 1 < len(said) <= _LONGEST_WAIT and bool(_WAITS.match(said[0]) and unit_of(told))


def _asks(words: Sequence[str], told: Sequence[str]) -> bool:
    """Return whether a tool puts a question to a person."""
    if words[:1] == ["ask"] and len(words) > 1 and words[1] not in _PUT:
        return True
    if _PEOPLE.isdisjoint(words) and _PEOPLE.isdisjoint(told):
        return False
    return not _ASKING.isdisjoint(words) or (bool(told) and told[0] in _ASKING)


def _questions(told: str) -> bool:
    """Return whether a description speaks of a question; in English, or where it begins with the
    word, of one to a person.
    """
    found = _QUESTIONS.search(told)
    if found is not None:
        return names_a_person(told) or found[0][:3] not in ("ask", "que")
    return _QUESTIONS.match(told.lower()) is not None and names_a_person(told)


def _asks_by_name(words: Sequence[str]) -> bool:
    """Return whether a name is that of a person and a question; names lack accents."""
    if not 2 <= len(words) <= _LONGEST_NAME:
        return False
    for asks, whom in ((words[0], words[1:]), (words[-1], words[:-1])):
        found = _QUESTIONS.match(asks) or _PLAIN_QUESTIONS.match(asks)
        if found is None or _OTHER_WORDS.match(asks) or not names_a_person(" ".join(whom)):
            continue
        if len(whom) == 1 or not any(map(names_a_person, whom)):  # else it is about a person's list
            return True
    return False


def _first_sentence(description: str) -> str:
    """Return what a description says first; what follows is mostly about how to call the tool."""
    return description[:LONGEST_DESCRIPTION].partition(".")[0]


def _come_back(asked: Asked, tool: str, helper: str) -> str:
    seconds = asked.seconds
    if seconds is None:
        how = f"call {helper}" if helper else "wait or do other work"
        return f"The answer says to come back: {how}, then call {tool} again."
    if not helper:
        return f"The answer says when: wait {seconds:g} seconds, then call {tool} again."
    minutes = math.ceil(seconds / SECONDS_A_MINUTE)
    span = f"{math.ceil(seconds)} seconds"
    unit = asked.unit or unit_of(helper)
    if unit == "minutes":
        span = f"{minutes} minutes" if minutes > 1 else "1 minute"
    elif minutes > 1 and not unit:
        told, other = f"{minutes} minutes", span
        if not MINUTES.search(asked.said):
            told, other = other, told
        span = f"{told} ({other})"
    return f"Call {helper} for {span}, then call {tool} again."
