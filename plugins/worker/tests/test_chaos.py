"""Workers on one file are killed and stopped: nothing is lost, nothing is acknowledged twice."""

import sys

import pytest

from trimtab_worker.testing import ChaosReport, run_chaos

pytestmark = pytest.mark.slow


@pytest.mark.timeout(1800)
def test_chaos_on_one_sqlite_file(tmp_path, capsys):
    report = run_chaos(f"sqlite:///{tmp_path}/queue.db")
    with capsys.disabled():
        sys.stdout.write(f"\nsqlite: {report}\n")

    assert report.lost == 0
    assert report.redelivered > 0
    assert report.stats.acked == report.sent
    assert report.doubles == 0
    assert report.faults["kill"] and report.faults["stop"]


@pytest.mark.timeout(300)
def test_messages_are_sent_until_each_fault_was_made(tmp_path):
    report = run_chaos(f"sqlite:///{tmp_path}/queue.db", messages=1, timeout=200)

    assert set(report.faults) == {"kill", "stop"}
    assert report.sent > 1
    assert report.lost == 0


def test_a_message_that_nobody_finished_counts_as_lost():
    from trimtab_worker import MailboxStats

    facts = {"done": 9, "acks": 9, "refused": 0, "doubles": 0, "redelivered": 0, "errors": 0}
    empty = MailboxStats(waiting=0, in_flight=0, delayed=0, dead=0)
    left = MailboxStats(waiting=0, in_flight=1, delayed=0, dead=0)

    def lost(worked, stats):
        return ChaosReport(
            sent=10, worked=worked, faults={}, stats=stats, seconds=1.0, **facts
        ).lost

    assert [lost(10, empty), lost(9, empty), lost(10, left)] == [0, 1, 1]
