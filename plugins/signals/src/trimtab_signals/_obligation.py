"""Who can take the next step of an open plan, as the end of a run shows it in any language.

The user can, whom the agent asked, or who set a condition, forbade more or called the work off;
others can, where a case of theirs is pending or they alone have what is lacking; nobody can before
a time that was told. Otherwise the agent goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from trimtab import Outcome
from trimtab.text import LazyPattern
from trimtab_signals._closing import SENTENCES, asks_user, is_question, sentences_of, topics_in
from trimtab_signals._particles import (
    CLAUSE,
    MOMENT,
    denies,
    goes_on,
    is_alone,
    is_later,
    is_only,
    puts_off,
    waits_for,
)
from trimtab_signals._records import CallRecord
from trimtab_signals._shell import operation

_SHARE = 0.6
"""Part of a title that a text holds where it names the step: titles leave out and inflect words."""
_MOST = 0.75
"""Part of a title in a reply that announces the step; an answer may name things of it."""
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
    r"|(?<![^\W_])(?:unauthori[sz]ed|unauthenticated|forbidden|credentials?|captcha|2fa|mfa|otp|sms"
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
    tries = dict.fromkeys((*(before.tries if before else ()), call.fingerprint))
    return Denial(withheld, call.output, way, tuple(tries)[-_TRIES:])


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
    if _is_over(end) or _keeps_limits(end):
        return "the user asked no more than was done"
    if _is_others(end) or _is_blocked(end) or _lacks_what_it_needs(end):
        return "only people can give what it lacks"
    return "the next step is the user's" if any(map(_OF_USER.search, end.left[:1])) else ""


def _tells_of_request(end: Ending) -> bool:
    """Tell whether an agent tells what its last call asks of somebody."""
    return len(topics_in(end.sent) & topics_in(end.reply)) >= _TAKEN_UP


def _is_pending(end: Ending) -> bool:
    """Tell whether an agent says of an open step what the last answer says of a case with a number,
    or takes up the state of that case and says what comes after it.

    "{etat: en_attente_d_approbation, demande: ap_2231}", "The mails wait for approval (ap_2231)."
    "{job: T-5, status: läuft}", "Es läuft noch; ich melde mich, sobald es fertig ist."
    """
    last = topics_in(" ".join(state for case, state in end.cases.items() if case in end.told))
    waits = end.changed and waits_for(end.reply) and MOMENT.search(end.reply) is None
    if waits and not last.isdisjoint(topics_in(end.reply)):
        return True
    for sentence in sentences_of(end.reply):
        states = " ".join(state for case, state in end.cases.items() if case in sentence)
        if states and not _names(sentence, end.done):
            again = topics_in(states) & topics_in(sentence)
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
    """Tell whether an agent that denies something, or names what it is denied, can do no more by
    itself.
    """
    denial, reply = end.denial, end.reply.strip()
    if denial is None or not reply or reply.endswith((":", "\uff1a")):
        return False
    needs = [one.lower() for one in _WITHHELD.findall(denial.said)]
    tells = denies(reply) or any(one in reply.lower() for one in needs)
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
    return len(topics_in(" ".join([*clauses[first + 1 :], *said[at + 1 :]])) - run) > 1


def _is_over(end: Ending) -> bool:
    """Tell whether a user since whose message nothing was changed asked or forbade something, or
    called the work off, and has got no more than an answer: it announces no step.
    """
    message, said = end.message.strip(), sentences_of(end.reply.strip())
    longer = len(message) > _LONGEST_ANSWERED
    if end.changed or longer or not (said and message) or goes_on(message):
        return False
    if not end.called and denies(message) and denies(said[-1]):
        return True
    if _names(said[-1], end.left, _MOST):
        return False
    asked = sentences_of(message)
    if any(map(is_question, asked)) and all(is_question(one) or denies(one) for one in asked):
        return True
    # The user broke in: the agent tells what was done, or that it was no more.
    no_more = is_only(end.reply) and not end.before
    return not end.called and (no_more or any(_names(one, end.done) for one in said))


def _keeps_limits(end: Ending) -> bool:
    """Tell whether a user set the open steps apart, and the agent has done what was left to do.

    A clause is set apart by a ban, a condition, another day or "myself"; what else the message
    names is asked. With a condition, another day, "only" or "myself" that is all that is asked,
    once something of it is done.
    Else the agent has to keep what was set apart: by saying that it waits as the message told it,
    or what it has not done. A message that answers the agent is a push: "You did only the first".
    """
    if end.before and not end.called:
        return False
    last = "".join(sentences_of(end.reply)[-1:])
    said = sentences_of(end.message)
    clauses = [clause for sentence in said for clause in CLAUSE.split(sentence)]
    only, for_now = any(map(is_only, clauses)), any(map(puts_off, said))
    # Who announces the next step does not wait for what the message puts before it.
    waits = any(map(waits_for, clauses)) and not _names(last, end.left, _MOST)
    if waits and waits_for(last):
        return True
    done = topics_in(" ".join(end.done[-1:]))
    steps = [topics_in(one) - done for one in end.left]
    left = frozenset().union(*steps)
    apart = [
        one
        for one in clauses
        if (denies(one) or is_alone(one) or waits_for(one) or is_later(one))
        and not (is_only(one) and left.isdisjoint(topics_in(one)))
    ]
    barred = topics_in(" ".join(apart))
    asked = topics_in(" ".join(one for one in clauses if one not in apart))
    if not asked or any(len(step & asked) > len(step & barred) for step in steps):
        return False
    served = not asked.isdisjoint(done - topics_in(" ".join(end.left)))
    later = any(map(is_later, apart))
    if any(map(is_alone, apart)) or (served and (waits or only or for_now or later)):
        return True
    banned = for_now or not barred.isdisjoint(left)
    return banned and (denies(last) or waits_for(last))


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


def _names(text: str, steps: Sequence[str], share: float = _SHARE) -> bool:
    """Tell whether a text holds so much of what one of the titles is about, and its numbers."""
    held = topics_in(text)
    for step in steps:
        parts = topics_in(step)
        numbers = {part for part in parts if any(map(str.isdigit, part))}
        if parts and numbers <= held and len(parts & held) >= len(parts) * share:
            return True
    return False
