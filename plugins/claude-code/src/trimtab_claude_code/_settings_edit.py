"""Where settings are: hooks put in and taken out, what keeps them from running, a first start.

The names and their order were read from the program, version 2.1.332, and its documentation.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import attrs

from trimtab import (
    Configuration,
    ConfigurationError,
    ProviderRef,
    find_configuration,
    load_configuration,
)
from trimtab.inspection import did_you_mean, discover, quoted_list, say, writing
from trimtab_claude_code._files import replace
from trimtab_claude_code._host_config import HOST
from trimtab_claude_code._program import Place
from trimtab_claude_code._settings import (
    Document,
    SettingsError,
    our_hooks,
    read_document,
    with_hooks,
    without_hooks,
)


def digest(content: bytes) -> str:
    """Return what tells whether a file is still the same."""
    return blake2b(content, digest_size=16).hexdigest()


@attrs.frozen
class Receipt:
    """A file that was written to: its bytes before, if there was one, and a digest of ours."""

    path: str
    before: bytes | None
    after: str


class Receipts:
    """The receipts of a user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "installed"

    def find(self, path: Path) -> Receipt | None:
        """Return the receipt for a file; None if there is none that can be read."""
        try:
            found = json.loads(self._file(path).read_text(encoding="utf-8"))
            before = found["before"]
            raw = None if before is None else base64.b64decode(before)
            return Receipt(str(found["path"]), raw, str(found["after"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def any(self) -> bool:
        """Return whether there is a receipt for any file."""
        return any(self._folder.glob("*.json"))

    def keep(self, receipt: Receipt) -> None:
        """Write a receipt down, for the user's eyes alone: settings may hold secrets."""
        before = None if receipt.before is None else base64.b64encode(receipt.before).decode()
        text = json.dumps({"path": receipt.path, "before": before, "after": receipt.after})
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(self._file(Path(receipt.path)), text.encode())

    def drop(self, path: Path) -> None:
        """Forget a file."""
        self._file(path).unlink(missing_ok=True)

    def _file(self, path: Path) -> Path:
        return self._folder / f"{digest(os.fsencode(path))}.json"


@attrs.frozen
class Change:
    """What would become of a settings file.

    Args:
        content: its bytes afterwards; None if it would be removed.
        before: what uninstalling gives back; None if there was no file.
    """

    document: Document
    content: bytes | None
    before: bytes | None = None

    @property
    def needed(self) -> bool:
        """Whether anything would change."""
        return self.content != self.document.raw


def read_settings(path: Path) -> Document:
    """Read a settings file in which hooks are what Claude Code takes."""
    document = read_document(path)
    hooks = document.data.get("hooks", {})
    if isinstance(hooks, dict) and all(isinstance(groups, list) for groups in hooks.values()):
        return document
    what = "'hooks' must be an object of lists, one per event"
    raise SettingsError(f"{document.path} was left untouched: {what}.")


def plan_install(path: Path, table: Mapping[str, list[Any]], receipts: Receipts) -> Change:
    """Say what installing would make of a settings file."""
    document = read_settings(path)
    wanted = with_hooks(document.data, table)
    original = _original(document, receipts)
    if wanted == document.data:
        return Change(document, document.raw, original)
    return Change(document, document.render(wanted), original)


def _original(document: Document, receipts: Receipts) -> bytes | None:
    """Return what the file would be without us."""
    receipt = receipts.find(document.path)
    if receipt and document.raw is not None and digest(document.raw) == receipt.after:
        return receipt.before
    rest = without_hooks(document.data)
    return document.raw if rest == document.data else document.render(rest)


def install(change: Change, receipts: Receipts) -> None:
    """Carry out a plan of `plan_install`; the receipt is kept before the file is touched."""
    if change.content is None or not change.needed:
        return
    path = change.document.path
    receipts.keep(Receipt(str(path), change.before, digest(change.content)))
    change.document.write(change.content)


def plan_uninstall(path: Path, receipts: Receipts) -> Change:
    """Say what uninstalling would make of a settings file.

    If the file has not been changed since, it gets its earlier bytes back; otherwise only
    trimtab's own entries are removed.
    """
    document = read_settings(path)
    receipt = receipts.find(document.path)
    if document.raw is None:
        return Change(document, None)
    if receipt and digest(document.raw) == receipt.after:
        return Change(document, receipt.before)
    rest = without_hooks(document.data)
    if rest == document.data:
        return Change(document, document.raw)
    if receipt and receipt.before is None and not rest:
        return Change(document, None)
    return Change(document, document.render(_with_empty(rest, receipt)))


def _with_empty(rest: dict[str, Any], receipt: Receipt | None) -> dict[str, Any]:
    """Return settings with the empty lists of events that the user had before us."""
    before = _hooks_of(receipt.before) if receipt and receipt.before else None
    found = before if isinstance(before, dict) else None
    empty: dict[str, Any] = {event: [] for event, groups in (found or {}).items() if groups == []}
    if not empty and found != {}:
        return rest
    return {**rest, "hooks": {**empty, **rest.get("hooks", {})}}


def _hooks_of(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig")).get("hooks")
    except (ValueError, AttributeError):
        return None


def uninstall(change: Change, receipts: Receipts) -> None:
    """Carry out a plan of `plan_uninstall`."""
    if change.needed:
        change.document.write(change.content)
    receipts.drop(change.document.path)


_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:/Program Files/ClaudeCode",
}
MANAGED = Path(_MANAGED.get(sys.platform, "/etc/claude-code"))
"""The folder of whoever manages the machine."""

_ASK = "ask who manages this machine"


@attrs.frozen
class Obstacle:
    """A setting by which hooks of the user are not run, and what to do."""

    message: str
    fix: str


def obstacle(files: Sequence[Path], *, plugin: bool = False) -> Obstacle | None:
    """Return why hooks are not run; None where nothing forbids them.

    Args:
        files: the settings that the program reads, each before those that count for more; files
            that can't be read count as empty.
    """
    for file, data in _read(_managed_files()):
        found = _managed(file, data, plugin=plugin)
        if found is not None:
            return found
    for file, data in _read(reversed(files)):
        value = data.get("disableAllHooks")
        if value is not None:  # the first that says anything decides
            what = f"disableAllHooks is set in {file}: no hook is run"
            return Obstacle(what, "take it out") if value else None
    return None


def _managed(file: Path, data: Mapping[str, Any], *, plugin: bool) -> Obstacle | None:
    if data.get("disableAllHooks"):
        return Obstacle(f"disableAllHooks is set in {file}: no hook is run", _ASK)
    if data.get("allowManagedHooksOnly"):
        what = f"allowManagedHooksOnly is set in {file}: hooks of users and projects are not run"
        return Obstacle(what, _ASK)
    locked = data.get("strictPluginOnlyCustomization")
    if not plugin and (locked is True or (isinstance(locked, list) and "hooks" in locked)):
        what = f"strictPluginOnlyCustomization is set in {file}: only hooks of plugins are run"
        return Obstacle(what, "install a plugin, with --plugin-dir")
    return None


def _managed_files() -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted((MANAGED / "managed-settings.d").glob("*.json"))
    yield MANAGED / "managed-settings.json"


def _read(files: Iterator[Path]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for file in files:
        with suppress(SettingsError):
            yield file, read_settings(file).data


_FILE = "trimtab.toml"
_PROMPT = "agent/main"
_KINDS = ("guidance", "feedback", "completion")


def write_configuration(names: Iterable[str], *, dry: bool) -> None:
    """Write a trimtab.toml into the working directory that enables providers, if none does."""
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
    """Return the tables by which providers guide the main agent and its subagents."""
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
