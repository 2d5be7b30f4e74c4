"""What commands share: where settings are, and the first configuration."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
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
from trimtab_claude_code._settings.document import SettingsError
from trimtab_claude_code._settings.edit import read_settings
from trimtab_claude_code._settings.entries import our_hooks
from trimtab_claude_code._trial import Place

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


def add_target(parser: argparse.ArgumentParser, *, plugin: bool = True) -> None:
    """Add the options that name a settings file."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--user", action="store_true", help="settings.json of the user, for all projects (default)"
    )
    target.add_argument(
        "--project",
        action="store_true",
        help=".claude/settings.local.json of this project, which is not shared with others",
    )
    target.add_argument("--settings", type=Path, metavar="FILE", help="another settings file")
    if plugin:
        target.add_argument("--plugin-dir", type=Path, metavar="DIR", help="a plugin folder")


def settings_file(options: argparse.Namespace) -> Path:
    """Return the settings file that the options mean."""
    if options.settings:
        named: Path = options.settings
        return named.absolute()
    return project_file() if options.project else user_file()


def place_of(options: argparse.Namespace) -> Place:
    """Return where the program looks for that file."""
    if getattr(options, "plugin_dir", None):
        return Place.PLUGIN
    if options.settings:
        return Place.FILE
    return Place.PROJECT if options.project else Place.USER


def user_file() -> Path:
    """Return the user's settings file."""
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(home) if home else Path.home() / ".claude") / "settings.json"


def project_file() -> Path:
    """Return the project's settings file that is not shared."""
    return Path.cwd() / ".claude" / "settings.local.json"


def read_by_program() -> tuple[Path, ...]:
    """Return the settings files that the program reads in this folder."""
    return (user_file(), Path.cwd() / ".claude" / "settings.json", project_file())


def in_force(options: argparse.Namespace) -> tuple[Path, ...]:
    """Return the settings files that count where the hooks are, the strongest last."""
    return (*read_by_program(), *([settings_file(options)] if options.settings else []))


def with_our_hooks() -> Iterator[Path]:
    """Yield those of them that have trimtab's hooks; files that can't be read are left out."""
    for file in read_by_program():
        try:
            if our_hooks(read_settings(file).data):
                yield file
        except SettingsError:
            continue
