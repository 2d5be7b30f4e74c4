"""SWE-agent ``.traj``: in both variants a step is one action, text whose first word is the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, RunEnd
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_float, as_list, as_text, dicts, said


class SweAgent:
    """Reads SWE-agent trajectories."""

    name: ClassVar[str] = "swe-agent"

    def sniff(self, source: Transcript) -> float:
        """Look for steps with an action and an observation."""
        steps = as_list(as_dict(source.sample).get("trajectory"))
        return float(any("action" in step and "observation" in step for step in dicts(steps)))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document."""
        for row in source.documents_with("a trajectory", _has_trajectory):
            document = as_dict(row.value)
            info = as_dict(document.get("info"))
            yield Recording(
                id=source.stem if row.line == 1 else f"{source.stem}:{row.line}",
                path=source.path,
                reader=self.name,
                entries=_entries(document, as_text(info.get("exit_status")), source),
                profile="swe-agent",
                parallel_calls=False,
                meta={"exit_status": as_text(info.get("exit_status"))},
            )


def _has_trajectory(document: Any) -> bool:
    return isinstance(as_dict(document).get("trajectory"), list)


def _entries(document: dict[str, Any], status: str, source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for text in _task(document.get("history")):
        assembler.user(text)
    for number, step in enumerate(document["trajectory"]):
        if isinstance(step, dict):
            _read(assembler, step)
        else:
            source.skip(f"step {number} is not an object")
        yield from assembler.take()
    yield from assembler.finish([RunEnd(reason=status)])


def _task(history: Any) -> list[str]:
    """Return the user's messages before the first step: the task."""
    task: list[str] = []
    for message in dicts(history):
        if message.get("role") == "user" and message.get("is_demo") is not True:
            task.append(said(message.get("content")))
        elif message.get("role") == "assistant" and message.get("is_demo") is not True:
            break
    return task


def _read(assembler: Assembler, step: dict[str, Any]) -> None:
    action = as_text(step.get("action")).strip()
    if action.startswith("exit_"):  # no action of the agent's: the harness ended the run
        return
    assembler.respond(text=as_text(step.get("thought", step.get("response"))).strip())
    if not action:
        return
    call_id = assembler.call(action.split(None, 1)[0], {"command": action})
    answer = CallResult(
        result=step.get("observation"),
        evidence=Evidence.UNKNOWN,
        duration=as_float(step.get("execution_time")),
    )
    assembler.answer(call_id, answer)
