"""Reasons to stop with an open plan: the agent waits for its user or for running work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from trimtab import ToolInvoked
from trimtab.text import LazyPattern
from trimtab.trajectory import MessageRecord, TextRecord
from trimtab_signals import (
    CallProjection,
    CallRecord,
    Ending,
    arguments_of,
    confirms,
    denial_after,
    has_ended,
    in_progress,
    is_aside,
    is_question,
    name_words,
    reason_to_stop,
    requests_in,
    waits_for,
    words_of,
)

_EDGE = 1_200
"""Characters at the end of a response: a question or an order to wait is its last paragraph."""
_MOST = 64
"""Things that may run and answers to choose from that are looked at; there are a few."""
_BEHIND = LazyPattern(
    r"\b(?:background|running|runs|wait(?:s|ing)?|notif\w+|in progress|at work|underway|under way"
    r"|working on|report(?:s)? back|will (?:finish|complete|return)|launched|spawned)\b"
    r"|后台|等待|运行|im hintergrund|läuft|en segundo plano|arrière-plan",
    re.IGNORECASE,
)
_AWAITS = LazyPattern(
    r"(?i)(?:await|need|pend|requir|wait)[a-z]{0,4}(?:[\W_]{1,3}[a-z]{1,12}){0,2}[\W_]{1,3}"
    r"(?:answer|approv|confirm|decision|human|input|operator|reply|response|review|sign|user)"
    r"|(?:approv|confirm|review|sign)[a-z]{0,8}(?:[\W_]{1,3}[a-z]{1,12}){0,2}[\W_]{1,3}"
    r"(?:need|pending|requir)"
)
_SHORT = 300
"""Characters of an answer that says what it waits for and no more, and of a question."""
_RECEIPT = 80
"""Characters of an answer that says that a question was put."""
_STATE = LazyPattern(
    r"[:=]\s?[\"']?(?!(?i:true|false|none|null)\b)([^\W\d_][^\"',{}\[\]\n\d]{2,40})[\"']?\s?(?=[,}\n]|$)"
)
_CASE = LazyPattern(r"[^\W\d_]{1,6}[-_]?\d[\w-]*|\d{4,}")
"""The name of a job or a case: it has a number; a file has a point in its name."""

_QUESTIONS = frozenset(
    {"approval", "ask", "clarification", "clarify", "confirmation", "escalate", "escalation",
     "handoff", "handover", "permission", "question"}
)  # fmt: skip
_PEOPLE = frozenset({"agent", "human", "operator", "user"})
_PUTS = frozenset(
    {"ask", "assign", "confirm", "hand", "input", "prompt", "query", "request", "transfer", "wait"}
)
"""Words of tools that ask somebody or give the work to others, alone and with a word of people."""
_MESSAGES = frozenset({"chat", "comment", "email", "mail", "message", "reply", "send", "sms"})
"""Words of tools that write to somebody."""
_SPAWNS = frozenset({"delegate", "dispatch", "spawn"})
"""Words of tools that hand work to other agents."""
_LABELS = ("label", "value", "title")


@attrs.define(eq=False)
class Waits(CallProjection):
    """What the agent of one run may be waiting for."""

    _end: Ending = attrs.field(factory=Ending)
    _asked: bool = False
    _question: bool = False
    _tasks: dict[str, bool] = attrs.field(factory=dict)  # by name: whether an agent does it

    def reason(self, open_steps: Sequence[str], done_steps: Sequence[str] = ()) -> str:
        """Return why the turn may end with open steps; empty if there is no reason.

        Args:
            open_steps: their titles, in order.
            done_steps: titles of the others.
        """
        said = self._end.reply
        told = self._tasks and _BEHIND.search(said)
        if told or any(behind or task in said for task, behind in self._tasks.items()):
            return "work that it started is still running"
        if self._asked or (self._question and not said):
            return "it asks the user"
        return reason_to_stop(attrs.evolve(self._end, left=open_steps, done=done_steps))

    def responded(self, text: TextRecord) -> None:
        """Keep what the agent said last."""
        self._end.reply = text.text[-_EDGE:] if text.text else ""

    def user_spoke(self, message: MessageRecord) -> None:
        """Take an order to stop; a notification ends the work that it is about."""
        end = self._end
        if message.notification:
            end.reply = ""
            named = [name for name in (*self._tasks, *end.cases) if name in message.text]
            for name in named or (list(self._tasks) if has_ended(message.text) else ()):
                self._drop(name)
        else:
            self._asked = False
            self._end = Ending(
                message=message.text[:_EDGE], told=end.told, before=end.reply, cases=end.cases
            )

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Note what the call asks of somebody, and what goes on after it."""
        if is_aside(call.tool):
            return  # a thought after a question takes it not back
        given = arguments_of(event.params)
        params = given if isinstance(given, dict) else {}
        end = self._end
        end.reply, end.told, end.called = "", _told_by(call), True
        end.changed = end.changed or not call.reads
        end.denial = denial_after(end.denial, call)
        end.sent, self._asked, self._question = "", False, False
        if not call.failed:
            self._ask(call, params)
            self._follow(call, begins=params.get("run_in_background") is True)

    def _ask(self, call: CallRecord, params: Mapping[str, Any]) -> None:
        """Note what a call asks of somebody who has not answered yet."""
        words, said = set(name_words(call.tool)), call.output
        texts = [one for one in params.values() if isinstance(one, str)]
        if words & _MESSAGES:
            self._end.sent = requests_in("\n".join(texts)[:_EDGE])
        puts = any(len(one) <= _SHORT and is_question(one) for one in texts)
        self._question = puts and call.size <= _RECEIPT and not re.search(r"\d", said)
        asks = (
            words & _QUESTIONS
            or (words & _PEOPLE and words & _PUTS)
            or (self._question and (waits_for(said) or (len(texts) == 1 and _is_receipt(call))))
            or (call.size <= _SHORT and _awaits(said))
        )
        self._asked = bool(asks) and not _is_answered(said, params)

    def _follow(self, call: CallRecord, *, begins: bool) -> None:
        """Keep names of what was begun, until an answer about it says that it has ended, and of
        what is told with a state, while answers about it tell that again.
        """
        short = call.output if call.size <= _SHORT else ""
        states = [one for one in _STATE.findall(short) if not (confirms(one) or has_ended(one))]
        runs, cases = in_progress(call.output), self._end.cases
        for name in [one for one in (*self._tasks, *cases) if one in call.params_text]:
            again = runs or any(state in cases.get(name, "") for state in states)
            if has_ended(call.output) or not (again or name in self._tasks):
                self._drop(name)
        spawns = call.size <= _RECEIPT and not _SPAWNS.isdisjoint(name_words(call.tool))
        if len(self._tasks) + len(cases) > _MOST or not (begins or spawns or runs or states):
            return
        named = [one for one in words_of(short) if _CASE.fullmatch(one)]
        named = [one for one in named if one not in call.params_text]
        if begins or (named and (spawns or runs)):
            behind = (begins or spawns) and call.command is None
            self._tasks[named[0] if named else call.fingerprint] = behind
        if states:
            cases |= dict.fromkeys(named, " ".join(states))

    def _drop(self, name: str) -> None:
        self._tasks.pop(name, None)
        self._end.cases.pop(name, None)


def _told_by(call: CallRecord) -> str:
    """Return the words and numbers of a short answer that may tell of something pending."""
    said = call.output
    if call.failed or call.size > _SHORT or (confirms(said) and not in_progress(said)):
        return ""
    said = " ".join(word for word in words_of(said) if word not in call.params_text)
    return said.replace("_", " ") + " " + said


def _awaits(said: str) -> bool:
    """Tell whether a short answer waits for somebody: a state in one word is that of a job."""
    states = (one.replace("_", " ") for one in _STATE.findall(said))
    return _AWAITS.search(said) is not None or any(" " in one and waits_for(one) for one in states)


def _is_receipt(call: CallRecord) -> bool:
    """Tell whether an answer only confirms, or names a state and nothing else."""
    return confirms(call.output) or _STATE.search(call.output) is not None


def _is_answered(said: str, params: Mapping[str, Any]) -> bool:
    """Tell whether the result of a question holds one of the answers to choose from; a receipt
    may repeat them all.
    """
    choices = set(islice(_choices(params), _MOST))
    given = [one for one in choices if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", said)]
    return 0 < len(given) < max(len(choices), 2)


def _choices(value: Any, *, listed: bool = False) -> Iterator[str]:
    """Yield the texts in the lists of a question's arguments, and the labels of objects there."""
    if isinstance(value, str) and listed and value:
        yield value[:_SHORT]
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _choices(item, listed=listed and name in _LABELS)
    elif isinstance(value, list):
        for item in value:
            yield from _choices(item, listed=True)
