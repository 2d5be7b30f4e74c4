"""What a reader gets from a file."""

from __future__ import annotations

import gzip
import json
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


def test_of_a_packed_file_that_is_damaged_within_nearly_all_before_is_read(tmp_path):
    rows = [
        json.dumps({"row": number, "noise": str(hash(number) * 7919)}) for number in range(20_000)
    ]
    packed = bytearray(gzip.compress("\n".join(rows).encode()))
    at = len(packed) // 2
    packed[at : at + 64] = bytes(64)
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(packed)
    skipped: list[Skipped] = []
    read = [row.value.get("row") for row in Transcript(path, "run", skipped.append).rows()]

    assert read[:8_000] == list(range(8_000))
    assert skipped
