"""How the relay asks: it waits for a bounded time, whatever happens where providers are asked.

`LocalGuidance` asks them in this process, `GuideLink` in another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from trimtab_proxy._gate import Verdict
from trimtab_proxy._guide import Counts, Guide
from trimtab_proxy._items import Answer
from trimtab_proxy._json import Unreadable
from trimtab_proxy._service import Decided, GuideService

DECISION_SECONDS = 5.0
"""How long a request waits for text at most; then it goes on without."""

JUDGE_SECONDS = 60.0
"""The same for the end of an answer, where completion checkers are asked."""

_WORKERS = 16
RawHeaders = Sequence[tuple[bytes, bytes]]
T = TypeVar("T")


class LocalGuidance:
    """Asks providers in this process: one that holds its interpreter holds the relay up too."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self.notes = list(guide.notes)
        self._service = GuideService(guide)
        self._pool = ThreadPoolExecutor(_WORKERS, "trimtab-proxy")

    @property
    def gate(self) -> bool:
        return self.guide.gate

    async def decide(
        self, wire: str, headers: RawHeaders, body: bytes, provider: str = ""
    ) -> Decided:
        ask = self._service.decide
        return await self._within(DECISION_SECONDS, Decided(), ask, wire, headers, body, provider)

    async def heard(self, ticket: int, wire: str, body: bytes, *, streamed: bool) -> None:
        def tell() -> None:
            self._service.heard(ticket, wire, body, streamed=streamed)

        await self._within(DECISION_SECONDS, None, tell)

    async def judge(self, ticket: int, answer: Answer) -> Verdict:
        return await self._within(JUDGE_SECONDS, Verdict(), self._service.judge, ticket, answer)

    async def _within(
        self, seconds: float, otherwise: T, ask: Callable[..., T], *arguments: Any
    ) -> T:
        working = asyncio.get_running_loop().run_in_executor(self._pool, ask, *arguments)
        try:
            return await asyncio.wait_for(working, seconds)
        except Unreadable:
            return otherwise
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent's request goes on
            self.guide.counts.failures[type(error).__name__] += 1
            return otherwise

    def counts(self) -> Counts:
        return self.guide.counts

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.guide.close()
