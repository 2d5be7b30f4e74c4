"""What is cut, flipped or zeroed is recovered or named, and never read as something else."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from trimtab_trace import (
    Damage,
    JsonlStore,
    SqliteStore,
    TraceDamaged,
    TraceError,
    TraceEvent,
    TraceWriter,
    open_trace,
)
from trimtab_trace._codec import scan_file

from .making import records, write

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[TraceEvent]]:
    """A file of 600 events, and the events."""
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    write(path, records(199), durability="none")
    events = list(open_trace(path))
    assert len(events) == 600
    return path.read_bytes(), events


def read(path: Path) -> tuple[list[TraceEvent], list[Damage]]:
    events: list[TraceEvent] = []
    damages: list[Damage] = []
    for item in scan_file(path):
        (events if isinstance(item, TraceEvent) else damages).append(item)  # type: ignore[arg-type]
    return events, damages


def assert_continues(path: Path, *, expected: int) -> None:
    """Append to the file, and check that the new event follows event `expected` - 1."""
    writer = TraceWriter(JsonlStore(path, durability="none"))
    assert writer.store.next_seq == expected
    added = writer.write("Note", {"text": "after the crash"})
    writer.close()
    assert added.seq == expected


def test_a_cut_at_every_byte_of_the_last_line_leaves_an_exact_prefix(
    trace: tuple[bytes, list[TraceEvent]], tmp_path: Path
) -> None:
    data, events = trace
    last = data.rfind(b"\n", 0, -1) + 1
    path = tmp_path / "cut.jsonl"
    for cut in range(last, len(data) + 1):
        path.write_bytes(data[:cut])
        found, damages = read(path)
        whole = 600 if cut >= len(data) - 1 else 599
        assert found == events[:whole]
        assert not damages
        assert_continues(path, expected=whole)
        if cut % 50 == 0:
            found, damages = read(path)
            assert [event.seq for event in found] == list(range(whole + 1))
            assert not damages


def test_a_cut_at_every_line_boundary_leaves_an_exact_prefix(
    trace: tuple[bytes, list[TraceEvent]], tmp_path: Path
) -> None:
    data, events = trace
    path, cut, count = tmp_path / "cut.jsonl", 0, 0
    while cut <= len(data):
        path.write_bytes(data[:cut])
        found, damages = read(path)
        assert found == events[:count]
        assert not damages
        if count % 50 == 0:
            assert_continues(path, expected=count)
        end = data.find(b"\n", cut)
        if end < 0:
            break
        cut, count = end + 1, count + 1
    assert count == 600


def test_a_thousand_bit_flips_are_recovered_or_named(
    trace: tuple[bytes, list[TraceEvent]], tmp_path: Path
) -> None:
    data, events = trace
    chance, path = random.Random(20260105), tmp_path / "flipped.jsonl"
    by_seq = dict(enumerate(events))
    for _ in range(1000):
        flipped = bytearray(data)
        place = chance.randrange(len(data))
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        found, damages = read(path)
        assert all(by_seq[event.seq] == event for event in found)
        assert damages or (len(found) >= 599 and place >= len(data) - 1000)
        lost = 600 - len(found)
        assert lost <= 2
        if lost and not damages:
            last = data.rfind(b"\n", 0, -1)
            assert place > last  # the torn tail, which the next writer repairs


def test_a_zeroed_block_is_named_and_the_rest_is_read(
    trace: tuple[bytes, list[TraceEvent]], tmp_path: Path
) -> None:
    data, events = trace
    path = tmp_path / "zeroed.jsonl"
    start = len(data) // 2 // 512 * 512
    path.write_bytes(data[:start] + bytes(4096) + data[start + 4096 :])
    found, damages = read(path)
    assert all(events[event.seq] == event for event in found)
    assert len(damages) == 2
    assert "missing" in damages[1].what
    with pytest.raises(TraceDamaged, match=r"line \d+ \(byte [\d,]+\)"):
        list(open_trace(path))


def test_removed_doubled_and_swapped_lines_are_named(
    trace: tuple[bytes, list[TraceEvent]], tmp_path: Path
) -> None:
    data, _ = trace
    lines = data.splitlines(keepends=True)
    path = tmp_path / "lines.jsonl"
    for changed, words in (
        (lines[:9] + lines[12:], "events 9 to 11 are missing"),
        (lines[1:], "event 0 is missing"),
        ([*lines[:9], lines[8], *lines[9:]], "out of order"),
        ([*lines[:9], lines[10], lines[9], *lines[11:]], "event 9 is missing"),
    ):
        path.write_bytes(b"".join(changed))
        assert words in str(read(path)[1][0])


def test_a_writer_goes_on_behind_damaged_lines(
    trace: tuple[bytes, list[TraceEvent]], tmp_path: Path
) -> None:
    data, _ = trace
    lines = data.splitlines(keepends=True)
    path = tmp_path / "tail.jsonl"
    path.write_bytes(b"".join([*lines[:-2], b"\0" * 80 + b"\n", b"{}\n"]))
    assert_continues(path, expected=600)


def test_a_torn_line_of_nothing_else_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(b'{"v":1,"run')
    store = JsonlStore(path)
    assert (store.next_seq, path.stat().st_size) == (0, 0)
    store.close()
    assert path.read_bytes() == b""


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    writer = TraceWriter(SqliteStore(path, "run-1"))
    for record in records(20):
        writer.record(record)
    writer.close()
    events = list(open_trace(path))
    assert len(events) == 63
    database = sqlite3.connect(path)
    database.execute("update event set body = replace(body, 'make 3', 'make 4') where seq = 11")
    database.execute("delete from event where seq in (5, 6)")
    database.commit()
    database.close()
    found = open_trace(path, strict=False)
    assert all(events[event.seq] == event for event in found)
    assert [(one.seq, one.what.split(";")[0]) for one in found.damages] == [
        (5, "events 5 to 6 are missing"),
        (11, "no bytes"),
    ]
    with pytest.raises(TraceDamaged):
        list(open_trace(path))


def test_bit_flips_in_a_database_are_named_or_leave_the_events_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    writer = TraceWriter(SqliteStore(path, "run-1"))
    for record in records(60):
        writer.record(record)
    writer.close()
    database = sqlite3.connect(path)
    database.execute("pragma wal_checkpoint(truncate)")
    database.execute("pragma journal_mode = delete")
    database.close()
    data, events = path.read_bytes(), list(open_trace(path))
    chance = random.Random(7)
    for _ in range(200):
        flipped = bytearray(data)
        flipped[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        trace = open_trace(path, strict=False)
        try:
            found = list(trace)
        except TraceError:
            continue
        assert all(events[event.seq] == event for event in found)
        assert trace.damages or found == events
