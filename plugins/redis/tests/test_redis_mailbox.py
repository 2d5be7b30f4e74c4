"""The mailbox on a real server."""

import contextlib
import threading
import time

import pytest
import redis

from trimtab_redis import RedisMailbox
from trimtab_worker import (
    LEASE_CLOCK,
    Granted,
    Lost,
    MailboxError,
    Unknown,
    open_mailbox,
)
from trimtab_worker.testing import MailboxConformance, Proxy, ServerConformance

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # chaos takes a minute


class TestRedis(MailboxConformance, ServerConformance):
    """What every mailbox must do; cases C1, C2, G2, H6, I3 and I4 among it."""


@pytest.fixture
def mailbox(url):
    with open_mailbox(url) as mailbox:
        yield mailbox


def test_i2_an_extension_resets_the_idle_time_of_the_group(mailbox, server):
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=30)
    first = server.client.xpending_range("trimtab:{tests}", "workers", "-", "+", 1)[0]
    outcome = message.extend(60)
    second = server.client.xpending_range("trimtab:{tests}", "workers", "-", "+", 1)[0]

    assert isinstance(outcome, Granted)
    assert second["times_delivered"] == first["times_delivered"] == 1
    assert second["time_since_delivered"] <= 1000


def test_an_acknowledged_message_leaves_nothing_on_the_server(mailbox, server):
    mailbox.send("x")
    mailbox.receive()[0].ack()
    kept = {key: server.client.type(key) for key in server.client.scan_iter()}

    assert set(kept) == {b"trimtab:{tests}", b"trimtab:{tests}:counts"}
    assert server.client.xlen("trimtab:{tests}") == 0


def test_a_server_that_was_emptied_is_set_up_again(mailbox, server):
    mailbox.send("x")
    server.client.flushall()
    server.client.script_flush()
    mailbox.send("y")

    assert [message.body for message in mailbox.receive(10)] == ["y"]


def test_a_restarted_server_keeps_leases(mailbox, server):
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=60)
    server.restart()
    with contextlib.suppress(MailboxError):  # the first call may meet the old connection
        mailbox.stats()

    assert list(mailbox.receive()) == []
    assert message.ack()


def test_an_extension_while_the_server_is_down_teaches_nothing(mailbox, server):
    mailbox.send("x")
    (message,) = mailbox.receive(visibility=60)
    server.stop()
    try:
        assert isinstance(message.extend(60), Unknown)
        assert all(isinstance(one, Unknown) for one in mailbox.extend_many([(message, 60.0)] * 2))
        with pytest.raises(MailboxError, match=r"trimtab:\{tests\}: ConnectionError"):
            message.ack()
    finally:
        server.start()


def test_an_extension_in_a_batch_that_the_script_refuses_is_lost(mailbox):
    mailbox.send("x")
    (message,) = mailbox.receive()
    message.ack()

    assert isinstance(mailbox.extend_many([(message, 60.0)])[0], Lost)


@pytest.mark.parametrize("name", ["", "a b", "a}{b", "x" * 201])
def test_a_name_that_would_break_the_keys_is_refused(name):
    with pytest.raises(MailboxError, match="not a valid queue name"):
        RedisMailbox(redis.Redis(), name)


def test_a_waiting_worker_hears_of_a_new_message_at_once(mailbox, url):
    took = []
    with open_mailbox(url) as sender:
        for _ in range(5):
            threading.Timer(0.5, lambda: took.append(-LEASE_CLOCK.monotonic())).start()
            threading.Timer(0.5, sender.send, ["x"]).start()
            (message,) = mailbox.receive(wait=10)
            took[-1] += LEASE_CLOCK.monotonic()
            message.ack()

    assert sorted(took)[2] < 0.2


def test_an_idle_worker_asks_seldom(mailbox, server):
    before = server.client.info("commandstats")["cmdstat_evalsha"]["calls"]
    mailbox.receive(wait=3)
    after = server.client.info("commandstats")["cmdstat_evalsha"]["calls"]

    assert after - before <= 8


def test_a_client_with_a_short_timeout_may_wait_for_long(server, url):
    client = redis.Redis(port=server.port, socket_timeout=0.4)
    with RedisMailbox(client, "tests") as mailbox:
        assert list(mailbox.receive(wait=1.5)) == []


def test_a_network_that_drops_packets_holds_no_call_for_ever(server, url):
    proxy = Proxy(server.port)
    with open_mailbox(url.replace(str(server.port), str(proxy.port))) as mailbox:
        mailbox.send("x")
        (message,) = mailbox.receive(visibility=60)
        proxy.hold()
        started = LEASE_CLOCK.monotonic()
        with pytest.raises(MailboxError, match="Timeout"):
            mailbox.receive(wait=60)
        took = LEASE_CLOCK.monotonic() - started
        proxy.release()

        assert took < mailbox.facts.call_timeout * 1.5
        assert message.ack()
    proxy.close()


def test_ids_are_not_used_again_after_the_server_was_emptied(mailbox, server):
    before = mailbox.send("x")
    server.client.flushall()
    time.sleep(0.002)  # an id begins with the server's time in milliseconds

    assert mailbox.send("x") != before
