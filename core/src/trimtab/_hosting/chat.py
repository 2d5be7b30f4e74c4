"""Driving a run from the requests and responses of a conversation alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab._events.provenance import DecisionPoint, Delivery
from trimtab._events.run import Evidence, Outcome, ToolCall
from trimtab._hosting.blocking import contained
from trimtab._hosting.driver import Driver, off_loop
from trimtab._hosting.placement import REQUEST, TOOLS

if TYPE_CHECKING:
    from trimtab._types.limits import Usage

_OURS = ('<guidance source="', '<feedback source="')


@attrs.frozen
class Answer:
    """What a request says of a call: the message of a tool.

    Args:
        call_id: the call that it answers.
        result: what the tool answered, JSON-like or text.
        outcome: how the call ended.
        evidence: how the outcome is known.
    """

    call_id: str
    result: Any = None
    outcome: Outcome = Outcome.OK
    evidence: Evidence = Evidence.FLAG


class Chat(Driver):
    """A driver for a host that sees the requests and the responses of a conversation.

    Call `request` before every request and `response` with what came back; `may_stop` and `close`
    are those of `Driver`, and `running` may be used too, where the runtime lets a host stand
    around its tools. The answers of the calls are taken from the next request, so feedback goes
    with it too. They may be given again and again.

    PRE_RENDER guidance goes with the first request: the runtime renders its own prompt.

    Args:
        run, timeout, strict: as for `Driver`.
    """

    _rendered = False

    @contained("")
    def request(
        self, answers: Iterable[Answer] = (), user: str | Iterable[str] | None = None
    ) -> str:
        """Return the text that this request carries besides the conversation.

        Args:
            answers: the tools' messages in the request; those that are known already, and those
                of calls that no response asked for, are ignored.
            user: what the user newly said; see `user_said`. Text that trimtab has placed is none.
        """
        self._take(answers, user)
        first = not self.run.state.turns and not self._rendered
        if first and self._placement.way(DecisionPoint.PRE_RENDER) is Delivery.EPHEMERAL:
            self._rendered = True
            self._placement.ask(DecisionPoint.PRE_RENDER)
        return self.next_request()

    async def arequest(
        self, answers: Iterable[Answer] = (), user: str | Iterable[str] | None = None
    ) -> str:
        """As `request`, off the event loop."""
        busy = self._comments() or any(map(self.asks, (REQUEST, DecisionPoint.PRE_RENDER)))
        return await off_loop(busy, self.request, answers, user)

    def response(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        **more: Any,
    ) -> None:
        """Record a response; guidance about its calls goes with the next request.

        Args:
            text, calls, usage: as for `responded`.
            more: ``reasoning``, ``stop_reason``, ``model``, ``provider`` and ``at``, as for
                `responded`.
        """
        self.responded(text, calls, usage, **more)

    async def aresponse(
        self,
        text: str = "",
        calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        **more: Any,
    ) -> None:
        """As `response`, off the event loop."""
        await off_loop(self.asks(TOOLS), self.response, text, calls, usage, **more)

    @contained(None)
    def settle(self, answers: Iterable[Answer]) -> None:
        """Record the answers of calls that are open; feedback goes with the next request.

        `request` does it too. A host calls this for answers that no request will carry, because
        the agent ends with them.

        Args:
            answers: as for `request`.
        """
        waiting = {call.call_id for call in self.open_calls} | {*self.run.state.running}
        for answer in answers:
            if answer.call_id in waiting:
                waiting.discard(answer.call_id)
                text = self.answered(
                    answer.call_id, answer.result, answer.outcome, evidence=answer.evidence
                )
                self._placement.carry(text)

    def _take(self, answers: Iterable[Answer], user: str | Iterable[str] | None) -> None:
        self.settle(answers)
        for said in [user] if isinstance(user, str) else user or ():
            if not said.lstrip().startswith(_OURS):
                self.user_said(said)
