"""Stores when something fails: killed writers, full disks, second writers, large events."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from trimtab import ManualClock
from trimtab.events import UserMessage, decode_value
from trimtab_trace import (
    EventInvalid,
    JsonlStore,
    SqliteStore,
    TraceBusy,
    TraceError,
    TraceWriteError,
    TraceWriter,
    UnknownEvent,
    open_trace,
    redactor,
    traces_in,
)
from trimtab_trace._codec import BACKEND, STANDARD

from .making import records, write

pytestmark = pytest.mark.slow

STORES = (
    pytest.param(lambda folder: JsonlStore(folder / "run.jsonl"), id="jsonl"),
    pytest.param(lambda folder: SqliteStore(folder / "runs.db", "run-1"), id="sqlite"),
)
MakeStore = Callable[[Path], JsonlStore | SqliteStore]


def write_until_killed(make: MakeStore, folder: Path, pipe: int) -> None:
    """Append for ever; report each durable event once it is acknowledged."""
    writer = TraceWriter(make(folder))
    while True:
        for record in records(50):
            event = writer.record(record)
            if event.event_type == "ToolInvoked":
                os.write(pipe, b"%d\n" % event.seq)


def killed_after(seconds: float, make: MakeStore, folder: Path) -> int:
    """Kill a writer some seconds after its first report; return the last that it reported."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            write_until_killed(make, folder, write_end)
        finally:
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        first = pipe.readline()
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines = (first + pipe.read()).split(b"\n")
    return int(lines[-2])  # behind the last line break, a report may be cut short


@pytest.mark.parametrize("make", STORES)
def test_fifty_killed_writers_lose_no_acknowledged_event(make: MakeStore, tmp_path: Path) -> None:
    chance, reported = random.Random(3), 0
    write(tmp_path / "warm" / "run.jsonl", records(1))
    for _ in range(50):
        last = killed_after(chance.uniform(0.0, 0.05), make, tmp_path)
        store = make(tmp_path)
        assert store.next_seq > last
        reported += 1
        TraceWriter(store).write("Note", {"text": "continued"})
        store.close()
    events = list(open_trace(store.path))
    assert [event.seq for event in events] == list(range(len(events)))
    assert events[-1].epoch == 2 * reported - 1


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("make", STORES)
def test_a_full_disk_leaves_the_event_out_and_says_so(make: MakeStore, tmp_path: Path) -> None:
    store = make(tmp_path)
    writer = TraceWriter(store)
    for record in records(3):
        writer.record(record)
    before = store.next_seq
    with file_size_limit(20_000), pytest.raises(TraceWriteError, match=r"append again|free some"):
        writer.write("Note", {"text": "x" * 100_000}, event_id="retried")
    assert store.next_seq == before
    added = writer.write("Note", {"text": "x" * 100_000}, event_id="retried")
    assert writer.write("Note", {"text": "again"}, event_id="retried") == added
    writer.close()
    events = list(open_trace(store.path))
    assert len(events) == before + 1
    assert events[-1].event_id == "retried"


def test_a_device_without_space_is_named(tmp_path: Path) -> None:
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    with pytest.raises(TraceError, match=r"full\.jsonl"):
        TraceWriter(JsonlStore(tmp_path / "full.jsonl")).write("Note", {"text": "x"})


@pytest.mark.parametrize("make", STORES)
def test_a_folder_that_can_not_be_written_is_named(make: MakeStore, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o755)
    root = os.geteuid() == 0
    if root:
        tmp_path.parent.parent.chmod(0o755)
        tmp_path.parent.chmod(0o755)
        tmp_path.chmod(0o755)
        os.seteuid(65534)
    else:
        folder.chmod(0o500)
    try:
        with pytest.raises(TraceError, match="choose a"):
            make(folder)
    finally:
        os.seteuid(0 if root else os.geteuid())


@pytest.mark.parametrize("make", STORES)
def test_a_file_in_place_of_the_folder_is_named(make: MakeStore, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(TraceError, match="choose a"):
        make(tmp_path / "taken")


def test_a_second_writer_of_a_file_is_refused(tmp_path: Path) -> None:
    first = JsonlStore(tmp_path / "run.jsonl")
    with pytest.raises(TraceBusy, match="another writer"):
        JsonlStore(tmp_path / "run.jsonl")
    first.close()
    JsonlStore(tmp_path / "run.jsonl").close()


def test_a_second_writer_of_a_database_trace_is_refused_at_its_first_event(tmp_path: Path) -> None:
    first, second = (TraceWriter(SqliteStore(tmp_path / "runs.db", "run-1")) for _ in range(2))
    first.write("Note", {"text": "first"})
    with pytest.raises(TraceBusy, match="another writer added event 0"):
        second.write("Note", {"text": "second"})
    other = TraceWriter(SqliteStore(tmp_path / "runs.db", "run-2"))
    other.write("Note", {"text": "another trace"})
    for writer in (first, second, other):
        writer.close()
    assert traces_in(tmp_path / "runs.db") == ["run-1", "run-2"]
    with pytest.raises(TraceError, match="name one of: run-1, run-2"):
        list(open_trace(tmp_path / "runs.db"))
    assert len(list(open_trace(tmp_path / "runs.db", "run-2"))) == 1


@pytest.mark.parametrize("make", STORES)
def test_an_event_of_fifty_megabytes_comes_back_whole(make: MakeStore, tmp_path: Path) -> None:
    text = "0123456789abcdef\n" * (50_000_000 // 17)
    store = make(tmp_path)
    writer = TraceWriter(store)
    writer.record(UserMessage(text=text, run_id="run-1"))
    writer.record(UserMessage(text="short", run_id="run-1"))
    writer.close()
    large, short = open_trace(store.path)
    assert large.payload["text"] == text
    assert short.seq == 1


@pytest.mark.parametrize("make", STORES)
def test_an_event_above_the_limit_is_refused_with_its_size(
    make: MakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab_trace._codec.MAX_BYTES", 10_000)
    store = make(tmp_path)
    writer = TraceWriter(store)
    with pytest.raises(EventInvalid, match="bytes"):
        writer.write("Note", {"text": "x" * 20_000})
    assert writer.write("Note", {"text": "x"}).seq == 0
    writer.close()


def test_a_clock_that_steps_back_changes_no_order(tmp_path: Path) -> None:
    clock = ManualClock()
    writer = TraceWriter(JsonlStore(tmp_path / "run.jsonl"), clock=clock)
    writer.write("Note", {"n": 0})
    clock.set_wall(datetime(2020, 1, 1, tzinfo=UTC))
    writer.write("Note", {"n": 1})
    writer.close()
    first, second = open_trace(tmp_path / "run.jsonl")
    assert (first.payload["n"], second.payload["n"]) == (0, 1)
    assert second.timestamp < first.timestamp


def test_writers_in_many_threads_keep_one_order(tmp_path: Path) -> None:
    writer = TraceWriter(JsonlStore(tmp_path / "run.jsonl", durability="none"))

    def work(n: int) -> None:
        for i in range(200):
            writer.write("Note", {"thread": n, "i": i})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    events = list(open_trace(tmp_path / "run.jsonl"))
    assert len({event.event_id for event in events}) == 800
    for n in range(4):
        own = [event.payload["i"] for event in events if event.payload["thread"] == n]
        assert own == list(range(200))


@pytest.mark.parametrize("durability", ["none", "barrier", "interval", "each"])
def test_all_durabilities_write_the_same(durability: str, tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl", records(5), durability=durability)
    assert len(list(open_trace(path))) == 18
    database = TraceWriter(SqliteStore(tmp_path / "runs.db", durability=durability))
    for record in records(5):
        database.record(record)
    database.close()
    assert [e.payload for e in open_trace(tmp_path / "runs.db")] == [
        e.payload for e in open_trace(path)
    ]


def test_an_unknown_durability_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="none, barrier, interval, each"):
        JsonlStore(tmp_path / "run.jsonl", durability="sometimes")


def test_both_json_libraries_write_what_the_other_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"a": 2**70, "b": "lone \ud800", "c": [1.5, float("inf")], "é": "日本"}
    for backend in (BACKEND, STANDARD):
        monkeypatch.setattr("trimtab_trace._codec.BACKEND", backend)
        writer = TraceWriter(JsonlStore(tmp_path / f"{backend.name}.jsonl"))
        writer.write("Note", {"value": value})
        writer.close()
    paths = sorted(tmp_path.iterdir())
    for backend in (BACKEND, STANDARD):
        monkeypatch.setattr("trimtab_trace._codec.BACKEND", backend)
        one, two = (next(iter(open_trace(path))) for path in paths)
        assert one.payload == two.payload
        assert decode_value(one.payload["value"])["a"] == 2**70


def test_an_unknown_event_is_written_back_unchanged(tmp_path: Path) -> None:
    from trimtab_trace import EVENT_TYPES

    writer = TraceWriter(JsonlStore(tmp_path / "one.jsonl"))
    written = writer.write("GoneEvent", {"$odd": [1, {"x": None}]}, run_id="run-1", actor="sub")
    writer.close()
    event = next(iter(open_trace(tmp_path / "one.jsonl")))
    assert event == written
    loaded = EVENT_TYPES.load(event)
    assert loaded == UnknownEvent(event)
    writer = TraceWriter(JsonlStore(tmp_path / "two.jsonl"))
    writer.record(loaded)
    writer.close()
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


def test_a_correction_is_a_new_event_that_names_the_old(tmp_path: Path) -> None:
    writer = TraceWriter(JsonlStore(tmp_path / "run.jsonl"))
    wrong = writer.write("Note", {"text": "2 tests failed"}, run_id="run-1")
    writer.correct(wrong, {"text": "3 tests failed"}, reason="miscounted")
    writer.close()
    old, new = open_trace(tmp_path / "run.jsonl")
    assert old == wrong
    assert new.references.corrects == old.event_id
    assert new.payload["payload"] == {"text": "3 tests failed"}


def test_values_of_redacted_keys_never_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = TraceWriter(JsonlStore(path), redact=redactor(["Password", "*token*"]))
    writer.write("Note", {"input": {"password": "hunter2", "n": [{"api_TOKEN": "t0p"}]}, "ok": 1})
    writer.close()
    assert b"hunter2" not in path.read_bytes()
    assert b"t0p" not in path.read_bytes()
    assert next(iter(open_trace(path))).payload["input"]["password"] == "[redacted]"


def test_a_later_format_of_a_database_is_refused(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "runs.db").close()
    database = sqlite3.connect(tmp_path / "runs.db")
    database.execute("pragma user_version = 9")
    database.close()
    with pytest.raises(TraceError, match="format 9"):
        SqliteStore(tmp_path / "runs.db")
