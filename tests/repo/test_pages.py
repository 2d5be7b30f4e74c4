"""Pages show what their readers can see and what the commands print."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CODE_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COLUMN = 88
"""Characters of code that the text column shows in a window of 1280 pixels."""


def pages(root: Path) -> Iterator[Path]:
    yield from sorted(root.glob("*.md"))
    yield from sorted((root / "docs").rglob("*.md"))
    yield from sorted(root.glob("plugins/*/README.md"))


def test_no_line_of_code_is_wider_than_the_column(root: Path) -> None:
    wide = [
        f"{page.relative_to(root)}: {line}"
        for page in pages(root)
        for block in CODE_BLOCK.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if len(line) > COLUMN and not line.startswith(":")  # options of a directive
    ]

    assert wide == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["timeline.svg", "watch.svg"])
def test_a_picture_shows_what_the_command_prints(name: str, root: Path) -> None:
    """Where it does not: ``python docs/pictures.py``."""
    pytest.importorskip("rich")
    pytest.importorskip("trimtab_replay")
    spec = importlib.util.spec_from_file_location("pictures", root / "docs" / "pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    kept = (root / "docs" / "how-to" / name).read_text(encoding="utf-8")

    assert pictures.words_in(kept) == pictures.words_in(pictures.PICTURES[name]())


def test_no_page_holds_the_marks_of_a_merge(root: Path) -> None:
    marks = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)

    assert [page for page in pages(root) if marks.search(page.read_text(encoding="utf-8"))] == []
