"""A reader that another package brings: found, used, and kept from spoiling anything."""

from __future__ import annotations

import json

import pytest

from trimtab import Outcome
from trimtab.inspection import refresh
from trimtab_replay import CallResult

from .conftest import call

MODULE = """
import os

from trimtab import ToolCall, ToolInvoked
from trimtab.events import ModelResponded
from trimtab_replay import RecordedItem, Recording


class Acme:
    name = "acme"

    def sniff(self, source):
        return float(source.head.startswith(b"ACME"))

    def read(self, source):
        commands = source.head.decode().splitlines()[1:]
        yield Recording(id="one", path=source.path, reader=self.name, entries=entries(commands))


def entries(commands):
    for turn, command in enumerate(commands):
        call = ToolCall("run", {"command": command}, f"c{turn}")
        yield RecordedItem(ModelResponded(turn=turn, tool_calls=(call,)), turn - 1)
        yield RecordedItem(
            ToolInvoked(tool="run", params=call.params, call_id=call.call_id, turn=turn), turn
        )


def made(source, **facts):
    return Recording(**{"id": "x", "path": source.path, "reader": "junk", "entries": [], **facts})


def responded(call):
    return RecordedItem(ModelResponded(tool_calls=(call,)), 0)


def invoked(tool):
    return RecordedItem(ToolInvoked(tool=tool, params=[]), None)


MADE = {
    b"no recording": lambda source: 5,
    b"id": lambda source: made(source, id=5),
    b"entries": lambda source: made(source, entries=5),
    b"entry": lambda source: made(source, entries=[5]),
    b"item": lambda source: made(source, entries=[RecordedItem("x", 0)]),
    b"call": lambda source: made(source, entries=[responded("x")]),
    b"tool": lambda source: made(source, entries=[invoked(5)]),
    b"tools": lambda source: made(source, tools=5),
    b"meta": lambda source: made(source, meta=5),
    b"exit": lambda source: exit(9),
    b"leave": lambda source: os._exit(9),
    b"die": lambda source: os.kill(os.getpid(), 9),
}


class Junk:
    name = "junk"

    def sniff(self, source):
        return float(source.head.startswith(b"JUNK "))

    def read(self, source):
        yield MADE[source.head.removeprefix(b"JUNK ")](source)


class NoScore:
    name = "noscore"

    def sniff(self, transcript):
        return None

    def read(self, transcript):
        yield from ()


class NoRecordings(NoScore):
    name = "norecordings"

    def sniff(self, transcript):
        return 1.0 if transcript.head.startswith(b"NONE") else 0.0

    def read(self, transcript):
        return None


class NoRecording(NoRecordings):
    name = "norecording"

    def read(self, transcript):
        return ["run"]


class Abandons:
    name = "abandons"

    def sniff(self, source):
        exit(9)

    def read(self, source):
        yield from ()
"""
METADATA = "Metadata-Version: 2.1\nName: acme-reader\nVersion: 1.0\n"
FAULTS = [
    *("no recording", "id", "entries", "entry", "item"),
    *("call", "tool", "tools", "meta", "exit", "leave"),
]


@pytest.fixture
def acme(tmp_path, speakers):
    def install(*readers):
        info = tmp_path / "site" / "acme_reader-1.0.dist-info"
        info.mkdir()
        (tmp_path / "site" / "acme_reader.py").write_text(MODULE)
        (info / "METADATA").write_text(METADATA)
        named = [f"{reader.lower()} = acme_reader:{reader}" for reader in readers]
        (info / "entry_points.txt").write_text("\n".join(["[trimtab.transcripts]", *named]))
        refresh()

    return install


def test_it_is_found_and_used(acme, run, tmp_path):
    acme("Acme")
    path = tmp_path / "run.acme"
    path.write_text("ACME\n" + "pytest\n" * 3)
    status, printed, said = run("replay", path, "--enable", "repeats", "--json")
    line = json.loads(printed)

    assert (status, said, line["id"], line["reader"]) == (0, "", "one", "acme")
    assert (line["calls"], [decision["call"] for decision in line["decisions"]]) == (3, [2])


@pytest.mark.parametrize(
    "made_up", [*((fault, 1) for fault in FAULTS), ("item", 2), ("exit", 2), ("leave", 2)]
)
def test_what_it_makes_up_is_named_and_the_rest_is_read(acme, run, write_cases, tmp_path, made_up):
    fault, jobs = made_up
    acme("Junk")
    write_cases({"id": "good", "calls": [call(turn=0)]})
    path = tmp_path / "a.junk"
    path.write_text(f"JUNK {fault}")
    arguments = ("--enable", "repeats", "--json", "--jobs", jobs)
    status, printed, said = run("replay", path, tmp_path / "cases.jsonl", *arguments)

    assert status == 1
    assert "good" in [json.loads(line)["id"] for line in printed.splitlines()]
    assert f"trimtab: {path}: " in said


def test_one_that_crashes_its_process_is_a_message(acme, run, write_cases, tmp_path):
    acme("Junk")
    write_cases({"id": "good", "calls": [call(turn=0)]})
    path = tmp_path / "a.junk"
    path.write_text("JUNK die")
    arguments = ("--enable", "repeats", "--json", "--jobs", 2)
    status, _, said = run("replay", path, tmp_path / "cases.jsonl", *arguments)

    assert status == 2
    assert said.startswith("trimtab: a process died: a provider or a reader crashed it")


def test_one_that_leaves_while_it_looks_does_not_take_the_others_along(acme, run, write_cases):
    acme("Abandons")
    path = write_cases({"id": "good", "calls": [call(turn=0)]})
    status, printed, said = run("replay", path, "--enable", "repeats", "--json")

    assert (status, json.loads(printed)["id"]) == (1, "good")
    assert "reader abandons failed to look at it: SystemExit: 9" in said


@pytest.mark.parametrize(
    ("reader", "why"),
    [
        ("NoScore", "failed to look at it: TypeError: its sniff() returns None, not a number"),
        ("NoRecordings", "failed: TypeError: its read() returns None, not recordings"),
        ("NoRecording", "failed: TypeError: its read() gives 'run', not a Recording"),
    ],
)
def test_what_it_returns_of_another_kind_is_named(acme, run, write_cases, reader, why):
    acme(reader)
    path = write_cases({"id": "good", "calls": [call(turn=0)]})
    other = path.with_name("a.none")
    other.write_text("NONE")
    status, printed, said = run("replay", path, other, "--enable", "repeats", "--json")

    assert (status, json.loads(printed)["id"]) == (1, "good")
    assert f"{other}: reader {reader.lower()} {why}" in said


def test_the_end_of_a_call_may_be_a_plain_string_and_must_be_one_that_there_is():
    assert CallResult(result="x", outcome="error").outcome is Outcome.ERROR
    for wrong in ({"outcome": "broken"}, {"evidence": "rumour"}):
        with pytest.raises(ValueError, match="is not a valid"):
            CallResult(**wrong)
