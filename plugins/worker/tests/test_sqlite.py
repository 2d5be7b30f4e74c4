"""What is special to a mailbox in a file: its clock, its parameters, its name on the disk."""

import sqlite3
from datetime import timedelta

import pytest

from trimtab_worker import (
    InMemoryMailbox,
    LeaseClock,
    MailboxError,
    MainLoop,
    MainLoopConfig,
    SqliteMailbox,
    open_mailbox,
)
from trimtab_worker._records import boot_id


class SetClock(LeaseClock):
    """A clock whose wall time somebody has set."""

    def __init__(self, off):
        self.off = off

    def now(self):
        return super().now() + timedelta(hours=self.off)


@pytest.mark.skipif(boot_id() is None, reason="this system has no clock that nobody can set")
@pytest.mark.parametrize("hours", [-3, -1, 1, 48])
def test_a_wall_clock_that_is_set_moves_no_lease(tmp_path, hours):
    punctual = SqliteMailbox(tmp_path / "queue.db")
    punctual.send("leased")
    punctual.send("waiting")
    punctual.send("later", delay=600)
    (held,) = punctual.receive(visibility=600)
    other = SqliteMailbox(tmp_path / "queue.db", clock=SetClock(hours))

    assert [message.body for message in other.receive(10)] == ["waiting"]
    other.send("new")
    assert [message.body for message in punctual.receive(10)] == ["new"]
    assert held.ack()


def test_a_restart_of_the_machine_keeps_messages_and_makes_the_clock_anew(tmp_path, monkeypatch):
    before = SqliteMailbox(tmp_path / "queue.db")
    before.send("x")
    monkeypatch.setattr("trimtab_worker._sqlite.boot_id", lambda: "another start")
    after = SqliteMailbox(tmp_path / "queue.db")

    assert [message.body for message in after.receive()] == ["x"]


def test_a_file_that_is_deleted_is_noticed_and_made_anew(tmp_path):
    path = tmp_path / "queue.db"
    old = SqliteMailbox(path)
    old.send("lost with the file")
    for name in tmp_path.iterdir():
        name.unlink()
    with pytest.raises(MailboxError, match="was deleted or replaced"):
        old.receive()
    with SqliteMailbox(path) as sender:
        sender.send("new")

    assert [message.body for message in old.receive()] == ["new"]


@pytest.mark.waits
def test_a_worker_goes_on_with_the_file_that_replaced_its_own(tmp_path, monkeypatch):
    from trimtab import MarkdownSection, Prompt, PromptResponse, Session

    class Adapter:
        def evaluate(self, prompt, **_):
            path.unlink(missing_ok=True)
            return PromptResponse("done")

    def prepare(request):
        return Prompt("a", "b", [MarkdownSection(key="k", title="T", template="x")]), Session()

    monkeypatch.setattr("trimtab_worker._loop.RECONNECT", (0.01, 0.02))
    path = tmp_path / "queue.db"
    mailbox = SqliteMailbox(path)
    mailbox.send("x")
    events = []
    config = MainLoopConfig(longest_silence=60, poll_wait=0.01)
    loop = MainLoop(Adapter(), mailbox, config, prepare=prepare, on_event=events.append)
    summary = loop.run(until_idle=True)

    assert (summary.received, summary.crashed) == (1, 0)
    assert mailbox.stats().waiting == 0


def test_the_url_can_ask_for_durable_writes(tmp_path):
    def synchronous(url):
        with open_mailbox(url) as mailbox:
            return mailbox._pool.take().execute("pragma synchronous").fetchone()[0]

    assert synchronous(f"sqlite:///{tmp_path}/a.db?durable=1") == 2
    assert synchronous(f"sqlite:///{tmp_path}/b.db?durable=0") == 1


@pytest.mark.waits
def test_a_call_is_given_up_in_the_time_that_the_facts_promise(tmp_path, monkeypatch):
    monkeypatch.setattr("trimtab_worker._sqlite.BUSY", 0.3)
    mailbox = SqliteMailbox(tmp_path / "queue.db")
    holder = sqlite3.connect(tmp_path / "queue.db", isolation_level=None)
    holder.execute("begin immediate")
    started = mailbox.clock.monotonic()
    with pytest.raises(MailboxError, match="locked"):
        mailbox.send("x")

    assert 0.2 < mailbox.clock.monotonic() - started < 2
    assert SqliteMailbox.facts.call_timeout == 5
    holder.close()


@pytest.mark.parametrize("make", [InMemoryMailbox, None])
def test_a_dead_letter_that_is_sent_again_has_a_new_id(tmp_path, make):
    """Its count begins at 1 again: with the old id, its attempts would pass for stale ones."""
    mailbox = make() if make else SqliteMailbox(tmp_path / "queue.db")
    mailbox.send("x")
    (message,) = mailbox.receive()
    mailbox.bury(message, "no")
    mailbox.requeue()
    (again,) = mailbox.receive()

    assert (again.deliveries, again.id != message.id) == (1, True)
