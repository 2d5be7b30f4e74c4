"""Levels of the contract and requirements on packages: what an installed plugin asks for.

A package declares it in its metadata, so that it is known without an import::

    [project.entry-points."trimtab.api"]
    level-1 = "trimtab"

A minor version of trimtab that changes what plugins rely on raises `LEVEL`. It goes on working
with plugins of the levels from `OLDEST`, which is raised two minor versions later.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from trimtab._plugins.registry import PluginInfo, pip_install
from trimtab._types.text import LazyPattern
from trimtab._version import __version__

if TYPE_CHECKING:
    from packaging.requirements import Requirement

LEVEL = 1
OLDEST = 1
"""Both 1 until something changes that plugins rely on."""


def level_problem(entry: PluginInfo) -> str | None:
    """Say why a plugin of its level can't be used with this trimtab; None if it can.

    Args:
        entry: an entry of the package that declares the level, or declares none.
    """
    level = entry.api_level
    if level is None or OLDEST <= level <= LEVEL:
        return None
    if level > LEVEL:
        return (
            f"{entry.package} was written for API level {level}, and trimtab {__version__} has "
            f"{LEVEL}: {pip_install('trimtab', how='upgrade')}"
        )
    return (
        f"{entry.package} was written for API level {level}, and trimtab {__version__} works with "
        f"{OLDEST} to {LEVEL}: {pip_install(entry.distribution, how='upgrade')}"
    )


def level_note(entry: PluginInfo) -> str | None:
    """Say that a plugin was written for an earlier level that still works; None if it was not.

    Args:
        entry: an entry of the package that declares the level, or declares none.
    """
    level = entry.api_level
    if level is None or not OLDEST <= level < LEVEL:
        return None
    return (
        f"{entry.package} was written for API level {level}; trimtab {__version__} has {LEVEL} and "
        f"still works with it"
    )


_RELEASE = r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}"
_CLAUSE = rf"(?:>=|<=|==|>|<) *{_RELEASE}"
_PLAIN = LazyPattern(
    rf"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])? *(?P<clauses>{_CLAUSE}(?: *, *{_CLAUSE})*)"
)
_PARTS = LazyPattern(rf"(?P<sign>[<=>]{{1,2}}) *(?P<release>{_RELEASE})")
_FINAL = LazyPattern(_RELEASE)
_SIGNS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_LONGEST = 500
"""Characters; the parser takes longer than linear time."""


def parse_requirement(text: str) -> Requirement | None:
    """Return a requirement, or None if `text` is none or is longer than 500 characters.

    Args:
        text: as in a package's metadata (PEP 508).
    """
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text) if len(text) <= _LONGEST else None
    except InvalidRequirement:
        return None


def admits(requirement: Requirement, version: str) -> bool:
    """Return whether an installed version will do; pre-releases that are installed count.

    Args:
        requirement: what is asked for.
        version: what is installed; one that is malformed (PEP 440) will not do.
    """
    from packaging.version import InvalidVersion, Version

    try:
        return requirement.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def plainly_admits(text: str, version: str) -> bool:
    """Return whether a requirement like ``acme>=1,<2`` admits a version like ``1.4``.

    False does not say that it will not do: `packaging`, whose import takes longer than finding all
    plugins, has to be asked then. Where this is true, it agrees.

    Args:
        text: the requirement, without a marker, extras or wildcards.
        version: what is installed, a final release.
    """
    plain = _PLAIN.fullmatch(text) if len(text) <= _LONGEST else None
    if plain is None or not _FINAL.fullmatch(version):
        return False
    installed = _numbers(version)
    return all(
        _SIGNS[sign](installed, _numbers(release))
        for sign, release in _PARTS.findall(plain["clauses"])
    )


def _numbers(release: str) -> tuple[int, ...]:
    """Return a release so that 1.0 and 1 are the same and 1.0.1 is above both."""
    numbers = [int(part) for part in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
