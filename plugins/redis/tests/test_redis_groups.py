"""Mailboxes on a Redis cluster, and on the server that Sentinels name; both lose a server."""

import contextlib
import shutil
import socket
import subprocess
import time

import pytest
import redis

from trimtab_worker import Granted, MailboxError, open_mailbox

pytestmark = pytest.mark.slow


def wait_until(condition, seconds=20):
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(redis.exceptions.RedisError, MailboxError):
            if condition():
                return
        assert time.monotonic() < until
        time.sleep(0.05)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Servers:
    """Processes of redis-server, each in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []

    def start(self, port, *options):
        folder = self.folder / str(port)
        folder.mkdir()
        config = folder / "redis.conf"
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            'save ""',
            "repl-diskless-sync-delay 0",
        ]
        command = ["redis-server", str(config)]
        if any(option.startswith("sentinel") for option in options):
            lines.pop()
            command.append("--sentinel")
        config.write_text("\n".join([*lines, *options]))
        self.running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        client = redis.Redis(port=port)
        wait_until(client.ping)
        return client

    def end(self):
        for one in self.running:
            one.kill()
            one.wait()


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (Debian package redis-server)")
    servers = Servers(tmp_path_factory.mktemp("servers"))
    yield servers
    servers.end()


@pytest.fixture(scope="module")
def cluster(servers):
    """A primary with all slots, and its replica."""
    ports = free_ports(4)
    nodes = []
    for port, bus in (ports[:2], ports[2:]):
        options = ["cluster-enabled yes", "cluster-node-timeout 1000", f"cluster-port {bus}"]
        nodes.append(servers.start(port, *options))
    nodes[0].execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
    nodes[1].execute_command("CLUSTER MEET", "127.0.0.1", ports[0], ports[1])
    primary = nodes[0].execute_command("CLUSTER MYID")
    wait_until(lambda: nodes[1].execute_command("CLUSTER REPLICATE", primary))
    wait_until(lambda: nodes[1].info("replication")["master_link_status"] == "up")
    wait_until(lambda: nodes[0].cluster("info")["cluster_state"] == "ok")
    return ports[0], ports[2], nodes


@pytest.fixture
def clustered(cluster):
    first, second, nodes = cluster
    for node in nodes:
        with contextlib.suppress(redis.exceptions.ReadOnlyError):
            node.flushall()
    url = f"redis://127.0.0.1:{first},127.0.0.1:{second}?queue=tests&cluster=true"
    with open_mailbox(url) as mailbox:
        yield mailbox


def replica_of(cluster):
    return next(node for node in cluster[2] if node.info("replication")["role"] == "slave")


def test_each_operation_works_on_a_cluster(clustered):
    sent = [clustered.send(number) for number in range(4)]
    clustered.send("later", delay=60)
    first, second, third = clustered.receive(3, visibility=60, wait=1)
    assert [one.seconds > 50 for one in clustered.extend_many([(first, 60.0), (second, 60.0)])]
    assert first.ack() and not first.ack()
    assert second.nack(0) and clustered.bury(third, "no")
    shown = {(one.id, one.state) for one in clustered.peek()}
    assert {(sent[1], "waiting"), (sent[3], "waiting")} < shown
    assert [letter.reason for letter in clustered.dead_letters()] == ["no"]
    assert clustered.requeue() == 1
    stats = clustered.stats()
    assert (stats.waiting, stats.delayed, stats.dead, stats.acked) == (3, 1, 0, 1)
    assert clustered.purge() == 4
    assert list(clustered.receive(wait=0.1)) == []


def test_leases_go_on_when_a_replica_takes_over(clustered, cluster):
    clustered.send("x")
    clustered.send("y")
    messages = clustered.receive(2, visibility=60)
    replica = replica_of(cluster)
    wait_until(lambda: replica.info("replication")["master_link_status"] == "up")
    replica.execute_command("CLUSTER FAILOVER")
    wait_until(lambda: replica.info("replication")["role"] == "master")

    def extended():
        outcomes = clustered.extend_many([(message, 60.0) for message in messages])
        return all(isinstance(one, Granted) for one in outcomes)

    wait_until(extended)
    assert [message.ack() for message in messages] == [True, True]


def test_a_url_without_the_cluster_says_what_to_write(cluster):
    port = replica_of(cluster).get_connection_kwargs()["port"]
    with (
        open_mailbox(f"redis://127.0.0.1:{port}/0") as mailbox,
        pytest.raises(MailboxError, match=r"Moved.*&cluster=true"),
    ):
        mailbox.send("x")


@pytest.fixture(scope="module")
def sentinel(servers):
    """A primary, its replica, and a Sentinel that decides alone."""
    first, second, third = free_ports(3)
    primary = servers.start(first)
    replica = servers.start(second, f"replicaof 127.0.0.1 {first}")
    wait_until(lambda: replica.info("replication")["master_link_status"] == "up")
    servers.start(
        third,
        f"sentinel monitor agents-db 127.0.0.1 {first} 1",
        "sentinel down-after-milliseconds agents-db 500",
        "sentinel failover-timeout agents-db 3000",
    )
    sentinel = redis.Redis(port=third)
    wait_until(lambda: sentinel.sentinel_slaves("agents-db"))
    return third, primary


def test_a_sentinel_named_as_a_server_says_what_to_write(sentinel):
    with (
        open_mailbox(f"redis://127.0.0.1:{sentinel[0]}/0") as mailbox,
        pytest.raises(MailboxError, match=r"unknown command.*&sentinel=SERVICE"),
    ):
        mailbox.send("x")


def test_a_service_that_no_sentinel_knows_is_named(sentinel):
    with (
        open_mailbox(f"redis://127.0.0.1:{sentinel[0]}/0?sentinel=other") as mailbox,
        pytest.raises(MailboxError, match="No master found for 'other'"),
    ):
        mailbox.send("x")


def test_a_mailbox_follows_the_server_that_sentinels_name(sentinel):
    port, primary = sentinel
    url = f"redis://127.0.0.1:{port}/0?queue=tests&sentinel=agents-db"
    with open_mailbox(url) as mailbox:
        mailbox.send("x")
        mailbox.send("y")
        (message,) = mailbox.receive(visibility=60)
        assert isinstance(message.extend(60), Granted)
        primary.wait(1, 2000)
        with contextlib.suppress(redis.exceptions.ConnectionError):
            primary.shutdown(nosave=True)
        wait_until(message.ack)

        (other,) = mailbox.receive(wait=5)
        assert (other.body, other.deliveries) == ("y", 1)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://one,two/0", "write &sentinel=SERVICE"),
        ("redis://one,two/0?sentinel=x&cluster=true", "both sentinel= and cluster="),
        ("redis://one,two/3?cluster=true", "no numbered databases"),
        ("redis://one:x,two/0?sentinel=x", "no addresses of Redis servers"),
        ("redis://127.0.0.1:1/0?cluster=yes", "cluster 127.0.0.1:1: .*onnect"),
    ],
)
def test_a_url_that_names_no_client_is_refused(url, said):
    with pytest.raises(MailboxError, match=said):
        open_mailbox(url)
