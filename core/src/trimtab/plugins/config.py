"""Configuration files: read once per change, checked (DESIGN 3)."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from trimtab.errors import ConfigurationError
from trimtab.plugins.finding import SHARED_FILE, find_configuration, read_toml, shared_table, stamp
from trimtab.plugins.settings import (
    CompletionCheckerConfig,
    FeedbackProviderConfig,
    GuidanceProviderConfig,
)


@attrs.frozen(kw_only=True)
class PromptSettings:
    """One table ``prompts."ns/key"``; None where the table says nothing, so that code decides."""

    guidance: tuple[GuidanceProviderConfig, ...] | None = None
    feedback: tuple[FeedbackProviderConfig, ...] | None = None
    completion: tuple[CompletionCheckerConfig, ...] | None = None
    guidance_limit: int | None = None
    feedback_delivery: Literal["first", "all"] | None = None


@attrs.frozen(kw_only=True)
class Configuration:
    """A configuration file, read and checked.

    Attributes:
        path: the file; None where there is none.
        prompts: settings by the prompt's name.
        hosts: the tables ``hosts.NAME`` as they stand, for the hosts' packages.
        allow: patterns of distributions that may be loaded; None allows all.
        require: distributions that must be installed, e.g. ``"acme-nudges>=0.1"``.
    """

    path: Path | None = None
    prompts: Mapping[str, PromptSettings] = attrs.field(factory=dict)
    hosts: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    allow: tuple[str, ...] | None = None
    require: tuple[str, ...] = ()


def active_configuration(start: str | os.PathLike[str] | None = None) -> Configuration:
    """Return the configuration that `find_configuration` finds, or an empty one.

    Raises:
        ConfigurationError: the file can't be read, or something in it is wrong.
    """
    path = find_configuration(start)
    return load_configuration(path) if path else Configuration()


def load_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read a configuration file; again only when it has changed.

    Args:
        path: a trimtab.toml, whatever its name, or a pyproject.toml with ``[tool.trimtab]``.

    Raises:
        ConfigurationError: it can't be read, is no TOML, or holds a key or value that is
            wrong; names the file, the table and the key.
    """
    file = Path(path).absolute()
    found = stamp(file)
    if found is None:
        raise ConfigurationError(f"{file}: there is no such file.")
    return _load(file, found)


@functools.lru_cache(maxsize=64)
def _load(path: Path, _: tuple[int, ...]) -> Configuration:
    from trimtab.plugins.tables import Place, read_tables

    data = read_toml(path)
    if path.name != SHARED_FILE:
        return attrs.evolve(read_tables(data, Place(str(path))), path=path)
    table = shared_table(data)
    if table is None:
        raise ConfigurationError(f"{path}: there is no table [tool.trimtab].")
    return attrs.evolve(read_tables(table, Place(str(path), ("tool", "trimtab"))), path=path)
