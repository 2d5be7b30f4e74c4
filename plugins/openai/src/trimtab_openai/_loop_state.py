"""One conversation of a loop, without any I/O, and calls that a model wrote as text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from trimtab import PromptEvaluationError, TaskCompletionChecker, Tool, ToolCall
from trimtab.events import CompletionChecked
from trimtab.text import describe_error, plural
from trimtab_openai._hooks import LoopHooks
from trimtab_openai._model_response import (
    Exhausted,
    Json,
    LoopStopped,
    ModelResponse,
    OutputForm,
    TurnLimitReached,
    describe_tool,
    field,
    make_call_id,
)
from trimtab_openai._settings import Settings

_OPEN, _CLOSE, _FENCE = "<tool_call>", "</tool_call>", "```"
_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "params", "args", "input")
_OTHERS = frozenset({"type", "id"})


@attrs.frozen
class TextCalls:
    """Calls found in a text, with identifiers made up here, and what the model says besides."""

    calls: tuple[ToolCall, ...]
    text: str


def read_text_calls(text: str, tools: Collection[str]) -> TextCalls | None:
    """Return the calls that `text` consists of or ends with; None if that is not certain.

    A call is certain if it is in ``<tool_call>`` tags, or is the whole text or a fence at its
    end; if it names one of `tools`; if its arguments are an object; and if nothing else in
    the text looks like a call.
    """
    before, bodies = _bodies(text.strip())
    calls = [_call(body, tools) for body in bodies]
    found = [call for call in calls if call is not None]
    if not found or len(found) != len(calls):
        return None
    return TextCalls(tuple(found), before.strip())


def _bodies(text: str) -> tuple[str, list[str]]:
    """Return what stands before the calls, and the texts that may be calls."""
    if _OPEN in text:
        before, *tagged = text.split(_OPEN)
        return before, [_between_tags(part) for part in tagged]
    if text.endswith(_FENCE) and text.count(_FENCE) == 2:
        before, fenced, _ = text.split(_FENCE)
        first, _, rest = fenced.partition("\n")
        return before, [fenced if first.lstrip().startswith("{") else rest]
    return "", [text] if text.startswith("{") else []


def _between_tags(part: str) -> str:
    """Return the body of a tag; empty, so no call, if text follows it or it is left open."""
    body, closed, after = part.partition(_CLOSE)
    return body if closed and not after.strip() else ""


def _call(body: str, tools: Collection[str]) -> ToolCall | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    described = inner if isinstance(inner, Mapping) else value
    names = list(_values(described, (*_NAMES, "function")))
    given = list(_values(described, _ARGUMENTS))
    known = {*_NAMES, "function", *_ARGUMENTS, *_OTHERS}
    if len(names) != 1 or names[0] not in tools or set(described) - known or len(given) > 1:
        return None
    arguments = given[0] if given else {}
    return (
        ToolCall(names[0], arguments, make_call_id(None)) if isinstance(arguments, dict) else None
    )


def _values(value: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[Any]:
    for name in names:
        if name in value:
            yield value[name]


@attrs.frozen
class LoopResult:
    """How a loop ended.

    Args:
        text: the agent's last answer.
        output: the structured output; None if the prompt asks for none.
        messages: the whole conversation, without guidance, to go on with.
        checked: what the completion gate found.
        stop_reason: why the service ended the last response, in its words.
        truncated: whether the service cut that response off or filtered it, so that `text` may
            lack its end.
    """

    text: str
    output: Any
    messages: list[Any]
    checked: CompletionChecked | None
    stop_reason: str | None = None
    truncated: bool = False


class LoopState:
    """The messages so far, and the next request.

    Args:
        fields: what every request holds besides messages.
        messages: what the caller begins with; the conversation grows at its end.
        client_timeout: seconds that the client waits for an answer; None waits forever.
    """

    def __init__(
        self,
        hooks: LoopHooks,
        settings: Settings,
        *,
        fields: Json,
        messages: list[Any],
        tools: frozenset[str],
        client_timeout: float | None,
        form: OutputForm | None,
        checkers: Iterable[TaskCompletionChecker],
    ) -> None:
        self.hooks = hooks
        self.messages = messages
        self._settings = settings
        self._fields = fields
        self._tools = tools
        self._client_timeout = client_timeout
        self._form = form
        self._checkers = tuple(checkers)
        self._turns = 0
        self._output_retries = 0
        _report_user_message(hooks, self.messages)

    def next_turn(self) -> None:
        """Count one more request, unless `max_turns`, the deadline or the budget is used up."""
        why = self.hooks.exhausted()
        if why:
            raise Exhausted(f"{why}, after {_count(self._turns)}", self.messages)
        if self._turns >= self._settings.max_turns:
            raise TurnLimitReached(
                f"the agent did not finish within {_count(self._turns)}; raise Settings.max_turns "
                "if it needs more",
                self.messages,
            )
        self._turns += 1

    @property
    def last(self) -> bool:
        """Whether no further request will be made, as far as is known now."""
        return self._turns >= self._settings.max_turns or self.hooks.exhausted() is not None

    def request(self, messages: Sequence[Any]) -> Json:
        """Return the next request with `messages`; `Exhausted` if ``stop_after`` ends the turn."""
        stop = self.hooks.driver.stop_request
        if stop is not None:
            raise Exhausted(stop.summary, self.messages)
        return {self._settings.interface.messages: messages, **self._fields, **self._time_left()}

    def seconds_left(self) -> float | None:
        """Return how long a request may take; None without a deadline."""
        deadline = self.hooks.run.deadline
        if deadline is None:
            return None
        return min(max(deadline.remaining().total_seconds(), 0.001), LONGEST_REQUEST)

    def _time_left(self) -> Json:
        """The client waits no longer than the deadline leaves, each time that it tries."""
        left = self.seconds_left()
        waits_longer = self._client_timeout is None or (left or 0) < self._client_timeout
        return {"timeout": left} if left is not None and waits_longer else {}

    def responded(self, response: ModelResponse) -> ModelResponse:
        """Take the model's response; calls that it wrote as text become calls."""
        response = self._with_text_calls(response)
        interface, options = self._settings.interface, self._settings.options
        self.messages += interface.kept_items(response.items, options)
        self.hooks.responded(response)
        return response

    def _with_text_calls(self, response: ModelResponse) -> ModelResponse:
        if response.tool_calls or not self._settings.read_text_calls or response.truncated:
            return response
        found = read_text_calls(response.text, self._tools)
        if found is None:
            return response
        items = self._settings.interface.call_items(found.calls, found.text)
        return attrs.evolve(response, items=items, text=found.text, tool_calls=found.calls)

    def answered(self, answers: Iterable[tuple[str, Any]]) -> None:
        """Take the answers to its calls: ids and contents, in the order of the calls."""
        interface = self._settings.interface
        self.messages += [interface.tool_message(id_, content) for id_, content in answers]

    def check_time(self) -> None:
        """Give up a streamed answer that outlasts the deadline."""
        deadline = self.hooks.run.deadline
        if deadline is not None and deadline.expired:
            raise TimeoutError("the answer was not complete")

    def failed(self, error: Exception) -> None:
        """Record that the service failed; `Exhausted` if that is for want of time."""
        text = describe_error(error)
        self.hooks.driver.may_stop(api_error=text)
        why = self.hooks.exhausted()
        if why:
            raise Exhausted(f"{why}: {text}", self.messages) from error

    def ended(self, response: ModelResponse) -> LoopResult | None:
        """Return the result, or None if the agent is sent back."""
        try:
            output = self._output(response)
        except PromptEvaluationError as error:
            self._ask_for_output_again(error, response)
            return None
        decision = self.hooks.may_stop(
            output=output, stop_reason=response.stop_reason, checkers=self._checkers, last=self.last
        )
        if not decision:
            self.messages += decision.messages
            return None
        return LoopResult(
            response.text or response.refusal,
            output,
            self.messages,
            decision.checked,
            response.stop_reason,
            response.truncated,
        )

    def _output(self, response: ModelResponse) -> Any:
        if self._form is None:
            return None
        if response.refusal:
            raise LoopStopped(f"the model refused: {response.refusal}", self.messages)
        return self._form.parse(response.text)

    def _ask_for_output_again(self, error: PromptEvaluationError, response: ModelResponse) -> None:
        if isinstance(error, LoopStopped):
            raise error
        cut = f" (the service ended it: {response.stop_reason})" if response.truncated else ""
        if self._output_retries >= self._settings.max_output_retries or self.last:
            raise LoopStopped(f"{error}{cut}", self.messages) from error
        assert self._form is not None
        self._output_retries += 1
        text = self._form.request_again(f"{error}{cut}")
        self.messages.append({"role": "user", "content": text})


def request_fields(
    model: str, settings: Settings, tools: Sequence[Tool[Any, Any]], form: OutputForm | None
) -> Json:
    """Return what every request of a loop holds besides its messages, in a fixed order."""
    interface, options = settings.interface, dict(settings.options)
    fields = {"model": model, **options, **interface.extra_fields(options)}
    if tools:
        described = (describe_tool(tool, strict=settings.strict_tools) for tool in tools)
        fields["tools"] = [*map(interface.tool, described), *(options.get("tools") or ())]
    made = {} if form is None else interface.output(form)
    for name, value in made.items():
        known = options.get(name)
        fields[name] = {**known, **value} if isinstance(known, Mapping) else value
    return fields


LONGEST_REQUEST = 2_000_000.0
"""Seconds, 23 days: sockets count milliseconds in 31 bits."""


def seconds(timeout: Any) -> float | None:
    """Return how long a client waits, from a number or an object with one for reading."""
    given = getattr(timeout, "read", timeout)
    return float(given) if isinstance(given, int | float) else None


def _count(turns: int) -> str:
    return f"{plural(turns, 'response')} of the model"


def _report_user_message(hooks: LoopHooks, messages: Sequence[Any]) -> None:
    last = messages[-1] if messages else None
    if isinstance(last, Mapping) and last.get("role") == "user":
        content = last.get("content")
        hooks.user_said(content if isinstance(content, str) else _text_parts(content))


def _text_parts(parts: Any) -> str:
    """Return the texts of a message in parts; pictures and files are left out."""
    texts = (field(part, "text") for part in parts or ())
    return "\n".join(text for text in texts if isinstance(text, str))
