"""The mailboxes of this package pass the suite that every mailbox must pass."""

import pytest

from trimtab_worker import InMemoryMailbox
from trimtab_worker.testing import MailboxConformance

pytestmark = pytest.mark.slow


class TestSqlite(MailboxConformance):
    own_clock = False

    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path}/queue.db"


class TestMemory(MailboxConformance):
    own_clock = False
    separate = False

    @pytest.fixture
    def url(self):
        return "memory:"

    @pytest.fixture
    def open_one(self):
        """Every opening is the same queue with another codec, as handles of a real engine are."""
        first = InMemoryMailbox()

        def open_one(body=None):
            other = InMemoryMailbox(body)
            other.__dict__.update({k: v for k, v in first.__dict__.items() if k != "codec"})
            return other

        return open_one


def test_the_suite_has_assertions_that_fail():
    """A mailbox that leases nothing fails the suite."""

    class Leaky(InMemoryMailbox):
        def take(self, count, visibility):
            return super().take(count, 0.0)

    mailbox = Leaky()
    with pytest.raises(AssertionError):
        TestMemory().test_a_leased_message_is_nobody_elses(mailbox, lambda: mailbox)
