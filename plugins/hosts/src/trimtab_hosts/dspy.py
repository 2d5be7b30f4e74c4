"""trimtab for DSPy: a ``ReActV2`` whose adapter is guided, and whose ``submit`` is the gate."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

import attrs
import dspy

from trimtab import Outcome, Prompt, Session, ToolCall
from trimtab.hosting import AgentStopped, Answer, Chat, Drivers
from trimtab_hosts._hosts import DSPY as HOST, failed_outcome

__all__ = ["HOST", "TrimtabReAct"]

_SUBMIT = "submit"


@attrs.define(eq=False)
class _Forward:
    """One ``forward`` of an agent."""

    chat: Chat
    forced: bool = False
    text: str = ""


_RUNNING: ContextVar[_Forward | None] = ContextVar("trimtab_forward", default=None)


class TrimtabReAct(dspy.ReActV2):
    """A ``ReActV2`` that the providers of a prompt guide.

    A call is a conversation, unless it names one, for a call that is given an earlier ``history``:
    ``agent(question=…, history=…, conversation="ada")``.

    Args:
        signature, tools, max_iters: as for ``ReActV2``.
        prompt: names the providers. Its sections are not sent.
        session: where conversations are recorded, as for `Drivers`.
        options: ``deadline``, ``budget``, ``timeout`` and ``strict``, as for `Drivers`.
    """

    def __init__(
        self,
        signature: Any,
        tools: list[Any],
        max_iters: int = 20,
        *,
        prompt: Prompt[Any],
        session: Session | Callable[[str], Session] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(signature, tools, max_iters)
        self.drivers = Drivers(prompt, session, HOST, **options)
        plain = self.tools[_SUBMIT]
        self.tools[_SUBMIT] = _Submit(
            plain.func, _SUBMIT, plain.desc, args=plain.args, arg_types=plain.arg_types
        )

    def forward(self, conversation: str | None = None, **given: Any) -> Any:
        """Do a task.

        Args:
            conversation: its name; None for a new one.
            given: as for ``ReActV2``.
        """
        with self._guided(conversation, given):
            return super().forward(**given)

    async def aforward(self, conversation: str | None = None, **given: Any) -> Any:
        """As `forward`, on an event loop."""
        with self._guided(conversation, given):
            return await super().aforward(**given)

    @contextmanager
    def _guided(self, conversation: str | None, given: dict[str, Any]) -> Iterator[None]:
        chat = self.drivers.of(conversation or uuid4().hex)
        chat.user_said("\n".join(str(given.get(one, "")) for one in self.signature.input_fields))
        token = _RUNNING.set(_Forward(chat))
        try:
            with chat, dspy.context(adapter=_guided_adapter()):
                yield
        finally:
            _RUNNING.reset(token)


class _Submit(dspy.Tool):
    """The final answer. What is no mapping of outputs is a result that the model reads."""

    def __call__(self, **given: Any) -> Any:
        running = _RUNNING.get()
        if running is None:
            return super().__call__(**given)
        decision = running.chat.may_stop(output=given, final=running.forced)
        return super().__call__(**given) if decision else decision.text

    async def acall(self, **given: Any) -> Any:
        running = _RUNNING.get()
        if running is None:
            return await super().acall(**given)
        decision = await running.chat.amay_stop(output=given, final=running.forced)
        return await super().acall(**given) if decision else decision.text


class _Guided:
    """What a guided adapter does around its own requests; others pass."""

    def __call__(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        ask: Any = super().__call__  # type: ignore[misc]
        running = _of_an_agent(inputs)
        if running is None:
            return ask(lm, lm_kwargs, signature, demos, inputs)
        _begins(running, lm_kwargs, running.chat.request(_answers(running, inputs)))
        values = ask(lm, lm_kwargs, signature, demos, inputs)
        running.chat.response(*_heard(values))
        return values

    async def acall(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        ask: Any = super().acall  # type: ignore[misc]
        running = _of_an_agent(inputs)
        if running is None:
            return await ask(lm, lm_kwargs, signature, demos, inputs)
        _begins(running, lm_kwargs, await running.chat.arequest(_answers(running, inputs)))
        values = await ask(lm, lm_kwargs, signature, demos, inputs)
        await running.chat.aresponse(*_heard(values))
        return values

    def format(self, signature: Any, demos: Any, inputs: Any) -> list[dict[str, Any]]:
        plain: Any = super().format  # type: ignore[misc]
        messages: list[dict[str, Any]] = plain(signature, demos, inputs)
        running = _RUNNING.get()
        if running is None or not running.text:
            return messages
        text, running.text = running.text, ""
        return [*messages, {"role": "user", "content": text}]


def _guided_adapter() -> Any:
    """Return a guided copy of the adapter that is set, or of DSPy's default."""
    adapter = copy.copy(dspy.settings.adapter or dspy.ChatAdapter())
    kind = type(adapter)
    if not issubclass(kind, _Guided):
        adapter.__class__ = type(kind.__name__, (_Guided, kind), {})
    return adapter


def _of_an_agent(inputs: dict[str, Any]) -> _Forward | None:
    tools = inputs.get("tools")
    agents = isinstance(tools, list) and any(isinstance(tool, _Submit) for tool in tools)
    return _RUNNING.get() if agents else None


def _begins(running: _Forward, lm_kwargs: dict[str, Any], text: str) -> None:
    if running.chat.stop_request is not None:
        raise AgentStopped(running.chat.stop_request)
    running.text = text
    running.forced = bool(lm_kwargs.get("tool_choice"))


def _answers(running: _Forward, inputs: dict[str, Any]) -> list[Answer]:
    """Return the answers of the last calls; DSPy names them only after the response is read."""
    history = inputs.get("history")
    last = history.messages[-1] if history is not None and history.messages else {}
    results = getattr(last.get("tool_calls"), "tool_call_results", None)
    if results is None:
        return []
    schemas = {tool.name: _schema(tool) for tool in inputs["tools"]}
    ran = [one for one in results.tool_call_results if one.name != _SUBMIT]
    return [
        Answer(call.call_id, one.value, _outcome(one.is_error, schemas.get(call.tool), call))
        for call, one in zip(running.chat.open_calls, ran, strict=False)
    ]


def _outcome(failed: bool, schema: dict[str, Any] | None, call: ToolCall) -> Outcome:
    return failed_outcome(schema, call.params) if failed else Outcome.OK


def _schema(tool: Any) -> dict[str, Any]:
    schema: dict[str, Any] = tool.format_as_litellm_function_call()["function"]["parameters"]
    return schema


def _heard(values: list[dict[str, Any]]) -> tuple[str, list[ToolCall]]:
    value = values[0]
    calls = getattr(value.get("tool_calls"), "tool_calls", ())
    final = "".join(str(call.args) for call in calls if call.name == _SUBMIT)
    asked = [ToolCall(c.name, c.args or {}, c.id or "") for c in calls if c.name != _SUBMIT]
    return final or str(value.get("next_thought") or ""), asked
