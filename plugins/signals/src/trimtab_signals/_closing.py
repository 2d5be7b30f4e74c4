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

_LAST = 1_200
_SENTENCES = 4
"""What an agent ends with stands in the last sentences; before them it reports."""
_SENTENCE = LazyPattern(
    r"(?<=[.!?…\u0589\u061f\u06d4\u0964\u104b\u1362\u1367\u17d4])[\"')\]*_`]*\s+(?=[^a-z])|(?<=[\u0370-\u03ff];)\s+"
    r"|(?<=[。\uff01\uff1f])|\n+"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u200c"
"""Signs within words that are no letters for ``\\w``: vowels of Hindi, Thai, Hebrew and others."""
_LISTED = LazyPattern(r"\s{0,20}(?:[-*•+]|\d{1,2}[.)])\s")
# Greek asks with a semicolon.
_ASKED = LazyPattern(
    rf"[\w{_MARKS}][\"')\]`*_”»]{{0,3}}\s?[?\uff1f\u061f\u1367][\W_]*$|\u055e|\w[か吗呢][。.]?\W*$"
    r"|[\u0370-\u03ff][^;\n]{0,80};\s*$"
)
CLAUSE = LazyPattern(r"[,;:\u060c\uff0c\u3001]|[-–—] ")
_CLAUSE_WORDS = 2
"""Words of each of two clauses that are a choice; one is an address or a particle."""
_WORD = LazyPattern(rf"(?:(?!_)[\w{_MARKS}])+(?:[._/-](?:(?!_)[\w{_MARKS}])+)*")
# Scripts without spaces between words, those of South-East Asia among them.
_WIDE = LazyPattern(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff"
    r"\u3400-\u9fff\uac00-\ud7af]"
)
_SYLLABIC = LazyPattern(r"[\u0900-\u0dff]")
"""Scripts of India: a letter with its vowel is a syllable."""
# A word with a number or a capital within, or in Latin letters among others.
_NAME = LazyPattern(
    r"\b(?:\w*\d|[^\W\d_]+(?:_|[A-Z])\w*)|[^\W\d_a-zA-Z\u00c0-\u024f\u1e00-\u1eff]\W+[a-zA-Z]{2,}"
)
# Particles, a few for each language: closed classes, which no list of verbs is. Within a Chinese
# word ("respectively", "special") the sign of a ban is none.
_NEGATION = LazyPattern(
    r"\b(?:don'?t|not|never|nothing|nichts?|kein\w?|pas|aucune?|rien|jamais|no|nada|nunca|não|non"
    r"|niente|nie|nic|niet|niets|geen|ekki|inte|ikke|ei|eivät|nem|sem|nincs|nelze|není|nemám"
    r"|ne mo\w+|nije|nisu|nevar|negal\w+|nu (?:pot|am|se|este|e|mai)|ezin|nuk|s'mund|değil|yok"
    r"|deyil|yox|не|нічого|ничего|нельзя|нема|няма|жоқ|емес|үгүй|jangan|tidak|hindi (?:ko|ma\w+|pa)"
    r"|wala|đừng|không|chớ|μην?|δεν|ոչ|մի|չեմ|չի|չէ|არ|ვერ|ნუ|არა|אל|אי|לא|אין|و?لا|و?لم|و?ليس|نہیں|نمی\w*"
    r"|نکن\w*|نده\w*|نباید|मत|नहीं|नाही|छैन|ਨਹੀਂ|નથી|નહીં|న)(?![\w\u0900-\u0d7f])"
    r"|\b(?:without|ohne|sans|sin|senza|без|bez|brez|zonder|utan|uden|uten|nélkül|tanpa|fără)\b"
    r"|না|নেই|নয়|இல்லை|முடியா|வேண்டாம்|లేదు|కాదు|వద్దు|ഇല്ല|ಇಲ್ಲ|නැ|មិន|កុំ|ບໍ່|n't\b|\busi\w+"
    r"|\bsi(?:ja|ta|we)\w+|อย่า|ไม่|不|(?<![分判区特个级类识告差])别|勿|没"
    r"|ない|なく|ません|지 ?마|말고|않|없",
    re.IGNORECASE,
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
# "Or" makes a choice of a question where no plan is known.
_OR = LazyPattern(
    r"\b(?:or|oder|ou|o|или|nebo|eller|vagy|veya)\b|还是|それとも|아니면", re.IGNORECASE
)
_DECISION = LazyPattern(
    r"\b(?:answer|approv\w+|choose|confirm\w*|decide|enter|how you"
    r"|let me know (?:how|once|what you see|when)|log ?in|once (?:I have|you)|pick|provide|reply"
    r"|select|sign in|which|without|antwort\w*|bestätig\w*|entscheid\w*|wähl\w*|confirm\w*"
    r"|elige|indica|respond\w*|choisi\w*|répond\w*|ответ\w*|выбер\w*|подтверд\w*)\b"
    r"|确认|回复|选择|提供|决定|確認|選|決め|선택|확인|알려",
    re.IGNORECASE,
)
# Leave to do what the plan says already is no answer that a step needs.
_GO_ON = LazyPattern(
    r"\b(?:carry on|continue|go (?:ahead|on)|keep going|proceed|weiter\w*|fortfahr\w*|fortsetz\w*"
    r"|contin[uú]\w*|sig[ao]\w*|prossig\w*|proseg\w*|avanti|poursui\w*|продолж\w*)\b|继续|続け|進め|계속",
    re.IGNORECASE,
)
_COMMON = frozenset(
    {"about", "befor", "could", "doing", "first", "have", "shoul", "start", "step", "still", "that",
     "them", "then", "this", "want", "what", "when", "will", "with", "would"}
)  # fmt: skip
"""Beginnings of English words that most questions and titles hold, so that none is a subject."""


@attrs.frozen
class _Run:
    """What a run is about: the open steps, all that was named before the closing text, what the
    user has ordered without being asked, what the last answer of a tool holds, and what a question
    was about that the user has answered.
    """

    steps: frozenset[str]
    subjects: frozenset[str]
    bound: frozenset[str]
    found: frozenset[str]
    answered: frozenset[str]


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
    run = _Run(
        steps,
        subjects=steps | topics_in(" ".join([order, answered, *known])),
        bound=topics_in(order) if denies(order) else frozenset(),
        found=topics_in(told),
        answered=_answered_by(order, answered),
    )
    closing = sentences[-_SENTENCES:]
    threes = zip(sentences, sentences[1:], sentences[2:], strict=False)
    if any(is_question(one) and all(map(_LISTED.match, two)) for one, *two in threes):
        return True  # the answers to choose from stand behind it
    return any(
        _needs_answer(closing[:n], closing[n], closing[n + 1 :], run) for n in range(len(closing))
    )


def _answered_by(order: str, before: str) -> frozenset[str]:
    """Return what questions were about that a message answers; with a question it asks back."""
    if any(map(is_question, sentences_of(order))):
        return frozenset()
    return topics_in(" ".join(filter(is_question, sentences_of(before))))


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


def denies(text: str) -> bool:
    """Tell whether a text holds a negation."""
    return _NEGATION.search(text) is not None


def goes_on(text: str) -> bool:
    """Tell whether a text speaks of going on."""
    return _GO_ON.search(text) is not None


def _needs_answer(before: Sequence[str], sentence: str, behind: Sequence[str], run: _Run) -> bool:
    if is_question(sentence):
        return _asks(before, sentence, behind, run)
    if _REQUEST.search(sentence) is None:
        return False
    if _DECISION.search(sentence) is not None:
        return True
    return not (goes_on(sentence) or run.steps.isdisjoint(topics_in(sentence)))


def _asks(before: Sequence[str], question: str, behind: Sequence[str], run: _Run) -> bool:
    about = topics_in(question)
    new = _brings_something(before, question, run)
    if not new and not about.isdisjoint(run.bound | run.answered):
        return False
    pleads = _pleads(question)
    if behind and not pleads and not any(map(_pleads, behind)):
        # Else the text answers it itself: "Shall I drop the table? That can't be undone."
        remarks = run.steps.isdisjoint(topics_in(behind[0]))
        return len(behind) == 1 and remarks and not about.isdisjoint(run.steps)
    named = run.steps if goes_on(question) else run.subjects
    return pleads or new or not named.isdisjoint(about)


def _pleads(sentence: str) -> bool:
    return _DECISION.search(sentence) is not None or _REQUEST.search(sentence) is not None


def _brings_something(before: Sequence[str], sentence: str, run: _Run) -> bool:
    """Tell whether a question brings up what the run doesn't hold: a name, a choice of two
    clauses, a thing that was found and is told right before it, or two numbers that were.
    """
    named = _NAME.findall(sentence)
    told = topics_in(" ".join([*before, *named])) | run.found
    clauses = [len(words_of(clause)) for clause in CLAUSE.split(sentence)]
    values = topics_in(" ".join(before[-1:])) & run.found - run.subjects
    return (
        sum(size >= _CLAUSE_WORDS for size in clauses) > 1
        or _OR.search(sentence) is not None
        or sum(any(map(str.isdigit, value)) for value in values) > 1
        or not told.isdisjoint(topics_in(sentence) - run.subjects)
    )


def plain(text: str) -> str:
    """Return a text in lower case without accents, which move with the form of a word."""
    split = normalize("NFD", text.lower())
    return normalize("NFC", "".join(c for c in split if not combining(c)))


def topics_in(text: str) -> frozenset[str]:
    """Return what a text is about: the beginnings of its longer words, numbers, and groups of
    characters where words are not set apart.
    """
    return frozenset(_parts(text)) - _COMMON


def _parts(text: str) -> Iterator[str]:
    for word in words_of(plain(text)):
        if size := size_of_pieces(word):
            yield from (word[place : place + size] for place in range(len(word) - size + 1))
        elif any(map(str.isdigit, word)):
            yield word
        elif len(word) > 3:
            yield word[: 3 if _SYLLABIC.match(word) else 5]


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text, in any script."""
    return _WORD.findall(text)


def size_of_pieces(word: str) -> int:
    """Return how many characters of a script without spaces between words are about a word; 0
    where words are set apart.
    """
    found = _WIDE.search(word)
    return 0 if found is None else 2 if found[0] >= "\u1100" else 3
