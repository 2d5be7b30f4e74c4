"""A first configuration, written for the user."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trimtab import ConfigurationError, find_configuration
from trimtab.inspection import did_you_mean, discover, say
from trimtab_claude_code._host_config import HOST

_FILE = "trimtab.toml"
_PROMPT = "agent/main"
_KINDS = ("guidance", "feedback", "completion")


def write_configuration(names: Iterable[str], *, dry: bool) -> None:
    """Write a trimtab.toml into the working directory that enables providers.

    Args:
        names: of installed providers.
        dry: show it instead.

    Raises:
        ConfigurationError: there is a configuration already, or a name is not installed.
    """
    text = configuration_text(names)
    found = find_configuration()
    if found is not None:
        raise ConfigurationError(
            f"{found} exists, and --enable writes only a new file. Add this to it:\n\n{text}"
        )
    path = Path.cwd() / _FILE
    if dry:
        say(f"Would write {path}:\n{text}")
        return
    path.write_text(text, encoding="utf-8")
    say(f"Wrote {path}")


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
