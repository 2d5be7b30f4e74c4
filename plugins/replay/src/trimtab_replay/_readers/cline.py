"""Tasks of Cline and Roo Code: ``api_conversation_history.json`` and ``ui_messages.json``.

The history holds Anthropic messages; calls are blocks, or, in older tasks, XML tags in the text
whose results come as text. The messages of the user interface tell the same task once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.anthropic import Anthropic, time_of
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._recording import Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import arguments, as_dict, as_text, dicts, named, said
from trimtab_replay.outcomes import outcome_of

TOOLS = (
    "execute_command", "read_file", "write_to_file", "replace_in_file", "search_files",
    "list_files", "list_code_definition_names", "browser_action", "use_mcp_tool",
    "access_mcp_resource", "ask_followup_question", "attempt_completion", "new_task",
    "plan_mode_respond", "load_mcp_documentation", "web_fetch", "web_search", "apply_diff",
    "apply_patch", "insert_content", "search_and_replace", "edit_file", "switch_mode",
    "fetch_instructions", "codebase_search", "update_todo_list", "generate_image",
    "run_slash_command", "use_skill", "condense",
)  # fmt: skip
"""Tools of both programs, which an older task's text calls by tags of these names."""

_HISTORY, _INTERFACE = "api_conversation_history.json", "ui_messages.json"
_COMPLETION = "attempt_completion"
_SPEAKING = "speaking"
_NO_TOOL = "[ERROR] You did not use a tool"


class Cline(Anthropic):
    """Reads tasks of Cline and Roo Code."""

    name: ClassVar[str] = "cline"
    certainty: ClassVar[float] = 1.0
    profile: ClassVar[str] = "cline"
    parallel_calls: ClassVar[bool | None] = None

    def sniff(self, source: Transcript) -> float:
        """Look for the file's name and messages, or for calls by tags with their results."""
        messages = dicts(source.document)
        if source.file.name.removesuffix(".gz").endswith(_HISTORY):
            return float(any(map(self.is_message, messages)))
        return super().sniff(source)

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for results as Cline writes them, and calls by tags."""
        if message.get("role") == "user":
            return any(_head(text) for text in _texts(message))
        return message.get("role") == "assistant" and any(_tagged(said(message.get("content"))))

    def respond(self, assembler: Assembler, message: dict[str, Any]) -> None:
        """Read blocks with calls, and calls by tags if there are none."""
        super().respond(assembler, message)
        if not any(block.get("type") == "tool_use" for block in dicts(message.get("content"))):
            for tool, params in _tagged(said(message.get("content"))):
                if tool != _COMPLETION:
                    assembler.call(tool, params)

    def stop_of(self, message: dict[str, Any]) -> StopRequest | None:
        """The agent stops by a tool of its own; text alone is answered by a reminder to use one."""
        tagged = (tool for tool, _ in _tagged(said(message.get("content"))))
        return StopRequest() if _COMPLETION in tagged else None

    def listen(self, assembler: Assembler, message: dict[str, Any]) -> None:
        """Read results, in blocks or in text; the other text is the user's or the program's."""
        texts = _texts(message)
        for block in dicts(message.get("content")):
            if block.get("type") == "tool_result":
                told = _told(said(block.get("content")) or named(block.get("content")))
                assembler.answer(named(block.get("tool_use_id")), _result([told], message))
        while texts and assembler.is_waiting:
            tool, text = _head(texts[0]) or ("", texts[0])
            body = [text] if text else []
            texts.pop(0)
            while texts and not _head(texts[0]) and not texts[0].startswith("<environment_details"):
                body.append(texts.pop(0))
            waiting = assembler.oldest(tool) or assembler.oldest()
            assembler.answer(waiting, _result(body, message))
        rest = "\n".join(text for text in texts if not text.startswith("<environment_details"))
        if rest:
            is_program = rest.startswith((_NO_TOOL, "["))
            assembler.user(rest, time_of(message), notification=is_program)


def _texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [named(block.get("text")) for block in dicts(content) if block.get("type") == "text"]


def _head(text: str) -> tuple[str, str] | None:
    """Return the tool and the rest of a text that begins ``[TOOL for '…'] Result:``."""
    if not text.startswith("["):
        return None
    head, marker, rest = text.partition("] Result:")
    tool = head[1:].partition(" ")[0]
    return (tool, rest.strip()) if marker and tool in TOOLS else None


def _told(text: str) -> str:
    found = _head(text)
    return text if found is None else found[1]


def _result(body: list[str], message: dict[str, Any]) -> CallResult:
    text = "\n".join(filter(None, body))
    read = outcome_of("cline", text)
    return CallResult(
        result=text, outcome=read.outcome, evidence=read.evidence, at=time_of(message)
    )


def _tagged(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the first call by tags in `text`; both programs make one call a message."""
    if "<" not in text:
        return
    places = ((text.find(f"<{tool}>"), tool) for tool in TOOLS)
    at, tool = min((place for place in places if place[0] >= 0), default=(-1, ""))
    if at >= 0:
        inner = text[at + len(tool) + 2 :]
        end = inner.rfind(f"</{tool}>")
        yield tool, _params(inner if end < 0 else inner[:end])


def _params(inner: str) -> dict[str, str]:
    params: dict[str, str] = {}
    rest = inner
    while len(params) < 20:
        _, opening, after = rest.partition("<")
        name, closing, value = after.partition(">")
        if not opening or not closing or not name.isidentifier():
            return params
        end = value.rfind(f"</{name}>") if name in {"content", "diff"} else value.find(f"</{name}>")
        if end < 0:
            return {**params, name: value.strip("\n")}
        params[name] = value[:end].strip("\n")
        rest = value[end + len(name) + 3 :]
    return params


class ClineInterface(MessageReader):
    """Reads the messages of Cline's user interface, if the task's history is not beside them."""

    name: ClassVar[str] = "cline-ui"
    certainty: ClassVar[float] = 1.0
    profile: ClassVar[str] = "cline"
    parallel_calls: ClassVar[bool | None] = None

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for what is said or asked."""
        kind = named(message.get("type"))
        return kind in {"say", "ask"} and isinstance(message.get(named(kind)), str)

    def is_message(self, value: Any) -> bool:
        """Whether it is said or asked."""
        return self.is_own(as_dict(value))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the task, unless its history is there to be read."""
        if not source.file.with_name(_HISTORY).is_file():
            yield from super().read(source)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one message to `assembler`."""
        kind = named(message.get(named(message.get("type"))))
        text, at = named(message.get("text")), time_of(message)
        if message.get("partial") is True:
            return True
        if kind in {"command", "tool", "use_mcp_server", "browser_action_launch"}:
            assembler.respond(key=assembler.key, at=at)
            assembler.call(*_asked(kind, text))
            assembler.rekey(None)
        elif kind in {"command_output", "mcp_server_response", "browser_action_result", "error"}:
            _answer(assembler, kind, text, at)
        elif kind == "text" and assembler.key is None and not assembler.is_started:
            assembler.user(text, at)
        elif kind == "text":
            assembler.respond(key=_SPEAKING, text=text, at=at)
        elif kind in {"completion_result", "followup", "plan_mode_respond"}:
            assembler.respond(text=text, at=at, stop=StopRequest(awaiting_user=kind == "followup"))
        elif kind in {"user_feedback", "task"}:
            assembler.user(text, at)
        elif kind == "api_req_failed":
            assembler.add(RunEnd(reason=kind))
        return True


def _asked(kind: str, text: str) -> tuple[str, Any]:
    if kind == "command":
        return "execute_command", {"command": text}
    told = arguments(text)
    params = {key: value for key, value in as_dict(told).items() if key != "tool"}
    if kind == "use_mcp_server":
        return named(params.pop("toolName", "")) or kind, arguments(params.get("arguments", params))
    return named(as_dict(told).get("tool")) or kind, params or {"text": text}


def _answer(assembler: Assembler, kind: str, text: str, at: Any) -> None:
    """Output comes in pieces without the call's name: the first ends the call that waits."""
    waiting = assembler.oldest()
    if not waiting:
        return
    failed = kind == "error"
    result = CallResult(
        result=as_text(text),
        outcome=Outcome.ERROR if failed else Outcome.OK,
        evidence=Evidence.DERIVED if failed else Evidence.UNKNOWN,
        at=at,
    )
    assembler.answer(waiting, result)
