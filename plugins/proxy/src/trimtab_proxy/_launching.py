"""How programs are told to send their requests to the proxy: variables and flags, no files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import attrs

from trimtab import TrimtabError
from trimtab_proxy._upstreams import DEFAULTS

_PROXY_VARIABLES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)
_NO_PROXY = ("NO_PROXY", "no_proxy")
_HERE = "127.0.0.1,localhost"
_TOOL_SEARCH = "ENABLE_TOOL_SEARCH"
_OPENCODE = "OPENCODE_CONFIG_CONTENT"


class LaunchFailed(TrimtabError):
    """The program can't be started."""


@attrs.frozen
class Launch:
    """A program to be started.

    Args:
        command: the program and its arguments.
        environment: all variables that it gets.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]


def launch(command: Sequence[str], environment: Mapping[str, str], base_url: str) -> Launch:
    """Return how to start a program so that its requests come to the proxy.

    Args:
        command: the program and its arguments, as the user gave them.
        environment: the user's; its base URLs are where requests go on to.
        base_url: of the proxy.

    Raises:
        LaunchFailed: a variable of the user's can't be extended.
    """
    start = Launch(tuple(command), {**environment, **_not_through_proxies(environment)})
    start = _PREPARE.get(PurePath(command[0]).stem.lower(), _as_it_is)(start, base_url)
    return attrs.evolve(start, environment={**start.environment, **_base_urls(base_url)})


def _base_urls(base_url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": f"{base_url}/anthropic",
        "OPENAI_BASE_URL": f"{base_url}/openai",
        "OPENAI_API_BASE": f"{base_url}/openai",
        "GOOGLE_GEMINI_BASE_URL": f"{base_url}/gemini",
    }


def _not_through_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Keep a proxy of the network from being asked for this machine."""
    if not any(environment.get(name) for name in _PROXY_VARIABLES):
        return {}
    return {name: ",".join(filter(None, (environment.get(name), _HERE))) for name in _NO_PROXY}


def _as_it_is(start: Launch, _: str) -> Launch:
    return start


def _claude(start: Launch, _: str) -> Launch:
    """Claude Code sends all tools of MCP in each request to a host that is not Anthropic's.

    It can't know that the proxy passes what its search for tools needs, so it is told. What the
    user says stays, and a gateway of the user's may not pass it.
    """
    gateway = urlsplit(start.environment.get("ANTHROPIC_BASE_URL") or DEFAULTS["anthropic"])
    if gateway.hostname != urlsplit(DEFAULTS["anthropic"]).hostname:
        return start
    return attrs.evolve(start, environment={_TOOL_SEARCH: "true", **start.environment})


def _codex(start: Launch, base_url: str) -> Launch:
    """Codex takes no variable: a provider of its own is defined by flags."""
    has_key = bool(start.environment.get("OPENAI_API_KEY"))
    settings = {
        "name": "OpenAI through trimtab",
        "base_url": f"{base_url}/{'openai' if has_key else 'chatgpt'}",
        "wire_api": "responses",
        **({"env_key": "OPENAI_API_KEY"} if has_key else {"requires_openai_auth": True}),
    }
    flags = ["-c", 'model_provider="trimtab"']
    for key, value in settings.items():
        flags += ["-c", f"model_providers.trimtab.{key}={json.dumps(value)}"]
    return attrs.evolve(start, command=(start.command[0], *flags, *start.command[1:]))


def _opencode(start: Launch, base_url: str) -> Launch:
    """Opencode reads settings from a variable; what the user has there is kept."""
    given = start.environment.get(_OPENCODE) or "{}"
    try:
        settings: Any = json.loads(given)
        providers = settings.setdefault("provider", {})
        for name, url in (
            ("anthropic", f"{base_url}/anthropic/v1"),
            ("openai", f"{base_url}/openai"),
            ("google", f"{base_url}/gemini/v1beta"),
        ):
            options = providers.setdefault(name, {}).setdefault("options", {})
            options["baseURL"] = url
    except (ValueError, AttributeError, TypeError) as error:
        raise LaunchFailed(
            f"{_OPENCODE} is not a JSON object that can be extended: {error}"
        ) from None
    return attrs.evolve(start, environment={**start.environment, _OPENCODE: json.dumps(settings)})


_PREPARE: Mapping[str, Callable[[Launch, str], Launch]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
}
