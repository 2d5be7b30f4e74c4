"""`trimtab watch`: what it draws in a terminal of 80 columns, its keys, and its end."""

from __future__ import annotations

import os
import re
import select
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab import Outcome, Prompt, Session
from trimtab.__main__ import main
from trimtab_trace import Journal
from trimtab_trace._journal.sessions import Tail
from trimtab_trace._journal.watch import names_in

from .test_journal import a_session

rich_console = pytest.importorskip("rich.console")
ESCAPES = "\x1b]0;title\x07"


@pytest.fixture
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    a_session(Journal(), mode="shadow")
    a_session(Journal(), agents=(None, "helper"))
    return tmp_path / "journals"


def drawn(journals: Path, *keys: str, width: int = 80, height: int = 24) -> list[str]:
    from trimtab_trace._journal.watch import WatchView

    view = WatchView(Tail(journals, keep_calls=20))
    view.tail.poll()
    assert all(view.press(key) for key in keys)
    console = rich_console.Console(width=width, height=height, color_system=None)
    with console.capture() as capture:
        console.print(view.draw(width, height), height=height)
    return str(capture.get()).splitlines()


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 12)])
def test_the_newest_decision_of_the_newest_session_is_shown(
    journals: Path, size: tuple[int, int]
) -> None:
    lines = drawn(journals, width=size[0], height=size[1])

    assert (len(lines), max(map(len, lines))) == (size[1], size[0])
    text = "\n".join(lines)
    assert "2 sessions" in text
    assert "speaker said" in text
    assert "Heed this after 4 calls." in text
    assert "\x1b" not in text


def test_keys_choose_a_session_and_a_decision(journals: Path) -> None:
    other = "\n".join(drawn(journals, "right"))
    earlier = "\n".join(drawn(journals, "right", "up"))
    back = drawn(journals, "right", "up", "end")

    assert "speaker in shadow: Heed this" in other
    assert "│ Heed this after 4 calls." in other
    assert "│ Heed this after 2 calls." in earlier
    assert back == drawn(journals)
    assert back == drawn(journals, "down", "left")


def test_calls_stand_between_decisions_without_what_a_terminal_obeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    run = Session().open_run(Prompt("agent", "main", config=None), recorders=[Journal()])
    run.user_message(f"{ESCAPES}Go")
    run.tool_finished(
        "c", f"{ESCAPES}x", outcome=Outcome.ERROR, tool=ESCAPES, params={"a": ESCAPES}
    )

    text = "\n".join(drawn(tmp_path / "journals"))

    assert "error" in text
    assert "nothing was said" in text
    assert ESCAPES[0] not in text
    assert "\x07" not in text


def test_an_empty_folder_is_waited_for(tmp_path: Path) -> None:
    assert "no session is recorded" in "\n".join(drawn(tmp_path, "up", "right", "end"))


def test_codes_of_keys_are_read() -> None:
    assert names_in(b"\x1b[A\x1bOBkx\x1b[C\x1b[Fq") == ["up", "down", "up", "right", "end", "q"]


def test_without_a_terminal_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch"]) == 2
    assert "trimtab status --follow" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_in_a_terminal_it_shows_what_comes_and_leaves_the_terminal_as_it_was(
    journals: Path, size: tuple[int, int]
) -> None:
    import fcntl
    import termios

    columns, rows = size
    for _ in range(7):
        a_session(Journal(), calls=2)
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(slave)
    environment = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}}
    with subprocess.Popen(
        [sys.executable, "-m", "trimtab", "watch"], stdin=slave, stdout=slave, stderr=slave,
        env={**environment, "TERM": "xterm"},
    ) as process:  # fmt: skip
        shown = _read_until(master, b"9 sessions")
        a_session(Journal())
        shown += _read_until(master, b"10 sessions")
        os.write(master, b"\x1b[A")
        shown += _read_until(master, "│ Heed this after 2 calls.".encode())  # below, alone
        os.write(master, b"q")
        assert process.wait(30) == 0
        shown += _read_until(master, b"\x1b[?1049l")  # back from the other screen

    assert b"Traceback" not in shown
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)
    frames = [*_frames(shown)]
    assert {len(frame) for frame in frames} == {rows}
    assert {len(line) for frame in frames for line in frame[:-1]} == {columns}
    assert all("said" in frame[2] for frame in frames)  # how often, behind the title of a session
    assert frames[-1][-1].rstrip().endswith("q quit")


def _frames(shown: bytes) -> Iterator[list[str]]:
    """Yield the lines of each screen that was drawn, without colours."""
    for screen in shown.decode().split("\x1b[H"):
        lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen).splitlines()
        if lines:
            yield lines


def _read_until(terminal: int, words: bytes, seconds: float = 30) -> bytes:
    end, found = time.monotonic() + seconds, b""
    while words not in found and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            found += os.read(terminal, 65_536)
    assert words in found, found[-500:]
    return found


@pytest.mark.slow
def test_ten_sessions_at_once_and_thousands_of_calls_fit_and_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    for _ in range(9):
        a_session(Journal(), calls=2)
    a_session(Journal(max_megabytes=1_000), calls=1_000, max_per_run=1_000)
    tail = Tail(tmp_path / "journals", keep_calls=20)

    assert sum(bool(came) for _, came in tail.poll()) == 10
    assert tail.poll() == []
    for width in (80, 200):
        text = "\n".join(drawn(tmp_path / "journals", width=width, height=40))
        assert "10 sessions" in text
        assert "1,000 calls, 500 decisions" in text
        assert "Heed this after 1000 calls." in text
    longest = next(iter(tail.ordered()))
    assert len(longest.calls) <= 40
