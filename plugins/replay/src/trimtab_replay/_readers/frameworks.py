"""Messages of agent frameworks: AutoGen, Pydantic AI, smolagents, and ShareGPT conversations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import (
    CALL_TAG,
    RESULT_TAG,
    MessageReader,
    between_tags,
    flagged,
    json_calls,
    tagged_calls,
    without_tags,
)
from trimtab_replay._readers.openai import offered, requested, usage
from trimtab_replay._recording import Item, RunEnd
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_float,
    as_list,
    as_text,
    as_time,
    dicts,
    joined,
    named,
    said,
)

_CALLS, _RESULTS = "ToolCallRequestEvent", "ToolCallExecutionEvent"
_STATE_RESULTS = "FunctionExecutionResultMessage"
_SPOKEN = {"TextMessage", "StopMessage", "MultiModalMessage", "StructuredMessage", "HandoffMessage"}
_PASSED_OVER = {
    "ToolCallSummaryMessage",
    "ModelClientStreamingChunkEvent",
    "MemoryQueryEvent",
    "SelectSpeakerEvent",
    "SelectorEvent",
    "CodeGenerationEvent",
    "CodeExecutionEvent",
    "UserInputRequestedEvent",
    "SystemMessage",
}
_STATE = {"UserMessage", "AssistantMessage", _STATE_RESULTS}
_KINDS = {_CALLS, _RESULTS, "ThoughtEvent", *_SPOKEN, *_PASSED_OVER, *_STATE}


class AutoGen(MessageReader):
    """Reads messages of AutoGen from version 0.4 on."""

    name: ClassVar[str] = "autogen"
    certainty: ClassVar[float] = 1.0
    keys: ClassVar[tuple[str, ...]] = ("messages", "message_thread")

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("type")) in _KINDS and "content" in message

    def messages(self, document: Any) -> list[Any] | None:
        context = as_dict(document).get("llm_context")
        return super().messages(document if context is None else context)

    def reason(self, document: Any) -> str:
        return named(as_dict(document).get("stop_reason"))

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        kind, content = named(message.get("type")), message.get("content")
        at = as_time(message.get("created_at"))
        if kind in {_RESULTS, _STATE_RESULTS}:
            for result in dicts(content):
                content = result.get("content", result.get("error"))
                answer = flagged(content, result.get("is_error") is True, at)
                assembler.answer(named(result.get("call_id")), answer)
        elif kind == "UserMessage" or (kind in _SPOKEN and message.get("source") == "user"):
            assembler.user(_text(content), at)
        elif kind in {_CALLS, "ThoughtEvent", "AssistantMessage", *_SPOKEN}:
            _respond(assembler, message, kind, at)
        return kind in _KINDS


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(each if isinstance(each, str) else said([each]) for each in content)
    return named(content)


def _respond(assembler: Assembler, message: dict[str, Any], kind: str, at: Any) -> None:
    """A thought, and the calls or the text that follow it, are one response."""
    content = message.get("content")
    thought = content if kind == "ThoughtEvent" else message.get("thought")
    calls = [] if kind == "ThoughtEvent" else [c for c in dicts(content) if "arguments" in c]
    is_text = kind != "ThoughtEvent" and not calls
    assembler.respond(
        key="thought" if assembler.key == "thought" or kind == "ThoughtEvent" else None,
        text=_text(content) if is_text else "",
        reasoning=named(thought),
        usage=usage(as_dict(message.get("models_usage"))),
        at=at,
        presumed=True,
    )
    for call in calls:
        assembler.call(
            named(call.get("name")), arguments(call.get("arguments")), named(call.get("id"))
        )
    if kind != "ThoughtEvent":
        assembler.rekey(None)


_PYDANTIC_AI_KINDS = {"request", "response"}
_PYDANTIC_AI_CALLS = {"tool-call", "builtin-tool-call", "native-tool-call"}
_PYDANTIC_AI_RESULTS = {"tool-return", "builtin-tool-return", "native-tool-return"}
_OUTCOMES = {"denied": Outcome.DENIED, "failed": Outcome.ERROR, "retried": Outcome.ERROR}
_INVALID = {"validation_error", "unknown_tool"}


class PydanticAI(MessageReader):
    """Reads message histories of Pydantic AI."""

    name: ClassVar[str] = "pydantic-ai"
    certainty: ClassVar[float] = 1.0
    keys: ClassVar[tuple[str, ...]] = ("messages", "all_messages", "message_history")

    def knows(self, message: dict[str, Any]) -> bool:
        parts = dicts(message.get("parts"))
        return named(message.get("kind")) in _PYDANTIC_AI_KINDS and any(
            "part_kind" in part for part in parts
        )

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        kind, parts = named(message.get("kind")), dicts(message.get("parts"))
        if kind == "response":
            _pydantic_ai_respond(assembler, message, parts)
        elif kind == "request":
            _listen(assembler, parts)
        return kind in _PYDANTIC_AI_KINDS


def _pydantic_ai_respond(
    assembler: Assembler, message: dict[str, Any], parts: list[dict[str, Any]]
) -> None:
    assembler.respond(
        text=_contents(parts, "text"),
        reasoning=_contents(parts, "thinking"),
        usage=usage(as_dict(message.get("usage"))),
        at=as_time(message.get("timestamp")),
        presumed=True,
    )
    for part in parts:
        name, call_id = named(part.get("tool_name")), named(part.get("tool_call_id"))
        if named(part.get("part_kind")) in _PYDANTIC_AI_CALLS:
            assembler.call(name, arguments(part.get("args")), call_id)
        elif named(part.get("part_kind")) in _PYDANTIC_AI_RESULTS:
            assembler.answer(call_id, _pydantic_ai_result(part))


def _contents(parts: list[dict[str, Any]], kind: str) -> str:
    return joined(part.get("content") for part in parts if part.get("part_kind") == kind)


def _listen(assembler: Assembler, parts: list[dict[str, Any]]) -> None:
    for part in parts:
        kind, call_id = named(part.get("part_kind")), named(part.get("tool_call_id"))
        is_retry = kind == "retry-prompt" and assembler.waits(call_id)
        if kind in _PYDANTIC_AI_RESULTS or is_retry:
            assembler.answer(call_id, _pydantic_ai_result(part))
        elif kind in {"user-prompt", "retry-prompt"}:
            content, at = part.get("content"), as_time(part.get("timestamp"))
            pieces = (each if isinstance(each, str) else said([each]) for each in as_list(content))
            text = named(content) or joined(pieces)
            assembler.user(text, at, notification=kind == "retry-prompt")


def _pydantic_ai_result(part: dict[str, Any]) -> CallResult:
    """Until version 1 a call that failed was answered by a prompt to try again."""
    content, outcome = part.get("content"), _OUTCOMES.get(named(part.get("outcome")), Outcome.OK)
    if part.get("part_kind") == "retry-prompt":
        outcome = Outcome.INVALID if isinstance(content, list) else Outcome.ERROR
    elif named(as_dict(part.get("retry")).get("cause")) in _INVALID:
        outcome = Outcome.INVALID
    return CallResult(result=content, outcome=outcome, at=as_time(part.get("timestamp")))


_AGENT = {"gpt", "assistant", "model", "chatgpt", "bot"}
_USER = {"human", "user"}
_TOOL = {"tool", "observation", "function_response", "tool_response", "function"}
_CALL = {"function_call", "tool_call"}
_SHAREGPT_KINDS = {"system", *_AGENT, *_USER, *_TOOL, *_CALL}


class ShareGPT(MessageReader):
    """Reads conversations of turns with ``from`` and ``value``."""

    name: ClassVar[str] = "sharegpt"
    keys: ClassVar[tuple[str, ...]] = ("conversations", "conversation")

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("from")) in _SHAREGPT_KINDS and isinstance(
            message.get("value"), str
        )

    def runs(self, document: Any) -> list[Any]:
        is_list = isinstance(document, list) and not any(map(self.is_message, document))
        return document if is_list else [document]

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return also the names in ``tools``, which some write as JSON in text."""
        tools = offered(arguments(document.get("tools")))
        return {**super().facts(document), "tools": tools or None}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        kind, text = named(message.get("from")), named(message.get("value"))
        if kind in _AGENT:
            assembler.respond(text=without_tags(text, CALL_TAG), presumed=True)
            for tool, params in tagged_calls(text):
                assembler.call(tool, params)
        elif kind in _CALL:
            assembler.respond()
            for tool, params in json_calls(text):
                assembler.call(tool, params)
        elif kind in _TOOL:
            for result in list(between_tags(text, RESULT_TAG)) or [text]:
                _answer(assembler, result)
        elif kind in _USER:
            assembler.user(text)
        return kind in _SHAREGPT_KINDS


def _answer(assembler: Assembler, text: str) -> None:
    """Results name no call: they answer in the order of the calls."""
    told = as_dict(arguments(text)) if text.startswith("{") else {}
    call_id = assembler.oldest(named(told.get("name"))) or assembler.oldest()
    result = told["content"] if "name" in told and "content" in told else text
    assembler.answer(call_id, flagged(result))


_SMOLAGENTS_INVALID = {"AgentToolCallError", "AgentParsingError"}
_OTHERS = ("system_prompt", "plan")
_FINAL = "final_answer"


class Smolagents(MessageReader):
    """Reads the memory of agents of smolagents."""

    name: ClassVar[str] = "smolagents"
    certainty: ClassVar[float] = 1.0
    keys: ClassVar[tuple[str, ...]] = ("steps", "memory", "messages", "intermediate_steps")

    def is_own(self, message: dict[str, Any]) -> bool:
        return "step_number" in message and "observations" in message

    def knows(self, message: dict[str, Any]) -> bool:
        return self.is_own(message) or any(key in message for key in ("task", *_OTHERS))

    def end(self, document: Any) -> Iterable[Item]:
        last = next(iter(dicts(self.messages(document))[-1:]), {})
        error = named(as_dict(last.get("error")).get("type"))
        if last.get("is_final_answer") is True:
            return (RunEnd(reason=_FINAL),)
        return (RunEnd(reason="max_steps"),) if error == "AgentMaxStepsError" else ()

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        if "step_number" in message:
            _act(assembler, message)
        elif "task" in message:
            assembler.user(as_text(message["task"]))
        else:
            return any(key in message for key in _OTHERS)
        return True


def _act(assembler: Assembler, step: dict[str, Any]) -> None:
    timing = as_dict(step.get("timing"))
    assembler.respond(
        text=as_text(step.get("model_output")),
        usage=usage(as_dict(step.get("token_usage"))),
        at=as_time(timing.get("start_time")),
    )
    # A step that failed before its call was taken down has it in the model's message only.
    asked = as_list(step.get("tool_calls")) or as_list(
        as_dict(step.get("model_output_message")).get("tool_calls")
    )
    ids = [assembler.call(*each) for each in requested({"tool_calls": asked})]
    for call_id in ids:
        assembler.answer(call_id, _smolagents_result(step, timing, is_alone=len(ids) == 1))


def _smolagents_result(
    step: dict[str, Any], timing: dict[str, Any], *, is_alone: bool
) -> CallResult:
    """Read a step's outcome; calls of one step share it."""
    error = as_dict(step.get("error"))
    kind = named(error.get("type"))
    outcome = Outcome.OK
    if error:
        outcome = Outcome.INVALID if kind in _SMOLAGENTS_INVALID else Outcome.ERROR
    said = as_text(step.get("observations")) or as_text(step.get("action_output"))
    return CallResult(
        result="\n".join(filter(None, [said, as_text(error.get("message"))])),
        outcome=outcome,
        evidence=Evidence.FLAG if is_alone else Evidence.DERIVED,
        at=as_time(timing.get("end_time")),
        duration=as_float(timing.get("duration")),
    )
