"""Collected by ``pytest --trimtab NAME``: a test class for each kind that offers the name."""

from __future__ import annotations

from trimtab._plugins.discovery import discover
from trimtab._plugins.resolution import named
from trimtab._testing import conformance
from trimtab._testing.pytest_plugin import NAMES

_KINDS = {
    "guidance": conformance.GuidanceConformance,
    "feedback": conformance.FeedbackConformance,
    "completion": conformance.CompletionConformance,
    "recorders": conformance.RecorderConformance,
}

for _name in NAMES:
    for _entry in named(_name, discover()):
        if _entry.group in _KINDS:
            _title = f"Test{_entry.group.title()}{_entry.name.title().replace('-', '')}"
            globals()[_title] = type(_title, (_KINDS[_entry.group],), {"name": _entry.full_name})
