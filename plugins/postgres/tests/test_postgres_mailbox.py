"""The mailbox on a real server."""

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from trimtab_worker import MailboxError, Unknown, open_mailbox
from trimtab_worker.testing import MailboxConformance, ServerConformance

pytestmark = pytest.mark.slow


class TestPostgres(MailboxConformance, ServerConformance):
    """What every mailbox must do; cases C1, C2, G2, H6, I3 and I4 among it."""


@pytest.fixture
def mailbox(url):
    with open_mailbox(url) as mailbox:
        yield mailbox


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
