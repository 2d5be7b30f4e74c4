"""What the server received, kept verbatim."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs


@attrs.frozen
class Request:
    """One request as it arrived.

    ``path`` includes the query, header names are in lower case, ``body`` holds the very bytes.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def json(self) -> dict[str, Any]:
        """The body's object; raises `ValueError` where it is no JSON."""
        value: dict[str, Any] = json.loads(self.body)
        return value

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation: ``messages``, or the ``input`` items of the Responses API."""
        sent = self.json
        items = sent.get("messages", sent.get("input", []))
        return items if isinstance(items, list) else [{"role": "user", "content": items}]

    @property
    def texts(self) -> tuple[str, ...]:
        """Every string of the conversation and its system prompt, in order."""
        sent = self.json
        system = [sent.get("system"), sent.get("instructions")]
        return tuple(_strings([*system, self.messages]))

    def mentions(self, needle: str) -> bool:
        """Whether a string of the conversation contains ``needle``."""
        return any(needle in text for text in self.texts)


@attrs.frozen
class Refusal:
    """A request that the real service would have refused, or that no script turn answered."""

    request: Request
    status: int
    message: str


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
