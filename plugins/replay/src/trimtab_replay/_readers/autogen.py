"""AutoGen: messages of AgentChat, results of tasks, and saved states of agents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._readers.openai_chat import usage
from trimtab_replay._recording import Item, RunEnd, StopRequest
from trimtab_replay._values import arguments, as_dict, as_time, dicts, named, said

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

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for messages whose type is one of AutoGen's."""
        return self.is_message(message)

    def is_message(self, value: Any) -> bool:
        """Whether its type is one of AutoGen's."""
        message = as_dict(value)
        return named(message.get("type")) in _KINDS and "content" in message

    def messages(self, document: Any) -> list[Any]:
        """Return a list, the messages of a task's result, or the model context of a state."""
        context = as_dict(document).get("llm_context")
        return super().messages(document if context is None else context)

    def end(self, document: Any) -> Iterable[Item]:
        """A task's result says why it ended."""
        reason = named(as_dict(document).get("stop_reason"))
        return (RunEnd(reason=reason),) if reason else ()

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        kind, content = named(message.get("type")), message.get("content")
        at = as_time(message.get("created_at"))
        if kind in {_RESULTS, _STATE_RESULTS}:
            for result in dicts(content):
                assembler.answer(named(result.get("call_id")), _result(result, at))
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
        stop=StopRequest(),
        presumed=True,
    )
    for call in calls:
        assembler.call(
            named(call.get("name")), arguments(call.get("arguments")), named(call.get("id"))
        )
    if kind != "ThoughtEvent":
        assembler.rekey(None)


def _result(result: dict[str, Any], at: Any) -> CallResult:
    failed = result.get("is_error") is True
    return CallResult(
        result=result.get("content", result.get("error")),
        outcome=Outcome.ERROR if failed else Outcome.OK,
        at=at,
    )
