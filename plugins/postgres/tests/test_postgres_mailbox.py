"""The mailbox on a real server."""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from trimtab_postgres import SCHEMA, TIMEOUT
from trimtab_worker import LEASE_CLOCK, MailboxError, Unknown, open_mailbox
from trimtab_worker.testing import (
    MailboxConformance,
    Proxy,
    ServerConformance,
    network_faults,
    run_chaos,
)
from trimtab_worker.testing._servers import HELD, through

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # chaos takes a minute


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


def test_connections_that_the_server_closed_are_not_lent(mailbox, server):
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=60)
    server.cut()
    time.sleep(0.2)  # until the end has arrived

    assert mailbox.stats().in_flight == 1
    assert message.ack()


def test_a_restarted_server_keeps_leases(mailbox, server):
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=60)
    server.restart()

    assert list(mailbox.receive()) == []
    assert message.ack()


def idle_connections(mailbox, count):
    """Let the mailbox keep so many idle connections."""
    lent = [mailbox._pool.take() for _ in range(count)]
    for connection in lent:
        mailbox._pool.give(connection)


def test_one_call_that_fails_drops_all_old_connections(mailbox, server, monkeypatch):
    """A restart behind a proxy: nothing tells that the connections are dead but their use."""
    proxy = Proxy(server.port)
    url = server.url("tests").replace(str(server.port), str(proxy.port))
    with open_mailbox(url) as behind:
        behind.send("x")
        (message,) = behind.receive(visibility=60)
        idle_connections(behind, 8)
        monkeypatch.setattr(behind._pool, "_works", None)
        proxy.cut()
        with pytest.raises(MailboxError):
            behind.stats()

        assert message.ack()
    proxy.close()


@pytest.mark.parametrize("waiting", [False, True])
def test_a_network_that_drops_packets_holds_no_call_for_ever(server, url, waiting):
    """The connection stays open and nothing comes back: only the client's clock ends the call."""
    proxy = Proxy(server.port)
    with open_mailbox(url.replace(str(server.port), str(proxy.port))) as mailbox:
        mailbox.send("x")
        (message,) = mailbox.receive(visibility=60)
        proxy.hold()
        started = LEASE_CLOCK.monotonic()
        if waiting:
            with pytest.raises(MailboxError, match="no answer for 5 seconds"):
                mailbox.receive(wait=60)
        else:
            assert "no answer for 5 seconds" in message.extend(60).error
        took = LEASE_CLOCK.monotonic() - started
        proxy.release()

        assert TIMEOUT - 0.5 < took < TIMEOUT * 2
        assert message.ack()
    proxy.close()


def test_a_database_behind_a_silent_network_is_given_up(server):
    proxy = Proxy(server.port)
    proxy.hold()
    started = LEASE_CLOCK.monotonic()
    with pytest.raises(MailboxError, match="timeout"):
        open_mailbox(f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres")
    assert LEASE_CLOCK.monotonic() - started < TIMEOUT * 2
    proxy.close()


def test_a_worker_that_vanishes_while_it_makes_the_tables_keeps_no_one_out(
    server, url, monkeypatch
):
    """Nothing tells the server that the client is gone, and its transaction holds locks."""
    proxy = Proxy(server.port)

    def vanishing():
        yield from SCHEMA[:3]
        proxy.hold()
        yield from SCHEMA[3:]

    monkeypatch.setattr("trimtab_postgres.SCHEMA", vanishing())
    with pytest.raises(MailboxError):
        open_mailbox(url.replace(str(server.port), str(proxy.port)))
    monkeypatch.undo()

    with open_mailbox(url) as mailbox:
        assert mailbox.send("x")
    proxy.close()


def test_a_waiting_worker_hears_of_a_new_message_at_once(mailbox, url):
    """It does not look every few milliseconds."""
    took = []
    with open_mailbox(url) as sender:
        for _ in range(5):
            timer = threading.Timer(0.6, lambda: took.append(-LEASE_CLOCK.monotonic()))
            timer.start()
            threading.Timer(0.6, sender.send, ["x"]).start()
            (message,) = mailbox.receive(wait=10)
            took[-1] += LEASE_CLOCK.monotonic()
            message.ack()

    assert sorted(took)[2] < 0.2


def test_a_worker_that_is_busy_listens_to_nothing(mailbox, server):
    """Else notifications would pile up on the server for as long as it works."""
    timer = threading.Timer(0.3, mailbox.send, ["x"])
    timer.start()
    assert mailbox.receive(wait=10)
    with mailbox._pool.use() as connection:
        listening = connection.execute("select count(*) from pg_listening_channels()").fetchone()

    assert listening == (0,)
    assert mailbox._listening._idle == []


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
        waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        assert server.execute(waiting).fetchone() == (0,), "the server still waits for the lock"
    assert message.ack()


class TestBehindPgBouncer(MailboxConformance):
    """All that a mailbox must do, with a pooler in transaction mode between."""

    @pytest.fixture
    def url(self, pooled_url):
        return pooled_url


def test_many_threads_share_a_pooler_in_transaction_mode(pooled_url):
    """Prepared statements and settings of one would meet another's there."""
    with open_mailbox(pooled_url) as mailbox:
        for number in range(80):
            mailbox.send(number)

        def work(_):
            done = []
            while messages := mailbox.receive(1):
                assert mailbox.extend_many([(messages[0], 60.0)])[0].seconds > 50
                assert messages[0].ack()
                done.append(messages[0].body)
            return done

        with ThreadPoolExecutor(8) as pool:
            done = [body for part in pool.map(work, range(8)) for body in part]

    assert sorted(done) == list(range(80))


@pytest.mark.skipif(
    "TRIMTAB_CHAOS_MESSAGES" not in os.environ, reason="takes minutes: for a measurement"
)
def test_chaos_behind_pgbouncer(url, pooled_url, pooler, server, capsys):
    proxy = Proxy(pooler)
    faults = {**network_faults(proxy, HELD), "restart": server.restart}
    report = run_chaos(through(pooled_url, proxy), direct=url, faults=faults)
    proxy.close()
    with capsys.disabled():
        sys.stdout.write(f"\npgbouncer: {report}\n")

    assert report.broken == {}
