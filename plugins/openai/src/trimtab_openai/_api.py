"""What differs between Chat Completions and Responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from trimtab import Tool, ToolCall
from trimtab_openai._chat import CHAT
from trimtab_openai._model_response import Json, ModelResponse
from trimtab_openai._output import OutputForm
from trimtab_openai._responses import RESPONSES

ApiName = Literal["chat", "responses"]


class Stream(Protocol):
    """Puts the pieces of a streamed response together."""

    def add(self, piece: Any) -> None:
        """Take the next chunk or event."""
        ...

    def reply(self) -> ModelResponse:
        """Return the whole.

        Raises:
            ModelFailed: the stream reported a failure, or broke off.
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
        self,
        messages: Sequence[Any],
        tools: Sequence[Tool[Any, Any]],
        form: OutputForm | None,
        *,
        strict_tools: bool = False,
    ) -> Json:
        """Return the fields of a request."""
        ...

    def extra_fields(self, options: Mapping[str, Any]) -> Json:
        """Return further fields that follow from the options."""
        ...

    def read(self, response: Any) -> ModelResponse:
        """Return what a response says.

        Raises:
            ModelFailed: it holds no answer.
        """
        ...

    def stream(self) -> Stream:
        """Return a collector for one streamed response."""
        ...

    def kept_items(self, items: Sequence[Json], options: Mapping[str, Any]) -> tuple[Json, ...]:
        """Return those items of a response that can be sent back."""
        ...

    def call_items(self, calls: Sequence[ToolCall], text: str) -> tuple[Json, ...]:
        """Return a response with `calls`, as the conversation holds it."""
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
