"""A stage where leases are kept by hand, on a clock that moves only when it is told to."""

import contextlib
import threading

import attrs
import pytest

from trimtab import Heartbeat, ManualClock
from trimtab_worker import (
    Granted,
    InMemoryMailbox,
    Keeper,
    LeaseExtender,
    LeaseExtenderConfig,
    MailboxFacts,
    Unknown,
)

FACTS = MailboxFacts(engine="fake", fenced=True, reports_loss=True, call_timeout=0.1)


@attrs.define(eq=False)
class FakeMailbox:
    """Answers extensions as it is told to, and records them as (time, id, seconds)."""

    clock: ManualClock
    facts: MailboxFacts = FACTS
    answer: object = None
    refused: str | None = None
    asked: list = attrs.field(factory=list)

    def message(self, visibility=300.0, identifier="m", age=0.0):
        return FakeMessage(self, identifier, visibility, self.clock.monotonic() - age)


@attrs.define(eq=False)
class FakeMessage:
    mailbox: FakeMailbox
    id: str
    visibility: float | None
    received: float
    deliveries: int = 1

    def extend(self, seconds):
        self.mailbox.asked.append((self.mailbox.clock.monotonic(), self.id, seconds))
        answer = self.mailbox.answer
        if self.id == self.mailbox.refused:
            answer = Unknown("refused")
        if callable(answer):
            answer = answer(seconds)
        return Granted(seconds) if answer is None else answer


class Stage:
    """One clock, one keeper without a thread, a mailbox that remembers what it was asked."""

    def __init__(self):
        self.clock = ManualClock()
        self.keeper = Keeper(self.clock, threaded=False)
        self.fake = FakeMailbox(self.clock)
        self.memory = InMemoryMailbox(clock=self.clock)
        self.heartbeat = Heartbeat(self.clock)
        self.events = []
        self._open = contextlib.ExitStack()

    def attach(self, message, *, heartbeat=None, interval=60.0, extension=300.0, **config):
        """Attach until `close`; every config argument as for `LeaseExtenderConfig`."""
        config = LeaseExtenderConfig(interval=interval, extension=extension, **config)
        extender = LeaseExtender(config, keeper=self.keeper)
        block = extender.attach(message, heartbeat or self.heartbeat, on_event=self.events.append)
        return self._open.enter_context(block)

    def release(self):
        """Leave the blocks of `attach`."""
        self._open.close()

    def beat(self, after=0.0):
        self.pass_time(after)
        self.heartbeat.beat()
        self.keeper.step()

    def pass_time(self, seconds, *, step=1.0, beat_every=None):
        """Let time pass, the keeper looking at every `step`."""
        passed = 0.0
        while passed < seconds:
            now = min(step, seconds - passed)
            self.clock.advance(now)
            passed += now
            if beat_every and passed % beat_every < step:
                self.heartbeat.beat()
            self.keeper.step()

    @property
    def asked(self):
        """What the fake was asked: (when, seconds)."""
        return [(when, seconds) for when, _, seconds in self.fake.asked]

    def names(self):
        """The events so far, by name."""
        return [type(event).__name__ for event in self.events]


@pytest.fixture
def stage():
    stage = Stage()
    yield stage
    stage.release()


@pytest.fixture
def keeper_threads():
    """The names of keeper threads that are alive now."""
    return lambda: [one for one in threading.enumerate() if one.name == "trimtab-keeper"]
