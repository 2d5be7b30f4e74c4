"""One request brought to its end by the real program."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from trimtab import Usage

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, SystemMessage

    from trimtab import Heartbeat, Run

INTERRUPT_TIMEOUT = 10.0
"""How long the program may take to end after it was interrupted."""

CANCEL_TIMEOUT = 2.0
"""The same where the caller has cancelled the run."""

DEADLINE = "deadline"

OVER_BUDGET = "error_max_budget_usd"
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


@attrs.define
class Ending:
    """How the request ended.

    Attributes:
        result: the program's last message, None if it was cut off before.
        exhausted: why it was interrupted (``"deadline"``, ``"budget: LIMIT"``), None if it
            was not.
    """

    result: ResultMessage | None = None
    text: str | None = None
    exhausted: str | None = None


@attrs.define
class Conversation:
    """Sends one request and listens until its end, or until time or budget are used up.

    Args:
        run: whose deadline and budget are kept.
        used: told what each response used.
    """

    run: Run
    used: Callable[[Usage], None]
    heartbeat: Heartbeat | None = None
    _ending: Ending = attrs.field(factory=Ending, init=False)
    _counted: Usage = attrs.field(factory=Usage, init=False)
    _told: set[str] = attrs.field(factory=set, init=False)
    _cost: float = attrs.field(default=0.0, init=False)
    _subagents: int = attrs.field(default=0, init=False)

    async def hold(self, options: ClaudeAgentOptions, text: str) -> Ending:
        """Bring the request `text` to its end; nothing is started where no time is left."""
        from claude_agent_sdk import ClaudeSDKClient

        self._ending.exhausted = self._used_up()
        if self._ending.exhausted is not None:
            return self._ending
        async with ClaudeSDKClient(options) as client:
            await client.query(text)
            listener = asyncio.ensure_future(self._listen(client))
            try:
                await self._heard(client, listener)
            except asyncio.CancelledError:
                # Otherwise closing waits seconds for the call that is running.
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(client.interrupt(), CANCEL_TIMEOUT)
                raise
            finally:
                listener.cancel()
        return self._ending

    async def _heard(self, client: ClaudeSDKClient, listener: asyncio.Future[None]) -> None:
        await asyncio.wait({listener}, timeout=self._seconds_left())
        if not listener.done():
            await self._cut_off(client, listener)
        if listener.done():
            listener.result()

    async def _cut_off(self, client: ClaudeSDKClient, listener: asyncio.Future[None]) -> None:
        """Interrupt the agent and wait for its end; a program that hangs does neither."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(INTERRUPT_TIMEOUT):
                await self._interrupt(client, self._used_up() or DEADLINE)
                await asyncio.wait({listener})

    def _used_up(self) -> str | None:
        """Return which limit of the run leaves no time, None if some is left."""
        if self.run.deadline is not None and self.run.deadline.expired:
            return DEADLINE
        limit = self.run.exhausted_budget()
        return f"budget: {limit}" if limit else None

    def _seconds_left(self) -> float | None:
        """Return the seconds until deadline or budget end the run, None for no limit."""
        limits = []
        if self.run.deadline is not None:
            limits.append(self.run.deadline.remaining().total_seconds())
        if self.run.budget is not None and self.run.budget.max_active_seconds is not None:
            limits.append(self.run.budget.max_active_seconds - self.run.active_seconds)
        return max(0.0, min(limits)) if limits else None

    async def _interrupt(self, client: ClaudeSDKClient, why: str) -> None:
        if self._ending.exhausted is None:
            self._ending.exhausted = why
            await client.interrupt()

    async def _listen(self, client: ClaudeSDKClient) -> None:
        async for message in client.receive_messages():
            if self.heartbeat is not None:
                self.heartbeat.beat()
            self._hear(message)
            if self._ended(message):
                return
            limit = self.run.exhausted_budget()
            if limit is not None:
                await self._interrupt(client, f"budget: {limit}")

    def _ended(self, message: Any) -> bool:
        """Whether the stream has ended; subagents in the background wake the agent once more."""
        result = self._ending.result
        if result is None or result is not message:
            return False
        answered = result.structured_output is not None
        return answered or self._ending.exhausted is not None or self._subagents == 0

    def _hear(self, message: Any) -> None:
        from claude_agent_sdk import (
            AssistantMessage,
            ResultMessage,
            StreamEvent,
            SystemMessage,
            TextBlock,
        )

        if isinstance(message, ResultMessage):
            self._settle(message)
        elif isinstance(message, StreamEvent):
            self._stream(message.event)
        elif isinstance(message, SystemMessage):
            self._note_tasks(message)
        elif isinstance(message, AssistantMessage):
            self._read(message.message_id, message.usage)
            if message.parent_tool_use_id is None:
                words = [block.text for block in message.content if isinstance(block, TextBlock)]
                self._ending.text = "".join(words) or self._ending.text

    def _note_tasks(self, message: SystemMessage) -> None:
        if message.subtype == "background_tasks_changed":
            tasks = message.data.get("tasks") or ()
            self._subagents = sum(task.get("task_type") == "local_agent" for task in tasks)

    def _stream(self, event: Any) -> None:
        kind = event.get("type")
        if kind == "message_start":
            begun = event.get("message", {})
            self._read(begun.get("id"), begun.get("usage"))
        elif kind == "message_delta":
            told = tokens_of(event.get("usage"))
            self._count(Usage(output_tokens=told.output_tokens))

    def _read(self, message_id: str | None, told: Any) -> None:
        """Count what the model read for a message: each of its blocks tells it again."""
        if message_id is not None and message_id not in self._told:
            self._told.add(message_id)
            self._count(Usage(tokens_of(told).input_tokens))

    def _count(self, usage: Usage) -> None:
        if usage != Usage():
            self._counted = self._counted + usage
            self.used(usage)

    def _settle(self, result: ResultMessage) -> None:
        """Take the end of a request: its tokens beyond those streamed, its share of the cost."""
        self._ending.result = result
        if result.subtype == OVER_BUDGET:
            self._ending.exhausted = "budget: max_cost"
        told, cost = tokens_of(result.usage), result.total_cost_usd or 0.0
        self._count(
            Usage(
                max(0, told.input_tokens - self._counted.input_tokens),
                max(0, told.output_tokens - self._counted.output_tokens),
                max(0.0, cost - self._cost),
            )
        )
        self._counted, self._cost = Usage(), cost
        self._told.clear()


def tokens_of(told: Any) -> Usage:
    """Return the program's account of tokens; those read from or put into a cache are input."""
    told = told or {}
    read = sum(max(0, told.get(key) or 0) for key in _READ)
    return Usage(input_tokens=read, output_tokens=max(0, told.get("output_tokens") or 0))
