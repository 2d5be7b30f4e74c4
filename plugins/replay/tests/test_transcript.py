"""What a reader gets from a file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from trimtab_replay import Skipped, Transcript


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_are_text_with_their_numbers_and_what_is_no_utf_8_is_reported(
    tmp_path: Path, pack
) -> None:
    path = tmp_path / "run.csv"
    path.write_bytes(pack("tool,answer\n\nls,Öl\n".encode() + b"pwd,\xff\n"))
    skipped: list[Skipped] = []
    source = Transcript(path, "run.csv", skipped.append)

    assert [*source.lines()] == [(1, "tool,answer\n"), (3, "ls,Öl\n"), (4, "pwd,�\n")]
    assert skipped == [Skipped("run.csv", 4, "not UTF-8")]
