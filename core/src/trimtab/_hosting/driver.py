"""Driving one run through the requests of one conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar

from trimtab._events.provenance import DecisionPoint
from trimtab._events.run import Outcome, ToolCall
from trimtab._hosting.blocking import BlockingDriver, StopDecision
from trimtab._hosting.calls import end_of
from trimtab._hosting.placement import REQUEST, RESULT, TOOLS

if TYPE_CHECKING:
    from trimtab._contract.tools import RenderedPrompt

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
