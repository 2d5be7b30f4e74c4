"""Collected by ``pytest --trimtab NAME``: a test class for each kind that offers the name."""

from __future__ import annotations

from trimtab._plugins.discovery import discover
from trimtab._plugins.resolution import named
from trimtab._testing.conformance import SUITES
from trimtab._testing.pytest_plugin import NAMES

for _name in NAMES:
    for _entry in named(_name, discover()):
        if _entry.group in SUITES:
            _title = f"Test{_entry.group.title()}{_entry.name.title().replace('-', '')}"
            globals()[_title] = type(_title, (SUITES[_entry.group],), {"name": _entry.full_name})
