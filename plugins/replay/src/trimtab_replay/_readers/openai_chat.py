"""OpenAI chat messages: an array, an object with ``messages``, or either line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from trimtab_replay._assembler import Assembler
from trimtab_replay._readers.chat import Chat, offered
from trimtab_replay._recording import RecordedItem, Recording
from trimtab_replay._transcript import Row, Transcript
from trimtab_replay._values import as_dict, as_list, as_text, dicts, named

_IDS = ("id", "session_id", "conversation_id", "thread_id")
_FOREIGN = {"tool_use", "tool_result", "toolCall"}
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


class OpenAIChat:
    """Reads chat messages in OpenAI's shape."""

    name: ClassVar[str] = "openai-chat"

    def sniff(self, source: Transcript) -> float:
        """Look for messages with OpenAI's roles; a weak sign, as many formats carry them."""
        rows = source.first_rows if len(source.first_rows) > 1 else (source.document,)
        return 0.4 * any(map(_is_message, (each for row in rows for each in _messages(row)[:5])))

    def read(self, source: Transcript) -> Iterator[Recording]:
        """Yield one recording a document; messages line by line are one recording."""
        is_lines = len(source.first_rows) > 1
        if is_lines and any(map(_is_message, source.first_rows)):
            yield self._streamed(source)
            return
        for row in source.documents_with("messages", _has_messages):
            default = f"{source.stem}:{row.line}" if is_lines else source.stem
            yield self._recording(source, row.value, default)

    def _recording(self, source: Transcript, document: Any, default: str) -> Recording:
        head = as_dict(document)
        parallel = head.get("parallel_tool_calls")
        return Recording(
            id=next(filter(None, (named(head.get(key)) for key in _IDS)), default),
            path=source.path,
            reader=self.name,
            entries=Chat(source.skip).entries(_messages(document)),
            parallel_calls=parallel if isinstance(parallel, bool) else True,
            tools=offered(head.get("tools")),
        )

    def _streamed(self, source: Transcript) -> Recording:
        return Recording(
            id=source.stem,
            path=source.path,
            reader=self.name,
            entries=_fed(source, source.rows()),
            parallel_calls=True,
        )


def _fed(source: Transcript, rows: Iterator[Row]) -> Iterator[RecordedItem]:
    assembler, chat = Assembler(), Chat(source.skip)
    for row in rows:
        if not chat.feed(assembler, row.value):
            source.skip("message without a known role", row.line)
        yield from assembler.take()
    yield from assembler.finish()


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or named(value.get("role")) not in _ROLES:
        return False
    blocks = (block.get("type") for block in dicts(value.get("content")))
    return "content" in value and _FOREIGN.isdisjoint(map(as_text, blocks))


def _messages(document: Any) -> list[Any]:
    if _is_message(document):
        return [document]
    return document if isinstance(document, list) else as_list(as_dict(document).get("messages"))


def _has_messages(document: Any) -> bool:
    """Whether there is a list of messages, if an empty one."""
    listed = as_dict(document).get("messages", document)
    return _is_message(document) or isinstance(listed, list)
