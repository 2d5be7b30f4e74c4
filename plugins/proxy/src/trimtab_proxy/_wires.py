"""Which API a request is made for, by the path that it goes to."""

from __future__ import annotations

from trimtab_proxy._anthropic import AnthropicMessages
from trimtab_proxy._chat import ChatCompletions
from trimtab_proxy._gemini import GenerateContent
from trimtab_proxy._items import Wire
from trimtab_proxy._responses import Responses

ANTHROPIC_MESSAGES = AnthropicMessages()
CHAT_COMPLETIONS = ChatCompletions()
RESPONSES = Responses()
GENERATE_CONTENT = GenerateContent()
WIRES: tuple[Wire, ...] = (ANTHROPIC_MESSAGES, CHAT_COMPLETIONS, RESPONSES, GENERATE_CONTENT)
_ENDINGS: tuple[tuple[str, Wire], ...] = (
    ("/messages", ANTHROPIC_MESSAGES),
    ("/chat/completions", CHAT_COMPLETIONS),
    ("/responses", RESPONSES),
    (":generateContent", GENERATE_CONTENT),
    (":streamGenerateContent", GENERATE_CONTENT),
)


def wire_of(path: str) -> Wire | None:
    """Return the API that a path (without its query) belongs to; None for any other request."""
    return next((wire for ending, wire in _ENDINGS if path.endswith(ending)), None)
