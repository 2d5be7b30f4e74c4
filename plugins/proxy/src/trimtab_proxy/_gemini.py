"""Gemini: ``POST …/models/NAME:generateContent`` and ``:streamGenerateContent``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from trimtab import Outcome, ToolCall
from trimtab.events import Evidence
from trimtab_proxy._items import (
    Answer,
    Item,
    Json,
    Kind,
    Numbering,
    Result,
    Wire,
    objects,
    result_of,
    string,
    text_items,
    usage_of,
    user_items,
)
from trimtab_proxy._json import Place

_READ, _WRITTEN = ("promptTokenCount",), ("candidatesTokenCount", "thoughtsTokenCount")


class GenerateContent(Wire):
    """The generateContent API; where its calls have no id, name and number stand for it."""

    name: ClassVar[str] = "gemini"
    list_key: ClassVar[str] = "contents"

    def items(self, entry: Json, numbering: Numbering) -> tuple[list[Item], Numbering]:
        items: list[Item] = []
        calls = _Calls(numbering)
        by_model = entry.get("role") == "model"
        for part in objects(entry.get("parts")):
            if isinstance(part.get("functionCall"), dict):
                items.append(calls.asked(part["functionCall"]))
            elif isinstance(part.get("functionResponse"), dict):
                items.append(calls.answered(part["functionResponse"]))
            elif not part.get("thought"):
                words = string(part.get("text"))
                items += text_items(words) if by_model else user_items(words)
        return items, calls.numbering()

    def call(self, item: Item) -> ToolCall:
        call, call_id = item.raw
        return ToolCall(string(call.get("name")), call.get("args") or {}, call_id)

    def result(self, item: Item) -> tuple[str, Result]:
        given, call_id = item.raw
        response = given.get("response")
        if not isinstance(response, Mapping):
            return call_id, result_of(response)
        error = response.get("error")
        if error is None:
            return call_id, result_of(response.get("output", response))
        result = result_of(error)
        if result.outcome is Outcome.OK:
            result = Result(error, Outcome.ERROR, Evidence.DERIVED)
        return call_id, result

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(
            string(declared.get("name"))
            for tool in objects(body.get("tools"))
            for declared in objects(tool.get("functionDeclarations"))
        )

    def place(self, last: Json) -> Place | None:
        parts = last.get("parts")
        if last.get("role") == "model" or not isinstance(parts, list):
            return None
        return _in_response(parts) or Place(("parts",), {})

    def is_side(self, body: Json) -> bool:
        config = body.get("generationConfig")
        return isinstance(config, dict) and config.get("maxOutputTokens") == 1

    def answer(self, body: Json) -> Answer | None:
        events = self.events()
        events.add(body)
        return events.answer()

    def events(self) -> GeminiEvents:
        return GeminiEvents()


@attrs.define(eq=False)
class GeminiEvents:
    """The pieces of a streamed answer, each of the same form as a whole one."""

    _texts: list[str] = attrs.field(factory=list)
    _calls: list[ToolCall] = attrs.field(factory=list)
    _usage: Any = None
    _stop_reason: str | None = None

    def add(self, event: Json) -> None:
        self._usage = event.get("usageMetadata") or self._usage
        for candidate in objects(event.get("candidates"))[:1]:
            self._stop_reason = candidate.get("finishReason") or self._stop_reason
            content = candidate.get("content")
            for part in objects(content.get("parts") if isinstance(content, dict) else None):
                self._take(part)

    def answer(self) -> Answer | None:
        if self._stop_reason is None:
            return None
        return Answer(
            text="".join(self._texts),
            calls=tuple(self._calls),
            usage=usage_of(self._usage, _READ, _WRITTEN),
            stop_reason=self._stop_reason,
        )

    def _take(self, part: Json) -> None:
        call = part.get("functionCall")
        if isinstance(call, dict):
            params = call.get("args") or {}
            self._calls.append(ToolCall(string(call.get("name")), params, string(call.get("id"))))
        elif not part.get("thought"):
            self._texts.append(string(part.get("text")))


class _Calls:
    """Pairs calls with answers: by id, else the oldest call of that name without an answer."""

    def __init__(self, before: Numbering) -> None:
        self._before = before
        self._open = list(before.open)
        self._seen = Counter(before.seen)
        self._changed = False

    def numbering(self) -> Numbering:
        """Return how it goes on behind the entry that was read."""
        return Numbering(self._seen, tuple(self._open)) if self._changed else self._before

    def asked(self, call: Json) -> Item:
        name, call_id = string(call.get("name")), string(call.get("id"))
        key = call_id
        if not call_id:
            self._seen[name] += 1
            call_id = f"{name}#{self._seen[name]}"
            key = f"{call_id} {hash(json.dumps(call.get('args'), sort_keys=True)):x}"
        self._open.append((name, call_id, key))
        self._changed = True
        return Item(Kind.CALL, _key("c", call, key), (call, call_id))

    def answered(self, answer: Json) -> Item:
        name, given = string(answer.get("name")), string(answer.get("id"))
        found = next((c for c in self._open if given and c[1] == given), None)
        found = found or next((c for c in self._open if c[0] == name), None)
        if found is None:
            return Item(Kind.RESULT, _key("r", answer, given), (answer, given))
        self._open.remove(found)
        self._changed = True
        _, call_id, key = found
        return Item(Kind.RESULT, _key("r", {"id": key == call_id}, key), (answer, call_id))


def _key(letter: str, block: Json, key: str) -> str:
    """Return the key of a call; capital where its program gave no id, so that it is no anchor."""
    return (letter if block.get("id") else letter.upper()) + key


def _in_response(parts: list[Any]) -> Place | None:
    """Return the text of the last answer of a tool, so that no part is added beside it."""
    last = parts[-1] if parts else None
    given = last.get("functionResponse") if isinstance(last, dict) else None
    response = given.get("response") if isinstance(given, dict) else None
    if not isinstance(response, dict):
        return None
    for key in ("output", "error", "content", "result"):
        if isinstance(response.get(key), str):
            path = ("parts", len(parts) - 1, "functionResponse", "response", key)
            return Place(path, {})
    return None
