"""What differs between Chat Completions and Responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Protocol

from trimtab import Tool
from trimtab_openai.chat import CHAT
from trimtab_openai.reply import Json, Reply
from trimtab_openai.responses import RESPONSES
from trimtab_openai.structured import OutputForm

ApiName = Literal["chat", "responses"]


class Stream(Protocol):
    """Puts the pieces of a streamed response together."""

    def add(self, piece: Any) -> None:
        """Take the next chunk or event."""
        ...

    def reply(self) -> Reply:
        """Return the whole.

        Raises:
            ModelFailed: the stream told of a failure, or broke off.
        """
        ...


class Api(Protocol):
    """One of the two ways to ask a model."""

    streaming: ClassVar[Json]
    """Fields that ask for a stream."""

    def endpoint(self, client: Any) -> Callable[..., Any]:
        """Return the client's method that asks the model."""
        ...

    def request(
        self, messages: Sequence[Any], tools: Sequence[Tool[Any, Any]], form: OutputForm | None
    ) -> Json:
        """Return the fields of a request."""
        ...

    def read(self, response: Any) -> Reply:
        """Return what a response says.

        Raises:
            ModelFailed: it holds no answer.
        """
        ...

    def stream(self) -> Stream:
        """Return a collector for one streamed response."""
        ...

    def tool_message(self, call_id: str, content: Any) -> Json:
        """Return the message that answers a call."""
        ...

    def append(self, content: Any, text: str) -> Any:
        """Return the content of a tool message, a string or parts, with `text` after it."""
        ...

    def with_text(self, message: Any, text: str) -> Json | None:
        """Return a copy of a tool message with `text` after its content; None for others."""
        ...


APIS: dict[str, Api] = {"chat": CHAT, "responses": RESPONSES}
