"""Core imports no plugin and names none."""

from __future__ import annotations

import re
from pathlib import Path


def test_core_has_no_trace_of_the_plugin(root: Path, plugin: str) -> None:
    module = f"trimtab_{plugin.replace('-', '_')}"
    named = re.compile(rf"\b({module}|trimtab-{plugin})\b")
    sources = [root / "core" / "pyproject.toml", *(root / "core" / "src").rglob("*.py")]

    assert [str(path) for path in sources if named.search(path.read_text())] == []
