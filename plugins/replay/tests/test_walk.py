"""From paths to recordings: folders, sniffing, damage, and the account of it."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab import ToolInvoked
from trimtab.events import ModelResponded, UserMessage
from trimtab_replay._corpus import Corpus, chosen, find
from trimtab_replay._recording import RecordedItem, Recording, ReplayError
from trimtab_replay._transcript import Skipped, Transcript

from .telling import DATA, all_readers

READERS = list(all_readers().values())
CLAUDE = (DATA / "claude-code.jsonl").read_bytes()
CLAUDE_CALLS = 7


def read(*paths: Path) -> tuple[Corpus, int]:
    """Read everything under `paths`; return the account and the number of calls."""
    corpus, calls = Corpus(READERS), 0
    for recording in corpus.recordings(paths):
        calls += sum(isinstance(entry.item, ToolInvoked) for entry in recording.entries)
    return corpus, calls


def written(folder: Path, data: bytes, name: str = "run.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_folders_are_walked_by_name(tmp_path):
    for name in ("b/2.jsonl", "b/1.jsonl", "a.jsonl", "c.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CLAUDE)
    names = [Path(found.path).relative_to(tmp_path).as_posix() for found in find([tmp_path])]
    assert names == ["a.jsonl", "b/1.jsonl", "b/2.jsonl", "c.txt"]


def test_links_that_form_a_loop_end(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    written(tmp_path / "a", CLAUDE)
    corpus, calls = read(tmp_path)
    assert calls == CLAUDE_CALLS
    assert [Path(each.path).name for each in corpus.skipped] == ["self"]


def test_files_nobody_knows_are_counted_in_a_folder_and_refused_by_name(tmp_path):
    written(tmp_path, b"# notes\n", "notes.md")
    written(tmp_path, b'{"name": "package"}', "package.json")
    written(tmp_path, b"{ // a comment\n}", "settings.json")
    (tmp_path / "empty.jsonl").touch()
    corpus, _ = read(tmp_path)
    assert (corpus.files, corpus.other_files, corpus.skipped) == (0, 4, [])
    corpus, _ = read(tmp_path / "notes.md")
    assert "no reader knows this format" in corpus.skipped[0].message


def test_a_missing_file_and_a_pipe_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    corpus, _ = read(tmp_path / "missing", tmp_path / "pipe", tmp_path / "a\0b")
    assert [each.message for each in corpus.skipped] == [
        "no such file, or no access",
        "no regular file",
        "no such file, or no access",
    ]
    corpus, _ = read(tmp_path)
    assert (corpus.other_files, corpus.skipped) == (1, [])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_access_is_named(tmp_path):
    written(tmp_path, CLAUDE).chmod(0)
    corpus, _ = read(tmp_path)
    assert [each.message for each in corpus.skipped] == ["no such file, or no access"]


def test_gzip_is_read_whatever_its_name(tmp_path):
    corpus, calls = read(written(tmp_path, gzip.compress(CLAUDE), "run.jsonl.gz"))
    assert (calls, corpus.skipped) == (CLAUDE_CALLS, [])


@pytest.mark.parametrize("padding", [b"", b"\0" * 20_000])
def test_gzip_of_several_members_is_read_with_zeros_between_and_behind(tmp_path, padding):
    first, rest = CLAUDE.split(b"\n", 1)
    members = [gzip.compress(part) + padding for part in (first + b"\n", b"", rest)]
    corpus, calls = read(written(tmp_path, b"".join(members), "run.jsonl.gz"))
    assert (calls, corpus.skipped) == (CLAUDE_CALLS, [])


@pytest.mark.parametrize("damage", [b"garbage", b"\x1f\x8b"])
def test_what_stands_behind_the_members_of_a_gzip_file_is_named(tmp_path, damage):
    corpus, calls = read(written(tmp_path, gzip.compress(CLAUDE) + damage, "run.jsonl.gz"))
    assert calls == CLAUDE_CALLS
    assert [each.message.partition(":")[0] for each in corpus.skipped] == ["damaged or cut off"]


@pytest.mark.parametrize("wrong", [-8, -1])
def test_a_wrong_checksum_or_length_of_a_gzip_file_is_named_and_all_of_it_read(tmp_path, wrong):
    data = bytearray(gzip.compress(CLAUDE))
    data[wrong] ^= 1
    corpus, calls = read(written(tmp_path, bytes(data), "run.jsonl.gz"))
    assert calls == CLAUDE_CALLS
    assert [each.message.partition(":")[0] for each in corpus.skipped] == ["damaged or cut off"]


def test_the_good_part_of_a_truncated_gzip_is_read(tmp_path):
    noise = b"".join(b'{"type":"x","n":"%s"}\n' % os.urandom(60).hex().encode() for _ in range(200))
    data = gzip.compress(CLAUDE + noise)
    corpus, calls = read(written(tmp_path, data[: len(data) - 200], "run.jsonl.gz"))
    assert calls == CLAUDE_CALLS
    assert any("damaged or cut off" in each.message for each in corpus.skipped)


def test_a_document_that_was_cut_off_is_read_to_its_last_whole_part(tmp_path):
    whole = (DATA / "tau2.json").read_bytes()
    corpus, calls = read(written(tmp_path, whole[: whole.index(b"sim-2")], "tau2.json"))
    assert calls == 3
    assert "read up to the last whole part" in corpus.skipped[0].message


def test_a_torn_last_line_is_named_and_the_rest_read(tmp_path):
    corpus, calls = read(written(tmp_path, CLAUDE + b'{"type": "user", "mess'))
    assert calls == CLAUDE_CALLS
    (torn,) = corpus.skipped
    assert (torn.line, torn.message[:8]) == (len(CLAUDE.splitlines()) + 1, "not JSON")


TORN = "not JSON: it was cut off, and ends in the middle of a value; copy the file again"


@pytest.mark.parametrize(
    "end", [b'{"role": "us', b'{"role"', b'{"role": ', b'{"n": tru', b'{"n": 1', b"{"]
)
@pytest.mark.parametrize(
    ("begin", "line", "more"),
    [
        (b"", 1, ""),
        (b'{"calls": ', 1, ""),
        (b'{"role": "user", "content": "Hi."}\n' * 2, 3, ", or remove the line"),
        (b'{"id": "a",\n"messages": [{"content": "Hi."},\n', 3, "; read up to the last whole part"),
    ],
)
def test_what_was_cut_off_is_named_with_its_line_and_what_to_do(tmp_path, begin, line, more, end):
    corpus, _ = read(path := written(tmp_path, begin + end))
    assert corpus.skipped == [Skipped(str(path), line, TORN + more)]


def test_what_is_wrong_within_a_document_is_named_with_its_line_and_what_to_do(tmp_path):
    corpus, _ = read(path := written(tmp_path, b'[{"role": "user"},\n{"role" "user"}]'))
    assert (corpus.skipped[0].path, corpus.skipped[0].line) == (str(path), 2)
    assert corpus.skipped[0].message.startswith(
        "not JSON: Expecting ':' delimiter at column 9; mend"
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"version": 9, "kind": "turn"}', "no type"),
        (b'{"type": "assistant", "message": "words"}', "in an unknown shape"),
        (b'{"type": "future", "message": {"parts": []}}', "in an unknown shape"),
        (b"[1, 2]", "no type"),
        (b"[" * 5000 + b"]" * 5000, "not JSON"),
        (b"\0" * 4096, "not JSON"),
        (b"not json", "not JSON"),
    ],
)
def test_a_line_of_another_version_is_named_and_the_rest_read(tmp_path, line, what):
    first, rest = CLAUDE.split(b"\n", 1)
    corpus, calls = read(written(tmp_path, first + b"\n" + line + b"\n" + rest))
    assert calls == CLAUDE_CALLS
    (skipped,) = corpus.skipped
    assert skipped.line == 2
    assert what in skipped.message


def test_invalid_utf8_is_replaced_and_said(tmp_path):
    corpus, calls = read(written(tmp_path, CLAUDE.replace(b"two ferns", b"two \xff\xfe")))
    assert calls == CLAUDE_CALLS
    assert [each.message for each in corpus.skipped] == ["bytes that are not UTF-8 replaced"]


def test_a_block_of_nul_bytes_before_a_line_is_dropped_and_said(tmp_path):
    corpus, calls = read(written(tmp_path, b"\0" * 8192 + CLAUDE))
    assert calls == CLAUDE_CALLS
    assert [each.message for each in corpus.skipped] == ["NUL bytes dropped"]


def test_half_surrogates_and_nan_do_no_harm(tmp_path):
    data = CLAUDE.replace(b"two ferns", rb"\ud83d fern \ud83d\ude00")
    corpus, calls = read(
        written(tmp_path, data.replace(b'"durationMs": 250', b'"durationMs": NaN'))
    )
    assert (calls, corpus.skipped) == (CLAUDE_CALLS, [])


def test_a_line_beyond_the_limit_is_passed_over_in_little_memory(tmp_path):
    path = written(tmp_path, CLAUDE)
    with path.open("ab") as stream:
        stream.write(b'{"type": "user", "message": "' + b"x" * 5000 + b'"}\n')
        stream.write(CLAUDE.splitlines(keepends=True)[1])
    skipped = []
    source = Transcript(path, "run", skipped.append, max_line=4096)
    assert sum(1 for _ in source.rows()) == len(CLAUDE.splitlines()) + 1
    assert [each.message for each in skipped] == ["longer than 4096 bytes"]


def test_a_document_beyond_the_limit_is_named(tmp_path):
    path = written(tmp_path, (DATA / "tau2.json").read_bytes(), "tau2.json")
    skipped = []
    source = Transcript(path, "tau2", skipped.append, max_document=1000)
    list(all_readers()["tau2"].read(source))
    assert skipped[0].message.startswith("document larger than 1000 bytes")


def test_a_string_that_never_ends_costs_little(tmp_path):
    start = b'{"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "'
    corpus = Corpus(READERS)
    path = written(tmp_path, start + b"[x" * 4_000_000, "chat.json")
    items = [e.item for each in corpus.recordings([path]) for e in each.entries]
    assert [type(item) for item in items] == [UserMessage, ModelResponded]
    assert len(corpus.skipped) == 1


def test_deeply_nested_arguments_become_a_note(tmp_path):
    deep = b'{"a": ' * 400 + b"1" + b"}" * 400
    data = CLAUDE.replace(b'{"command": "look hall"}', deep)
    corpus = Corpus(READERS)
    main = next(corpus.recordings([written(tmp_path, data)]))
    calls = [e.item for e in main.entries if isinstance(e.item, ToolInvoked)]
    assert calls[0].params == "[nested deeper than 100 levels]"


def test_only_the_first_places_of_a_file_are_named_the_rest_counted(tmp_path):
    corpus, _ = read(written(tmp_path, CLAUDE + b"broken\n" * 100))
    assert len(corpus.skipped) == 21
    assert corpus.skipped[-1].message == "and 80 places more"


def test_a_damaged_archive_is_named(tmp_path):
    data = (DATA / "inspect.eval").read_bytes()
    corpus, _ = read(written(tmp_path, data[: len(data) // 2], "log.eval"))
    assert "damaged archive" in corpus.skipped[0].message


def test_a_reader_can_be_forced(tmp_path):
    path = written(tmp_path, b'{"role": "user", "content": "hi"}\n', "one.txt")
    corpus = Corpus(READERS, forced=chosen(READERS, "openai-chat"))
    (recording,) = corpus.recordings([path])
    assert recording.reader == "openai-chat"


def test_an_unknown_reader_is_an_error_that_names_the_others():
    with pytest.raises(ReplayError, match=r"no reader 'nope'\. Readers: agentbench, ai-sdk, "):
        chosen(READERS, "nope")


class Diary:
    """A third party's format: one note a line."""

    name = "diary"

    def sniff(self, source: Transcript) -> float:
        return float(source.head.startswith(b"DIARY"))

    def read(self, source: Transcript) -> Iterator[Recording]:
        lines = source.head.decode().splitlines()[1:]
        entries = [RecordedItem(UserMessage(text=line), -1) for line in lines]
        yield Recording(id="diary", path=source.path, reader=self.name, entries=entries)


class Faulty(Diary):
    """A reader that fails where a test says so."""

    name = "faulty"

    def __init__(self, where: str) -> None:
        self.where = where

    def sniff(self, source: Transcript) -> float:
        if self.where == "sniff":
            raise KeyError("sniff")
        return 2.0

    def read(self, source: Transcript) -> Iterator[Recording]:
        if self.where == "read":
            raise KeyError("read")
        yield Recording(id="f", path=source.path, reader=self.name, entries=self.entries())

    def entries(self) -> Iterator[RecordedItem]:
        yield RecordedItem(UserMessage(text="first"), -1)
        raise KeyError("entries")


def test_a_reader_of_a_third_party_is_used(tmp_path):
    path = written(tmp_path, b"DIARY\nrain\nsun\n", "diary.txt")
    corpus = Corpus([*READERS, Diary()])
    texts = [e.item.text for each in corpus.recordings([path]) for e in each.entries]
    assert texts == ["rain", "sun"]


@pytest.mark.parametrize("where", ["sniff", "read", "entries"])
def test_a_readers_fault_is_told_and_stops_nobody(tmp_path, where):
    written(tmp_path, b"DIARY\nrain\n", "diary.txt")
    corpus = Corpus([Faulty(where), Diary()])
    read_entries = [e for each in corpus.recordings([tmp_path]) for e in each.entries]
    assert [len(corpus.skipped), len(read_entries)] == [1, 0 if where == "read" else 1]
    assert f"KeyError: '{where}'" in corpus.skipped[0].message


@pytest.mark.parametrize("where", ["sniff", "read", "entries"])
def test_a_test_of_a_reader_sees_what_it_raises(tmp_path, where):
    written(tmp_path, b"DIARY\nrain\n", "diary.txt")
    corpus = Corpus([Faulty(where), Diary()], faults="raise")
    with pytest.raises(KeyError, match=where):
        [e for each in corpus.recordings([tmp_path]) for e in each.entries]


def test_entries_that_were_left_behind_are_not_taken_for_none(tmp_path):
    shutil.copy(DATA / "claude-code.jsonl", tmp_path)
    first, second = Corpus(READERS).recordings([tmp_path])
    for recording in (first, second):
        with pytest.raises(ReplayError, match=r"are gone: read them in the loop"):
            list(recording.entries)


def test_what_a_caller_leaves_unread_is_read_before_the_next(tmp_path):
    shutil.copy(DATA / "claude-code.jsonl", tmp_path)
    corpus = Corpus(READERS)
    assert [each.agent_id for each in corpus.recordings([tmp_path])] == [None, "helper"]


def test_results_do_not_depend_on_the_readers_order():
    def ids(readers):
        return [(each.id, each.reader) for each in Corpus(readers).recordings([DATA])]

    assert ids(READERS) == ids(READERS[::-1])


def test_labels_and_lists_beside_transcripts_are_other_files(tmp_path):
    label = {"path": "a/b.jsonl", "id": "b", "loop": False, "calls": 3, "confidence": "clear"}
    written(tmp_path, (json.dumps(label) + "\n").encode() * 3, "labels.jsonl")
    written(tmp_path, json.dumps({"a.traj": 0, "b.traj": None}).encode(), "outcomes.json")
    corpus, _ = read(tmp_path)
    assert (corpus.files, corpus.other_files) == (0, 2)


@pytest.mark.parametrize("name", sorted(all_readers()))
@pytest.mark.parametrize("fixture", sorted(each.name for each in DATA.iterdir()))
def test_a_forced_reader_reads_something_or_says_what_it_does_not_know(name, fixture):
    corpus = Corpus(READERS, forced=chosen(READERS, name))
    happened = [e for each in corpus.recordings([DATA / fixture]) for e in each.entries]

    assert happened or corpus.skipped


def test_a_file_that_a_forced_reader_knows_nothing_of_is_named(tmp_path):
    path = written(tmp_path, b'{"type": "x"}\n' * 2)
    corpus = Corpus(READERS, forced=chosen(READERS, "pi"))
    assert [list(each.entries) for each in corpus.recordings([path])] == [[]]
    assert [each.message for each in corpus.skipped] == [
        "reader pi finds nothing in it that it knows"
    ]


def test_a_document_that_is_another_s_is_named_by_its_line(tmp_path):
    chat = {"messages": [{"role": "user", "content": "go"}]}
    rows = [chat, {"type": "x"}, chat]
    path = written(tmp_path, "\n".join(map(json.dumps, rows)).encode())
    corpus = Corpus(READERS)
    assert [each.id for each in corpus.recordings([path])] == ["run:1", "run:3"]
    assert [(each.line, each.message) for each in corpus.skipped] == [
        (2, "a document without messages")
    ]


@pytest.mark.parametrize("data", [b"\x1f\x8bno gzip", gzip.compress(CLAUDE)[:12]])
def test_a_packed_file_of_which_nothing_can_be_had_is_named_in_a_folder(tmp_path, data):
    written(tmp_path, data, "run.jsonl.gz")
    corpus, _ = read(tmp_path)
    assert [each.message.partition(":")[0] for each in corpus.skipped] == ["damaged or cut off"]
