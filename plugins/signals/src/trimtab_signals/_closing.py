"""Whether an agent's closing text needs an answer of its user.

A closing question does if it names something: a step, a number, a choice, what was just found. The
words here are hints, in the languages that are most frequent; without them the rest decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import combining, normalize

import attrs

from trimtab.text import LazyPattern
from trimtab_signals._particles import MOMENT, OR, WHICH, denies, goes_on

_LAST = 1_200
SENTENCES = 4
"""What an agent ends with stands in the last sentences; before them it reports."""
_SENTENCE = LazyPattern(
    r"(?<=[.!?…\u0589\u061f\u06d4\u0964\u104b\u1362\u1367\u17d4])[\"')\]*_`]*\s+(?=[^a-z])|(?<=[\u0370-\u03ff];)\s+"
    r"|(?<=[。\uff01\uff1f])|\n+|(?<=[\u0e01-\u0eff])\s+(?=[\u0e01-\u0eff])"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u200c"
"""Signs within words that are no letters for ``\\w``: vowels of Hindi, Thai, Hebrew and others."""
_LISTED = LazyPattern(r"\s{0,20}(?:[-*•+]|\d{1,2}[.)])\s")
# Greek asks with a semicolon, Thai with words alone.
_ASKED = LazyPattern(
    rf"[\w{_MARKS}][.\"')\]`*_”»]{{0,3}}\s?[?\uff1f\u061f\u1367][\W_]*$|\u055e|\w[か吗呢][。.]?\W*$"
    r"|(?:ไหม|มั้ย|หรือไม่|หรือเปล่า|ไหนดี|อะไรดี)(?:ครับ|คะ|ค่ะ)?\W*$"
    r"|[\u0370-\u03ff][^;\n]{0,80};\s*$"
)
_WORD = LazyPattern(rf"(?:(?!_)[\w{_MARKS}])+(?:[._/-](?:(?!_)[\w{_MARKS}])+)*")
# Scripts without spaces between words, those of South-East Asia among them.
_WIDE = LazyPattern(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff"
    r"\u3400-\u9fff\uac00-\ud7af]"
)
# A word with a number or a capital within, or in Latin letters among others.
_NAME = LazyPattern(
    r"\b(?:\w*\d[\w/]*|[^\W\d_]+(?:_|[A-Z])\w*)|[^\W\d_a-zA-Z\u00c0-\u024f\u1e00-\u1eff]\W+[a-zA-Z]{2,}"
)
# What an agent needs of its user: an answer, a decision, a deed of theirs. "Please" is one word or
# two for each language.
_REQUEST = LazyPattern(
    r"\b(?:please|kindly|tell me|let me know|say (?:which|whether)|reply|once you|until you"
    r"|needs? your|requires? your|I can(?:'t|not)|bitte|sag mir|bevor du|sobald du|por favor|dime"
    r"|veuillez|merci de|dites-moi|s'il (?:te|vous) pla[iî]t|пожалуйста|сообщите|подтвердите|моля"
    r"|будь ласка|ве молам|prosím|proszę|molim|kérem|kérjük|te rog|vă rog|si us plau|alsjeblieft"
    r"|alstublieft|asseblief|lütfen|zəhmət olmasa|palun|lūdzu|prašau|prašome|ole hyvä|olkaa hyvä"
    r"|vänligen|snälla|vennligst|venligst|per favore|mesedez|ju lutem|παρακαλώ|silakan|mohon|tolong"
    r"|sila|vui lòng|tafadhali|paki\w+|من فضلك|يرجى|لطفاً|براہ کرم|בבקשה)\b"
    r"|कृपया|দয়া করে|தயவு|దయచేసి|กรุณา|โปรด|გთხოვთ|խնդրում|өтінем"
    r"|请|需要[您你]|ください|お願い|주세요|부탁",
    re.IGNORECASE,
)
# What only an answer gives: verbs, a few for each frequent language, so that a question which
# pleads for one needs no other evidence.
_DECISION = LazyPattern(
    r"\b(?:answer|approv\w+|choose|confirm\w*|decide|enter|how you"
    r"|let me know (?:how|once|what you see|when)|log ?in|once (?:I have|you)|pick|provide|reply"
    r"|select|sign in|which|without|antwort\w*|bestätig\w*|entscheid\w*|wähl\w*|confirm\w*"
    r"|elige|indica|respond\w*|choisi\w*|répond\w*|ответ\w*|выбер\w*|подтверд\w*)\b"
    r"|确认|回复|选择|提供|决定|確認|選|決め|선택|확인|(?<!면 )알려",
    re.IGNORECASE,
)


# Leave to do what the plan says already is no answer that a step needs.
@attrs.frozen
class _Run:
    """What a run is about: the open steps, all that was named before the closing text, what the
    last answer of a tool holds, and what is settled, since the user has forbidden something of it,
    or answered a question about it.
    """

    steps: frozenset[str]
    subjects: frozenset[str]
    found: frozenset[str]
    settled: frozenset[str]


def asks_user(
    text: str,
    about: Iterable[str] = (),
    known: Iterable[str] = (),
    order: str = "",
    *,
    told: str = "",
    answered: str = "",
) -> bool:
    """Tell whether an agent's closing text needs an answer of its user.

    Args:
        text: the text; its last four sentences are looked at.
        about: titles of the steps that are open.
        known: titles of the steps that are done.
        order: the user's last message.
        told: the last answer of a tool.
        answered: what it said before the user's last message, if it has made no call since.
    """
    sentences = sentences_of(text.strip()[-_LAST:])
    steps = topics_in(" ".join(about))
    settled = [*filter(is_question, sentences_of(answered)), order if denies(order) else ""]
    run = _Run(
        steps,
        subjects=steps | topics_in(" ".join([order, answered, *known])),
        found=topics_in(told),
        settled=topics_in(" ".join(settled)),
    )
    closing = sentences[-SENTENCES:]
    threes = zip(sentences, sentences[1:], sentences[2:], strict=False)
    if any(is_question(one) and all(map(_LISTED.match, two)) for one, *two in threes):
        return True  # the answers to choose from stand behind it
    return any(
        _needs_answer(closing[:n], closing[n], closing[n + 1 :], run) for n in range(len(closing))
    )


def requests_in(text: str) -> str:
    """Return the sentences of a text that ask for something.

    Args:
        text: the text.
    """
    return " ".join(
        one for one in sentences_of(text) if is_question(one) or _REQUEST.search(one) is not None
    )


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, in any script."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


def is_question(sentence: str) -> bool:
    """Tell whether a sentence is a question by its form."""
    return _ASKED.search(sentence) is not None


def _needs_answer(before: Sequence[str], sentence: str, behind: Sequence[str], run: _Run) -> bool:
    if is_question(sentence):
        return _asks(before, sentence, behind, run)
    if _REQUEST.search(sentence) is None:
        return False
    if _DECISION.search(sentence) is not None:
        return True
    moment = MOMENT.search(sentence) is not None
    return not (moment or goes_on(sentence) or run.steps.isdisjoint(topics_in(sentence)))


def _asks(before: Sequence[str], question: str, behind: Sequence[str], run: _Run) -> bool:
    about = topics_in(question)
    if goes_on(question) and (about & run.steps or (run.steps and not about & run.found)):
        return False  # the plan has answered it
    new = _brings_something(before, question, run)
    if not new and not about.isdisjoint(run.settled):
        return False
    if _DECISION.search(question) is not None:
        return True
    if behind and not any(_DECISION.search(one) for one in behind):
        # Else the text answers it itself: "Shall I drop the table? I drop it now."
        remark = run.steps.isdisjoint(topics_in(behind[0]))
        return len(behind) == 1 and remark and not about.isdisjoint(run.steps)
    return new or not about.isdisjoint(run.subjects)


def _brings_something(before: Sequence[str], question: str, run: _Run) -> bool:
    """Tell whether a question brings up what the run doesn't hold: a name, a choice, a thing that
    was found or is told before it, or comes behind a number that was found.
    """
    new = topics_in(question) - run.subjects
    told = topics_in(" ".join(before))
    return (
        OR.search(question) is not None
        or WHICH.search(question) is not None
        or any(map(_holds_number, told & run.found - run.subjects))
        or not new.isdisjoint(told | topics_in(" ".join(_NAME.findall(question))) | run.found)
    )


def _holds_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def topics_in(text: str) -> frozenset[str]:
    """Return what a text is about: the beginnings of its longer words, numbers, and groups of
    characters where words are not set apart.
    """
    return frozenset(_parts(text))


def _parts(text: str) -> Iterator[str]:
    # Accents move with the form of a word.
    split = normalize("NFD", text.lower())
    for word in words_of(normalize("NFC", "".join(c for c in split if not combining(c)))):
        if size := size_of_pieces(word):
            yield from (word[place : place + size] for place in range(len(word) - size + 1))
        elif _holds_number(word):
            yield word
        elif len(word) > 3:
            yield word[:5]


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text, in any script."""
    return _WORD.findall(text)


def size_of_pieces(word: str) -> int:
    """Return how many characters of a script without spaces between words are about a word; 0
    where words are set apart.
    """
    found = _WIDE.search(word)
    return 0 if found is None else 2 if found[0] >= "\u1100" else 3
