"""`trimtab worker` on one file is killed, stopped and ended: nothing is lost or doubled."""

import socket
import sys

import attrs
import pytest

from trimtab_worker import Attempt, MailboxStats
from trimtab_worker.testing import ChaosReport, run_chaos, run_rollout
from trimtab_worker.testing._chaos_agent import Effects, Proxy


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_chaos_on_one_sqlite_file(tmp_path, capsys):
    report = run_chaos(f"sqlite:///{tmp_path}/queue.db")
    with capsys.disabled():
        sys.stdout.write(f"\nsqlite: {report}\n")

    assert report.broken == {}
    assert report.redelivered > 0
    assert report.stats.acked == report.sent
    assert set(report.faults) == {"kill", "stop", "end", "orphan"}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_rolling_restart_strands_no_message_longer_than_its_lease(tmp_path, monkeypatch):
    """One worker hangs and is killed, the others finish or give back."""
    monkeypatch.chdir(tmp_path)
    report = run_rollout("sqlite:///queue.db", grace=3, drain=1, lease=6)

    assert report.lost == 0
    assert report.killed == 1
    assert 1 < report.longest_wait < 6 + 3  # its lease, and a worker that looks


def test_a_message_without_an_answer_or_in_the_mailbox_counts_as_lost():
    counts = attrs.fields_dict(ChaosReport).keys() - {
        "sent",
        "answered",
        "faults",
        "stats",
        "seconds",
    }
    others = dict.fromkeys(counts, 0)
    empty = MailboxStats(waiting=0, in_flight=0, delayed=0, dead=0)
    left = MailboxStats(waiting=0, in_flight=1, delayed=0, dead=0)

    def lost(answered, stats):
        facts = {"sent": 10, "answered": answered, "faults": {}, "stats": stats, "seconds": 1.0}
        return ChaosReport(**facts, **others).broken

    assert [lost(10, empty), lost(9, empty), lost(10, left)] == [{}, {"lost": 1}, {"lost": 1}]


def test_effects_of_stale_attempts_and_second_ones_are_counted_and_not_made(tmp_path):
    effects = Effects(tmp_path / "effects.db")
    first, second = (Attempt(message_id="a", number=number) for number in (1, 2))

    assert effects.make(first)
    assert not effects.make(second)
    assert effects.make(Attempt(message_id="b", number=2))
    assert not effects.make(Attempt(message_id="b", number=1))
    assert (effects.doubled("asked"), effects.doubled("made")) == (2, 0)


def test_a_client_that_goes_away_is_gone_for_the_server_too():
    """The proxy passes the end of a connection on, also while nothing comes from the server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(listener.getsockname()[1])
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.sendall(b"x")
            server, _ = listener.accept()
            assert server.recv(1) == b"x"
        with server:
            server.settimeout(5)
            assert server.recv(1) == b""
        proxy.close()
