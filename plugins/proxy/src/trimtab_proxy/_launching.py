"""How programs are told to send their requests to the proxy: variables and flags, no files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import attrs

from trimtab import TrimtabError

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
        environment: the user's.
        base_url: of the proxy.

    Raises:
        LaunchFailed: a variable of the user's can't be extended.
    """
    told = {**environment, **_base_urls(base_url), **_not_through_proxies(environment)}
    prepare = _PREPARE.get(PurePath(command[0]).stem.lower(), _as_it_is)
    return prepare(Launch(tuple(command), told), base_url)


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
    "codex": _codex,
    "opencode": _opencode,
}
