"""The watchdog, on a clock that is set by hand."""

import os
import shutil
import subprocess
import sys

import pytest

from trimtab import Heartbeat, ManualClock
from trimtab_worker import Watchdog, WorkerStuck


class Watch:
    def __init__(self, **options):
        self.clock = ManualClock()
        self.happened = []
        self.dog = Watchdog(
            720,
            on_event=self.happened.append,
            drain=lambda: self.happened.append("drain"),
            end=lambda: self.happened.append("end"),
            clock=self.clock,
            **options,
        )

    def worker(self, name="w"):
        watched = self.dog.watch(name)
        watched.heartbeat, watched.message_id = Heartbeat(self.clock), "m1"
        return watched

    def after(self, seconds):
        self.clock.advance(seconds)
        self.dog.check()
        return self.happened


@pytest.fixture
def watch():
    return Watch()


def test_a_stuck_worker_is_reported_once_and_the_process_ends(watch):
    watch.worker()
    assert watch.after(719) == []
    drained, event, ended = watch.after(1)

    assert (drained, ended) == ("drain", "end")
    assert event == WorkerStuck(worker="w", silent_for=720, threshold=720, message_id="m1")
    assert watch.after(1) == [drained, event, "end", "end"]


def test_healthy_workers_may_finish_first(watch):
    watch.worker("stuck")
    healthy = watch.worker("healthy")
    watch.clock.advance(700)
    healthy.heartbeat.beat()
    assert [type(one) for one in watch.after(20)] == [str, WorkerStuck]
    assert "end" not in watch.after(10)
    healthy.heartbeat = healthy.message_id = None

    assert watch.after(1)[-1] == "end"


def test_healthy_workers_may_not_finish_for_ever(watch):
    watch.worker("stuck")
    healthy = watch.worker("healthy")
    watch.clock.advance(720)
    healthy.heartbeat.beat()
    watch.after(0)

    assert watch.after(31)[-1] == "end"


def test_beats_and_declared_silences_and_idle_workers_are_fine(watch):
    beating, declared, idle = watch.worker("a"), watch.worker("b"), watch.dog.watch("c")
    declared.heartbeat.expect(5000)
    for _ in range(6):
        watch.clock.advance(700)
        beating.heartbeat.beat()
        watch.dog.check()

    assert watch.happened == []
    assert idle.heartbeat is None


def test_a_worker_that_ended_is_forgotten(watch):
    watch.dog.forget(watch.worker())

    assert watch.after(5000) == []


def test_a_listener_that_raises_does_not_save_the_process():
    watch = Watch()

    def fail():
        raise RuntimeError("broken")

    watch.dog._drain = fail
    watch.worker()

    assert watch.after(720) == ["end"]


@pytest.mark.slow
def test_the_first_process_of_a_container_ends_too():
    """The kernel drops signals that it sends to itself."""
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    alone = ["unshare", *as_root, "--pid", "--fork", "--kill-child"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"]).returncode:
        pytest.skip("no namespace of processes can be made")
    code = "from trimtab_worker._health import end_process; end_process(); print('alive')"
    done = subprocess.run([*alone, sys.executable, "-c", code], capture_output=True, timeout=60)

    assert (done.returncode, done.stdout) == (137, b"")
