"""What ``codex exec --json`` prints: JSON lines, items of a thread as they start and complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._recording import RecordedItem, Recording, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import as_dict, as_text, dicts, flattened, named

_EVENTS = {"thread.started", "turn.started", "turn.completed", "turn.failed"}
_ITEM_EVENTS = {"item.started", "item.updated", "item.completed"}
_STATUS = {"failed": Outcome.ERROR, "declined": Outcome.DENIED, "in_progress": Outcome.INTERRUPTED}
_SPEAKING = "speaking"
_TEXTS = {"agent_message", "assistant_message", "plan", "reasoning"}


class CodexExec:
    """Reads the output of Codex's non-interactive mode."""

    name: ClassVar[str] = "codex-exec"

    def sniff(self, source: Transcript) -> float:
        """Look for events of threads, turns and items."""
        return float(any(_is_ours(row) for row in source.first_rows))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording."""
        ids = (named(row.get("thread_id")) for row in source.first_rows)
        yield Recording(
            id=next(filter(None, ids), source.stem),
            path=source.path,
            reader=self.name,
            entries=_entries(source),
            profile="codex",
            parallel_calls=True,
        )


def _is_ours(row: dict[str, Any]) -> bool:
    kind = named(row.get("type"))
    return kind in _EVENTS or (kind in _ITEM_EVENTS and "type" in as_dict(row.get("item")))


def _entries(source: Transcript) -> Iterator[RecordedItem]:
    assembler = Assembler()
    for row in source.rows():
        event = as_dict(row.value)
        kind, item = named(event.get("type")), as_dict(event.get("item"))
        if kind in _ITEM_EVENTS:
            _happen(assembler, item, is_done=kind == "item.completed")
        elif kind == "turn.completed":
            assembler.close_turn()
        elif kind in {"turn.failed", "error"}:
            message = as_text(as_dict(event.get("error")).get("message", event.get("message")))
            if kind == "turn.failed":
                assembler.add(StopRequest(api_error=message))
        elif kind not in _EVENTS and not kind.startswith("item."):
            source.skip("no event of codex exec", row.line)
        yield from assembler.take()
    yield from assembler.finish()


def _happen(assembler: Assembler, item: dict[str, Any], *, is_done: bool) -> None:
    kind, item_id = named(item.get("type")), named(item.get("id"))
    if kind == "todo_list" and is_done:
        return  # it completes when the turn ends, and says nothing new
    if kind in _TEXTS:
        if is_done:
            _say(assembler, kind, item)
        return
    call = _call(kind, item)
    if call is None:
        return
    if not assembler.waits(item_id):
        if not assembler.is_waiting and assembler.key != _SPEAKING:
            assembler.respond()
        assembler.rekey(None)
        item_id = assembler.call(*call, item_id)
    if is_done or kind == "todo_list":
        assembler.answer(item_id, _result(kind, item))


def _say(assembler: Assembler, kind: str, item: dict[str, Any]) -> None:
    """Read text, which belongs to the calls that follow it."""
    text = named(item.get("text"))
    if kind == "reasoning":
        assembler.respond(key=_SPEAKING, reasoning=text)
    else:
        assembler.respond(key=_SPEAKING, text=text, stop=StopRequest(), presumed=True)


def _call(kind: str, item: dict[str, Any]) -> tuple[str, Any] | None:
    """Return tool and arguments of an item, named as Codex's session files name them."""
    make = _CALLS.get(kind)
    return None if make is None else make(item)


def _mcp_call(item: dict[str, Any]) -> tuple[str, Any]:
    names = [named(item.get("server")), named(item.get("tool"))]
    return "__".join(filter(None, names)), item.get("arguments", {})


def _plan_call(item: dict[str, Any]) -> tuple[str, Any]:
    return "update_plan", {"plan": [_plan_step(step) for step in dicts(item.get("items"))]}


_CALLS: dict[str, Callable[[dict[str, Any]], tuple[str, Any]]] = {
    "command_execution": lambda item: ("shell", {"command": item.get("command", "")}),
    "file_change": lambda item: ("apply_patch", {"changes": item.get("changes", [])}),
    "mcp_tool_call": _mcp_call,
    "web_search": lambda item: ("web_search", {"query": item.get("query", "")}),
    "collab_tool_call": lambda item: (named(item.get("tool")), {"prompt": item.get("prompt")}),
    "todo_list": _plan_call,
}


def _plan_step(step: dict[str, Any]) -> dict[str, Any]:
    status = "completed" if step.get("completed") is True else "pending"
    return {"step": named(step.get("text")), "status": status}


def _result(kind: str, item: dict[str, Any]) -> CallResult:
    if kind == "todo_list":
        return CallResult(result="Plan updated")
    status, code = named(item.get("status")), item.get("exit_code")
    outcome = _STATUS.get(status, Outcome.OK)
    if isinstance(code, int) and code != 0 and outcome is Outcome.OK:
        outcome = Outcome.ERROR
    error = as_dict(item.get("error")).get("message")
    told = item.get("aggregated_output", as_dict(item.get("result")).get("content"))
    return CallResult(result=error or flattened(told) or None, outcome=outcome)
