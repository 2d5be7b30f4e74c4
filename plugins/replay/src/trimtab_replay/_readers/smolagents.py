"""smolagents: the steps of an agent's memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._readers.openai_chat import requested, usage
from trimtab_replay._recording import Item, RunEnd
from trimtab_replay._values import as_dict, as_float, as_list, as_text, as_time, dicts, named

_INVALID = {"AgentToolCallError", "AgentParsingError"}
_OTHERS = ("system_prompt", "plan")
_FINAL = "final_answer"


class Smolagents(MessageReader):
    """Reads the memory of agents of smolagents."""

    name: ClassVar[str] = "smolagents"
    certainty: ClassVar[float] = 1.0
    keys: ClassVar[tuple[str, ...]] = ("steps", "memory", "messages", "intermediate_steps")

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for numbered steps with observations."""
        return "step_number" in message and "observations" in message

    def is_message(self, value: Any) -> bool:
        """Whether it is a step of any kind."""
        step = as_dict(value)
        return self.is_own(step) or "task" in step or any(key in step for key in _OTHERS)

    def end(self, document: Any) -> Iterable[Item]:
        """The last step says whether the run reached an answer."""
        steps = dicts(self.messages(document))
        last = steps[-1] if steps else {}
        error = named(as_dict(last.get("error")).get("type"))
        if last.get("is_final_answer") is True:
            return (RunEnd(reason=_FINAL),)
        return (RunEnd(reason="max_steps"),) if error == "AgentMaxStepsError" else ()

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one step to `assembler`."""
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
        assembler.answer(call_id, _result(step, timing, is_alone=len(ids) == 1))


def _result(step: dict[str, Any], timing: dict[str, Any], *, is_alone: bool) -> CallResult:
    """Read a step's outcome; calls of one step share it."""
    error = as_dict(step.get("error"))
    kind = named(error.get("type"))
    outcome = Outcome.OK
    if error:
        outcome = Outcome.INVALID if kind in _INVALID else Outcome.ERROR
    said = as_text(step.get("observations")) or as_text(step.get("action_output"))
    return CallResult(
        result="\n".join(filter(None, [said, as_text(error.get("message"))])),
        outcome=outcome,
        evidence=Evidence.FLAG if is_alone else Evidence.DERIVED,
        at=as_time(timing.get("end_time")),
        duration=as_float(timing.get("duration")),
    )
