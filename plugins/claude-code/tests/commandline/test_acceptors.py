"""The threads that accept connections: as many as are needed, and none is lost."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from trimtab_claude_code._server import Acceptors
from trimtab_claude_code._transport import Listener, connect


class Desk:
    """Answers each connection with one byte when `open` is set."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.fails = False
        self.threads = set()

    def answer(self, connection):
        with connection:
            self.threads.add(threading.get_ident())
            self.open.wait(30)
            if self.fails:
                raise ValueError("a mistake")
            connection.sendall(b"+")


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def most():
    return 8


@pytest.fixture
def started(desk, tmp_path, monkeypatch, most):
    monkeypatch.chdir(tmp_path)
    listener = Listener(tmp_path)
    acceptors = Acceptors(listener, desk.answer, most)
    acceptors.start()
    yield acceptors
    desk.open.set()
    acceptors.stop(10)
    listener.close()


def ask(folder):
    with connect(folder, 10) as connection:
        return connection.recv(1)


@pytest.mark.parametrize("most", [64])
def test_events_one_after_another_need_few_threads(started, desk, tmp_path):
    assert [ask(tmp_path) for _ in range(50)] == [b"+"] * 50
    assert len(desk.threads) <= 5


def test_slow_answers_keep_nobody_waiting_up_to_the_limit(started, desk, tmp_path):
    desk.open.clear()
    slow = [connect(tmp_path, 10) for _ in range(8)]
    while len(desk.threads) < 8:
        time.sleep(0.01)

    with connect(tmp_path, 10) as refused:
        assert refused.recv(1) == b""
    desk.open.set()

    assert [connection.recv(1) for connection in slow] == [b"+"] * 8
    assert ask(tmp_path) == b"+"
    for connection in slow:
        connection.close()


def test_a_mistake_in_one_answer_ends_no_other(started, desk, tmp_path):
    for _ in range(20):
        desk.fails = True
        assert ask(tmp_path) == b""
        desk.fails = False
        assert ask(tmp_path) == b"+"


def test_stopping_waits_for_answers_and_accepts_no_more(started, desk, tmp_path):
    desk.open.clear()
    slow = connect(tmp_path, 10)
    while not desk.threads:
        time.sleep(0.01)

    assert not started.stop(0.05)
    desk.open.set()
    assert slow.recv(1) == b"+"
    slow.close()

    assert started.stop(10)
    if sys.platform == "linux":
        with pytest.raises(ConnectionRefusedError):
            connect(tmp_path, 5)


def test_nothing_is_answered_after_stopping_said_that_all_was(desk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listener, stopped = Listener(tmp_path), []
    accept = listener.accept

    def accept_late():
        connection = accept()
        stopped.append(acceptors.stop(0))
        return connection

    monkeypatch.setattr(listener, "accept", accept_late)
    acceptors = Acceptors(listener, desk.answer)
    acceptors.start()

    assert ask(tmp_path) == b""
    assert stopped == [True]
    assert desk.threads == set()
    listener.close()
