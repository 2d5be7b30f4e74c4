"""The mailbox on a real server."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from trimtab_worker import MailboxError, Unknown, open_mailbox
from trimtab_worker.testing import MailboxConformance, run_chaos

pytestmark = pytest.mark.slow


class TestPostgres(MailboxConformance):
    """What every mailbox must do; cases C1, C2, G2, H6, I3 and I4 among it."""


@pytest.fixture
def mailbox(url):
    with open_mailbox(url) as mailbox:
        yield mailbox


def test_two_queues_of_one_database_are_apart(server, mailbox):
    mailbox.send("x")
    with open_mailbox(server.url("other")) as other:
        assert list(other.receive()) == []
        assert other.stats().waiting == 0


def test_tables_are_made_once_by_whoever_is_first(server, url):
    start = threading.Barrier(6)

    def open_at_once(_):
        start.wait()
        with open_mailbox(url) as mailbox:
            return mailbox.send("x")

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(open_at_once, range(6)))) == 6


def test_a_broken_connection_is_made_again(mailbox, server):
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=60)
    server.cut()
    with pytest.raises(MailboxError, match="mailbox tests in Postgres"):
        mailbox.stats()

    assert mailbox.stats().in_flight == 1
    assert message.ack()


def test_a_restarted_server_keeps_leases(mailbox, server):
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=60)
    server.restart()

    assert isinstance(message.extend(60), Unknown)
    assert list(mailbox.receive()) == []
    assert message.ack()


def test_a_database_that_cannot_be_reached_is_named(server):
    with pytest.raises(MailboxError, match=r"mailbox agents in Postgres: .*refused"):
        open_mailbox("postgresql://postgres@127.0.0.1:1/postgres")


def test_a_name_of_a_queue_is_a_value_and_never_sql(server, url):
    name = "x'; drop table trimtab_messages; --"
    with open_mailbox(server.url(name)) as mailbox:
        mailbox.send("x")
        assert mailbox.stats().waiting == 1


def test_a_slow_statement_is_given_up(mailbox, server):
    """A row that another transaction holds does not hold the worker for ever."""
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=60)
    with psycopg.connect(server.url("x").partition("?")[0]) as other:
        other.execute("lock table trimtab_messages")
        assert isinstance(message.extend(60), Unknown)
    assert message.ack()


@pytest.mark.timeout(1800)
def test_chaos_workers_die_connections_break_and_the_server_restarts(url, server, capsys):
    faults = {"cut": server.cut, "restart": server.restart}
    report = run_chaos(url, faults=faults)
    with capsys.disabled():
        sys.stdout.write(f"\npostgres: {report}\n")

    assert report.lost == 0
    assert report.redelivered > 0
    assert report.stats.acked == report.sent
    assert report.doubles == 0
    assert set(report.faults) == {"kill", "stop", "cut", "restart"}
