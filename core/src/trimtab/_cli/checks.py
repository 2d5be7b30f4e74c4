"""Checks of installed packages that need no import."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trimtab._cli.probe import probe
from trimtab._cli.sources import static_problem
from trimtab._plugins.api_level import level_note
from trimtab._plugins.config_records import Configuration
from trimtab._plugins.configuration import active_configuration, load_configuration
from trimtab._plugins.discovery import installed_requirements, installed_version
from trimtab._plugins.registry import (
    WORDS,
    PluginInfo,
    Problem,
    Registry,
    Severity,
    normalise_name,
    pip_install,
)
from trimtab._plugins.requirements import admits, parse_requirement
from trimtab._plugins.resolution import DISABLE, read_environment
from trimtab._plugins.selection import check_required, matching, mismatch, named
from trimtab._types.errors import TrimtabError
from trimtab._types.text import sanitize

if TYPE_CHECKING:
    from packaging.markers import Marker

_ENVIRONMENT = "the environment"


def from_metadata(registry: Registry) -> Iterator[Problem]:
    """Yield the problems that metadata and source files show, importing nothing."""
    for entry in registry.entries:
        wrong = mismatch(entry)
        if wrong:
            yield _about(entry, wrong, "install versions that fit each other")
        problem = static_problem(entry)
        if problem:
            yield _about(entry, problem, "reinstall the package, or ask its authors")
        note = level_note(entry)
        if note:
            fix = f"nothing now; later {pip_install(entry.distribution, how='upgrade')}"
            yield _about(entry, note, fix, severity="note")
        if not entry.requires:
            what = f"{entry.full_name} declares no requirement on trimtab"
            yield _about(
                entry, what, "ask its authors to declare the versions it fits", severity="note"
            )
    places = {entry.distribution: entry.where for entry in registry.entries}
    for distribution, where in places.items():
        for problem in unmet_requirements(distribution):
            yield Problem(distribution, where, problem, "install what is missing")
    yield from _clashes(registry)


def unmet_requirements(distribution: str) -> Iterator[str]:
    """Yield a sentence for each requirement of a package that nothing installed meets.

    Requirements on trimtab are left to `mismatch`.

    Args:
        distribution: the package, from whose metadata they are read.
    """
    for text in installed_requirements(distribution):
        requirement = parse_requirement(text)
        if requirement is None or normalise_name(requirement.name) == "trimtab":
            continue
        if requirement.marker and not _holds(requirement.marker):
            continue
        version = installed_version(requirement.name)
        if version is None:
            found = "which is not installed"
        elif not admits(requirement, version):
            found = f"and version {version} is installed"
        else:
            continue
        wanted = sanitize(f"{requirement.name}{requirement.specifier}", 100)
        yield f"{distribution} needs {wanted}, {found}: {pip_install(wanted)}"


def _holds(marker: Marker) -> bool:
    try:
        return marker.evaluate({"extra": ""})
    except Exception:  # noqa: BLE001  # a marker of another package may name what is unknown
        return False


def _about(entry: PluginInfo, what: str, fix: str, *, severity: Severity = "error") -> Problem:
    return Problem(entry.distribution, entry.where, what, fix, severity)


def _clashes(registry: Registry) -> Iterator[Problem]:
    offers = Counter((entry.group, entry.name) for entry in registry.entries)
    for entry in registry.entries:
        if offers[entry.group, entry.name] > 1:
            what = f"another package offers a {WORDS[entry.group]} {entry.name!r} too"
            yield _about(
                entry, what, f"write {entry.full_name!r} where you mean this one", severity="note"
            )


def from_setup(config: str | None, registry: Registry) -> Iterator[Problem]:
    """Yield what is wrong with the configuration, its require-list and the switches."""
    configuration = Configuration()
    try:
        configuration = load_configuration(config) if config else active_configuration()
        check_required(configuration.require)
    except TrimtabError as error:
        yield _about_setup(str(configuration.path or config or os.curdir), str(error))
    try:
        disabled = read_environment().disabled
    except TrimtabError as error:
        yield _about_setup(_ENVIRONMENT, str(error))
        return
    for name in sorted(disabled):
        if not matching(name, registry.entries):
            what = f"{DISABLE} names {sanitize(name, 80)!r}, and nothing installed is called so"
            yield _about_setup(_ENVIRONMENT, what, severity="note")


def _about_setup(where: str, what: str, *, severity: Severity = "error") -> Problem:
    return Problem("configuration", where, what, "correct it", severity)


def to_load(names: Sequence[str], registry: Registry) -> tuple[PluginInfo, ...]:
    """Return the entries that are to be loaded, each once.

    Raises:
        UnknownProvider: a name that nothing has.
    """
    return tuple(dict.fromkeys(entry for name in names for entry in named(name, registry)))


def load_problem(entry: PluginInfo, timeout: float) -> Problem | None:
    """Load an entry in a process of its own and say what is wrong with it.

    Args:
        timeout: seconds that it may take.
    """
    what = probe(entry, timeout)
    fix = "repair or replace the package; what names it fails until then"
    return _about(entry, what, fix) if what else None
