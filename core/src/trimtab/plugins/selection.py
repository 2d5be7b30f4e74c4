"""From a name to the entry that is meant, or a message that says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from trimtab.errors import AmbiguousProvider, ProviderNotAllowed, UnknownProvider
from trimtab.plugins.advice import did_you_mean, listed, pip_install
from trimtab.plugins.inventory import Entry, Inventory
from trimtab.plugins.names import PROVIDER_NAME, normalise, normalise_full, plain

WORDS = {
    "guidance": "guidance provider",
    "feedback": "feedback provider",
    "completion": "completion checker",
    "hosts": "host",
    "mailboxes": "mailbox",
    "transcripts": "transcript reader",
    "commands": "command",
}
"""What messages call the entries of a group."""


def select(group: str, wanted: str, inventory: Inventory) -> Entry:
    """Find the one entry that is meant.

    Args:
        group: e.g. ``"guidance"``.
        wanted: a name, or ``distribution:name``; ``-``, ``_``, ``.`` and case don't matter.
        inventory: what is installed.

    Raises:
        UnknownProvider: there is none; names the nearest, and what is installed.
        AmbiguousProvider: several distributions offer it; names the long forms.
    """
    found = matching(wanted, inventory.of(group))
    if not found:
        raise UnknownProvider(_unknown(group, wanted, inventory))
    entry, *others = found
    if others:
        choices = listed(entry.full_name for entry in found)
        raise AmbiguousProvider(
            f"Several distributions offer a {WORDS[group]} {entry.name!r}: write one of {choices}."
        )
    return entry


def matching(wanted: str, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries that a name or long form may mean."""
    name = normalise_full(wanted)
    return tuple(entry for entry in entries if name in (entry.name, entry.full_name))


def named(name: str, inventory: Inventory) -> tuple[Entry, ...]:
    """Return all entries that a name may mean, of every kind.

    Raises:
        UnknownProvider: there is none.
    """
    found = matching(name, inventory.entries)
    if found:
        return found
    known = dict.fromkeys(entry.name for entry in inventory.entries)
    shown = plain(normalise_full(name), 80)
    raise UnknownProvider(
        f"Nothing called {shown!r} is installed.{did_you_mean(shown, known)} "
        f"Installed: {listed(known)}."
    )


def _unknown(group: str, wanted: str, inventory: Inventory) -> str:
    entries = inventory.of(group)
    shown = plain(wanted, 80)
    known = [*(entry.name for entry in entries), *(entry.full_name for entry in entries)]
    hint = _other_group(group, wanted, inventory) or did_you_mean(normalise_full(shown), known)
    return (
        f"No {WORDS[group]} {shown!r} is installed.{hint} "
        f"Installed: {listed(shortest_names(entries))}.{_damage(inventory)}"
        f"{'' if hint else _package_idea(normalise_full(wanted))}"
    )


def _other_group(group: str, wanted: str, inventory: Inventory) -> str:
    others = [entry for entry in matching(wanted, inventory.entries) if entry.group != group]
    return f" It is a {WORDS[others[0].group]}." if others else ""


def shortest_names(entries: Sequence[Entry]) -> list[str]:
    """Return the names to type: bare, or the long form where one group has it twice."""
    names = [entry.name for entry in entries]
    return [entry.name if names.count(entry.name) == 1 else entry.full_name for entry in entries]


def _package_idea(wanted: str) -> str:
    """Return the line that would install it: the package named, or the one by convention."""
    package, _, name = wanted.rpartition(":")
    package = package or f"trimtab-{name}"
    if not PROVIDER_NAME.fullmatch(name) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", package):
        return ""
    return f" If {package} is the package that offers it: {pip_install(package)}"


def _damage(inventory: Inventory) -> str:
    damaged = [problem for problem in inventory.problems if not problem.harmless]
    if not damaged:
        return ""
    return " Some installed packages are damaged: `trimtab plugins doctor` names them."


def check_allowed(entry: Entry, allow: Sequence[str] | None) -> None:
    """Hold an entry against the allow-list: patterns of distributions, None allows all.

    Raises:
        ProviderNotAllowed: no pattern fits its distribution.
    """
    if allow is None or any(
        fnmatchcase(entry.distribution, normalise(pattern)) for pattern in allow
    ):
        return
    raise ProviderNotAllowed(
        f"The {WORDS[entry.group]} {entry.full_name!r} may not be loaded: the configuration's "
        f"'allow' does not name {entry.distribution!r}. It names {listed(allow)}."
    )
