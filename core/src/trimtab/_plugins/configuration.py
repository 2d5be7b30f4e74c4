"""Configuration files: finding, reading and caching them."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from trimtab._plugins.config_tables import Configuration
from trimtab._types.errors import ConfigurationError
from trimtab._types.options import as_path
from trimtab._types.text import shown

MAX_SIZE = 1_000_000
"""Bytes of a configuration file."""
OWN_FILE = "trimtab.toml"
SHARED_FILE = "pyproject.toml"
CONFIG = "TRIMTAB_CONFIG"
HOME = "TRIMTAB_HOME"


def find_configuration(
    start: str | os.PathLike[str] | None = None, *, environment: Mapping[str, str] | None = None
) -> Path | None:
    """Find the file that counts: ``TRIMTAB_CONFIG``, else the nearest one upwards.

    Args:
        start: folder to begin in; the working directory if None.
        environment: variables by name; `os.environ` if None.

    Raises:
        ConfigurationError: a pyproject.toml on the way mentions trimtab and can't be read.
        TypeError: an argument has the wrong type.
    """
    if environment is not None and not isinstance(environment, Mapping):
        raise TypeError(f"environment must be a mapping of texts, not {shown(environment)}")
    named = (os.environ if environment is None else environment).get(CONFIG)
    if named:
        return Path(named).absolute()
    for path in _candidates(start):
        found = stamp(path)
        if found is not None and (path.name == OWN_FILE or _has_table(path, found)):
            return path
    return None


def _candidates(start: str | os.PathLike[str] | None) -> Iterator[Path]:
    try:
        first = as_path("start", "" if start is None else start).absolute()
    except FileNotFoundError:
        return  # the working directory was deleted
    for folder in (first, *first.parents):
        yield folder / OWN_FILE
        yield folder / SHARED_FILE


def stamp(path: Path) -> tuple[int, ...] | None:
    """Return what changes when a file does; None if it is no file that can be looked at."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if path.is_file() else None


@functools.lru_cache(maxsize=64)
def _has_table(path: Path, _: tuple[int, ...]) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False  # a file that can't be read is ignored
    return b"trimtab" in content and shared_table(read_toml(path)) is not None


def read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        if path.stat().st_size > MAX_SIZE:
            raise ConfigurationError(f"{path}: larger than 1 MB; is this the right file?")
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: it can't be read as TOML: {error}") from error


def shared_table(data: Mapping[str, Any]) -> Any:
    """Return the table ``[tool.trimtab]`` or None."""
    tools = data.get("tool")
    return tools.get("trimtab") if isinstance(tools, dict) else None


def state_home(
    configuration: Path | None = None, *, environment: Mapping[str, str] | None = None
) -> Path:
    """Return the folder for traces and journals, which may not exist yet.

    ``TRIMTAB_HOME``, else ``.trimtab`` beside the configuration, else the user's state folder.

    Args:
        configuration: the configuration's file or None.
        environment: variables by name; `os.environ` if None.
    """
    named = (os.environ if environment is None else environment).get(HOME)
    if named:
        return Path(named).absolute()
    if configuration:
        return configuration.parent / ".trimtab"
    if os.name == "nt":
        user = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        user = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(user, "trimtab")


def active_configuration(
    start: str | os.PathLike[str] | None = None, *, environment: Mapping[str, str] | None = None
) -> Configuration:
    """Return the configuration that `find_configuration` finds, or an empty one."""
    path = find_configuration(start, environment=environment)
    return load_configuration(path) if path else Configuration()


def load_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read a configuration file; again only when it has changed.

    Args:
        path: a trimtab.toml, whatever its name, or a pyproject.toml with ``[tool.trimtab]``.

    Raises:
        ConfigurationError: it can't be read, is no TOML, or holds a key or value that is
            wrong; names the file, the table and the key.
        TypeError: `path` is no path.
    """
    file = as_path("path", path).absolute()
    found = stamp(file)
    if found is None:
        raise ConfigurationError(f"{file}: {_hindrance(file)}.")
    return _load(file, found)


def _hindrance(file: Path) -> str:
    try:
        return "not a plain file" if file.exists() else "there is no such file"
    except OSError as error:  # its folder can't be entered, or its name is too long
        return f"it can't be read: {error.strerror}"


@functools.lru_cache(maxsize=64)
def _load(path: Path, _: tuple[int, ...]) -> Configuration:
    from trimtab._plugins.config_tables import Place, read_tables

    data = read_toml(path)
    if path.name != SHARED_FILE:
        return attrs.evolve(read_tables(data, Place(str(path))), path=path)
    table = shared_table(data)
    if table is None:
        raise ConfigurationError(f"{path}: there is no table [tool.trimtab].")
    return attrs.evolve(read_tables(table, Place(str(path), ("tool", "trimtab"))), path=path)
