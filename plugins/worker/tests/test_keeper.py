"""The keeper with its thread: slow engines, the end of a block, forks, exits."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from trimtab import Heartbeat
from trimtab_worker import (
    Granted,
    InMemoryMailbox,
    LeaseExtender,
    LeaseExtenderConfig,
    LeaseLost,
    LeaseState,
    SqliteMailbox,
    Unknown,
)

pytestmark = pytest.mark.slow

QUICK = LeaseExtenderConfig(interval=0.1, extension=1.0, margin=0.05)


class Slow:
    """A message whose extensions take their time; notes what the broker sees."""

    id = "slow"

    def __init__(self, seconds=0.4):
        self.seconds = seconds
        self.seen = []
        self.started = threading.Event()

    def extend_visibility(self, seconds):
        self.started.set()
        time.sleep(self.seconds)
        self.seen.append("extend")

    def ack(self):
        self.seen.append("ack")


def beaten(heartbeat, seconds, every=0.02):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        heartbeat.beat()
        time.sleep(every)


def test_e1_the_end_of_the_block_waits_for_the_extension_in_flight():
    message, heartbeat = Slow(), Heartbeat()
    with LeaseExtender(QUICK).attach(message, heartbeat):
        heartbeat.beat()
        assert message.started.wait(5)
    message.ack()
    time.sleep(0.6)

    assert message.seen == ["extend", "ack"]


def test_e2_a_message_given_back_during_an_extension_is_ready_at_once():
    mailbox = InMemoryMailbox()
    started = threading.Event()

    class Behind(InMemoryMailbox):
        def prolong(self, receipt, seconds):
            started.set()
            time.sleep(0.3)
            return super().prolong(receipt, seconds)

    mailbox = Behind()
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=1)
    heartbeat = Heartbeat()
    with LeaseExtender(QUICK).attach(message, heartbeat):
        beaten(heartbeat, 0.3)
        assert started.wait(5)
    message.nack()

    assert [one.deliveries for one in mailbox.receive()] == [2]


def test_an_extension_that_outlasts_the_wait_delays_the_end_no_longer():
    message, heartbeat = Slow(1.5), Heartbeat()
    config = LeaseExtenderConfig(interval=0.1, extension=1.0, join_timeout=0.2)
    with LeaseExtender(config).attach(message, heartbeat):
        heartbeat.beat()
        assert message.started.wait(5)
        started = time.monotonic()
    waited = time.monotonic() - started
    while not message.seen:  # the keeper is free again for the next test
        time.sleep(0.05)

    assert 0.15 < waited < 1.0


def test_f1_a_worker_that_hangs_loses_its_message_while_its_process_lives():
    mailbox = InMemoryMailbox()
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=1)
    heartbeat = Heartbeat()
    with LeaseExtender(QUICK).attach(message, heartbeat) as lease:
        beaten(heartbeat, 1.5)
        assert list(mailbox.receive()) == []
        time.sleep(1.6)
        assert lease.lost
        assert len(mailbox.receive()) == 1


def test_f3_a_lease_lost_while_the_interpreter_was_held_is_noticed_afterwards():
    """A regular expression holds the interpreter lock for longer than the lease."""
    mailbox, heartbeat = InMemoryMailbox(), Heartbeat()
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=0.4)
    config = LeaseExtenderConfig(interval=0.05, extension=0.4)
    with LeaseExtender(config).attach(message, heartbeat) as lease:
        started, size = time.monotonic(), 20
        while time.monotonic() - started < 0.6:
            re.match(r"(a+)+$", "a" * size + "b")
            size += 1
        until = time.monotonic() + 5
        while not lease.lost and time.monotonic() < until:
            time.sleep(0.01)

        assert lease.lost


def test_f7_lease_sync_io_in_beat_a_beat_never_waits_for_the_engine():
    message, heartbeat = Slow(0.5), Heartbeat()
    slowest = 0.0
    with LeaseExtender(QUICK).attach(message, heartbeat):
        heartbeat.beat()
        assert message.started.wait(5)
        for _ in range(200):
            started = time.perf_counter()
            heartbeat.beat()
            slowest = max(slowest, time.perf_counter() - started)

    # The scheduler of a busy machine may take a few milliseconds; the engine takes 500.
    assert slowest < 0.1


def test_64_leases_need_one_thread(keeper_threads):
    mailbox, heartbeat = InMemoryMailbox(), Heartbeat()
    for number in range(64):
        mailbox.send(number)
    messages = mailbox.receive(64, visibility=1)
    blocks = [LeaseExtender(QUICK).attach(message, heartbeat) for message in messages]
    leases = [block.__enter__() for block in blocks]
    beaten(heartbeat, 2)
    threads = keeper_threads()
    lost = [lease for lease in leases if lease.lost]
    for block in blocks:
        block.__exit__(None, None, None)

    assert (len(messages), len(threads), lost) == (64, 1, [])
    assert list(mailbox.receive()) == []


def test_leases_of_one_mailbox_are_extended_in_batches():
    import attrs

    calls = []

    class Batched(InMemoryMailbox):
        facts = attrs.evolve(InMemoryMailbox.facts, batch=10)

        def extend_many(self, asked):
            calls.append(len(asked))
            return super().extend_many(asked)

    mailbox, heartbeat = Batched(), Heartbeat()
    for number in range(12):
        mailbox.send(number)
    blocks = [
        LeaseExtender(QUICK).attach(message, heartbeat)
        for message in mailbox.receive(12, visibility=1)
    ]
    leases = [block.__enter__() for block in blocks]
    beaten(heartbeat, 1.5)
    states = {lease.state for lease in leases}
    for block in blocks:
        block.__exit__(None, None, None)

    assert states == {LeaseState.HELD}
    assert max(calls) == 10


@pytest.mark.parametrize(
    "error", [RuntimeError("broken"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()]
)
def test_a_listener_that_raises_stops_nothing(error):
    mailbox, heartbeat = InMemoryMailbox(), Heartbeat()
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=0.3)
    told = []

    def listener(event):
        told.append(event)
        raise error

    other = Slow(0.0)
    with LeaseExtender(QUICK).attach(message, heartbeat, on_event=listener):
        time.sleep(0.6)
        with LeaseExtender(QUICK).attach(other, heartbeat):
            beaten(heartbeat, 0.3)

    assert told
    assert "extend" in other.seen


def test_a_listener_that_hangs_delays_no_other_lease():
    mailbox, heartbeat, hanging = InMemoryMailbox(), Heartbeat(), threading.Event()
    for _ in range(2):
        mailbox.send("x")
    first, second = mailbox.receive(2, visibility=0.3)
    told = []
    config = LeaseExtenderConfig(interval=0.1, extension=1.0, margin=0.05, join_timeout=0.1)
    with LeaseExtender(config).attach(first, heartbeat, on_event=lambda _: hanging.wait(20)):
        with LeaseExtender(config).attach(second, heartbeat, on_event=told.append) as lease:
            time.sleep(0.6)
            assert lease.lost
            assert [type(event) for event in told] == [LeaseLost]
    hanging.set()


class Hanging(InMemoryMailbox):
    """Its extensions hang until they are let go."""

    def __init__(self):
        super().__init__()
        self.called, self.let_go = threading.Event(), threading.Event()

    def prolong(self, receipt, seconds):
        self.called.set()
        self.let_go.wait(20)
        return super().prolong(receipt, seconds)


def test_a_call_that_hangs_delays_no_loss_and_harms_no_other_mailbox():
    """Time is judged on a thread that makes no calls."""
    hanging, healthy, heartbeat, told = Hanging(), InMemoryMailbox(), Heartbeat(), []
    hanging.send("x")
    healthy.send("y")
    config = LeaseExtenderConfig(interval=0.1, extension=1.0, margin=0.05, join_timeout=0.1)
    (stuck,) = hanging.receive(visibility=1)
    (kept,) = healthy.receive(visibility=1)
    with LeaseExtender(config).attach(stuck, heartbeat, on_event=told.append) as lost:
        with LeaseExtender(config).attach(kept, heartbeat) as held:
            assert not beaten(heartbeat, 0.3)
            assert hanging.called.is_set()
            started = time.monotonic()
            while not told and time.monotonic() < started + 5:
                beaten(heartbeat, 0.02)
            late = time.monotonic() - started
            beaten(heartbeat, 1.2)

            assert [type(event) for event in told] == [LeaseLost]
            assert late < 1.5
            assert lost.lost
            assert held.state is LeaseState.HELD
    hanging.let_go.set()
    assert kept.ack()


def test_h3_nothing_leased_delays_the_exit_of_the_process():
    code = (
        "import time, trimtab, trimtab_worker as w\n"
        "m = w.InMemoryMailbox(); m.send(1); message, = m.receive()\n"
        "with w.LeaseExtender().attach(message, trimtab.Heartbeat()): pass\n"
        "print(time.monotonic())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert time.monotonic() - float(done.stdout) < 0.5 * 4


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_h5_a_forked_child_extends_nothing_and_the_parent_goes_on(tmp_path):
    mailbox = SqliteMailbox(tmp_path / "queue.db")
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=1)
    heartbeat = Heartbeat()
    read, write = os.pipe()
    with LeaseExtender(QUICK).attach(message, heartbeat) as lease:
        beaten(heartbeat, 0.2)
        child = os.fork()
        if child == 0:
            heartbeat.beat()
            time.sleep(0.3)
            threads = [one.name for one in threading.enumerate()]
            os.write(write, f"{lease.state} {'trimtab-keeper' in threads}".encode())
            os._exit(0)
        beaten(heartbeat, 1.5)
        os.waitpid(child, 0)

        assert lease.state is LeaseState.HELD
    assert os.read(read, 100) == b"released False"
    assert message.ack()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_h5_a_child_keeps_leases_of_its_own(tmp_path):
    mailbox = SqliteMailbox(tmp_path / "queue.db")
    mailbox.send("x")
    with LeaseExtender(QUICK).attach(Slow(0.0), Heartbeat()):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                (message,) = mailbox.receive(visibility=1)
                heartbeat = Heartbeat()
                with LeaseExtender(QUICK).attach(message, heartbeat) as lease:
                    beaten(heartbeat, 1.5)
                    status = 0 if lease.extensions and message.ack() else 1
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)

    assert status == 0


def test_g3_a_stopped_process_notices_on_waking_that_its_lease_is_gone(tmp_path):
    """SIGSTOP holds every thread, as a suspended machine does."""
    mailbox = SqliteMailbox(tmp_path / "queue.db")
    mailbox.send("x")
    code = (
        "import sys, time, trimtab, trimtab_worker as w\n"
        "m = w.SqliteMailbox(sys.argv[1]); message, = m.receive(visibility=1)\n"
        "h = trimtab.Heartbeat()\n"
        "config = w.LeaseExtenderConfig(interval=0.1, extension=1.0)\n"
        "with w.LeaseExtender(config).attach(message, h) as lease:\n"
        "    print('held', flush=True)\n"
        "    for _ in range(400):\n"
        "        h.beat(); time.sleep(0.01)\n"
        "        if lease.final: break\n"
        "print(lease.final, message.ack())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "queue.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout.readline() == "held\n"
        worker.send_signal(signal.SIGSTOP)
        (again,) = mailbox.receive(wait=10, visibility=30)
        worker.send_signal(signal.SIGCONT)
        said = worker.stdout.read().split()

    assert said == ["True", "False"]
    assert (again.deliveries, again.ack()) == (2, True)


def test_a_foreign_message_with_a_mailbox_of_its_own_kind_is_extended():
    class Foreign:
        mailbox = "a folder"
        received = "yesterday"
        calls = 0

        def extend_visibility(self, seconds):
            self.calls += 1

    message, heartbeat = Foreign(), Heartbeat()
    with LeaseExtender(QUICK).attach(message, heartbeat):
        beaten(heartbeat, 0.3)

    assert message.calls


@pytest.mark.parametrize("answer", [None, 17, "yes"])
def test_a_foreign_message_that_returns_anything_counts_as_extended(answer):
    from trimtab_worker._keeper import extend_one

    class Foreign:
        def extend_visibility(self, seconds):
            return answer

    assert extend_one(Foreign(), 60) == Granted(60)


@pytest.mark.parametrize(
    "answer", [None, 17, True, "granted", Granted(float("nan")), [Granted(60)]]
)
def test_only_an_outcome_of_a_mailbox_is_one(answer):
    """A mailbox of somebody else's that returns something else has granted nothing."""
    from trimtab_worker._keeper import extend

    class Odd(InMemoryMailbox):
        def prolong_many(self, asked):
            return [answer] * len(asked)

    mailbox = Odd()
    for _ in range(2):
        mailbox.send("x")
    messages = mailbox.receive(2)

    for asked in (messages[:1], messages):
        outcomes = extend([(message, 60.0) for message in asked])
        assert [type(outcome) for outcome in outcomes] == [Unknown] * len(asked)
