"""What can be wrong, found without importing a provider, and by loading it elsewhere."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from trimtab.cli.probe import probe
from trimtab.cli.static import static_fault
from trimtab.errors import TrimtabError
from trimtab.plugins.compatibility import check_required, mismatch
from trimtab.plugins.config import Configuration, active_configuration, load_configuration
from trimtab.plugins.inventory import Entry, Inventory, Problem
from trimtab.plugins.names import plain
from trimtab.plugins.selection import WORDS, matching, named
from trimtab.plugins.switches import DISABLE, read_switches

_ENVIRONMENT = "the environment"


def from_metadata(inventory: Inventory) -> Iterator[Problem]:
    """Yield what metadata and source files tell, importing nothing."""
    for entry in inventory.entries:
        wrong = mismatch(entry)
        if wrong:
            yield _about(entry, wrong, "install versions that fit each other")
        fault = static_fault(entry)
        if fault:
            yield _about(entry, fault, "reinstall the package, or ask its authors")
        if not entry.requires:
            what = f"{entry.full_name} declares no requirement on trimtab"
            yield _about(
                entry, what, "ask its authors to declare the versions it fits", harmless=True
            )
    yield from _clashes(inventory)


def _about(entry: Entry, what: str, remedy: str, *, harmless: bool = False) -> Problem:
    return Problem(entry.distribution, entry.where, what, remedy, harmless)


def _clashes(inventory: Inventory) -> Iterator[Problem]:
    offers = Counter((entry.group, entry.name) for entry in inventory.entries)
    for entry in inventory.entries:
        if offers[entry.group, entry.name] > 1:
            what = f"another package offers a {WORDS[entry.group]} {entry.name!r} too"
            yield _about(
                entry, what, f"write {entry.full_name!r} where you mean this one", harmless=True
            )


def from_setup(config: str | None, inventory: Inventory) -> Iterator[Problem]:
    """Yield what is wrong with the configuration, its require-list and the switches."""
    configuration = Configuration()
    try:
        configuration = load_configuration(config) if config else active_configuration()
        check_required(configuration.require)
    except TrimtabError as error:
        yield _about_setup(str(configuration.path or config or os.curdir), str(error))
    try:
        disabled = read_switches().disabled
    except TrimtabError as error:
        yield _about_setup(_ENVIRONMENT, str(error))
        return
    for name in sorted(disabled):
        if not matching(name, inventory.entries):
            what = f"{DISABLE} names {plain(name, 80)!r}, and nothing installed is called so"
            yield _about_setup(_ENVIRONMENT, what, harmless=True)


def _about_setup(where: str, what: str, *, harmless: bool = False) -> Problem:
    return Problem("configuration", where, what, "correct it", harmless)


def to_load(names: Sequence[str], inventory: Inventory) -> tuple[Entry, ...]:
    """Return the entries that are to be loaded, each once.

    Raises:
        UnknownProvider: a name that nothing has.
    """
    return tuple(dict.fromkeys(entry for name in names for entry in named(name, inventory)))


def load_fault(entry: Entry, timeout: float) -> Problem | None:
    """Load an entry in a process of its own and say what is wrong with it.

    Args:
        timeout: seconds that it may take.
    """
    what = probe(entry, timeout)
    remedy = "repair or replace the package; what names it fails until then"
    return _about(entry, what, remedy) if what else None
