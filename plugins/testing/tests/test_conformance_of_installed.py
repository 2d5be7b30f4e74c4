"""What the conformance suite finds only in installed packages: imports, and other processes."""

from __future__ import annotations

import sys

import pytest

from trimtab.inspection import refresh
from trimtab_testing import GuidanceConformance

pytestmark = pytest.mark.slow

QUIET = """
from trimtab import NOT_RELEVANT, GuidanceInjection
class Provider:
    name = category = "bad"
    def classify(self, *, context):
        return NOT_RELEVANT
    def provide(self, *, context):
        return GuidanceInjection("bad", "Look.")
"""
UNORDERED = """
from trimtab import ClassificationResult, GuidanceInjection
class Provider:
    name = category = "bad"
    def classify(self, *, context):
        return ClassificationResult(context.tool_call_count > 1)
    def provide(self, *, context):
        tools = {call.tool for call in context.recent_tool_calls(50)} | {"a", "b", "c", "d"}
        return GuidanceInjection("bad", " or ".join(tools)[:400])
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Return how to install a provider with this source, and get the suite that tests it."""
    monkeypatch.chdir(tmp_path)  # sources write into the folder they run in
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    info = tmp_path / "bad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trimtab.guidance]\nbad = bad_one:Provider\n")

    def suite(source):
        (tmp_path / "bad_one.py").write_text(source)
        refresh()
        return type("Suite", (GuidanceConformance,), {"name": "bad"})()

    yield suite
    monkeypatch.undo()
    sys.modules.pop("bad_one", None)
    refresh()


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("print('Hello.')", "importing bad_one prints"),
        (
            "import threading, time\nthreading.Thread(target=time.sleep, args=(1,)).start()",
            "importing bad_one starts a thread",
        ),
        ("open('left-behind', 'w').close()", "importing bad_one writes a file"),
        (
            "import os\nos.close(os.open('left-behind', os.O_CREAT | os.O_WRONLY))",
            "importing bad_one writes a file",
        ),
        ("import socket\nsocket.socket().bind(('127.0.0.1', 0))", "bad_one opens a connection"),
    ],
)
def test_an_import_that_does_something_is_named(does, why, suite):
    with pytest.raises(AssertionError, match=why):
        suite(f"{does}\n{QUIET}").test_importing_it_does_nothing_else()


def test_words_in_the_order_of_a_set_are_found(suite):
    with pytest.raises(AssertionError, match="does it go through a set"):
        suite(UNORDERED).test_another_process_says_the_same()


def test_a_quiet_package_passes(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))  # nothing is compiled yet
    checked = suite(QUIET)
    checked.test_importing_it_does_nothing_else()
    checked.test_another_process_says_the_same()
    assert checked.entry().name == "bad"
