"""Ask a model behind a URL that speaks Chat Completions."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Sequence
from typing import Any

import attrs

from words.world import Tool

TIMEOUT = 120.0
LONGEST = 120


@attrs.frozen
class RemoteModel:
    """A model of any service that speaks Chat Completions, asked one question after the other.

    Args:
        url: up to and without ``/chat/completions``.
        model: its name.
        key: sent as a bearer token; ``OPENAI_API_KEY`` where empty.
    """

    url: str
    model: str
    key: str = attrs.field(factory=lambda: os.environ.get("OPENAI_API_KEY", ""), repr=False)

    def ask(
        self, asked: Sequence[Sequence[Any]], tools: Sequence[Tool], seeds: Sequence[int]
    ) -> list[str]:
        """Return what is written after the beginning of a call, for each conversation."""
        declared = [tool.schema() for tool in tools]
        pairs = zip(asked, seeds, strict=True)
        return [self._one(messages, declared, seed) for messages, seed in pairs]

    def _one(self, messages: Sequence[Any], tools: Sequence[Any], seed: int) -> str:
        body = {
            "model": self.model,
            "messages": messages,
            "tools": tools,
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "temperature": 0.7,
            "top_p": 0.9,
            "seed": seed,
            "max_tokens": LONGEST,
        }
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return as_written(json.load(response))


def as_written(response: Any) -> str:
    """Return a response's first call as the local model would have written it."""
    message = response["choices"][0]["message"]
    calls = message.get("tool_calls") or []
    if not calls:
        return ""
    function = calls[0]["function"]
    return f'{function["name"]}", "arguments": {function["arguments"]}}}'
