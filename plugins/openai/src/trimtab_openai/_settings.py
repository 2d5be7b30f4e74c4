"""How requests are made and guidance is placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import attrs

from trimtab import DecisionPoint, Delivery, Host
from trimtab.hosting import names_known, read_seconds
from trimtab_openai._chat import CHAT, RESPONSES, Chat, Responses

ApiName = Literal["chat", "responses"]


APIS: dict[str, Chat | Responses] = {"chat": CHAT, "responses": RESPONSES}

RESERVED_OPTIONS = ("input", "messages", "model", "response_format", "stream", "stream_options")
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


@names_known()
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
    def interface(self) -> Chat | Responses:
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
