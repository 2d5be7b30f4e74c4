"""The conformance kits of the hosts in this project."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points


def kit_entries() -> list[EntryPoint]:
    """Return the entry points of the kits, by name; loading one may need its runtime."""
    found = [
        entry
        for entry in entry_points(group="trimtab.commands")
        if entry.name.startswith("doctor-") and entry.value.endswith("KIT.register")
    ]
    return sorted(found, key=lambda entry: entry.name)
