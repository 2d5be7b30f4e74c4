"""Driving one run through a conversation, from its requests and responses alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs

from trimtab._events.provenance import DecisionPoint, Delivery
from trimtab._events.run import Evidence, Outcome, ToolCall
from trimtab._hosting.blocking import BlockingDriver, StopDecision, contained
from trimtab._hosting.calls import end_of
from trimtab._hosting.placement import REQUEST, RESULT, TOOLS

if TYPE_CHECKING:
    from trimtab._contract.tools import RenderedPrompt
    from trimtab._types.limits import Usage

T = TypeVar("T")


class Driver(BlockingDriver):
    """Reports one conversation to a run, and says what text to place where.

    Call `next_request` for every request, `responded` with what came back, `running` and
    `answered` for every tool call, `may_stop` after a response without calls. Twins with ``a`` in
    front ask the providers off the event loop. As a context manager the driver closes the run.

    Text is placed as the host of the run declares it: see `Host.delivery`. The methods may be
    called from several threads.

    A driver never raises into the user's agent: an id that it doesn't know (a step of the runtime
    that runs again, a call of other code), a second answer, and whatever goes wrong in trimtab
    itself are logged, and nothing is placed.

    Args:
        run: opened by ``session.open_run(prompt, host=…)``.
        timeout: seconds that a provider may take, on a worker thread; None asks on the caller's.
        strict: whether methods raise instead: for tests of a host.

    Raises:
        SessionError: the host declares that requests keep their text, and that other text of the
            next request is ephemeral.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        self.close(_reason(error))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        self.close(_reason(error))

    async def arender(self, *params: Any) -> RenderedPrompt[Any]:
        """As `render`, off the event loop."""
        return await off_loop(self.asks(DecisionPoint.PRE_RENDER), self.render, *params)

    async def anext_request(self, **how: Any) -> str:
        """As `next_request`, off the event loop."""
        return await off_loop(self.asks(REQUEST), self.next_request, **how)

    async def aresponded(self, text: str = "", *calls_and_usage: Any, **facts: Any) -> str:
        """As `responded`, off the event loop."""
        asks = self.asks(TOOLS)
        return await off_loop(asks, self.responded, text, *calls_and_usage, **facts)

    async def abefore_tools(self, **how: Any) -> str:
        """As `before_tools`, off the event loop."""
        asks = self.asks(TOOLS)
        return await off_loop(asks, self.before_tools, **how)

    async def aanswered(self, call: ToolCall | str, *result: Any, **facts: Any) -> str:
        """As `answered`, off the event loop."""
        return await off_loop(self._comments(), self.answered, call, *result, **facts)

    async def acomment(self, **how: Any) -> str:
        """As `comment`, off the event loop."""
        return await off_loop(self._comments(), self.comment, **how)

    async def amay_stop(self, text: str | None = None, **stop: Any) -> StopDecision:
        """As `may_stop`, off the event loop."""
        return await off_loop(True, self.may_stop, text, **stop)

    def _comments(self) -> bool:
        return self.asks(RESULT) or bool(self.run.prompt.table.feedback)


async def off_loop(busy: bool, call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call on a thread if a provider has to be asked, else here."""
    if not busy:
        return call(*arguments, **options)
    return await asyncio.to_thread(call, *arguments, **options)


def _reason(error: BaseException | None) -> str:
    if error is None:
        return "completed"
    outcome, text = end_of(error)
    return f"failed: {text}" if outcome is Outcome.ERROR else text


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
