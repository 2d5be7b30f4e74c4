"""Reasons to stop with an open plan: the agent waits for its user or for running work."""

from __future__ import annotations

import re
from typing import Any

from trimtab import ToolInvoked
from trimtab.text import LazyPattern
from trimtab.trajectory import MessageRecord, TextRecord
from trimtab_signals import CallProjection, CallRecord, asks_user, confirms, has_ended, name_words

_EDGE = 600
_LONGEST_TASKS = 64
_STOP_THERE = LazyPattern(
    r"\b(?:stop|pause|wait|halt|end) (?:\w+ ){0,3}(?:after|before|here|there|once|when|until"
    r"|for my|for me)\b"
    r"|\b(?:let me|I(?:'ll| will| want to| need to)) (?:first )?(?:approve|check|confirm|decide"
    r"|look"
    r"|read|review|see|test|verify)\b"
    r"|\bnothing (?:else|more)\b|\b(?:continue|go on|resume) (?:it )?(?:tomorrow|later|another)\b"
    r"|\b(?:that's|that is) (?:all|enough) for (?:now|today)\b"
    r"|\b(?:do not|don't) (?:implement|continue|go on|proceed|start|move on"
    r"|write (?:any )?code)\b"
    r"|\b(?:ask|check with|consult) me (?:before|first)\b|\bbefore you (?:continue|go on|proceed"
    r"|implement|start)\b|\bfor my (?:approval|review|confirmation)\b|\bonly (?:the )?(?:plan"
    r"|spec)\b"
    r"|\b(?:stopp?|warte|halte?) (?:\w+ ){0,3}(?:nach|bevor|bis|dann)\b"
    r"|等我|先不要|我来?(?:审核|确认|看)",
    re.IGNORECASE,
)
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
_ASKED = LazyPattern(
    r"(?i)\b(?:await|pend|wait)\w* (?:for |on )?(?:(?:an?|the|your) )?(?:answer|approval|human"
    r"|input|operator|reply|response|user)\b"
)
_OF_LAUNCHED = ("background", "async", "notified")
_OF_ASKED = ("wait", "pend")
"""One of these stands in each text in which the expression is found."""

_ASKING = frozenset({"approval", "ask", "clarification", "confirmation", "permission", "question"})
_SPAWNS = frozenset({"spawn", "delegate", "dispatch"})
_ENDS = frozenset({"kill", "stop", "cancel", "close"})


def says_stop(text: str) -> bool:
    """Tell whether a user's message asks the agent to stop before the end."""
    return _STOP_THERE.search(text[: 4 * _EDGE]) is not None


class Waits(CallProjection):
    """What the agent of one run may be waiting for.

    Attributes:
        text: the last text of the agent, bounded.
        told_to_stop: whether the user's last message asks it to stop before the end.
    """

    def __init__(self) -> None:
        self.text = ""
        self.told_to_stop = False
        self._asked = False
        self._tasks: dict[str, bool] = {}

    @property
    def reason(self) -> str:
        """Why the turn may end with open steps; empty if there is no reason."""
        if any(self._tasks.values()) or (self._tasks and _BEHIND.search(self.text)):
            return "work that it started is still running"
        if self.told_to_stop:
            return "the user asked it to stop on the way"
        return "it asks the user" if self._asked or asks_user(self.text) else ""

    def responded(self, text: TextRecord) -> None:
        """Keep what the agent said last."""
        self.text = text.text[-_EDGE:] if text.text else ""

    def user_spoke(self, message: MessageRecord) -> None:
        """Take an order to stop; a notification ends the work that it is about."""
        self.text = ""
        self._asked = self._asked and message.notification
        if message.notification:
            self._notified(message.text)
            return
        self.told_to_stop = says_stop(message.text)

    def _notified(self, text: str) -> None:
        named = [task for task in self._tasks if task in text]
        for task in named or (list(self._tasks) if has_ended(text) else ()):
            del self._tasks[task]

    def call_ended(self, call: CallRecord, event: ToolInvoked) -> None:
        """Note work that goes on after the call, and work that has ended."""
        self.text = ""
        words = set(name_words(call.tool))
        self._asked = not call.failed and _is_open_question(call, words)
        if self._tasks and not call.failed:
            self._ended(call, words)
        params = event.params if isinstance(event.params, dict) else {}
        behind = params.get("run_in_background") is True or _is_in(
            call.output, _LAUNCHED, _OF_LAUNCHED
        )
        if call.failed or not (behind or (words & _SPAWNS and _only_begun(call))):
            return
        if len(self._tasks) < _LONGEST_TASKS:
            found = _TASK_ID.search(call.output)
            self._tasks[found[1] if found else call.fingerprint] = call.command is None

    def _ended(self, call: CallRecord, words: set[str]) -> None:
        for task in [task for task in self._tasks if task in call.params_text]:
            if words & _ENDS or has_ended(call.output):
                del self._tasks[task]

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {
            "text": self.text,
            "told_to_stop": self.told_to_stop,
            "asked": self._asked,
            "tasks": dict(self._tasks),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self.text = state["text"]
        self.told_to_stop = state["told_to_stop"]
        self._asked = state.get("asked", False)
        self._tasks = dict(state["tasks"])


def _is_open_question(call: CallRecord, words: set[str]) -> bool:
    """Tell whether a call has put a question to the user that is not answered in its result."""
    if _is_in(call.output, _ASKED, _OF_ASKED):
        return True
    return bool(words & _ASKING) and not call.output.strip()


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
