"""The conformance kits of the hosts in this project."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from trimtab_testing._commands import KITS


def kit_entries() -> list[EntryPoint]:
    """Return the entry points of the kits, by name; loading one may need its runtime."""
    return sorted(entry_points(group=KITS), key=lambda entry: entry.name)
