"""How requests are made and guidance is placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from trimtab_openai.api import APIS, Api, ApiName

OURS = ("input", "messages", "model", "response_format", "stream", "stream_options")
LOCAL_TOOLS = frozenset({"function", "custom"})


def _options(_: object, __: object, options: Mapping[str, Any]) -> None:
    """Refuse what the loop makes itself, and what it could not keep its promises with."""
    for name in OURS:
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


def _one_of(*names: str) -> Callable[[object, attrs.Attribute[Any], object], None]:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value not in names:
            known = " or ".join(map(repr, names))
            raise ValueError(f"{attribute.name} must be {known}, not {value!r}")

    return check


def _positive(_: object, __: object, value: float | None) -> None:
    if value is not None and value <= 0:
        raise ValueError(f"limit must be above 0 seconds (or None for no limit), not {value}")


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of steps, loops and adapters.

    Args:
        api: ``"chat"`` (Chat Completions) or ``"responses"``.
        place: where guidance stands in a request: ``"message"``, a message of its own at the
            end, or ``"tool"``, inside the last tool message where the request ends with one.
        role: of that message; ``"system"`` or ``"user"`` for services without developers.
        max_turns: answers of the model, in one call of the loop.
        max_parallel: tool calls of one answer that run at the same time.
        limit: seconds that a provider may take, on a worker thread; None calls it directly.
        options: further fields of every request, e.g. ``{"temperature": 0}``; ``tools`` there
            adds the service's own (web search).

    Raises:
        ValueError: a setting is out of bounds, or an option can't be had here.
    """

    api: ApiName = attrs.field(default="chat", validator=_one_of(*APIS))
    place: Literal["message", "tool"] = attrs.field(
        default="message", validator=_one_of("message", "tool")
    )
    role: str = "developer"
    max_turns: int = attrs.field(default=50, validator=attrs.validators.ge(1))
    max_parallel: int = attrs.field(default=8, validator=attrs.validators.ge(1))
    limit: float | None = attrs.field(default=1.0, validator=_positive)
    options: Mapping[str, Any] = attrs.field(factory=dict, validator=_options)

    @property
    def wire(self) -> Api:
        """What the chosen API needs."""
        return APIS[self.api]


DEFAULTS = Settings()
