"""Whether a user wants no more for now, or only people can give what the agent lacks: what the
user asked last, and what came since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from unicodedata import combining, normalize

import attrs

from trimtab import Outcome
from trimtab.text import LazyPattern
from trimtab_signals._closing import (
    CLAUSE,
    denies,
    goes_on,
    is_question,
    offers,
    sentences_of,
    size_of_pieces,
    topics_in,
    words_of,
)
from trimtab_signals._records import CallRecord
from trimtab_signals._shell import operation

_LONGEST_ORDER = 2_400
"""Characters of a message in which the user may say where to stop."""
_SHARE = 0.4
"""Part of a title that a text holds where it names the step: titles leave out and inflect words."""
_MOST = 0.75
"""Part of a title in a reply that announces the step; an answer may name things of it."""
_SIZE = 4
"""Characters of the pieces in which inflected words are still alike."""
_STEM = 5
"""Letters that the forms of a word share; shorter words are those of grammar in most languages."""
_SENTENCES = 4
"""What an agent ends with stands in the last sentences; before them it reports."""
_INSISTS = 4
"""Words of a message in which its first one comes again where that is a call."""
_LONGEST_ANSWERED = 600
"""Characters of a message that is a question or a ban and nothing else."""
_OPENING = 3
"""Words of a call for attention before a ban; beside a question it is no order."""
_HALT = LazyPattern(
    r"\b(?:stop\w*|paus\w+|aufhör\w*|anhalt\w*|arrêt\w*|par(?:es?|ar|en)|deten\w*|останавл\w*"
    r"|fermar\w*|przestawa\w*|dur\w*)\b|停|止ま|멈추",
    re.IGNORECASE,
)
"""A ban of these is an order to go on."""

# A step that is the user's to take: it names a deed of theirs, or them as those who act.
_OF_USER = LazyPattern(
    r"\b(?:approv\w+|ratif\w+|sign-?off|freigabe|abnahme|genehmig\w+|aprobaci\w+|aprova\w+"
    r"|approbation|согласован\w+|затверджен\w+|zatwierdz\w+|schválen\w*|jóváhagy\w*|onay\w*"
    r"|goedkeuring|godk\w+|hyväksyn\w*|persetujuan|phê duyệt|έγκριση|موافقة|אישור"
    r"|(?:review|check|decision|answer|input|feedback|confirmation)s?"
    r" (?:by|from|of) (?:the |an? )?(?:customer|human|maintainer|owner|user)"
    r"|the (?:user|customer)'s (?:answer|approval|choice|decision|feedback|input|reply)"
    r"|(?:relecture|validation|vérification|avis|retour|réponse|revisi[oó]n\w*|respuesta|decisi[oó]n"
    r"|revisão|resposta|revisione|conferma|durchsicht|prüfung|rückmeldung|antwort|entscheidung)"
    r" (?:\w+ )?(?:par|del?|do|da|dell?|pelo|durch|von|des) ?(?:l'|den |dem |la |le |il )?"
    r"(?:utilisateur|client|usuari[oa]|usuário|cliente|utente|nutzer\w*|benutzer\w*|kunde\w*)"
    r"|(?:revisione|conferma|risposta) dell'utente)\b"
    r"|\b(?:проверка|ответ|решение)\w* (?:пользовател|клиент)\w*"
    r"|批准|审批|(?:用户|客户)(?:审核|确认|反馈|回复)|审核|確認待ち|承認"
    r"|ユーザー(?:の)?(?:確認|返答|レビュー)"
    r"|승인|사용자 (?:검토|확인|응답)"
    r"|[(\[](?:by |the )?(?:customer|human|support|team|user|nutzer|kunde|utilisateur"
    r"|usuario|用户)[)\]]"
    r"|^(?:customer|human|user|nutzer|kunde|utilisateur|usuario|用户)\s?[:\uff1a]",
    re.IGNORECASE,
)
_STOP = LazyPattern(
    r"(?<!not )(?<!n't )\b(?:stop|pause|wait|waiting|halt|hold|end) (?:\w+ ){0,3}"
    r"(?:after|at|before|here|there|once|when|until|for my|for me|and await)\b"
    r"|\b(?:let me|I(?:'ll| will| want to| need to)) (?:first )?(?:approve|check|confirm|decide"
    r"|look|read|review|see|test|verify)\b"
    r"|\bleave the (?:rest|others?)\b|\b(?:that's|that is) (?:all|enough)\b(?! to\b)"
    r"|\b(?:do not|don't) (?:implement|continue|go on|proceed|start|move on|touch"
    r"|write (?:any )?code)\b"
    r"|\b(?:ask|check with|consult) me (?:before|first)\b|\bbefore you (?:continue|go on|proceed"
    r"|implement|start)\b|\bfor my (?:approval|review|confirmation)\b|\bonly (?:the )?(?:plan"
    r"|spec)\b"
    r"|\b(?:stopp?|warte|halte?) (?:\w+ ){0,4}(?:nach|bevor|bis|dann|auf)\b"
    r"|\b(?:para|pare|detente|espera|aguarde?) (?:\w+ ){0,3}(?:después|antes|hasta|depois|até|aquí"
    r"|aqui)\b|\b(?:arrête|attends|attendez)\b|\b(?:останов\w+|подожди\w*|жди\w*)\b"
    r"|等我|先不要|停下|等待我|我来?(?:审核|确认|看)|止め|待って|確認するまで|멈추|기다려|대기",
    re.IGNORECASE,
)
# The word alone, as a sentence or at the beginning of the message; and nothing more is to be done.
_BARE_STOP = LazyPattern(
    r"(?:^|[.!?\n])\W{0,8}(?:stopp?|halt|arrête[sz]?|alto|basta(?: così)?|par[ae]|dur"
    r"|\u0441\u0442\u043e\u043f|хватит|停|止めて|やめて|그만)\s*(?:$|[-_.!,;\n。\uff01\uff0c、])"
    r"|\bnothing (?:else|more)\b|\bnichts (?:mehr|weiter)|\bplus (?:à )?rien\b|\bnada m[áa]i?s\b"
    r"|(?<!\w)больше ничего|\bniets meer\b|\bnic więcej\b|不要再|别再",
    re.IGNORECASE,
)
# The user looks at it first: a verb of reading in the first person, and what comes after it.
_READS_FIRST = LazyPattern(
    r"\bje (?:le |la |les |l')?(?:relis|lis|vérifie|valide|regarde|teste)\b"
    r"|\bich (?:\w+ ){0,2}?(?:prüfe?|lese?|schaue?|sehe?|teste)\b"
    r"[^.!?]{0,40}\b(?:bevor|vor|erst|zuerst|vorher)\b"
    r"|\b(?:lo|la|los|las) (?:reviso|leo|valido|compruebo|rileggo|controllo|verifico)\b"
    r"|\beu (?:o |a )?(?:reviso|leio|aprovo|verifico)\b"
    r"|\bя (?:\w+ ){0,2}(?:провер|посмотр|прочита|утверж)\w+"
    r"|我看(?:完|过)|(?:確認|レビュー)してから|(?:검토|확인)한 (?:후|다음|뒤)",
    re.IGNORECASE,
)

_ANOTHER_DAY = LazyPattern(
    r"\b(?:tomorrow|later|another (?:day|time)|next (?:week|time)|morgen|später|mañana|luego"
    r"|demain|plus tard|amanhã|depois|domani|завтра|позже"
    r"|yar\u0131n|jutro)\b|明天|下次|明日|後で|내일|나중에",
    re.IGNORECASE,
)
_NUMBER = LazyPattern(r"(?<![\d.,])\d{1,6}(?![\d.,]*\d)")

# Statuses that ask for what people alone have: a sign-in, a payment, leave; and their names where
# no status is told.
_WITHHELD = LazyPattern(
    r"(?<![\w.-])(?<!\w:)(?:40[1237]|451|511)(?!\w|[.:-]\d)"
    r"|\b(?:unauthori[sz]ed|unauthenticated|forbidden|credentials?|captcha|2fa|mfa|otp"
    r"|(?:api|access)[ _-]?(?:key|token)|(?:access|permission) denied|payment required)\b",
    re.IGNORECASE,
)
_CLOCK = LazyPattern(r"(?<![\d:.])(?:[01]?\d|2[0-3])[:\uff1a][0-5]\d(?![\d:])")
_TRIES = 3
"""Calls that failed for one cause that is not known to be withheld; two may share a mistake."""
_WAYS = 2
"""Tools or programs that met it: one alone may be used wrongly."""
_MOST_WAYS = 8
_BRIEF = 160
"""Characters of an answer that is the refusal and nothing else, where no flag says so."""


@attrs.frozen
class Denial:
    """What kept an agent from going on, as its last calls show.

    Args:
        cause: signature of the failure.
        withheld: whether people alone can give what it asks for.
        said: what the last such call said.
        asked: the arguments of that call.
        ways: tools and programs that met it.
        tries: fingerprints of the calls that did.
        looked: whether another call, or another try, came after it.
    """

    cause: str
    withheld: bool
    said: str
    asked: str
    ways: tuple[str, ...]
    tries: tuple[str, ...]
    looked: bool = False


def denial_after(before: Denial | None, call: CallRecord) -> Denial | None:
    """Return what keeps an agent from going on, after one more call.

    A success of the same tool or program ends it. What is not known to be withheld ends with any
    success that may have changed something.

    Args:
        before: what kept it from going on before the call.
        call: the call.
    """
    way = f"{call.tool} {operation(call.command or '')}"
    refused = call.outcome is Outcome.DENIED
    withheld = refused or _WITHHELD.search(call.output) is not None
    if not (call.failed or call.alike or refused or (withheld and call.size <= _BRIEF)):
        if before is None or way in before.ways or not (before.withheld or call.reads):
            return None
        return attrs.evolve(before, looked=True)
    if before is not None:
        if before.withheld and not withheld:
            return attrs.evolve(before, looked=True)
        if withheld or before.cause != call.bare_signature:
            before = before if before.withheld else None
    ways, tries = ((), ()) if before is None else (before.ways, before.tries)
    return Denial(
        cause=call.bare_signature,
        withheld=withheld,
        said=call.output,
        asked=call.params_text,
        ways=tuple(dict.fromkeys((*ways, way)))[-_MOST_WAYS:],
        tries=tuple(dict.fromkeys((*tries, call.fingerprint)))[-_MOST_WAYS:],
        looked=before is not None and (before.looked or call.fingerprint not in before.tries),
    )


def is_blocked(denial: Denial | None, reply: str, known: str) -> bool:
    """Tell whether an agent that tells its user what is lacking can do no more by itself.

    It names what the answer named, or denies something; after one try without another look, both.

    Args:
        denial: what keeps it from going on.
        reply: what it said last.
        known: what else the run is about: the user's message and the titles of the steps.
    """
    reply = reply.strip()
    if denial is None or not reply or reply.endswith((":", "\uff1a")):
        return False
    if not set(_CLOCK.findall(denial.said)).isdisjoint(_CLOCK.findall(reply)):
        return True  # nothing can be done before that time
    if not denial.withheld and (len(denial.tries) < _TRIES or len(denial.ways) < _WAYS):
        return False
    cause = topics_in(denial.said) - topics_in(f"{denial.asked} {known}")
    named, negated = not cause.isdisjoint(topics_in(reply)), denies(reply)
    return (named or negated) if denial.looked else (named and negated)


def is_pending(told: str, reply: str, left: Sequence[str]) -> bool:
    """Tell whether an agent says of an open step what the last answer says of a case with a number.

    "{etat: en_attente_d_approbation, demande: ap_2231}", "The mails wait for approval (ap_2231)."

    Args:
        told: the answer, without numbers of the call; empty if it confirms that all is done.
        reply: what the agent said last.
        left: titles of the steps that are open.
    """
    cases = {one for one in told.split() if any(map(str.isdigit, one)) and len(one) >= _SIZE}
    if topics_in(" ".join(left)).isdisjoint(topics_in(reply)):
        return False
    said = [one for one in sentences_of(reply) if any(case in one for case in cases)]
    return any(_stems(told) & _stems(one) for one in said)


def lacks_what_it_needs(reply: str, known: str, left: Sequence[str]) -> bool:
    """Tell whether an agent says what it can't do for an open step, and behind it something that
    the run knows nothing of yet: what would help.

    "I can't sign it. As soon as the owner has signed, I send it." A status ("the tests have not
    run") ends with the denial, or goes on with other steps or with an offer.

    Args:
        reply: what the agent said last.
        known: what the run is about: the user's message and the titles of all steps.
        left: titles of the steps that are open.
    """
    said = [one for one in sentences_of(reply.strip())[-_SENTENCES:] if not offers(one)]
    at = next((n for n, sentence in enumerate(said) if denies(sentence)), None)
    if at is None or topics_in(" ".join(said[at:])).isdisjoint(topics_in(" ".join(left))):
        return False
    clauses = CLAUSE.split(said[at])
    first = next((n for n, clause in enumerate(clauses) if denies(clause)), len(clauses))
    run, rest = topics_in(known), topics_in(" ".join(clauses[first + 1 :]))
    # An offer shares nothing with the run or with what is lacking.
    about = run | topics_in(said[at])
    behind = (topics_in(one) for one in said[at + 1 :])
    return any(len(one - run) > 1 for one in (rest, *(b for b in behind if b & about)))


def is_of_user(title: str) -> bool:
    """Tell whether a step is the user's to take, such as an approval.

    Args:
        title: of the step.
    """
    return _OF_USER.search(title) is not None


def says_stop(message: str) -> bool:
    """Tell whether a user's message asks the agent to stop before the end, or to go on another day.

    Args:
        message: the message.
    """
    message = message[:_LONGEST_ORDER]
    if any(one.search(message) is not None for one in (_STOP, _BARE_STOP, _READS_FIRST)):
        return True
    return any(
        goes_on(sentence)
        and (_ANOTHER_DAY.search(sentence) is not None or _forbids_going_on(sentence))
        for sentence in sentences_of(message)
    )


def _forbids_going_on(sentence: str) -> bool:
    clauses = CLAUSE.split(sentence)
    return not is_question(sentence) and any(goes_on(one) and denies(one) for one in clauses)


def numbers_in(message: str) -> tuple[int, ...]:
    """Return the whole numbers in a user's message, in order, each once.

    Args:
        message: the message.
    """
    found = map(int, _NUMBER.findall(message[:_LONGEST_ORDER]))
    return tuple(dict.fromkeys(found))


def goes_beyond(numbers: Sequence[int], steps: Sequence[str]) -> bool:
    """Tell whether steps are numbered, and begin right behind the last number that the user named:
    then the user asked for what is before them.

    Args:
        numbers: those in the user's message.
        steps: titles of the steps that are open.
    """
    firsts = [int(found[0]) for title in steps if (found := _NUMBER.search(title)) is not None]
    return len(firsts) == len(steps) > 0 < len(numbers) and min(firsts) == max(numbers) + 1


def is_served(message: str, reply: str, *, done: Sequence[str], left: Sequence[str]) -> bool:
    """Tell whether a user who only asked or forbade something has been answered.

    Args:
        message: the user's last message, since when the agent changed nothing.
        reply: what the agent said last.
        done: titles of the steps that are done; with none, the message began the work.
        left: titles of the steps that are open.
    """
    message = message.strip()
    if not (message and reply.strip() and done) or len(message) > _LONGEST_ANSWERED:
        return False
    sentences = sentences_of(message)
    others = [one for one in sentences if not is_question(one)]
    opening = _OPENING if len(others) < len(sentences) else 0
    bans = [one for one in others if _forbids(one, opening)]
    if len(bans) < len(others):
        return False
    if bans:
        return denies(reply) or not _names(reply, left, _MOST)
    if goes_on(message) or goes_on(reply):
        return False
    return not _names(message, left) and not _names(reply, left, _MOST)


def _forbids(sentence: str, opening: int) -> bool:
    """Tell whether a sentence begins with a ban, other than that of a stop, after a clause of at
    most so many words ("Wait, don't go on").
    """
    clauses = [part.strip() for part in CLAUSE.split(sentence) if part.strip()] or [sentence]
    first = next((part for part in clauses if len(words_of(part)) > opening), clauses[-1])
    return (denies(clauses[0]) or denies(first)) and _HALT.search(sentence) is None


def stops_as_told(
    message: str, reply: str, *, done: Sequence[str], left: Sequence[str], idle: bool
) -> bool:
    """Tell whether an agent tells its user what is left of a plan of which the user asked for a
    part, and ends with words of that message, about no step; if it did nothing since that message,
    it may begin with them.

    "Read it and leave it there, I decide on the rest", "Read. Left are A and B. I leave it here."

    Args:
        message: the user's last message.
        reply: what the agent said last.
        done: titles of the steps that are done.
        left: titles of the steps that are open.
        idle: whether the agent changed nothing since the message.
    """
    sentences = sentences_of(reply.strip()) or [""]
    if not done or is_question(sentences[-1]) or any(_names(message, [one]) for one in left):
        return False
    if not all(_names(reply, [one]) for one in left):
        return False
    asked = " ".join(one for one in sentences_of(message) if not is_question(one))
    ends = sentences if idle else sentences[1:][-1:]
    obeys = " ".join(one for one in ends if not _names(one, left))
    shared = (_pieces(asked) & _pieces(obeys)) - _pieces(" ".join([*done, *left]))
    return any(len(piece) >= (size_of_pieces(piece) or _SIZE) for piece in shared)


def waits_as_told(message: str, reply: str, *, done: Sequence[str], left: Sequence[str]) -> bool:
    """Tell whether an agent that has done a part ends with a condition that its user has set.

    "Upload the first ten and wait until I have checked them", "They are there. Waiting for your
    check." The condition is no task: it stands behind the clause that first names a step, and no
    step is called so. What both forbid holds while the work goes on.

    Args:
        message: the user's last message.
        reply: what the agent said last.
        done: titles of the steps that are done.
        left: titles of the steps that are open.
    """
    last = (sentences_of(reply.strip()) or [""])[-1]
    if not done or is_question(last) or _names(last, left, _MOST):
        return False
    clauses = [
        clause
        for sentence in sentences_of(message[:_LONGEST_ORDER])
        if not is_question(sentence)
        for clause in CLAUSE.split(sentence)
    ]
    said, titles = _stems(last), _plain(" ".join([*done, *left]))
    steps = topics_in(" ".join([*done, *left]))
    task = next((n for n, one in enumerate(clauses) if steps & topics_in(one)), len(clauses))
    conditions = (one for one in clauses[task + 1 :] if not (denies(one) and denies(last)))
    shared = _stems(" ".join(conditions)) & said
    return any(stem[:_SIZE] not in titles for stem in shared)


def is_called_off(message: str, reply: str, *, done: Sequence[str], left: Sequence[str]) -> bool:
    """Tell whether an agent that made no call since its user's last message tells what it had done
    by then, and asks and announces nothing: the user has called it off.

    Args:
        message: the user's last message.
        reply: what the agent said last.
        done: titles of the steps that are done; with none, the message began the work.
        left: titles of the steps that are open.
    """
    said = sentences_of(reply.strip())
    if not (said and message) or is_question(said[-1]) or len(message) > _LONGEST_ANSWERED:
        return False
    if goes_on(message) or goes_on(reply):
        return False
    bans = " ".join(clause for clause in CLAUSE.split(message) if denies(clause))
    both = [topics_in(bans), topics_in(said[-1])]
    forbidden = any(all(topics_in(step) & one for one in both) for step in left)
    if bans and (denies(said[-1]) or forbidden):
        return True
    if not done:
        return False
    if _names(said[-1], left, _MOST) and not denies(said[-1]):
        return False
    return _insists(message) or any(_names(one, done, but=left) for one in said)


def _insists(message: str) -> bool:
    """Tell whether a message soon says its first word again, as a call does ("Stop. Stop it!")."""
    words = words_of(message.lower())
    return words[:1] != [] and len(words[0]) > 1 and words[0] in words[1:_INSISTS]


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the long words of a text, where words are set apart."""
    words = (word for word in words_of(_plain(text)) if not size_of_pieces(word))
    return frozenset(word[:_STEM] for word in words if len(word) > _STEM)


def _plain(text: str) -> str:
    """Return a text in lower case without accents, which move with the form of a word."""
    return "".join(c for c in normalize("NFD", text.lower()) if not combining(c))


def _names(text: str, steps: Sequence[str], share: float = _SHARE, but: Sequence[str] = ()) -> bool:
    """Tell whether a text holds so much of what one of the titles is made of, and its numbers.

    Args:
        text: the text.
        steps: the titles.
        share: how much of one.
        but: titles whose parts tell nothing.
    """
    held, common = _pieces(text), _pieces(" ".join(but))
    for step in steps:
        parts = _pieces(step)
        parts = parts - common or parts
        numbers = {part for part in parts if any(map(str.isdigit, part))}
        if parts and numbers <= held and len(parts & held) >= len(parts) * share:
            return True
    return False


def _pieces(text: str) -> frozenset[str]:
    return frozenset(_cut(text))


def _cut(text: str) -> Iterator[str]:
    for word in words_of(text.lower()):
        size = size_of_pieces(word) or _SIZE
        if len(word) <= size:
            yield word
        yield from (word[place : place + size] for place in range(len(word) - size + 1))
