"""Who can take the next step of an open plan, as the end of a run shows it in any language.

The user can, whom the agent asked, or who set a condition, forbade more or called the work off;
others can, where a case of theirs is pending or they alone have what is lacking; nobody can before
a time that was told. Otherwise the agent goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from trimtab import Outcome
from trimtab.text import LazyPattern
from trimtab_signals._closing import (
    CLAUSE,
    SENTENCES,
    after_me,
    asks_user,
    denies,
    goes_on,
    is_alone,
    is_later,
    is_only,
    is_question,
    plain,
    puts_off,
    sentences_of,
    size_of_pieces,
    topics_in,
    waits_for,
    words_of,
)
from trimtab_signals._records import CallRecord
from trimtab_signals._shell import operation

_SHARE = 0.4
"""Part of a title that a text holds where it names the step: titles leave out and inflect words."""
_MOST = 0.75
"""Part of a title in a reply that announces the step; an answer may name things of it."""
_SIZE = 4
"""Characters of the pieces in which inflected words are still alike."""
_STEM = 5
"""Letters that the forms of a word share; shorter words are those of grammar in most languages."""
_TAKEN_UP = 2
"""Things of a request that a reply takes up where it tells of it; one may name the task."""
_LONGEST_ANSWERED = 600
"""Characters of a message that is a question or a ban and nothing else."""

# A step that is the user's to take: an approval, or it names them as those who act.
_OF_USER = LazyPattern(
    r"\b(?:approv\w+|ratif\w+|sign-?off|freigabe|abnahme|genehmig\w+|aprobaci\w+|aprova\w+"
    r"|approbation|согласован\w+|затверджен\w+|zatwierdz\w+|schválen\w*|jóváhagy\w*|onay\w*"
    r"|goedkeuring|godk\w+|hyväksyn\w*|persetujuan|phê duyệt|έγκριση|موافقة|אישור"
    r"|(?:review|check|decision|answer|input|feedback|confirmation)s?"
    r" (?:by|from|of) (?:the |an? )?(?:customer|human|maintainer|owner|user)"
    r"|(?:par|por|pelo|durch|von|dell) ?(?:l'|el |la |den |dem |o |')?"
    r"(?:utilisateur|client|usuari[oa]|usuário|cliente|utente|nutzer|kunden))\b"
    r"|批准|审批|审核|確認待ち|承認|승인"
    r"|[(\[](?:customer|human|support|team|user)[)\]]|^(?:customer|human|user)\s?[:\uff1a]",
    re.IGNORECASE,
)
# An order to stop at once or on the way: a call, or a verb with a time or a condition behind it.
_STOP = LazyPattern(
    r"(?<!not )(?<!n't )\b(?:stop|pause|wait|waiting|halt|hold|end) (?:\w+ ){0,3}"
    r"(?:after|at|before|here|there|once|when|until|for my|for me|and await)\b"
    r"|(?:^|[.!?\n/])\W{0,8}(?:stopp?|halt|arrête[sz]?|alto|basta(?: così)?|par[ae]|dur"
    r"|\u0441\u0442\u043e\u043f|хватит|停|止めて|やめて|그만)\s*(?:$|[-_.!,;\n。\uff01\uff0c、])",
    re.IGNORECASE,
)

_NUMBER = LazyPattern(r"(?<![\d.,])\d{1,6}(?![\d.,]*\d)")

# Statuses that ask for what people alone have: a sign-in, a payment, leave; and their names where
# no status is told.
_WITHHELD = LazyPattern(
    r"(?<![\w.,-])(?<!\w:)(?:40[1237]|451|511)(?!\w|[.:-]\d)"
    r"|(?<![^\W_])(?:unauthori[sz]ed|unauthenticated|forbidden|credentials?|captcha|2fa|mfa|otp"
    r"|(?:api|access)[ _-]?(?:key|token)|(?:access|permission) denied|payment required)(?![^\W_])"
    r"|[•●]{2,}",
    re.IGNORECASE,
)
_CLOCK = LazyPattern(r"(?<![\d:.])(?:[01]?\d|2[0-3])[:\uff1a][0-5]\d(?![\d:])")
_TRIES = 3
"""Calls in a row that failed for what is not known to be withheld; two may share a mistake."""
_BRIEF = 160
"""Characters of an answer that is the refusal and nothing else, where no flag says so."""


@attrs.frozen
class Denial:
    """What kept an agent from going on, as its last calls show.

    Args:
        withheld: whether people alone can give what it asks for.
        said: what the last such call said.
        way: its tool and program.
        tries: fingerprints of such calls.
    """

    withheld: bool
    said: str
    way: str
    tries: tuple[str, ...]


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
        ends = before is None or way == before.way or not (before.withheld or call.reads)
        return None if ends else before
    if before is not None and before.withheld > withheld:
        return before
    tries = () if before is None or before.withheld < withheld else before.tries
    tries = tuple(dict.fromkeys((*tries, call.fingerprint)))[-_TRIES:]
    return Denial(withheld, call.output, way, tries)


@attrs.define(kw_only=True)
class Ending:
    """How a turn of an agent ends.

    Args:
        message: what its user said last.
        reply: what it said last.
        before: what it said last before that message.
        sent: what it asks of whom it wrote to with its last call.
        done: titles of the steps that are done; with none, the message began the work.
        left: titles of the steps that are open.
        called: whether it made a call since the message.
        changed: whether one of these may have changed something.
        told: what the last answer holds that its call did not; empty if it confirms that all is
            done.
        denial: what kept it from going on.
        cases: names of what may run, and the state that was told last.
    """

    message: str = ""
    reply: str = ""
    before: str = ""
    sent: str = ""
    done: Sequence[str] = ()
    left: Sequence[str] = ()
    called: bool = False
    changed: bool = False
    told: str = ""
    denial: Denial | None = None
    cases: dict[str, str] = attrs.field(factory=dict)


def reason_to_stop(end: Ending) -> str:
    """Return why a turn may end with open steps; empty if the agent can take the next one."""
    if _is_pending(end) or _is_too_early(end):
        return "work that it started is still running"
    if _says_stop(end.message) or _goes_beyond(end):
        return "the user asked it to stop on the way"
    before = "" if end.called else end.before
    asks = asks_user(end.reply, end.left, end.done, end.message, told=end.told, answered=before)
    if asks or _tells_of_request(end):
        return "it asks the user" if asks else "it waits for an answer"
    if _is_over(end) or _keeps_limits(end) or _does_as_told(end):
        return "the user asked no more than was done"
    if _is_others(end) or _is_blocked(end) or _lacks_what_it_needs(end):
        return "only people can give what it lacks"
    return "the next step is the user's" if any(map(_OF_USER.search, end.left[:1])) else ""


def _tells_of_request(end: Ending) -> bool:
    """Tell whether an agent tells what its last call asks of somebody."""
    return len(topics_in(end.sent) & topics_in(end.reply)) >= _TAKEN_UP


def _is_pending(end: Ending) -> bool:
    """Tell whether an agent says of an open step what the last answer says of a case with a number.

    "{etat: en_attente_d_approbation, demande: ap_2231}", "The mails wait for approval (ap_2231)."
    """
    for sentence in sentences_of(end.reply):
        states = " ".join(state for case, state in end.cases.items() if case in sentence)
        if states and not _names(sentence, end.done):
            again = _stems(states) & _stems(sentence)
            if again or not end.done or waits_for(end.reply):
                return True
    return False


def _is_too_early(end: Ending) -> bool:
    """Tell whether an agent tells a time before which nothing can be done, as an answer or its user
    said.
    """
    bounds = [one for one in sentences_of(end.message) if denies(one) or waits_for(one)]
    told = " ".join([*bounds, end.denial.said if end.denial else ""])
    return not set(_CLOCK.findall(told)).isdisjoint(_CLOCK.findall(end.reply))


def _is_blocked(end: Ending) -> bool:
    """Tell whether an agent that tells its user what is lacking can do no more by itself: it names
    what the answer named, or denies something.
    """
    denial, reply = end.denial, end.reply.strip()
    if denial is None or not reply or reply.endswith((":", "\uff1a")):
        return False
    named = topics_in(denial.said) - topics_in(" ".join([end.message, *end.left, *end.done]))
    needs = [one.lower() for one in _WITHHELD.findall(denial.said)]
    tells = denies(reply) or not named.isdisjoint(topics_in(reply))
    tells = tells or any(one in reply.lower() for one in needs)
    return tells and (denial.withheld or len(denial.tries) == _TRIES)


def _is_others(end: Ending) -> bool:
    """Tell whether an agent says that only somebody else does an open step: themselves, or before
    it goes on.
    """
    said = sentences_of(end.reply)[-SENTENCES:]
    left = topics_in(" ".join(end.left))
    only = [one for one in said if is_only(one)]
    if any(map(is_alone, only)):
        return not left.isdisjoint(topics_in(" ".join(said)))
    return any(topics_in(one) & left for one in only) and any(map(waits_for, said))


def _lacks_what_it_needs(end: Ending) -> bool:
    """Tell whether an agent says what it can't do for an open step, and behind it something that
    the run knows nothing of yet: what would help.

    "I can't sign it. As soon as the owner has signed, I send it." A status ("the tests have not
    run") ends with the denial, or goes on with other steps or with an offer.
    """
    if end.denial is not None and not (end.denial.withheld or len(end.denial.tries) > 1):
        return False  # what failed once is its own to mend
    said = sentences_of(end.reply.strip())[-SENTENCES:]
    at = next((n for n, sentence in enumerate(said) if denies(sentence)), None)
    if at is None or topics_in(" ".join(said[at:])).isdisjoint(topics_in(" ".join(end.left))):
        return False
    clauses = CLAUSE.split(said[at])
    first = next((n for n, clause in enumerate(clauses) if denies(clause)), len(clauses))
    run = topics_in(" ".join([end.message, *end.left, *end.done]))
    rest = topics_in(" ".join(clauses[first + 1 :]))
    # An offer shares nothing with the run or with what is lacking.
    about = run | topics_in(said[at])
    behind = (topics_in(one) for one in said[at + 1 :])
    return any(len(one - run) > 1 for one in (rest, *(b for b in behind if b & about)))


def _is_over(end: Ending) -> bool:
    """Tell whether a user since whose message nothing was changed asked or forbade something, or
    called the work off, and has got no more than an answer: it announces no step.
    """
    message, said = end.message.strip(), sentences_of(end.reply.strip())
    if end.changed or not (said and message) or len(message) > _LONGEST_ANSWERED:
        return False
    denied, goes = denies(said[-1]), is_question(said[-1]) or goes_on(message) or goes_on(end.reply)
    bans = " ".join(clause for clause in CLAUSE.split(message) if denies(clause))
    both = [topics_in(bans), topics_in(said[-1])]
    forbidden = any(all(topics_in(step) & one for one in both) for step in end.left)
    if not (end.called or goes) and bans and (denied or forbidden):
        return True
    if goes or not end.done or (_names(said[-1], end.left, _MOST) and not denied):
        return False
    if not (end.called or end.before) and (is_only(message) or is_only(end.reply)):
        return True  # the user broke in
    asked = sentences_of(message)
    if any(map(is_question, asked)) and all(is_question(one) or denies(one) for one in asked):
        return not _names(message, end.left) and not _names(end.reply, end.left, _MOST)
    told = any(_names(one, end.done, but=end.left) for one in said)
    ordered = bool(bans) and _names(message, end.done, but=end.left)
    return told and (not end.called or (ordered and not _names(message, end.left)))


def _keeps_limits(end: Ending) -> bool:
    """Tell whether a user set the open steps apart, and the agent has done what was left to do.

    A clause is set apart by a ban, a condition or "myself". What else the message names is asked;
    with such a clause, or with "only", it is all that is asked. Where it names nothing that is
    done, the agent has to keep what was set apart: by naming what it waits for, or what it has not
    done. A message that answers the agent is a push: "You did only the first".
    """
    if end.before and not end.called:
        return False
    said = sentences_of(end.message)
    clauses = [clause for sentence in said for clause in CLAUSE.split(sentence)]
    done = topics_in(" ".join(end.done[-1:]))
    steps = [topics_in(one) - done for one in end.left]
    left = frozenset().union(*steps)
    only = [one for one in clauses if is_only(one)]
    apart = [
        one
        for one in clauses
        if (_sets_apart(one) or (only and is_later(one)))
        and (one not in only or topics_in(one) & left)
    ]
    barred = topics_in(" ".join(apart))
    asked = topics_in(" ".join(one for one in clauses if one not in apart))
    if any(len(step & asked) > len(step & barred) for step in steps):
        return False
    served = asked & (done - topics_in(" ".join(end.left)))
    banned, for_now = bool(barred & left), any(map(puts_off, said))
    if asked and any(is_alone(one) and topics_in(one) & left for one in apart):
        return True
    if served and (only or (banned and for_now)):
        return True
    if done & topics_in(end.message) and any(topics_in(after_me(one)) & left for one in said):
        return True
    ends = sentences_of(end.reply)[-2:]
    bans = any(map(denies, apart))
    keeps = any(
        denies(one) or (waits_for(one) and (bans or not topics_in(one) & left)) for one in ends
    )
    return keeps and not is_question(ends[-1]) and (banned or for_now or bool(served and bans))


def _sets_apart(clause: str) -> bool:
    """Tell whether a clause bans something, sets a condition or keeps it for its speaker."""
    return denies(clause) or is_alone(clause) or waits_for(clause)


def _says_stop(message: str) -> bool:
    """Tell whether a user asks the agent to stop, not to go on, or to go on another day."""
    return _STOP.search(message) is not None or any(
        goes_on(clause) and (denies(clause) or is_later(clause)) for clause in CLAUSE.split(message)
    )


def _goes_beyond(end: Ending) -> bool:
    """Tell whether the open steps are numbered, and begin right behind the last number that the
    user named: then the user asked for what is before them.
    """
    firsts = [int(found[0]) for one in end.left if (found := _NUMBER.search(one)) is not None]
    named = [int(one) for one in _NUMBER.findall(end.message)]
    return len(firsts) == len(end.left) and bool(named) and min(firsts) == max(named) + 1


def _does_as_told(end: Ending) -> bool:
    """Tell whether an agent that has done a part ends with words of its user that name no step.

    "Upload the first ten and wait until I have checked them", "They are there. Waiting for your
    check." One word is enough behind the clause of the order that first names a step, or where
    the agent tells all that is left; else it takes two. What both forbid holds while the work goes
    on.
    """
    said = sentences_of(end.reply.strip())
    if not (said and end.done) or is_question(said[-1]):
        return False
    tells = all(_names(end.reply, [one]) for one in end.left) and not _names(end.message, end.left)
    left, denied = topics_in(" ".join(end.left)), denies(said[-1])
    waits = waits_for(said[-1]) and not denied
    orders = [one for one in sentences_of(end.message) if not is_question(one)]
    limits = [one for one in orders if tells or waits or _sets_apart(one) or is_only(one)]
    if tells:
        ends = " ".join(
            one for one in (said[1:][-1:] if end.changed else said) if not _names(one, end.left)
        )
    elif not (end.called and limits) or (left & topics_in(said[-1]) and not denied):
        return False
    else:
        ends = said[-1]
    titles = " ".join([*end.done, *end.left])
    steps, known = topics_in(titles), plain(titles)
    clauses = [
        clause
        for sentence in limits
        for clause in CLAUSE.split(sentence)
        if not (denies(clause) and denies(ends))
        and (waits_for(clause) or not is_only(clause) or steps & topics_in(clause))
    ]
    task = next((n for n, one in enumerate(clauses) if steps & topics_in(one)), len(clauses))
    parts = [" ".join(part) for part in (clauses, clauses[task + 1 :])]
    cut = _pieces if tells else _stems
    both = ({one for one in cut(part) & cut(ends) if one[:_SIZE] not in known} for part in parts)
    again, behind = (
        sum(len(one) >= (size_of_pieces(one) or _SIZE) for one in each) for each in both
    )
    return again > (0 if tells else 1) or behind > 0


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the long words of a text."""
    sized = ((word, size_of_pieces(word) or _STEM) for word in words_of(plain(text)))
    return frozenset(word[:size] for word, size in sized if len(word) > size)


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
    for word in words_of(plain(text)):
        size = size_of_pieces(word) or _SIZE
        if len(word) <= size:
            yield word
        yield from (word[place : place + size] for place in range(len(word) - size + 1))
