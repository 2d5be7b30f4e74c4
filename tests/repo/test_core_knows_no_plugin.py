"""Core imports no plugin and names none; its tests use the kit for tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

SUFFIXES = {".py", ".pyi", ".txt"}


def test_core_has_no_trace_of_the_plugin(root: Path, plugin: str) -> None:
    module = f"trimtab_{plugin.replace('-', '_')}"
    named = re.compile(rf"\b({module}|trimtab-{plugin})\b")
    project = tomllib.loads((root / "core" / "pyproject.toml").read_text())
    del project["dependency-groups"]
    sources = [path for path in (root / "core" / "src").rglob("*") if path.suffix in SUFFIXES]

    assert not named.search(str(project))
    assert [str(path) for path in sources if named.search(path.read_text())] == []
