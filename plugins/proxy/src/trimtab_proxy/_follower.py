"""Tells one run what a request's items say, within bounds, and asks it what to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Clock, DecisionPoint, Outcome, ToolCall
from trimtab.events import Evidence
from trimtab.text import render_block
from trimtab_proxy._items import NOTIFICATIONS, Answer, Item, Kind, Wire, string
from trimtab_signals import asks_user

if TYPE_CHECKING:
    from trimtab import Run

LONGEST_TEXT = 20_000
_EDGE = 8_000
_MOST_ITEMS = 2_000
_DEEPEST = 40


def bounded(value: Any, depth: int = 0) -> Any:
    """Return a JSON-like value whose texts, lists and depth are cut to a bound.

    Of a longer text, head and tail are left, and a digest, so that two that differ in the middle
    still differ.
    """
    if isinstance(value, str):
        return _ends(value) if len(value) > LONGEST_TEXT else value
    if not isinstance(value, dict | list):
        return value
    if depth >= _DEEPEST:
        return None
    if isinstance(value, dict):
        kept = list(value.items())[:_MOST_ITEMS]
        return {key: bounded(item, depth + 1) for key, item in kept}
    return [bounded(item, depth + 1) for item in value[:_MOST_ITEMS]]


def _ends(text: str) -> str:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    left_out = f"\n[… {len(text) - 2 * _EDGE} characters left out, {digest} …]\n"
    return text[:_EDGE] + left_out + text[-_EDGE:]


NO_WORDS = ""


@attrs.frozen
class RequestInfo:
    """What is recorded of a request with its answer, as far as it is known."""

    model: str = ""
    provider: str = ""
    started: datetime | None = None


@attrs.frozen
class Heard:
    """An answer of the model that no request has confirmed yet.

    Args:
        at: monotonic seconds at its end.
        asked: what the user had said at the end of the request.
        told: whether the run knows both already.
    """

    answer: Answer
    at: float
    asked: tuple[str, ...] = ()
    told: bool = False
    request: RequestInfo = attrs.field(factory=RequestInfo)
    ended: datetime | None = None

    @property
    def about(self) -> dict[str, Any]:
        """What is recorded of the response beside its words."""
        return {**attrs.asdict(self.request), "at": self.ended}


class Follower:
    """Follows one conversation in a run of its own.

    Nothing is told before a later request confirms it: programs ask the model questions of their
    own about a conversation, and take them back.

    Args:
        open_run: opens the run, once there is something to tell.
        spoke: called with each provider that speaks, and with what it says.
    """

    def __init__(
        self,
        open_run: Callable[[], Run],
        timeout: float,
        clock: Clock,
        spoke: Callable[[str, str], None],
    ) -> None:
        self._open_run = open_run
        self._run: Run | None = None
        self._timeout = timeout
        self._clock = clock
        self._monotonic = clock.monotonic
        self._spoke = spoke
        self._heard: Heard | None = None
        self._open: dict[str, ToolCall] = {}
        self._summary_follows = False

    @property
    def has_run(self) -> bool:
        """Whether there was something to tell yet."""
        return self._run is not None

    @property
    def run(self) -> Run:
        """The run; opened where it is not yet."""
        if self._run is None:
            self._run = self._open_run()
        return self._run

    def heard(
        self, answer: Answer, asked: Iterable[str], request: RequestInfo | None = None
    ) -> None:
        """Keep an answer, and what the user had asked before it, until a request confirms it."""
        self._heard = Heard(
            answer,
            self._monotonic(),
            tuple(asked),
            request=request or RequestInfo(),
            ended=self._clock.now() if request else None,
        )

    def commit(
        self, answer: Answer, asked: Iterable[str], request: RequestInfo | None = None
    ) -> None:
        """Tell the run an answer at once, and what the user had asked before it; as `heard`."""
        known = self._known_words()
        self.heard(answer, asked, request)
        heard = self._heard
        assert heard is not None
        for words in heard.asked:
            if words not in known:
                self._user_said(words)
        self._respond(heard)
        self._heard = attrs.evolve(heard, told=True)

    def refuse(self, answer: Answer) -> str:
        """Return why the calls of an answer are not run; empty if they are."""
        run, pending = self.run, answer.calls
        refused = run.guide(
            DecisionPoint.PRE_TOOL_EXECUTION, pending=pending, timeout=self._timeout
        )
        if not refused:
            return ""
        for injection in refused.injections:
            self._spoke(injection.source, injection.content)
        for call in pending:
            run.tool_finished(
                call.call_id,
                outcome=Outcome.DENIED,
                evidence=Evidence.DERIVED,
                error=refused.text,
                tool=call.tool,
                params=bounded(call.params),
            )
        return refused.text

    def may_stop(self, answer: Answer) -> str:
        """Return why the agent may not stop after an answer; empty if it may."""
        checked = self.run.check_completion(
            output=answer.text,
            stop_reason=string(answer.stop_reason) or None,
            awaiting_user=asks_user(answer.text),
        )
        if checked.may_stop:
            return ""
        self._spoke("completion", checked.feedback or "")
        return render_block("feedback", checked.feedback or "", source="completion")

    def compacted(self, *, summary_follows: bool) -> None:
        """The program shortened the conversation."""
        self._interrupt()
        self._summary_follows = summary_follows
        self.run.compacted()

    def tell(self, wire: Wire, items: Sequence[Item], known: int, *, live: bool) -> str:
        """Tell the run all items from `known` on; return what is said at the end of them.

        Args:
            live: whether words can be placed now. What would have been said at earlier requests
                is counted and not said.
        """
        words, heard = NO_WORDS, self._heard
        seconds = None if heard is None else self._monotonic() - heard.at
        for group in _groups(items, known):
            last = group[-1] is items[-1]
            if group[0].kind is Kind.RESULT:
                self._answered(wire, items, group, seconds)
                words = self._ask(replayed=not (live and last))
            elif group[0].kind is Kind.USER:
                self._user_spoke(group)
            else:
                self._responded(wire, group)
        return words if live else NO_WORDS

    def close(self, reason: str) -> None:
        """End the run; an answer that nothing followed was its last."""
        if self._run is None:
            return
        heard = self._heard
        if heard is not None and not heard.told and not self.run.state.closed:
            for words in heard.asked:
                self._user_said(words)
            self._respond(heard)
        self.run.close(reason)

    def _user_spoke(self, group: Sequence[Item]) -> None:
        self._interrupt()
        known = self._known_words()
        for item in group:
            if item.raw not in known:
                self._user_said(item.raw)

    def _known_words(self) -> tuple[str, ...]:
        return self._heard.asked if self._heard is not None and self._heard.told else ()

    def _user_said(self, words: str) -> None:
        notification = self._summary_follows or words.lstrip().startswith(NOTIFICATIONS)
        self._summary_follows = False
        self.run.user_message(words, notification=notification)

    def _respond(self, heard: Heard) -> None:
        answer = heard.answer
        self.run.model_responded(
            text=answer.text,
            tool_calls=[_bounded_call(call) for call in answer.calls],
            usage=answer.usage,
            stop_reason=string(answer.stop_reason) or None,
            **heard.about,
        )

    def _responded(self, wire: Wire, group: Sequence[Item]) -> None:
        self._interrupt()
        calls = [_bounded_call(wire.call(item)) for item in group if item.kind is Kind.CALL]
        texts = [item.raw for item in group if item.kind is Kind.TEXT]
        self._open = {call.call_id: call for call in calls}
        heard = self._confirmed(calls)
        if heard is None or not heard.told:
            more = {"usage": heard.answer.usage, **heard.about} if heard else {}
            self.run.model_responded(text="\n".join(texts), tool_calls=calls, **more)
        if not calls:
            self._heard = None

    def _confirmed(self, calls: Sequence[ToolCall]) -> Heard | None:
        """Return the answer that was heard, where the response in the request is the same."""
        if self._heard is None:
            return None
        answer = self._heard.answer
        same = [call.call_id for call in answer.calls if call.call_id] == _ids(answer, calls)
        return self._heard if same else None

    def _answered(
        self, wire: Wire, items: Sequence[Item], group: Sequence[Item], seconds: float | None
    ) -> None:
        timed = seconds if self._heard is not None else None
        for item in group:
            call_id, result = wire.result(item)
            call = self._open.pop(call_id, None) or _asked_before(wire, items, item, call_id)
            self.run.tool_finished(
                call_id,
                bounded(result.content),
                outcome=result.outcome,
                evidence=result.evidence,
                error=result.error and bounded(result.error),
                duration=timed,
                tool=call.tool,
                params=call.params,
            )
        self._heard = None

    def _interrupt(self) -> None:
        """Record the calls that got no answer before the conversation went on."""
        for call in self._open.values():
            self.run.tool_finished(
                call.call_id,
                outcome=Outcome.INTERRUPTED,
                evidence=Evidence.DERIVED,
                error="interrupted",
                tool=call.tool,
                params=call.params,
            )
        self._open = {}

    def _ask(self, *, replayed: bool) -> str:
        """Return what is said after tools have answered; nothing of what is only replayed."""
        how: dict[str, Any] = {"timeout": self._timeout, "replayed": replayed}
        guided = self.run.guide(DecisionPoint.POST_TOOL_RESULT, **how)
        feedback = self.run.due_feedback(**how)
        next_step = self.run.guide(DecisionPoint.PRE_TOOL_SELECTION, **how)
        for injection in (*guided.injections, *next_step.injections):
            self._spoke(injection.source, injection.content)
        for each in feedback:
            self._spoke(each.provider_name, each.summary)
        said = (guided.text, *(each.render() for each in feedback), next_step.text)
        return "\n".join(text for text in said if text)


def _bounded_call(call: ToolCall) -> ToolCall:
    # A model may name no tool, which a host must.
    return attrs.evolve(call, tool=call.tool or "unnamed_tool", params=bounded(call.params))


def _ids(answer: Answer, calls: Sequence[ToolCall]) -> list[str]:
    """Return the ids of confirmed calls in a form that compares with those of an answer."""
    if answer.calls and not any(call.call_id for call in answer.calls):
        return [] if len(answer.calls) == len(calls) else ["?"]
    return [call.call_id for call in calls]


def _groups(items: Sequence[Item], known: int) -> Iterable[Sequence[Item]]:
    """Yield runs of items of one speaker, from `known` on."""
    start = known
    for index in range(known + 1, len(items) + 1):
        if index == len(items) or _speaker(items[index]) is not _speaker(items[start]):
            yield items[start:index]
            start = index


def _speaker(item: Item) -> Kind:
    return Kind.TEXT if item.kind is Kind.CALL else item.kind


def _asked_before(wire: Wire, items: Sequence[Item], result: Item, call_id: str) -> ToolCall:
    """Return the call that a result answers, from what the request holds before it."""
    before = items[: next(i for i, item in enumerate(items) if item is result)]
    for item in reversed(before):
        if item.kind is Kind.CALL:
            call = wire.call(item)
            if call.call_id == call_id:
                return _bounded_call(call)
    return ToolCall("unknown", {}, call_id)
