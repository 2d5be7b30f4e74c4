"""How requests are made and guidance is placed, and what differs between the two APIs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol
from urllib.parse import urlsplit

import attrs

from trimtab import DecisionPoint, Delivery, Host, Tool, ToolCall
from trimtab.hosting import read_seconds
from trimtab_openai._chat import CHAT, RESPONSES
from trimtab_openai._model_response import Json, ModelResponse, OutputForm

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


RESERVED_OPTIONS = (
    "input",
    "messages",
    "model",
    "response_format",
    "stream",
    "stream_options",
)
LOCAL_TOOLS = frozenset({"function", "custom"})
ROLES = ("developer", "system", "user")


def _options(_: object, __: object, options: Any) -> None:
    """Refuse what the loop sets itself, and what would void its guarantees."""
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping of request fields, not {options!r:.100}")
    for name in RESERVED_OPTIONS:
        if name in options:
            raise ValueError(f"options[{name!r}]: the loop sets it; leave it out")
    if options.get("conversation"):
        raise ValueError(
            "options['conversation']: history kept by the service would keep the guidance too; "
            "leave it out, the loop sends the whole conversation"
        )
    if options.get("n", 1) != 1:
        raise ValueError("options['n']: the loop follows one answer; leave it out")
    if any(tool.get("type") in LOCAL_TOOLS for tool in options.get("tools", ())):
        raise ValueError("options['tools']: functions are declared as tools of the prompt")


def _one_of(*names: str | None) -> Callable[[object, attrs.Attribute[Any], object], None]:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value not in names:
            known = " or ".join(map(repr, names))
            raise ValueError(f"{attribute.name} must be {known}, not {value!r:.100}")

    return check


def _whole(least: int) -> Callable[[object, attrs.Attribute[Any], object], None]:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{attribute.name} must be a whole number, not {value!r:.100}")
        if value < least:
            raise ValueError(f"{attribute.name} must be {least} or more, not {value}")

    return check


def _seconds(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{attribute.name} must be seconds or None, not {value!r:.100}")
    read_seconds(value, attribute.name)


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of hooks, loops and adapters.

    Args:
        api: ``"chat"`` (Chat Completions) or ``"responses"``.
        place: where guidance goes in a request: ``"message"``, a message of its own at the
            end, or ``"tool"``, inside the last tool message if the request ends with one.
        role: of that message: ``"developer"``, ``"system"`` or ``"user"``. None: ``"developer"``
            for OpenAI's own service, ``"system"`` for others, some of which drop ``developer``
            without an error.
        max_turns: responses of the model, in one call of the loop.
        max_parallel: tool calls of one response that run at the same time.
        max_output_retries: how often the model is asked again if its final answer does not fit
            the output type.
        read_text_calls: whether a tool call that the model wrote as text is run if it is
            unambiguous.
        strict_tools: whether the service is asked to hold the model to the tools' schemas.
        timeout: seconds that a provider may take, on a worker thread; None calls it directly.
        options: further fields of every request, e.g. ``{"temperature": 0}``; ``tools`` there
            adds the service's own (web search).

    Raises:
        TypeError: a setting has the wrong type.
        ValueError: a setting is out of bounds, or an option is not supported here.
    """

    api: ApiName = attrs.field(default="chat", validator=_one_of(*APIS))
    place: Literal["message", "tool"] = attrs.field(
        default="message", validator=_one_of("message", "tool")
    )
    role: Literal["developer", "system", "user"] | None = attrs.field(
        default=None, validator=_one_of(*ROLES, None)
    )
    max_turns: int = attrs.field(default=50, validator=_whole(1))
    max_parallel: int = attrs.field(default=8, validator=_whole(1))
    max_output_retries: int = attrs.field(default=2, validator=_whole(0))
    read_text_calls: bool = attrs.field(default=True, validator=attrs.validators.instance_of(bool))
    strict_tools: bool = attrs.field(default=False, validator=attrs.validators.instance_of(bool))
    timeout: float | None = attrs.field(default=1.0, validator=_seconds)
    options: Mapping[str, Any] = attrs.field(factory=dict, validator=_options)

    @property
    def interface(self) -> Api:
        """The chosen API."""
        return APIS[self.api]


DEFAULTS = Settings()


DELIVERY = dict.fromkeys(DecisionPoint, Delivery.EPHEMERAL)
"""Every request carries the whole conversation, so guidance is added to the request alone."""

HOST = Host(name="openai", delivery=DELIVERY, parallel_calls=True, stops=True)

READS_DEVELOPER = (".openai.com", ".openai.azure.com")
"""Ends of the host names whose services are known to read messages of developers."""


def guidance_role(client: Any) -> Literal["developer", "system"]:
    """Return the role of guidance that the client's service reads; its ``base_url`` decides."""
    host = urlsplit(str(getattr(client, "base_url", ""))).hostname or ""
    return "developer" if f".{host}".endswith(READS_DEVELOPER) else "system"
