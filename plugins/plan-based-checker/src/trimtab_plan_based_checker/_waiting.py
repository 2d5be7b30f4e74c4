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
_LONGEST_TASKS = 64
"""Tasks in the background that are followed; agents run a few."""
_BEHIND = LazyPattern(
    r"\b(?:background|running|runs|wait(?:s|ing)?|notif\w+|in progress|at work|underway|under way"
    r"|working on|report(?:s)? back|will (?:finish|complete|return)|launched|spawned)\b"
    r"|后台|等待|运行|im hintergrund|läuft|en segundo plano|arrière-plan",
    re.IGNORECASE,
)
_LAUNCHED = LazyPattern(
    r"(?i)\b(?:running|started|launched|working|continues?|moved) (?:it )?(?:in"
    r"|to) (?:the )?background\b"
    r"|\basync(?:hronous)?(?:ly)? (?:agent |task )?(?:launched|started)\b|\bwill be notified\b"
)
_TASK_ID = LazyPattern(
    r"(?i)\b(?:agent|task|shell|bash|job|thread|session|process)?[_ -]?id\W{1,4}([\w-]{2,64})"
)
_AWAITS = LazyPattern(
    r"(?i)(?:await|need|pend|requir|wait)[a-z]{0,4}(?:[\W_]{1,3}[a-z]{1,12}){0,2}[\W_]{1,3}"
    r"(?:answer|approv|confirm|decision|human|input|operator|reply|response|review|sign|user)"
    r"|(?:approv|confirm|review|sign)[a-z]{0,8}(?:[\W_]{1,3}[a-z]{1,12}){0,2}[\W_]{1,3}"
    r"(?:need|pending|requir)"
)
_OF_AWAITS = ("wait", "pend", "requir", "need")
_LONGEST_STATE = 300
"""Characters of an answer that says what it waits for and no more, and of a question."""
_SHORT_NUMBER = 3
"""Characters of a number that may stand in a text by chance; that of a case or a job has more."""
_LONGEST_RECEIPT = 80
"""Characters of an answer that says that a question was put."""
_STATE = LazyPattern(
    r"[:=]\s?[\"']?(?!(?i:true|false|none|null)\b)([^\W\d_][^\"',{}\[\]\n\d]{2,40})[\"']?\s?(?=[,}\n]|$)"
)
_CASE = LazyPattern(r"[^\W\d_]{1,6}[-_]?\d[\w-]*|\d{4,}")
"""The name of a job or a case: it has a number; a file has a point in its name."""
_OF_LAUNCHED = ("background", "async", "notified")
"""One of these stands in each text in which the expression is found."""

_QUESTIONS = frozenset(
    {"approval", "ask", "clarification", "clarify", "confirmation", "permission", "question"}
)
_PEOPLE = frozenset({"human", "operator", "user"})
_PUTS = frozenset(
    {"ask", "assign", "confirm", "input", "prompt", "query", "request", "transfer", "wait"}
)
_HANDS_OVER = frozenset({"escalate", "escalation", "handoff", "handover"})
_PASSES_ON = ({"hand", "over"}, {"hand", "off"}, {"transfer", "to"})
"""Words of tools that give the work to others, alone and together."""
_MESSAGES = frozenset({"chat", "comment", "email", "mail", "message", "reply", "send", "sms"})
"""Words of tools that write to somebody."""
_LABELS = ("label", "value", "title")
_MOST_CHOICES = 64
_LONGEST_CHOICE = 200
"""Bounds what a model may write into a question: the choices of a form are few and short."""
_SPAWNS = frozenset({"spawn", "delegate", "dispatch"})
_ENDS = frozenset({"kill", "stop", "cancel", "close"})


@attrs.define(eq=False)
class Waits(CallProjection):
    """What the agent of one run may be waiting for."""

    _end: Ending = attrs.field(factory=Ending)
    _asked: bool = False
    _question: bool = False
    _tasks: dict[str, bool] = attrs.field(factory=dict)

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
        self._asked = self._asked and message.notification
        if message.notification:
            self._end.reply = ""
            self._notified(message.text)
        else:
            end = self._end
            self._end = Ending(
                message=message.text[:_EDGE], told=end.told, before=end.reply, cases=end.cases
            )

    def _notified(self, text: str) -> None:
        for case in [case for case in self._end.cases if case in text]:
            del self._end.cases[case]
        named = [task for task in self._tasks if task in text]
        for task in named or (list(self._tasks) if has_ended(text) else ()):
            del self._tasks[task]

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Note work that goes on after the call, and work that has ended."""
        if is_aside(call.tool):
            return  # a thought after a question takes it not back
        end = self._end
        end.reply, end.told, end.called = "", _told_by(call), True
        end.changed = end.changed or not call.reads
        end.denial = denial_after(end.denial, call)
        words = set(name_words(call.tool))
        given = arguments_of(event.params)
        params = given if isinstance(given, dict) else {}
        end.sent = ""
        texts = [one for one in params.values() if isinstance(one, str)]
        receipt = call.size <= _LONGEST_RECEIPT and not re.search(r"\d", call.output)
        asked = any(len(one) <= _LONGEST_STATE and is_question(one) for one in texts)
        put = self._question = receipt and not call.failed and asked
        if words & _MESSAGES and not call.failed:
            end.sent = requests_in("\n".join(texts)[:_EDGE])
        asks = (
            _asks(words)
            or (put and (waits_for(call.output) or (len(texts) == 1 and _is_receipt(call))))
            or (call.size <= _LONGEST_STATE and _is_in(call.output, _AWAITS, _OF_AWAITS))
        )
        self._asked = not call.failed and asks and not _is_answered(call, params)
        if self._tasks and not call.failed:
            self._ended(call, words)
        if not call.failed:
            self._follow(call)
        if call.failed or len(self._tasks) == _LONGEST_TASKS:
            return
        found = _TASK_ID.search(call.output)
        if (
            params.get("run_in_background") is True
            or _is_in(call.output, _LAUNCHED, _OF_LAUNCHED)
            or (words & _SPAWNS and _only_begun(call))
        ):
            self._tasks[found[1] if found else call.fingerprint] = call.command is None
        elif in_progress(call.output):
            cases = (one for one in end.told.split() if len(one) > _SHORT_NUMBER)
            if case := next((one for one in cases if any(map(str.isdigit, one))), ""):
                self._tasks[case] = False

    def _follow(self, call: CallRecord) -> None:
        """Keep names of what may run: told with a state, which later answers about it repeat."""
        states = _STATE.findall(call.output) if call.size <= _LONGEST_STATE else []
        states = [one for one in states if not (confirms(one) or has_ended(one))]
        cases = self._end.cases
        for case in [case for case in cases if case in call.params_text]:
            if not (in_progress(call.output) or any(one in cases[case] for one in states)):
                del cases[case]
        if states and len(cases) < _LONGEST_TASKS:
            told = (word for word in words_of(call.output) if word not in call.params_text)
            cases |= {word: " ".join(states) for word in told if _CASE.fullmatch(word)}

    def _ended(self, call: CallRecord, words: set[str]) -> None:
        for task in [task for task in self._tasks if task in call.params_text]:
            if words & _ENDS or has_ended(call.output):
                del self._tasks[task]


def _told_by(call: CallRecord) -> str:
    """Return the words and numbers of a short answer that may tell of something pending."""
    said = call.output
    if call.failed or call.size > _LONGEST_STATE or (confirms(said) and not in_progress(said)):
        return ""
    said = " ".join(word for word in words_of(said) if word not in call.params_text)
    return said.replace("_", " ") + " " + said


def _is_receipt(call: CallRecord) -> bool:
    """Tell whether an answer only confirms, or names a state and nothing else."""
    return confirms(call.output) or _STATE.search(call.output) is not None


def _asks(words: set[str]) -> bool:
    """Tell whether a tool puts a question to the user or hands the work over to others, by the
    words of its name.
    """
    if words & _HANDS_OVER or any(both <= words for both in _PASSES_ON):
        return True
    return bool(words & _QUESTIONS) or bool(words & _PEOPLE and words & _PUTS)


def _is_answered(call: CallRecord, params: Mapping[str, Any]) -> bool:
    """Tell whether the result of a question holds one of the answers to choose from; a receipt
    may repeat them all.
    """
    choices = set(islice(_choices(params), _MOST_CHOICES))
    given = [one for one in choices if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", call.output)]
    return bool(given) and (len(given) < len(choices) or len(choices) == 1)


def _choices(value: Any, *, listed: bool = False) -> Iterator[str]:
    """Yield the texts in the lists of a question's arguments, and the labels of objects there."""
    if isinstance(value, str):
        if listed and value.strip():
            yield value.strip()[:_LONGEST_CHOICE]
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _choices(item, listed=listed and name in _LABELS)
    elif isinstance(value, list):
        for item in value[:_MOST_CHOICES]:
            yield from _choices(item, listed=True)


def _only_begun(call: CallRecord) -> bool:
    """Tell whether what came of handing work over is no more than a receipt of it."""
    said = call.output
    return confirms(said) or bool(_BEHIND.search(said) or _TASK_ID.search(said))


def _is_in(text: str, pattern: LazyPattern, words: tuple[str, ...]) -> bool:
    """Tell whether `pattern` is found; looking for words that it needs takes a tenth of the time.

    Beyond ASCII some letters are the same in another case than in lower case.
    """
    if text.isascii():
        lower = text.lower()
        if not any(word in lower for word in words):
            return False
    return pattern.search(text) is not None
