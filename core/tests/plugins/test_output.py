"""What commands print, and what providers print meanwhile."""

import os
import signal
import subprocess
import sys

import pytest

from trimtab._plugins import loading
from trimtab.inspection import (
    PluginInfo,
    ProviderLoadError,
    load,
    others_to_stderr,
    pip_install,
    say,
)


def test_what_others_print_goes_to_standard_error(capsys):
    with others_to_stderr():
        sys.stdout.write("hello from import\n")
        say("answer")
        with others_to_stderr():
            say("within")
    sys.stdout.write("after\n")

    printed = capsys.readouterr()
    assert printed.out == "answer\nwithin\nafter\n"
    assert printed.err == "hello from import\n"


def test_standard_output_is_back_after_an_error():
    before = sys.stdout
    with pytest.raises(ValueError, match="wrong"), others_to_stderr():
        raise ValueError("wrong")

    assert sys.stdout is before


@pytest.mark.parametrize(
    ("has_pip", "uv", "said"),
    [
        (True, "/bin/uv", "PYTHON -m pip install --force-reinstall acme"),
        (False, "/bin/uv", "uv pip install --python PYTHON --reinstall acme"),
        (False, None, "reinstall acme for PYTHON"),
    ],
)
def test_a_line_that_installs_fits_the_environment(monkeypatch, has_pip, uv, said):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if has_pip else None)
    monkeypatch.setattr("shutil.which", lambda name: uv)

    assert pip_install("acme", how="reinstall") == said.replace("PYTHON", sys.executable)


EVIL = """
import os, threading, time
os.write(1, b"to the descriptor\\n")
from trimtab.inspection import others_to_stderr, say
with others_to_stderr():
    os.write(1, b"raw\\n")
    print("printed")
    say("answer")
    try:
        os._exit(0)
    except SystemExit as error:
        say(str(error))
    if not os.fork():
        os._exit(7)
    say(str(os.waitstatus_to_exitcode(os.wait()[1])))
print("after", flush=True)
threading.Thread(target=time.sleep, args=(3600,), name="left").start()
import trimtab._cli as cli
cli._PATIENCE = 0.0
cli.main = lambda: 5
cli.run()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_what_writes_to_the_descriptor_ends_the_process_or_leaves_a_thread_spoils_no_answer():
    done = subprocess.run(
        [sys.executable, "-c", EVIL], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 5, done.stderr
    assert done.stdout.splitlines() == [
        "to the descriptor", "answer", "os._exit(0) was called", "7", "after",
    ]  # fmt: skip
    assert done.stderr.splitlines() == [
        "raw", "printed", "trimtab: a thread of a plugin still runs and is left: left",
    ]  # fmt: skip


def test_what_kept_the_raising_end_of_a_process_ends_it_again_afterwards(monkeypatch):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    with others_to_stderr():
        kept = os._exit
        with pytest.raises(SystemExit, match=r"os\._exit"):
            kept(3)
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda: -1)
            kept(4)
    kept(5)

    assert ended == [4, 5]


@pytest.fixture
def free_timer():
    """The timer of the process, taken from pytest-timeout for one test."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs a timer")
    before = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, *before)


def test_an_import_that_hangs_is_named_and_ended(free_timer, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(loading, "FIRST_WORD", 0.01)
    monkeypatch.setattr(loading, "LONGEST", 0.02)
    (tmp_path / "hangs_on_import.py").write_text("import time\ntime.sleep(3600)\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = signal.getsignal(signal.SIGALRM)
    entry = PluginInfo("guidance", "hangs", "acme", "1.0", "hangs_on_import", "P", str(tmp_path))

    with (
        loading.imports_limited(),
        pytest.raises(ProviderLoadError, match=r"hangs_on_import failed with .* more than 0.02 s"),
    ):
        load(entry)

    assert "still importing hangs_on_import (" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_timer_that_another_has_set_goes_on(free_timer, monkeypatch, tmp_path):
    (tmp_path / "imported_beside_a_timer.py").write_text("P = dict\n")
    monkeypatch.syspath_prepend(tmp_path)
    entry = PluginInfo(
        "guidance", "timed", "acme", "1.0", "imported_beside_a_timer", "P", str(tmp_path)
    )
    handler = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 3600, 7)

    with loading.imports_limited():
        assert load(entry) is dict

    left, again = signal.getitimer(signal.ITIMER_REAL)
    assert (left > 3000, again) == (True, 7)
    assert signal.getsignal(signal.SIGALRM) is handler
