"""What every mailbox must do, as a class of tests to subclass."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pytest

from trimtab import SystemClock
from trimtab_worker import (
    Granted,
    Lost,
    Mailbox,
    MailboxError,
    Message,
    open_mailbox,
)

OPEN = Callable[..., Any]
HOLD = """
import sys, time
from trimtab_worker import open_mailbox
message, = open_mailbox(sys.argv[1]).receive(visibility=float(sys.argv[2]), wait=20)
print(message.id, flush=True)
time.sleep(60)
"""
ANSWER = """
import sys, time
from trimtab import MarkdownSection, Prompt, PromptResponse, Session
from trimtab_worker import LeaseExtenderConfig, MainLoop, MainLoopConfig, Reply, open_mailbox

class Adapter:
    def evaluate(self, prompt, *, session, deadline=None, budget=None, heartbeat=None):
        print("working", flush=True)
        time.sleep(second * 0.5)
        return PromptResponse("done")

def prepare(request):
    return Prompt("a", "b", [MarkdownSection(key="k", title="T", template="x")]), Session()

url, replies, second = sys.argv[1], sys.argv[2], float(sys.argv[3])
config = MainLoopConfig(
    visibility_timeout=second * 3, watchdog_threshold=None, longest_silence=60,
    lease_extender=LeaseExtenderConfig(enabled=False),
)
loop = MainLoop(
    Adapter(), open_mailbox(url), config, prepare=prepare, replies=open_mailbox(replies, Reply),
    on_event=lambda event: print(type(event).__name__, flush=True),
)
print(loop.run(max_messages=1), flush=True)
"""


@attrs.frozen
class Task:
    """A body.

    Args:
        number: which one.
        note: any text.
    """

    number: int
    note: str = ""


class SkewedClock(SystemClock):
    """A worker's clock that is half a minute ahead."""

    def now(self) -> Any:
        from datetime import timedelta

        return super().now() + timedelta(seconds=30)

    @staticmethod
    def monotonic() -> float:
        return SystemClock.monotonic() + 30


class MailboxConformance:
    """Subclass it as ``TestMine(MailboxConformance)``.

    It needs a fixture `url` of the class, its module or a conftest: the URL of a mailbox that is
    empty for each test.

    Attributes:
        second: seconds of the shortest lease that the engine can measure.
        own_clock: the engine judges leases by a clock of its own, not the worker's.
        separate: other processes can open the same URL.
    """

    second: float = 0.4
    own_clock: bool = True
    separate: bool = True

    @pytest.fixture
    def open_one(self, url: str) -> Iterator[OPEN]:
        """Opens the mailbox once more, as another worker does."""
        opened: list[Any] = []

        def open_one(body: Any = None) -> Any:
            opened.append(open_mailbox(url, body))
            return opened[-1]

        yield open_one
        for one in opened:
            one.close()

    @pytest.fixture
    def mailbox(self, open_one: OPEN) -> Any:
        """The mailbox."""
        return open_one()

    def take(self, mailbox: Mailbox[Any], visibility: float = 30, wait: float = 5) -> Message[Any]:
        """Receive the one message that must be there.

        Args:
            mailbox: where.
            visibility, wait: as for `Mailbox.receive`.
        """
        (message,) = mailbox.receive(visibility=visibility, wait=wait)
        return message

    def lapse(self, mailbox: Mailbox[Any]) -> Message[Any]:
        """Receive a message, and let its lease expire.

        Args:
            mailbox: where.
        """
        message = self.take(mailbox, visibility=self.second)
        time.sleep(self.second * 1.5)
        return message

    # Sending and receiving.

    def test_a_message_arrives_once_and_is_gone_after_its_acknowledgement(
        self, mailbox: Any
    ) -> None:
        identifier = mailbox.send({"n": 1}, reply_to="answers")
        message = self.take(mailbox)

        assert (message.id, message.body, message.deliveries) == (identifier, {"n": 1}, 1)
        assert message.reply_to == "answers"
        assert message.ack()
        assert list(mailbox.receive(wait=0)) == []

    def test_bodies_are_typed(self, open_one: OPEN) -> None:
        mailbox = open_one(Task)
        mailbox.send(Task(7, "a “quoted” text\nwith \x00 and \U0001f600"))

        assert self.take(mailbox).body == Task(7, "a “quoted” text\nwith \x00 and \U0001f600")

    def test_a_body_of_another_type_is_refused(self, open_one: OPEN) -> None:
        with pytest.raises(MailboxError, match="holds Task, not SkewedBody"):
            open_one(Task).send(SkewedBody())

    def test_no_more_messages_than_asked_for_arrive(self, mailbox: Any) -> None:
        for number in range(5):
            mailbox.send(number)
        got = [message.body for _ in range(9) for message in mailbox.receive(2, wait=0)]

        assert sorted(got) == [0, 1, 2, 3, 4]

    def test_of_several_sent_under_one_key_the_first_arrives(
        self, mailbox: Any, open_one: OPEN
    ) -> None:
        if not mailbox.facts.once:
            with pytest.raises(MailboxError, match="keeps no keys"):
                mailbox.send_once("x", "a key")
            return
        key = os.urandom(8).hex()  # keys outlive the messages of other tests
        others = [mailbox, *(open_one() for _ in range(3 * self.separate))]
        start = threading.Barrier(len(others))

        def send(other: Any) -> str | None:
            start.wait()
            sent: str | None = other.send_once("x", key)
            return sent

        with ThreadPoolExecutor(len(others)) as pool:
            sent = [one for one in pool.map(send, others) if one is not None]
        assert mailbox.send_once("x", key) is None
        assert mailbox.send_once("y", f"another {key}") is not None

        assert len(sent) == 1
        got = [message.body for _ in range(4) for message in mailbox.receive(4, wait=0)]
        assert sorted(got) == ["x", "y"]

    def test_receiving_waits_for_a_message(self, mailbox: Any, open_one: OPEN) -> None:
        sender = open_one()
        threading.Timer(0.3, sender.send, ["late"]).start()

        assert self.take(mailbox, wait=10).body == "late"

    def test_a_delayed_message_is_not_ready_before_its_time(self, mailbox: Any) -> None:
        mailbox.send("later", delay=self.second)

        assert list(mailbox.receive(wait=0)) == []
        assert self.take(mailbox, wait=self.second * 4).body == "later"

    # Leases.

    def test_a_leased_message_is_nobody_elses(self, mailbox: Any, open_one: OPEN) -> None:
        mailbox.send("x")
        self.take(mailbox)

        assert list(open_one().receive(wait=0)) == []

    def test_opening_the_mailbox_leaves_leases_alone(self, mailbox: Any, open_one: OPEN) -> None:
        mailbox.send("x")
        message = self.take(mailbox)
        other = open_one()

        assert list(other.receive(wait=0)) == []
        assert message.ack()

    def test_an_expired_lease_is_delivered_again_and_counted(
        self, mailbox: Any, open_one: OPEN
    ) -> None:
        mailbox.send("x")
        self.lapse(mailbox)

        assert self.take(open_one()).deliveries == 2

    def test_an_extension_never_shortens(self, mailbox: Any, open_one: OPEN) -> None:
        """Engines that set the time are asked for no less than is left, by the keeper."""
        mailbox.send("x")
        message = self.take(mailbox, visibility=self.second * 10)
        shorter = message.extend(self.second)
        time.sleep(self.second * 1.5)
        ready = list(open_one().receive(wait=0))

        assert isinstance(shorter, Granted)
        assert ready == [] or not mailbox.facts.fenced

    def test_an_extension_holds_the_lease(self, mailbox: Any, open_one: OPEN) -> None:
        mailbox.send("x")
        message = self.take(mailbox, visibility=self.second)
        outcome = message.extend(self.second * 4)
        time.sleep(self.second * 2)

        assert isinstance(outcome, Granted)
        assert outcome.seconds >= self.second * 3.5
        assert list(open_one().receive(wait=0)) == []
        assert message.ack()

    def test_a_worker_that_lost_its_lease_harms_nobody(self, mailbox: Any, open_one: OPEN) -> None:
        """The same handle receives again: the fence is per delivery, not per worker's name."""
        mailbox.send("x")
        stale = self.lapse(mailbox)
        fresh = self.take(mailbox, visibility=self.second * 3)
        outcome = stale.extend(self.second * 20)
        refused = [stale.ack(), stale.nack(), stale.mailbox.bury(stale, "no")]
        time.sleep(self.second * 3.5)

        assert isinstance(outcome, Lost)
        assert refused == [False, False, False]
        assert self.take(open_one(), wait=self.second).deliveries == 3
        assert not fresh.ack()

    def test_an_expired_lease_that_nobody_took_is_regained(
        self, mailbox: Any, open_one: OPEN
    ) -> None:
        """Where the engine can tell; else the delivery is over."""
        mailbox.send("x")
        stale = self.lapse(mailbox)
        outcome = stale.extend(self.second * 10)
        regained = mailbox.facts.fenced

        assert isinstance(outcome, Granted if regained else Lost)
        assert bool(open_one().receive(wait=0)) is not regained
        assert stale.ack() is regained

    def test_an_extension_after_the_acknowledgement_reports_the_loss(self, mailbox: Any) -> None:
        mailbox.send("x")
        message = self.take(mailbox)
        message.ack()
        outcome = message.extend(10)

        assert isinstance(outcome, Lost) or not mailbox.facts.reports_loss
        assert list(mailbox.receive(wait=0)) == []

    def test_a_returned_message_is_ready_at_once(self, mailbox: Any, open_one: OPEN) -> None:
        mailbox.send("x")
        first = self.take(mailbox)

        assert first.nack()
        second = self.take(open_one())
        assert (second.id, second.deliveries) == (first.id, 2)

    def test_a_message_can_be_returned_with_a_delay(self, mailbox: Any) -> None:
        mailbox.send("x")
        self.take(mailbox).nack(self.second)

        assert list(mailbox.receive(wait=0)) == []
        assert self.take(mailbox, wait=self.second * 4).deliveries == 2

    def test_a_later_delivery_has_the_whole_lease(self, mailbox: Any, open_one: OPEN) -> None:
        mailbox.send("x")
        self.take(mailbox).nack()
        self.take(mailbox, visibility=self.second * 3)
        time.sleep(self.second * 1.5)

        assert list(open_one().receive(wait=0)) == []

    def test_one_bad_lease_spoils_no_other_in_a_batch(self, mailbox: Any) -> None:
        for number in range(10):
            mailbox.send(number)
        messages: list[Message[Any]] = []
        while len(messages) < 10:
            messages += mailbox.receive(10, wait=5)
        messages[3].ack()
        outcomes = mailbox.extend_many([(message, 30.0) for message in messages])

        good = [isinstance(outcome, Granted) for outcome in outcomes]
        assert good[:3] + good[4:] == [True] * 9
        assert isinstance(outcomes[3], Lost) or not mailbox.facts.reports_loss

    def test_extensions_are_no_deliveries(self, mailbox: Any) -> None:
        mailbox.send("x")
        message = self.take(mailbox, visibility=self.second)
        for _ in range(40):
            message.extend(self.second)
        time.sleep(self.second * 1.5)

        assert self.take(mailbox).deliveries == 2

    def test_one_of_two_reclaimers_gets_an_expired_message(
        self, mailbox: Any, open_one: OPEN
    ) -> None:
        mailbox.send("x")
        self.lapse(mailbox)
        others = [open_one(), open_one()]
        start = threading.Barrier(2)

        def reclaim(other: Any) -> list[Any]:
            start.wait()
            return list(other.receive(wait=0))

        with ThreadPoolExecutor(2) as pool:
            got = list(pool.map(reclaim, others))

        assert sorted(map(len, got)) == [0, 1]

    def test_the_clock_of_a_worker_decides_nothing(self, open_one: OPEN) -> None:
        if not self.own_clock:
            pytest.skip("all workers share the engine's clock")
        punctual, early = open_one(), open_one()
        early.clock = SkewedClock()
        punctual.send("x")
        self.take(punctual, visibility=20)

        assert list(early.receive(wait=0)) == []
        early.send("y", delay=0)
        assert self.take(early, visibility=self.second).body == "y"
        time.sleep(self.second * 1.5)
        assert self.take(punctual).body == "y"

    def test_the_message_of_a_killed_worker_is_delivered_again(
        self, mailbox: Any, url: str
    ) -> None:
        if not self.separate:
            pytest.skip("only this process can open this mailbox")
        mailbox.send("x")
        command = [sys.executable, "-c", HOLD, url, str(self.second * 3)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            identifier = worker.stdout.readline().strip()
            worker.send_signal(signal.SIGKILL)
        again = self.take(mailbox, wait=self.second * 10)

        assert (again.id, again.deliveries) == (identifier, 2)

    def test_threads_share_a_mailbox(self, mailbox: Any) -> None:
        for number in range(60):
            mailbox.send(number)

        def drain(_: int) -> list[Any]:
            got = []
            while messages := mailbox.receive(3, wait=0):
                got += [message.body for message in messages if message.ack()]
            return got

        with ThreadPoolExecutor(4) as pool:
            got = [body for part in pool.map(drain, range(4)) for body in part]

        assert sorted(got) == list(range(60))

    def test_a_worker_that_was_stopped_past_its_lease_answers_and_removes_nothing(
        self, mailbox: Any, url: str, tmp_path: Any
    ) -> None:
        """It wakes while another worker has the message, with its own work done."""
        if not self.separate:
            pytest.skip("only this process can open this mailbox")
        mailbox.send("x", reply_to="answers")
        replies = f"sqlite:///{tmp_path}/replies.db"
        command = [sys.executable, "-c", ANSWER, url, replies, str(self.second)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            while "working" not in worker.stdout.readline():
                """Other events come first."""
            worker.send_signal(signal.SIGSTOP)
            fresh = self.take(mailbox, visibility=self.second * 50, wait=self.second * 20)
            worker.send_signal(signal.SIGCONT)
            said = worker.stdout.read()

        assert "done=0" in said
        assert "abandoned=1" in said
        assert open_mailbox(replies).stats().waiting == 0
        assert (fresh.deliveries, fresh.ack()) == (2, True)

    # Dead letters and counts.

    def test_a_buried_message_is_a_dead_letter_with_its_bytes(self, mailbox: Any) -> None:
        mailbox.send({"n": 1})
        message = self.take(mailbox)

        assert mailbox.bury(message, "it kills workers")
        (letter,) = mailbox.dead_letters()
        assert (letter.body, letter.reason) == (message.wire, "it kills workers")
        assert list(mailbox.receive(wait=0)) == []
        assert not message.ack() or not mailbox.facts.fenced

    def test_what_cannot_be_decoded_goes_to_the_dead_letters(self, open_one: OPEN) -> None:
        mailbox = open_one(Task)
        if not isinstance(mailbox, Mailbox):
            pytest.skip("no way to send bytes")
        bad = [
            b"no json",
            b'{"v": 1}',
            b'{"v": 9, "body": {"number": 1}}',
            b'{"v": 1, "type": "Other", "body": {}}',
            b'{"v": 1, "type": "Task", "version": 2, "body": {}}',
            b'{"v": 1, "type": "Task", "body": {"number": "1"}}',
            b'{"v": 1, "type": "Task", "body": {"number": 1, "extra": 2}}',
            b"[" * 10_000,
        ]
        for data in bad:
            mailbox.put(data, 0.0)
        mailbox.send(Task(1))

        assert self.take(mailbox).body == Task(1)
        while mailbox.receive(wait=0):
            pass
        assert sorted(letter.body for letter in mailbox.dead_letters()) == sorted(bad)

    def test_dead_letters_are_sent_again_or_dropped(self, mailbox: Any) -> None:
        for number in range(3):
            mailbox.send(number)
        for _ in range(3):
            mailbox.bury(self.take(mailbox), "no")
        letters = mailbox.dead_letters()

        assert mailbox.requeue([letters[0].id]) == 1
        again = self.take(mailbox)
        assert again.deliveries == 1
        assert again.wire == letters[0].body
        assert mailbox.drop([letters[1].id]) == 1
        assert [letter.body for letter in mailbox.dead_letters()] == [letters[2].body]
        assert mailbox.requeue() == 1
        assert mailbox.requeue(["no such letter"]) == 0
        assert list(mailbox.dead_letters()) == []

    def test_messages_are_counted(self, mailbox: Any) -> None:
        for number in range(3):
            mailbox.send(number)
        mailbox.send("later", delay=60)
        self.take(mailbox).ack()
        self.take(mailbox)
        stats = mailbox.stats()

        assert (stats.waiting, stats.in_flight, stats.delayed, stats.dead) == (1, 1, 1, 0)
        assert stats.acked in (1, None)

    def test_messages_are_shown_without_being_received(self, mailbox: Any) -> None:
        mailbox.send("leased")
        self.take(mailbox)
        mailbox.send("waiting")
        mailbox.send("later", delay=60)
        if not mailbox.facts.peeks:
            with pytest.raises(MailboxError, match="stats"):
                mailbox.peek()
            return
        shown = mailbox.peek()

        assert sorted((one.state, one.deliveries, one.until > 0) for one in shown) == [
            ("delayed", 0, True),
            ("leased", 1, True),
            ("waiting", 0, False),
        ]
        assert len(mailbox.peek(1)) == 1
        assert self.take(mailbox).body == "waiting"

    def test_all_but_leased_messages_are_purged(self, mailbox: Any) -> None:
        mailbox.send("leased")
        held = self.take(mailbox)
        for delay in (0, 0, 60):
            mailbox.send("x", delay=delay)
        if not mailbox.facts.peeks:
            with pytest.raises(MailboxError, match="purge"):
                mailbox.purge()
            return
        assert mailbox.purge() == 3
        stats = mailbox.stats()
        assert (stats.waiting, stats.in_flight, stats.delayed) == (0, 1, 0)
        assert stats.acked in (0, None)
        assert held.ack()

    def test_a_buried_message_is_not_counted_as_acknowledged(self, mailbox: Any) -> None:
        mailbox.send("x")
        mailbox.bury(self.take(mailbox), "no")
        stats = mailbox.stats()

        assert (stats.waiting, stats.in_flight, stats.dead) == (0, 0, 1)
        assert stats.acked in (0, None)

    @pytest.mark.parametrize("delay", [-1, float("nan"), float("inf")])
    def test_a_delay_must_be_seconds(self, mailbox: Any, delay: float) -> None:
        with pytest.raises(MailboxError, match="delay must be seconds"):
            mailbox.send("x", delay=delay)

    def test_a_message_that_is_too_large_is_refused(self, mailbox: Any) -> None:
        limit = mailbox.facts.max_bytes
        if limit is None:
            pytest.skip("the engine has no limit")
        with pytest.raises(MailboxError, match="too large"):
            mailbox.send("x" * limit)

    def test_closing_twice_is_no_error(self, mailbox: Any) -> None:
        mailbox.close()
        mailbox.close()
        assert mailbox.facts.engine


@attrs.frozen
class SkewedBody:
    """A body that no mailbox here holds."""
