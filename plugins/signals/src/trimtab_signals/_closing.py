"""Whether an agent's closing text needs an answer of its user, and whether a user wants no more.

Both rest on what the run shows: which steps are open, what the user asked last and whether the
agent changed anything since, and what their sentences share with the steps and with each other.
A closing question needs an answer if it names something: a step, a number, a name, a choice. A
user who only asks or forbids something has got what was asked for with an answer, and one who
wants a part of the plan, with that part. The words here are hints, in the languages that are most
frequent; without them the rest decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import attrs

from trimtab.text import LazyPattern

_LAST = 1_200
_SENTENCES = 4
"""What an agent ends with stands in the last sentences; before them it reports."""
_SENTENCE = LazyPattern(
    r"(?<=[.!?…\u061f\u0964])[\"')\]*_`]*\s+(?=[^a-z])|(?<=[\u0370-\u03ff];)\s+"
    r"|(?<=[。\uff01\uff1f])|\n+"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u200c"
"""Signs within words that are no letters for ``\\w``: vowels of Hindi, Thai, Hebrew and others."""
_LISTED = LazyPattern(r"\s{0,20}(?:[-*•+]|\d{1,2}[.)])\s")
# Greek asks with a semicolon.
_ASKED = LazyPattern(
    rf"[\w{_MARKS}][\"')\]`*_”»]{{0,3}}\s?[?\uff1f\u061f][\W_]*$|\w[か吗呢][。.]?\W*$"
    r"|[\u0370-\u03ff][^;\n]{0,80};\s*$"
)
CLAUSE = LazyPattern(r"[,;:\u060c\uff0c\u3001]|[-–—] ")
_CLAUSE_WORDS = 2
"""Words of each of two clauses that are a choice; one is an address or a particle."""
_LATIN = LazyPattern(r"[a-zA-Z\u00c0-\u024f\u1e00-\u1eff]")
_JOINED = LazyPattern(r"[._/-]")
_WORD = LazyPattern(rf"(?:(?!_)[\w{_MARKS}])+(?:[._/-](?:(?!_)[\w{_MARKS}])+)*")
# Scripts without spaces between words, those of South-East Asia among them.
_WIDE = LazyPattern(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff"
    r"\u3400-\u9fff\uac00-\ud7af]"
)
_SYLLABIC = LazyPattern(r"[\u0900-\u0dff]")
"""Scripts of India: a letter with its vowel is a syllable."""
_CODE = LazyPattern(r"`[^`\n]{1,200}`")
_CHOICE = LazyPattern(
    r"\b(?:or|oder|ou|o|или|which|welche[rsnm]?|cuál(?:es)?|quel(?:le)?s?|qual|как\w{2,3})\b"
    r"|还是|或者|哪|それとも|または|どちら|どの|どれ|아니면|또는|어느",
    re.IGNORECASE,
)
# A particle for each language: closed classes, which no list of verbs is.
_NEGATION = LazyPattern(
    r"\b(?:don'?t|not|never|nothing|nichts?|kein\w?|pas|aucune?|rien|jamais|no|nada|nunca|não|non|niente"
    r"|nie|nic|niet|niets|geen|değil|yok|nem|sem|nincs|nelze|není|ei|eivät|не|нічого|ничего|нельзя|inte|ikke|jangan|tidak|đừng|không|chớ|μην?"
    r"|δεν|אל|אי|לא|لا|لم|نمی\w*|نکن\w*|نده\w*|نباید|मत|नहीं|न)(?![\w\u0900-\u0963])"
    r"|\b(?:without|ohne|sans|sin|senza|без|bez|zonder|utan|uden|nélkül|tanpa)\b|না|নেই|নয়"
    r"|n't\b|\busi\w+|\bsi(?:ja|ta|we)\w+|อย่า|ไม่|不|别|勿|没|ない|なく|ません|지 ?마|말고|않",
    re.IGNORECASE,
)
# What an agent needs of its user: an answer, a decision, a deed of theirs.
_REQUEST = LazyPattern(
    r"\b(?:please|kindly|tell me|let me know|say (?:which|whether)|reply|once you|until you"
    r"|needs? your|requires? your|I can(?:'t|not)"
    r"|bitte|sag mir|bevor du|sobald du|por favor|dime|veuillez|merci de"
    r"|dites-moi|s'il (?:te|vous) pla[iî]t|пожалуйста|сообщите|подтвердите)\b"
    r"|请|需要[您你]|ください|お願い|주세요|부탁",
    re.IGNORECASE,
)
_DECISION = LazyPattern(
    r"\b(?:answer|approv\w+|choose|confirm\w*|decide|enter|how you"
    r"|let me know (?:how|once|what you see|when)|log ?in|once (?:I have|you)|pick|provide|reply"
    r"|select|sign in|which|without|antwort\w*|bestätig\w*|entscheid\w*|wähl\w*|confirm\w*"
    r"|elige|indica|respond\w*|choisi\w*|répond\w*|ответ\w*|выбер\w*|подтверд\w*)\b"
    r"|确认|回复|选择|提供|决定|確認|選|決め|선택|확인|알려",
    re.IGNORECASE,
)
# A thing that the agent lacks, other than a deed of its own ("I need to write …").
_LACKS = LazyPattern(
    r"\b(?:I (?:still )?need (?!to\b)"
    r"|brauche (?:ich )?(?:noch )?(?:das|den|die|eine?n?|dein\w*|Ihr\w*)\b"
    r"|il me faut|j'ai besoin d|necesito (?:el|la|los|las|una?|tu|su)\b|preciso d[aeo]\b"
    r"|(?:мне|нам) нуж(?:ен|на|но|ны)\b|mi serve\b|ho bisogno d|heb (?:ik )?(?:het|de|een|je)\b"
    r"|potrzebuję|ihtiyac\u0131m var)|我需要[^。]{1,60}才能"
    r"|(?:続け|進め)[^。]{0,40}必要|계속[^.]{0,40}필요",
    re.IGNORECASE,
)
# Leave to do what the plan says already is no answer that a step needs.
_GO_ON = LazyPattern(
    r"\b(?:carry on|continue|go (?:ahead|on)|keep going|proceed|weiter\w*|fortfahr\w*|fortsetz\w*"
    r"|contin[uú]\w*|sig[ao]\w*|prossig\w*|proseg\w*|avanti|poursui\w*|продолж\w*)\b|继续|続け|進め|계속",
    re.IGNORECASE,
)
# Words of offers: they stand for no particular thing.
_OFFER = LazyPattern(
    r"\b(?:any(?:thing|one)?|another|else|further|questions|feedback|help|happy|feel free|think"
    r"|fragen|gerne?|sonst|weitere[snrm]?|noch etwas|algo más|dudas?|preguntas?|disposi\w+"
    r"|ayud\w+"
    r"|d'autres|n'hésite\w*|ещё|вопрос\w*|помо\w+)\b"
    r"|任何|其他|随时|如有|帮助|他に|何か|ご質問|お気軽|不明な点|궁금|언제든",
    re.IGNORECASE,
)
# Words of languages in which offers are known: their other questions refer to what was said.
_KNOWN_LANGUAGE = LazyPattern(
    r"\b(?:the|this|that|your?|me|ich|das|sie|vous|\w+-je|le|lo|los|la|você|isso|com|это|мне|вы|ли)\b"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]",
    re.IGNORECASE,
)
_COMMON = frozenset(
    {"about", "befor", "could", "doing", "first", "have", "shoul", "start", "step", "still", "that",
     "them", "then", "this", "want", "what", "when", "will", "with", "would"}
)  # fmt: skip
"""Beginnings of English words that most questions and titles hold, so that none is a subject."""


@attrs.frozen
class _Run:
    """What a run is about: the open steps, all that was named before the closing text, and what
    the user has ordered without being asked.
    """

    steps: frozenset[str]
    subjects: frozenset[str]
    bound: frozenset[str]


def asks_user(
    text: str, about: Iterable[str] = (), known: Iterable[str] = (), order: str = ""
) -> bool:
    """Tell whether an agent's closing text needs an answer of its user.

    Args:
        text: the text; its last four sentences are looked at.
        about: titles of the steps that are open.
        known: titles of the steps that are done.
        order: the user's last message.
    """
    sentences = sentences_of(text.strip()[-_LAST:])
    while sentences and _LISTED.match(sentences[-1]) and not is_question(sentences[-1]):
        sentences.pop()
    steps = topics_in(" ".join(about))
    run = _Run(
        steps,
        subjects=steps | topics_in(" ".join([order, *known])),
        bound=topics_in(order) if denies(order) else frozenset(),
    )
    closing = sentences[-_SENTENCES:]
    return any(
        _needs_answer(closing[:n], closing[n], closing[n + 1 :], run)
        for n in range(len(closing))
        if not offers(closing[n])
    )


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, in any script."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


def is_question(sentence: str) -> bool:
    """Tell whether a sentence is a question by its form."""
    return _ASKED.search(sentence) is not None


def offers(sentence: str) -> bool:
    """Tell whether a sentence is an offer, as far as its language is known."""
    return _OFFER.search(sentence) is not None


def denies(text: str) -> bool:
    """Tell whether a text holds a negation."""
    return _NEGATION.search(text) is not None


def goes_on(text: str) -> bool:
    """Tell whether a text speaks of going on."""
    return _GO_ON.search(text) is not None


def _needs_answer(before: Sequence[str], sentence: str, behind: Sequence[str], run: _Run) -> bool:
    if is_question(sentence):
        return _asks(before, sentence, behind, run)
    if _LACKS.search(sentence) is not None:
        # What it lacks it gets itself where it says next which step it takes.
        takes = any(not run.steps.isdisjoint(topics_in(one)) for one in behind)
        asks = (is_question(one) and _is_specific(one, run) for one in behind)
        return not takes or any(map(_pleads, behind)) or any(asks)
    if _REQUEST.search(sentence) is None:
        return False
    decides = _DECISION.search(sentence) or _CODE.search(sentence)
    return bool(decides) or not run.steps.isdisjoint(topics_in(sentence))


def _asks(before: Sequence[str], question: str, behind: Sequence[str], run: _Run) -> bool:
    about = topics_in(question)
    new = _brings_something(before, question, run)
    if not new and not run.bound.isdisjoint(about):
        return False
    pleads = _pleads(question)
    if behind and not pleads and not any(map(_pleads, behind)):
        # Else the text answers it itself.
        return len(behind) == 1 and _only_remarks(behind[0], about, run.steps)
    if goes_on(question) and _CHOICE.search(question) is None:
        return not run.steps.isdisjoint(about)
    return pleads or new or _is_specific(question, run)


def _only_remarks(sentence: str, about: frozenset[str], steps: frozenset[str]) -> bool:
    """Tell whether a question about an open step is followed by a remark, and by no such step:
    "Shall I drop the table? That can't be undone."
    """
    return not about.isdisjoint(steps) and steps.isdisjoint(topics_in(sentence))


def _pleads(sentence: str) -> bool:
    return _DECISION.search(sentence) is not None or _REQUEST.search(sentence) is not None


def _brings_something(before: Sequence[str], sentence: str, run: _Run) -> bool:
    """Tell whether a question brings up what the run doesn't hold: a choice, code, a number, or a
    thing that was found and is told right before it.
    """
    told = topics_in(" ".join(before))
    clauses = [len(words_of(clause)) for clause in CLAUSE.split(sentence)]
    return (
        any(one.search(sentence) is not None for one in (_CODE, _CHOICE))
        or sum(size >= _CLAUSE_WORDS for size in clauses) > 1
        or not told.isdisjoint(topics_in(sentence) - run.subjects)
        or any(any(map(str.isdigit, word)) for word in words_of(sentence))
    )


def _is_specific(sentence: str, run: _Run) -> bool:
    """Tell whether a question names something: what the run is about, a choice, a name.

    An offer ("anything else?", "shall I?") does not. Where offers are known, what is none will do.
    """
    if any(one.search(sentence) is not None for one in (_CODE, _CHOICE, _KNOWN_LANGUAGE)):
        return True
    if not run.subjects.isdisjoint(topics_in(sentence)):
        return True
    words = words_of(sentence)
    foreign = not _LATIN.match(words[0]) if words else False
    return any(
        len(word) > 1 and (word[0].isupper() or (foreign and _LATIN.match(word)))
        for word in words[1:]
    )


def topics_in(text: str) -> frozenset[str]:
    """Return what a text is about: the beginnings of its longer words, numbers, and groups of
    characters where words are not set apart.
    """
    return frozenset(_parts(text)) - _COMMON


def _parts(text: str) -> Iterator[str]:
    for word in words_of(text.lower()):
        if size := size_of_pieces(word):
            yield from (word[place : place + size] for place in range(len(word) - size + 1))
        elif any(map(str.isdigit, word)):
            yield word
        elif len(word) > 3:
            yield word if _JOINED.search(word) else word[: 3 if _SYLLABIC.match(word) else 5]


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text, in any script."""
    return _WORD.findall(text)


def size_of_pieces(word: str) -> int:
    """Return how many characters of a script without spaces between words are about a word; 0
    where words are set apart.
    """
    found = _WIDE.search(word)
    return 0 if found is None else 2 if found[0] >= "\u1100" else 3
