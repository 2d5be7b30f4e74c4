"""Hooks for people with a loop of their own, and what `GuidedLoop` is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from trimtab import (
    DecisionPoint,
    Delivery,
    Outcome,
    RenderedPrompt,
    Run,
    TaskCompletionChecker,
    ToolCall,
)
from trimtab.events import CompletionChecked
from trimtab.hosting import Driver
from trimtab_openai._model_response import Json, ModelResponse, as_messages, provider_of
from trimtab_openai._settings import DEFAULTS, Settings


@attrs.frozen
class StopDecision:
    """Whether the agent may stop; truthy if it may.

    Args:
        may_stop: if not, ask the model again.
        messages: to be appended to the conversation before that.
        checked: what the completion gate found; None if guidance asks for another answer.
    """

    may_stop: bool
    messages: tuple[Json, ...] = ()
    checked: CompletionChecked | None = None

    def __bool__(self) -> bool:
        return self.may_stop


class LoopHooks:
    """Translates between one run and the messages of one conversation.

    Call `before_request` for every request, `after_response` with what came back, `after_tool`
    for every tool call, `may_stop` after an answer without calls. Each has a twin with ``a`` in
    front that keeps an event loop free.

    Args:
        run: opened by ``session.open_run(prompt, host=HOST)``.
        settings: `api`, `place`, `role` and `timeout` matter here. Without a role, guidance is a
            message of the system.

    Raises:
        SessionError: the run is closed.
    """

    def __init__(self, run: Run, settings: Settings = DEFAULTS) -> None:
        self.run = run
        self.driver = Driver(run, timeout=settings.timeout, strict=True)
        self._settings = settings
        self._interface = settings.interface

    def render(self, *params: Any) -> RenderedPrompt[Any]:
        """Return the prompt, rendered, as the request of the user that begins the conversation.

        PRE_RENDER guidance goes to the next request alone.

        Args:
            params: as for `Prompt.render`.
        """
        return self.driver.render(*params)

    def user_said(self, text: str) -> None:
        """Record a request of the user, once; the gate's counts are reset.

        Args:
            text: what the user says.
        """
        self.driver.user_said(text)

    def before_request(self, messages: str | Sequence[Any]) -> list[Any]:
        """Return what to send: `messages`, and guidance at the end if there is any.

        `messages` is not changed. Asked again before anything has happened (a retry), the answer
        is the same.

        Args:
            messages: the conversation; a string is one message of the user.
        """
        return self._with_guidance(as_messages(messages), self.driver.next_request())

    def after_response(self, response: Any) -> tuple[ToolCall, ...]:
        """Record a response of the client; return the calls in it.

        Args:
            response: the client's object, or a decoded one.

        Raises:
            ModelFailed: it holds no answer.
        """
        return self.responded(self._interface.read(response))

    def responded(self, response: ModelResponse) -> tuple[ToolCall, ...]:
        """Record a response that has been read already."""
        self.driver.heard(
            response.text or response.refusal,
            response.tool_calls,
            response.usage,
            reasoning=response.reasoning,
            stop_reason=response.stop_reason,
            model=response.model,
            provider=provider_of(self.run.host.name, response.model),
        )
        return response.tool_calls

    def before_tools(self, *, last: bool = False) -> str:
        """Return what providers say about the calls of the response, for `ToolContext.guidance`.

        The model reads it in the next request.

        Args:
            last: the model won't be asked again, so no provider is asked what it should read.
        """
        return self.driver.before_tools(delivery=_delivery(last))

    def after_tool(
        self,
        call: ToolCall | str,
        content: Any,
        *,
        outcome: Outcome = Outcome.OK,
        error: str | None = None,
        duration: float | None = None,
        last: bool = False,
    ) -> Any:
        """Record how a call ended; return the content of its tool message, feedback appended.

        Args:
            call: the call or its id.
            content: what the tool answered, text or parts.
            outcome: how the call ended.
            error: the error's text; `content` as text if None and the call failed.
            duration: seconds, if known.
            last: as in `before_tools`; what is due waits for another request.

        Raises:
            SessionError: the last response held no call of that id, or it has its answer already.
        """
        text = self.driver.answered(
            call, content, outcome, error=error, duration=duration, delivery=_delivery(last)
        )
        return self._interface.append(content, text) if text else content

    def comment(self, content: Any, *, last: bool = False) -> Any:
        """Return `content` with the feedback that is due after a call recorded elsewhere.

        Args:
            content: what the tool answered, text or parts.
            last: as in `after_tool`.
        """
        text = self.driver.comment(delivery=_delivery(last))
        return self._interface.append(content, text) if text else content

    def may_stop(
        self,
        *,
        output: Any = None,
        stop_reason: str | None = None,
        checkers: Iterable[TaskCompletionChecker] = (),
        awaiting_user: bool = False,
        background_work: bool = False,
        last: bool = False,
    ) -> StopDecision:
        """Return whether the agent may stop after an answer without calls.

        Args:
            output: what it ends with; the text of the last response if None.
            stop_reason: why the service ended the response.
            checkers: asked after the prompt's own.
            awaiting_user: the answer is a question to the user.
            background_work: something that it started will wake it.
            last: the model won't be asked again, so no provider is asked how it should answer.
        """
        decision = self.driver.may_stop(
            output=output,
            stop_reason=stop_reason,
            checkers=checkers,
            awaiting_user=awaiting_user,
            background_work=background_work,
            delivery=_delivery(last),
        )
        said = ({"role": "user", "content": decision.text},) if decision.text else ()
        return StopDecision(decision.may_stop, said, decision.checked)

    def exhausted(self) -> str | None:
        """Return why nothing more may be asked of the model; None if it may."""
        return self.driver.exhausted()

    def asks(self, point: DecisionPoint) -> bool:
        """Return whether a provider would be asked at this point."""
        return self.driver.asks(point)

    async def abefore_request(self, messages: str | Sequence[Any]) -> list[Any]:
        """As `before_request`, off the event loop."""
        return self._with_guidance(as_messages(messages), await self.driver.anext_request())

    async def abefore_tools(self, *, last: bool = False) -> str:
        """As `before_tools`, off the event loop."""
        return await self.driver.abefore_tools(delivery=_delivery(last))

    async def aafter_tool(
        self, call: ToolCall | str, content: Any, *, last: bool = False, **facts: Any
    ) -> Any:
        """As `after_tool`, off the event loop."""
        text = await self.driver.aanswered(call, content, delivery=_delivery(last), **facts)
        return self._interface.append(content, text) if text else content

    async def acomment(self, content: Any, *, last: bool = False) -> Any:
        """As `comment`, off the event loop."""
        text = await self.driver.acomment(delivery=_delivery(last))
        return self._interface.append(content, text) if text else content

    async def amay_stop(self, **stop: Any) -> StopDecision:
        """As `may_stop`, off the event loop."""
        import asyncio

        return await asyncio.to_thread(self.may_stop, **stop)

    def _with_guidance(self, messages: list[Any], text: str) -> list[Any]:
        if not text:
            return messages
        if self._settings.place == "tool" and messages:
            last = self._interface.with_text(messages[-1], text)
            if last is not None:
                return [*messages[:-1], last]
        return [*messages, {"role": self._settings.role or "system", "content": text}]


def _delivery(last: bool) -> Delivery | None:
    return Delivery.NONE if last else None
