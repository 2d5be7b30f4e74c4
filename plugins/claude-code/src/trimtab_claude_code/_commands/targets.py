"""Which settings file a command is about, and what its options are."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from trimtab_claude_code._settings.document import SettingsError
from trimtab_claude_code._settings.edit import read_settings
from trimtab_claude_code._settings.entries import our_hooks
from trimtab_claude_code._trial import Place


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
