"""Messages of Anthropic's API and Amazon Bedrock's Converse API, tasks of Cline and Roo Code.

The history holds Anthropic messages; calls are blocks, or, in older tasks, XML tags in the text
whose results come as text. The messages of the user interface tell the same task once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from trimtab import Outcome
from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader, flagged, worded
from trimtab_replay._readers.openai import offered, usage
from trimtab_replay._recording import Recording, RunEnd, StopRequest
from trimtab_replay._transcript import Transcript
from trimtab_replay._values import (
    arguments,
    as_dict,
    as_time,
    dicts,
    flattened,
    joined,
    named,
    said,
)

_ROLES = {"user", "assistant", "system"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
_FINAL = {"end_turn", "stop_sequence"}


class Anthropic(MessageReader):
    """Reads messages in the shape of Anthropic's API, requests and responses alike."""

    name: ClassVar[str] = "anthropic"

    def is_own(self, message: dict[str, Any]) -> bool:
        kinds = (named(block.get("type")) for block in dicts(message.get("content")))
        return "role" in message and any(kind in _CALLS or _is_result(kind) for kind in kinds)

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("role")) in _ROLES and "content" in message

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        return {**super().facts(document), "tools": offered(document.get("tools"))}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        role = named(message.get("role"))
        if role == "assistant":
            self.respond(assembler, message)
        elif role == "user":
            self.listen(assembler, message)
        return role in _ROLES

    def respond(self, assembler: Assembler, message: dict[str, Any]) -> None:
        """Read an assistant's message; it holds the results of the service's own tools."""
        blocks = dicts(message.get("content"))
        reason, stop = named(message.get("stop_reason")), self.stop_of(message)
        assembler.respond(
            key=named(message.get("id")) or None,
            text=said(message.get("content")),
            reasoning=joined(block.get("thinking") for block in blocks),
            usage=usage(as_dict(message.get("usage"))),
            at=time_of(message),
            stop=stop,
            presumed=stop is not None and not reason,
        )
        for block in blocks:
            if named(block.get("type")) in _CALLS:
                call_id = named(block.get("id"))
                assembler.call(named(block.get("name")), block.get("input", {}), call_id)
            elif _is_result(named(block.get("type"))):
                assembler.answer(named(block.get("tool_use_id")), result_of(block, message))

    def stop_of(self, message: dict[str, Any]) -> StopRequest | None:
        reason = named(message.get("stop_reason"))
        return StopRequest() if reason in _FINAL or not reason else None

    def listen(self, assembler: Assembler, message: dict[str, Any]) -> None:
        """Read a user's message: results first, then text."""
        for block in dicts(message.get("content")):
            if _is_result(named(block.get("type"))):
                assembler.answer(named(block.get("tool_use_id")), result_of(block, message))
        text = said(message.get("content"))
        if text:
            assembler.user(text, time_of(message))


def _is_result(kind: str) -> bool:
    return kind == "tool_result" or kind.endswith("_tool_result")


def time_of(message: dict[str, Any]) -> Any:
    """Return when a message was written; several programs add one of these keys."""
    times = (as_time(message.get(key)) for key in ("timestamp", "created_at", "ts"))
    return next((time for time in times if time is not None), None)


def result_of(block: dict[str, Any], message: dict[str, Any]) -> CallResult:
    content = block.get("content")
    failed = block.get("is_error") is True or named(as_dict(content).get("type")).endswith("_error")
    return flagged(flattened(content), failed, time_of(message))


class Bedrock(MessageReader):
    """Reads messages in the shape of Amazon Bedrock's Converse API."""

    name: ClassVar[str] = "bedrock"

    def is_own(self, message: dict[str, Any]) -> bool:
        blocks = dicts(message.get("content"))
        return "role" in message and any("toolUse" in b or "toolResult" in b for b in blocks)

    def knows(self, message: dict[str, Any]) -> bool:
        return named(message.get("role")) in _ROLES and isinstance(message.get("content"), list)

    def facts(self, document: dict[str, Any]) -> dict[str, Any]:
        listed = as_dict(document.get("toolConfig")).get("tools")
        return {**super().facts(document), "tools": offered(listed, "toolSpec")}

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        role, blocks = named(message.get("role")), dicts(message.get("content"))
        if role == "assistant":
            self._respond(assembler, message, blocks)
        elif role == "user":
            for block in _values(blocks, "toolResult"):
                assembler.answer(named(block.get("toolUseId")), _converse_result(block))
            text = said(blocks)
            if text:
                assembler.user(text, time_of(message))
        return role in _ROLES

    def _respond(
        self, assembler: Assembler, message: dict[str, Any], blocks: list[dict[str, Any]]
    ) -> None:
        thoughts = (as_dict(b.get("reasoningText")) for b in _values(blocks, "reasoningContent"))
        assembler.respond(
            text=said(blocks),
            reasoning=joined(thought.get("text") for thought in thoughts),
            at=time_of(message),
            presumed=True,
        )
        for block in _values(blocks, "toolUse"):
            call_id = named(block.get("toolUseId"))
            assembler.call(named(block.get("name")), block.get("input", {}), call_id)


def _values(blocks: list[dict[str, Any]], key: str) -> Iterator[dict[str, Any]]:
    return (as_dict(block[key]) for block in blocks if key in block)


def _converse_result(block: dict[str, Any]) -> CallResult:
    content = block.get("content")
    parts = dicts(content)
    if len(parts) == 1 and "json" in parts[0]:
        content = parts[0]["json"]
    status = named(block.get("status"))
    return flagged(flattened(content), status == "error" if status else None)


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
        messages = dicts(source.document)
        if source.file.name.removesuffix(".gz").endswith(_HISTORY):
            return float(any(map(self.is_message, messages)))
        return super().sniff(source)

    def is_own(self, message: dict[str, Any]) -> bool:
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
    return worded("cline", "\n".join(filter(None, body)), time_of(message))


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

    def knows(self, message: dict[str, Any]) -> bool:
        kind = named(message.get("type"))
        return kind in {"say", "ask"} and isinstance(message.get(kind), str)

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield the task, unless its history is there to be read."""
        if not source.file.with_name(_HISTORY).is_file():
            yield from super().read(source)

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
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
    if waiting:
        result = flagged(text, at=at)
        if kind == "error":
            result = attrs.evolve(result, outcome=Outcome.ERROR, evidence=Evidence.DERIVED)
        assembler.answer(waiting, result)
