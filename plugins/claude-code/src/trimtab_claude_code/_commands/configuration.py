"""A first configuration, written for the user."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from trimtab import (
    Configuration,
    ConfigurationError,
    ProviderRef,
    find_configuration,
    load_configuration,
)
from trimtab.inspection import did_you_mean, discover, quoted_list, say, writing
from trimtab_claude_code._host_config import HOST

_FILE = "trimtab.toml"
_PROMPT = "agent/main"
_KINDS = ("guidance", "feedback", "completion")


def write_configuration(names: Iterable[str], *, dry: bool) -> None:
    """Write a trimtab.toml into the working directory that enables providers, if none does.

    Args:
        names: of installed providers.
        dry: show it instead.

    Raises:
        ConfigurationError: a configuration is there that does not enable them, or a name is not
            installed.
    """
    names = tuple(names)
    text = configuration_text(names)
    found = find_configuration()
    if found is not None and set(names) <= _enabled(load_configuration(found)):
        say(f"{found} enables {quoted_list(names)} already.")
        return
    if found is not None:
        raise ConfigurationError(
            f"{found} exists, and --enable writes only a new file. Add this to it:\n\n{text}"
        )
    path = Path.cwd() / _FILE
    if dry:
        say(f"Would write {path}:\n{text}")
        return
    with writing(path) as file:
        file.write(text)
    say(f"Wrote {path}")


def _enabled(configuration: Configuration) -> set[str]:
    """Return the providers that a configuration enables for the main agent."""
    settings = configuration.prompts.get(str(configuration.hosts.get(HOST, {}).get("prompt")))
    configs = chain.from_iterable(getattr(settings, kind, None) or () for kind in _KINDS)
    used = (config.provider for config in configs)
    return {one.name.rpartition(":")[2] for one in used if isinstance(one, ProviderRef)}


def configuration_text(names: Iterable[str]) -> str:
    """Return the tables by which providers guide the main agent and its subagents.

    Raises:
        ConfigurationError: a name is not installed, or is no provider.
    """
    offered = {entry.name: entry.group for entry in discover().entries if entry.group in _KINDS}
    chosen: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        kind = offered.get(name)
        if kind is None:
            raise ConfigurationError(
                f"no installed provider is called {name!r}.{did_you_mean(name, offered)} "
                "List them with: trimtab plugins list"
            )
        chosen.setdefault(kind, []).append(f'"{name}"')
    lines = [f"{kind} = [{', '.join(chosen[kind])}]" for kind in _KINDS if kind in chosen]
    tables = [f'[hosts.{HOST}]\nprompt = "{_PROMPT}"', f'[prompts."{_PROMPT}"]', *lines]
    return f"{tables[0]}\n\n" + "\n".join(tables[1:]) + "\n"
