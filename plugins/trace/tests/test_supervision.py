"""What the process that starts a host's process again finds out about the one before."""

import os
import subprocess
import sys
import threading
import time

import pytest

from trimtab import DecisionPoint, Prompt, Session
from trimtab.hosting import watch_calls
from trimtab_trace import CallBoard, SetAside, last_call


@pytest.fixture
def board(tmp_path):
    yield CallBoard(tmp_path / "calls")
    watch_calls(None)


def test_a_call_under_way_is_found_and_one_that_returned_is_not(board, tmp_path):
    before = time.monotonic()
    board.tell("slow")

    call = last_call(tmp_path / "calls")
    board.tell("")

    assert (call.provider, call.pid) == ("slow", os.getpid())
    assert before <= call.began <= time.monotonic()
    assert last_call(tmp_path / "calls") is None


def test_of_several_threads_the_call_that_began_last_counts(board, tmp_path):
    board.tell("first")
    thread = threading.Thread(target=board.tell, args=("last",))
    thread.start()
    thread.join()

    assert last_call(tmp_path / "calls").provider == "last"
    board.tell("")
    assert last_call(tmp_path / "calls").provider == "last"


@pytest.mark.parametrize("content", [None, b"", b"short", bytes(7688)])
def test_a_board_that_is_missing_damaged_or_empty_names_nobody(tmp_path, content):
    if content is not None:
        (tmp_path / "calls").write_bytes(content)

    assert last_call(tmp_path / "calls") is None


DYING = """
import os, sys, time
from pathlib import Path
from trimtab import ClassificationResult, DecisionPoint, Prompt, Session
from trimtab_trace import CallBoard

class Deadly:
    name, category = "deadly", "test"
    def classify(self, context):
        os._exit(3)
    def provide(self, context):
        raise NotImplementedError

CallBoard(Path(sys.argv[1])).watch()
prompt = Prompt("n", "k", guidance_providers=[Deadly()], config=None)
Session().open_run(prompt).guide(DecisionPoint.PRE_TOOL_SELECTION, timeout=5)
"""


def test_the_provider_that_ended_a_process_is_named_on_its_board(tmp_path):
    done = subprocess.run([sys.executable, "-c", DYING, str(tmp_path / "calls")], timeout=60)

    assert done.returncode == 3
    assert last_call(tmp_path / "calls").provider == "deadly"


def test_a_watched_run_leaves_nothing_on_the_board(board, tmp_path):
    class Quiet:
        name, category = "quiet", "test"

        def classify(self, context):
            assert last_call(tmp_path / "calls").provider == "quiet"

        def provide(self, context):
            raise NotImplementedError

    board.watch()
    prompt = Prompt("n", "k", guidance_providers=[Quiet()], config=None)
    Session().open_run(prompt).guide(DecisionPoint.PRE_TOOL_SELECTION)

    assert last_call(tmp_path / "calls") is None


def test_a_provider_stays_aside_until_it_is_brought_back(tmp_path):
    aside = SetAside(tmp_path / "new")
    aside.add("slow", host="h", reason="held the process")

    assert SetAside(tmp_path / "new").read()["slow"]["host"] == "h"
    assert aside.environment({"A": "b", "TRIMTAB_DISABLE": "x"}) == {
        "A": "b",
        "TRIMTAB_DISABLE": "x,slow",
    }
    assert aside.bring_back("slow")
    assert not aside.bring_back("slow")
    assert aside.environment({"A": "b"}) == {"A": "b"}


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a": 1}'])
def test_a_damaged_list_sets_nobody_aside(tmp_path, content):
    (tmp_path / "set-aside.json").write_bytes(content)

    assert SetAside(tmp_path).read() == {}
