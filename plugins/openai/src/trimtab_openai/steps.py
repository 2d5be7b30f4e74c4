"""Single steps for people with a loop of their own, and what `GuidedLoop` is made of."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from trimtab import (
    CompletionChecked,
    DecisionPoint,
    Outcome,
    RenderedPrompt,
    Run,
    SessionError,
    TaskCompletionChecker,
    ToolCall,
    render_block,
)
from trimtab_openai.reply import Json, Reply, as_messages
from trimtab_openai.settings import DEFAULTS, Settings


@attrs.frozen
class Verdict:
    """Whether the agent may stop; truthy where it may.

    Args:
        may_stop: if not, ask the model again.
        messages: to be appended to the conversation before that.
        checked: what the completion gate found; None where guidance asks for another answer.
    """

    may_stop: bool
    messages: tuple[Json, ...] = ()
    checked: CompletionChecked | None = None

    def __bool__(self) -> bool:
        return self.may_stop


class Steps:
    """Translates between one run and the messages of one conversation.

    Call `before_request` for every request, `after_response` with what came back, `after_tool`
    for every tool call, `may_stop` after an answer without calls. Each has a twin with ``a`` in
    front that keeps an event loop free.

    Args:
        run: opened by ``session.open_run(prompt, host=HOST)``.
        settings: `api`, `place`, `role` and `limit` matter here.
    """

    def __init__(self, run: Run, settings: Settings = DEFAULTS) -> None:
        self.run = run
        self._settings = settings
        self._wire = settings.wire
        self._carried: list[str] = []
        self._tail: str | None = None
        self._calls: dict[str, ToolCall] = {}
        self._open: Counter[str] = Counter()
        self._unanswered: str | None = None

    def render(self, *params: Any) -> RenderedPrompt[Any]:
        """Return the prompt, rendered, as the request of the user that begins the conversation.

        PRE_RENDER guidance goes to the next request alone.
        """
        rendered: RenderedPrompt[Any] = self.run.prompt.render(*params)
        self.run.rendered = rendered
        self.user_said(rendered.text)
        if self.exhausted() is None:
            self._ask(DecisionPoint.PRE_RENDER)
        return rendered

    def user_said(self, text: str) -> None:
        """Record a request of the user, once; what the gate counts starts anew."""
        if text == self._unanswered:
            return
        self._unanswered = text
        self._tail = None
        self.run.user_message(text)

    def before_request(self, messages: str | Sequence[Any]) -> list[Any]:
        """Return what to send: `messages` with guidance at the end, where there is any.

        A string is one message of the user.

        `messages` and what they hold stay as they are. Asked again before anything has happened
        (a retry), the answer is the same.
        """
        messages = as_messages(messages)
        if self._tail is None:
            self._ask(DecisionPoint.PRE_TOOL_SELECTION)
            self._tail = "\n".join(self._carried)
            self._carried = []
        return self._placed(messages, self._tail) if self._tail else messages

    def after_response(self, response: Any) -> tuple[ToolCall, ...]:
        """Record a response of the client (an object or a dict); return the calls in it.

        Raises:
            ModelFailed: it holds no answer.
        """
        return self.heard(self._wire.read(response))

    def heard(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Record a response that has been read already."""
        self._tail = None
        self._unanswered = None
        self._calls = {call.call_id: call for call in reply.tool_calls}
        self._open = Counter(call.call_id for call in reply.tool_calls)
        self.run.model_responded(
            text=reply.text or reply.refusal,
            reasoning=reply.reasoning,
            tool_calls=reply.tool_calls,
            usage=reply.usage,
        )
        return reply.tool_calls

    def before_tools(self, calls: Iterable[ToolCall], *, last: bool = False) -> str:
        """Return what providers say about calls that are about to run, for `ToolContext.guidance`.

        The model reads it in the next request.

        Args:
            last: the model can't be asked again, so nobody is asked what it should read.
        """
        return "" if last else self._ask(DecisionPoint.PRE_TOOL_EXECUTION, tuple(calls))

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
            error: the error's text; `content` where None and the outcome is a failure.
            duration: seconds, where known.
            last: as in `before_tools`; what is due waits for another request.

        Raises:
            SessionError: the last response held no call of that id, or it has its answer already.
        """
        known = call if isinstance(call, ToolCall) else self._calls.get(call, call)
        tool, params = (None, None) if isinstance(known, str) else (known.tool, known.params)
        self._answer(known if isinstance(known, str) else known.call_id)
        self.run.tool_finished(
            known if isinstance(known, str) else known.call_id,
            content,
            outcome=outcome,
            error=str(content) if error is None and outcome is not Outcome.OK else error,
            duration=duration,
            tool=tool,
            params=params,
        )
        return self.comment(content, last=last)

    def comment(self, content: Any, *, last: bool = False) -> Any:
        """Return `content` with the feedback that is due after a call recorded elsewhere.

        Args:
            last: as in `after_tool`.
        """
        self._tail = None
        if last:
            return content
        self._ask(DecisionPoint.POST_TOOL_RESULT)
        feedback = self.run.feedback(timeout=self._settings.limit)
        return content if feedback is None else self._wire.append(content, feedback)

    def may_stop(
        self,
        *,
        output: Any = None,
        stop_reason: str | None = None,
        checkers: Iterable[TaskCompletionChecker] = (),
        awaiting_user: bool = False,
        background_work: bool = False,
        last: bool = False,
    ) -> Verdict:
        """Say whether the agent may stop after an answer without calls.

        Args:
            output: what it ends with; the text of the last response where None.
            checkers: asked after the prompt's own.
            awaiting_user: the answer is a question to the user.
            background_work: something that it started will wake it.
            last: the model can't be asked again, so nobody is asked how it should answer.
        """
        self._tail = None
        if not last and self.exhausted() is None and self._ask(DecisionPoint.PRE_RESPONSE):
            return Verdict(may_stop=False)
        response = self.run.state.last_response
        checked = self.run.check_completion(
            output=(response.text if response else None) if output is None else output,
            stop_reason=stop_reason,
            extra=checkers,
            awaiting_user=awaiting_user,
            background_work=background_work,
        )
        if checked.may_stop:
            return Verdict(may_stop=True, checked=checked)
        text = render_block("feedback", checked.feedback or "", source="completion")
        return Verdict(False, ({"role": "user", "content": text},), checked)

    def exhausted(self) -> str | None:
        """Return why nothing more may be asked of the model, None where it may."""
        if self.run.deadline is not None and self.run.deadline.expired:
            return "the deadline has passed"
        limit = self.run.exhausted_budget()
        return f"the budget is used up: {limit}" if limit else None

    def asks(self, point: DecisionPoint) -> bool:
        """Whether a provider would be asked at this point."""
        return bool(self.run.prompt.table.guides.get(point))

    async def abefore_request(self, messages: str | Sequence[Any]) -> list[Any]:
        """As `before_request`."""
        if not self.asks(DecisionPoint.PRE_TOOL_SELECTION):
            return self.before_request(messages)
        return await asyncio.to_thread(self.before_request, messages)

    async def abefore_tools(self, calls: Iterable[ToolCall], *, last: bool = False) -> str:
        """As `before_tools`."""
        if last or not self.asks(DecisionPoint.PRE_TOOL_EXECUTION):
            return ""
        return await asyncio.to_thread(self.before_tools, calls)

    async def aafter_tool(self, call: ToolCall | str, content: Any, **facts: Any) -> Any:
        """As `after_tool`."""
        return await asyncio.to_thread(self.after_tool, call, content, **facts)

    async def acomment(self, content: Any, *, last: bool = False) -> Any:
        """As `comment`."""
        asks = self.asks(DecisionPoint.POST_TOOL_RESULT) or self.run.prompt.table.feedback
        if last or not asks:
            return self.comment(content, last=last)
        return await asyncio.to_thread(self.comment, content)

    async def amay_stop(self, **stop: Any) -> Verdict:
        """As `may_stop`."""
        return await asyncio.to_thread(self.may_stop, **stop)

    def _answer(self, call_id: str) -> None:
        """Count an answer; some services give several calls of a response one id."""
        if call_id in self._calls and not self._open[call_id]:
            raise SessionError(f"call {call_id!r} has its answer already: call after_tool once")
        self._open[call_id] -= 1

    def _ask(self, point: DecisionPoint, pending: tuple[ToolCall, ...] = ()) -> str:
        if point is not DecisionPoint.PRE_TOOL_SELECTION and not self.asks(point):
            return ""
        batch = self.run.guide(point, pending=pending, timeout=self._settings.limit)
        if not batch:
            return ""
        self._carried.append(batch.text)
        return batch.text

    def _placed(self, messages: Sequence[Any], text: str) -> list[Any]:
        if self._settings.place == "tool" and messages:
            last = self._wire.with_text(messages[-1], text)
            if last is not None:
                return [*messages[:-1], last]
        return [*messages, {"role": self._settings.role, "content": text}]
