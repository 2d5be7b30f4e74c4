"""Levels of the contract: a plugin declares the one that it was written for.

A package declares it in its metadata, so that it is known without an import::

    [project.entry-points."trimtab.api"]
    level-1 = "trimtab"

A minor version of trimtab that changes what plugins rely on raises `LEVEL`. It goes on working
with plugins of the levels from `OLDEST`, which is raised two minor versions later.
"""

from __future__ import annotations

from trimtab._plugins.registry import PluginInfo, pip_install
from trimtab._version import __version__

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
