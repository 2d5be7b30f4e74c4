"""Any order of work, time and failures: a keeper and a mailbox on one clock that is set by hand."""

import math

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from trimtab import Heartbeat, ManualClock
from trimtab_worker import (
    Granted,
    InMemoryMailbox,
    Keeper,
    LeaseExtender,
    LeaseExtenderConfig,
    LeaseState,
    Unknown,
)

pytestmark = pytest.mark.slow

CONFIG = LeaseExtenderConfig(interval=10, extension=60)


class Recorded(InMemoryMailbox):
    """Notes each extension with the message's end before and after it; fails on demand."""

    failing = False

    def __init__(self, clock):
        super().__init__(clock=clock)
        self.calls = []

    def prolong(self, receipt, seconds):
        before = self.ends(receipt)
        outcome = Unknown("down") if self.failing else super().prolong(receipt, seconds)
        self.calls.append((receipt, before, self.ends(receipt), outcome))
        return outcome

    def ends(self, receipt):
        """When the message is ready again; NaN where it is gone."""
        left = [one.until for one in self.peek(1_000) if one.id == str(receipt[0])]
        return left[0] if left else math.nan


class Job:
    def __init__(self, message, heartbeat, block, lease):
        self.message, self.heartbeat, self.block, self.lease = message, heartbeat, block, lease
        self.beats_at_grant, self.expected_until = heartbeat.beats, -1.0


class LeaseMachine(RuleBasedStateMachine):
    jobs = Bundle("jobs")

    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        self.mailbox = Recorded(self.clock)
        self.keeper = Keeper(self.clock, threaded=False)
        self.active = {}
        self.released = set()
        self.acked = []
        self.sent = 0

    @rule()
    def send(self):
        self.mailbox.send(self.sent)
        self.sent += 1

    @rule(target=jobs, visibility=st.sampled_from([60.0, 90.0, 1800.0]))
    def receive(self, visibility):
        messages = self.mailbox.receive(1, visibility=visibility)
        if not messages:
            return multiple()
        heartbeat = Heartbeat(self.clock)
        extender = LeaseExtender(CONFIG, keeper=self.keeper)
        block = extender.attach(messages[0], heartbeat)
        job = Job(messages[0], heartbeat, block, block.__enter__())
        self.active[messages[0].receipt] = job
        return job

    @rule(job=jobs)
    def beat(self, job):
        job.heartbeat.beat()

    @rule(job=jobs, seconds=st.sampled_from([5.0, 100.0, 700.0]))
    def expect(self, job, seconds):
        job.heartbeat.expect(seconds)
        job.expected_until = max(job.expected_until, self.clock.monotonic() + seconds)

    @rule(seconds=st.sampled_from([0.5, 3.0, 9.0, 21.0, 70.0, 500.0]))
    def wait(self, seconds):
        self.clock.advance(seconds)

    @rule()
    def step(self):
        before = len(self.mailbox.calls)
        owners = {job.message.receipt: job.heartbeat.beats for job in self.active.values()}
        self.keeper.step()
        for receipt, was, becomes, outcome in self.mailbox.calls[before:]:
            job = self.active[receipt]
            assert receipt not in self.released, "a call after the block's end"
            proven = job.heartbeat.beats > job.beats_at_grant
            assert proven or job.expected_until > self.clock.monotonic(), "no proof of work"
            assert math.isnan(was) or becomes >= was, "an expiry moved forward in time"
            if isinstance(outcome, Granted):
                job.beats_at_grant = owners[receipt]

    @rule()
    def fail(self):
        self.mailbox.failing = True

    @rule()
    def recover(self):
        self.mailbox.failing = False

    @rule(job=consumes(jobs), how=st.sampled_from(["ack", "nack", "leave"]))
    def finish(self, job, how):
        job.block.__exit__(None, None, None)
        del self.active[job.message.receipt]
        self.released.add(job.message.receipt)
        assert job.lease.state is LeaseState.RELEASED
        if how == "ack" and job.message.ack():
            self.acked.append(job.message.body)
        if how == "nack":
            job.message.nack()

    @precondition(lambda self: self.active)
    @invariant()
    def a_lease_that_is_believed_is_real(self):
        """Two workers never believe that they hold one message, once their keeper has looked."""
        self.step()
        believed = [job.message.id for job in self.active.values() if not job.lease.lost]
        assert len(believed) == len(set(believed))

    @invariant()
    def nothing_is_lost_or_acknowledged_twice(self):
        assert len(self.acked) == len(set(self.acked))
        assert len(self.mailbox.peek(1_000)) == self.sent - len(self.acked)


TestLeases = LeaseMachine.TestCase
TestLeases.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


def test_the_machine_notices_a_keeper_that_extends_without_proof(monkeypatch):
    """The machine's own check: a keeper that extends on time alone does not pass."""
    from trimtab_worker import Lease

    monkeypatch.setattr(Lease, "_target", lambda self, now, beats: now + 60)
    machine = LeaseMachine()
    machine.send()
    machine.receive(visibility=60.0)
    machine.wait(30.0)
    with pytest.raises(AssertionError, match="no proof of work"):
        machine.step()
