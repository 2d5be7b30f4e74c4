"""ShareGPT conversations, as data sets for training on tools have them."""

from __future__ import annotations

from typing import Any, ClassVar

from trimtab.events import Evidence
from trimtab_replay._assembler import Assembler, CallResult
from trimtab_replay._readers.messages import MessageReader
from trimtab_replay._readers.text_calls import (
    CALL_TAG,
    RESULT_TAG,
    between_tags,
    json_calls,
    tagged_calls,
    without_tags,
)
from trimtab_replay._recording import StopRequest
from trimtab_replay._values import arguments, as_dict, dicts, named

_AGENT = {"gpt", "assistant", "model", "chatgpt", "bot"}
_USER = {"human", "user"}
_TOOL = {"tool", "observation", "function_response", "tool_response", "function"}
_CALL = {"function_call", "tool_call"}
_KINDS = {"system", *_AGENT, *_USER, *_TOOL, *_CALL}


class ShareGPT(MessageReader):
    """Reads conversations of turns with ``from`` and ``value``."""

    name: ClassVar[str] = "sharegpt"
    keys: ClassVar[tuple[str, ...]] = ("conversations", "conversation")

    def is_own(self, message: dict[str, Any]) -> bool:
        """Look for turns with ``from`` and ``value``."""
        return self.is_message(message)

    def is_message(self, value: Any) -> bool:
        """Whether it is a turn of a known speaker."""
        message = as_dict(value)
        return named(message.get("from")) in _KINDS and isinstance(message.get("value"), str)

    def messages(self, document: Any) -> list[Any]:
        """Return the turns of one conversation."""
        found = super().messages(document)
        is_list_of_one = len(found) == 1 and isinstance(document, list)
        return super().messages(found[0]) if is_list_of_one and found else found

    def tools(self, document: Any) -> frozenset[str] | None:
        """Return the names in ``tools``, which some write as JSON in text."""
        listed = arguments(as_dict(document).get("tools")) if as_dict(document) else None
        tools = dicts(listed)
        names = (named((as_dict(tool.get("function")) or tool).get("name")) for tool in tools)
        return frozenset(filter(None, names)) or None

    def feed(self, assembler: Assembler, message: dict[str, Any]) -> bool:
        """Give one turn to `assembler`."""
        kind, text = named(message.get("from")), named(message.get("value"))
        if kind in _AGENT:
            assembler.respond(text=without_tags(text, CALL_TAG), stop=StopRequest(), presumed=True)
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
        return kind in _KINDS


def _answer(assembler: Assembler, text: str) -> None:
    """Results name no call: they answer in the order of the calls."""
    told = as_dict(arguments(text)) if text.startswith("{") else {}
    call_id = assembler.oldest(named(told.get("name"))) or assembler.oldest()
    result = told["content"] if "name" in told and "content" in told else text
    assembler.answer(call_id, CallResult(result=result, evidence=Evidence.UNKNOWN))
