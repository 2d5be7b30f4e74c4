"""`Work` on its own, what tools know of their attempt, and snapshots to go on from."""

import threading
import time

import attrs
import pytest

from trimtab import (
    MarkdownSection,
    Prompt,
    PromptResponse,
    Resources,
    Session,
    Tool,
    ToolCall,
    ToolExecutor,
    ToolInvoked,
    ToolResult,
)
from trimtab_worker import (
    Attempt,
    Granted,
    InMemoryMailbox,
    LeaseExtenderConfig,
    MailboxFacts,
    MainLoop,
    MainLoopConfig,
    PromptWork,
    ReceiptHandleExpiredError,
    SqliteSnapshots,
    Work,
    WorkConfig,
)

pytestmark = pytest.mark.waits

CONFIG = MainLoopConfig(poll_wait=0.05, longest_silence=60, watchdog_threshold=None, retry_delay=0)


@attrs.frozen
class Nothing:
    """Parameters of a tool."""


class ToolUser:
    """Calls its tool once; `act` decides how the run ends."""

    def __init__(self, act=lambda session: None):
        self.act = act

    def evaluate(self, prompt, *, session, deadline=None, budget=None, heartbeat=None):
        run = session.open_run(prompt, deadline=deadline)
        executor = ToolExecutor(run, run.render().tools, heartbeat=heartbeat)
        answer = executor.execute(ToolCall("tell", {}, f"call-{len(session[ToolInvoked].all())}"))
        self.act(session)
        run.close()
        return PromptResponse(answer.text)


def prompt_of(*bound):
    def tell(params, *, context):
        attempt = context.resources.get(Attempt)
        found = context.resources.get_optional(str)
        return ToolResult.ok(None, message=f"{attempt.message_id} {attempt.number} {found}")

    section = MarkdownSection(key="k", title="T", template="x")
    prompt = Prompt("a", "b", [section], tools=[Tool("tell", "Tells.", Nothing, tell)])
    return prompt.bind(resources=Resources.of(*bound)) if bound else prompt


def test_tools_and_prepare_know_their_attempt_and_keep_their_resources():
    mailbox, replies = InMemoryMailbox(), InMemoryMailbox()
    mailbox.send("x")
    prepared = []

    def prepare(request, attempt):
        prepared.append((attempt.message_id, attempt.number, attempt.key("charge")))
        return prompt_of("mine"), Session()

    mailbox.receive()[0].nack()
    MainLoop(ToolUser(), mailbox, CONFIG, prepare=prepare, replies=replies).run(until_idle=True)

    assert prepared == [("1", 2, "1/charge")]
    assert replies.receive()[0].body["text"] == "1 2 mine"


def test_an_override_of_prepare_may_take_the_attempt():
    class Loop(MainLoop):
        def prepare(self, request, attempt=None):
            numbers.append(attempt.number)
            return prompt_of(), Session()

    mailbox, numbers = InMemoryMailbox(), []
    mailbox.send("x")
    Loop(ToolUser(), mailbox, CONFIG).run(until_idle=True)

    assert numbers == [1]


class Job:
    """A message of another engine, which grants what it is asked for until it does not."""

    id, deliveries, visibility = "job", 3, 0.5
    facts = MailboxFacts(engine="mine", fenced=True, reports_loss=True)
    outcome = None

    def extend(self, seconds):
        return self.outcome or Granted(seconds)


BRIEF = WorkConfig(
    lease_extender=LeaseExtenderConfig(interval=0.1, extension=0.5), on_lease_lost="stop"
)


def test_work_needs_no_loop():
    work = Work(Job(), BRIEF)
    with work.leased():
        reply = PromptWork(ToolUser(), lambda _: (prompt_of(), Session())).answer("x", work)

    assert (reply.message_id, reply.deliveries, reply.text) == ("job", 3, "job 3 None")
    assert work.lost is None


def test_an_effect_is_refused_once_the_lease_is_lost_and_the_deadline_has_passed():
    work = Work(Job(), BRIEF)
    with work.leased():
        deadline = work.deadline()
        work.attempt.check()
        assert not deadline.expired
        time.sleep(0.7)
        with pytest.raises(ReceiptHandleExpiredError, match="attempt 3: the lease was lost"):
            work.attempt.check()
        assert deadline.expired


def test_work_can_be_called_off_from_outside():
    work = Work(Job(), BRIEF)
    with work.leased():
        deadline = work.deadline()
        threading.Thread(target=work.drop, args=("the user cancelled it",)).start()
        until = time.monotonic() + 5
        while not deadline.expired and time.monotonic() < until:
            work.heartbeat.beat()
            time.sleep(0.01)

    assert work.lost == "the user cancelled it"
    assert work.confirm() == "the user cancelled it"


# Snapshots.


def test_a_message_that_is_delivered_again_goes_on_from_its_last_snapshot(tmp_path):
    mailbox, store = InMemoryMailbox(), SqliteSnapshots(tmp_path / "snapshots.db")
    mailbox.send("x")
    known = []

    def prepare(request, attempt):
        session = attempt.session()
        known.append(len(session[ToolInvoked].all()))
        return prompt_of(), session

    def fail_twice(session):
        if len(known) < 3:
            raise RuntimeError("the machine is on fire")

    config = attrs.evolve(CONFIG, snapshots=store)
    MainLoop(ToolUser(fail_twice), mailbox, config, prepare=prepare).run(until_idle=True)

    assert known == [0, 1, 2]
    assert store.load("1") is None


@pytest.mark.slow
def test_snapshots_are_kept_while_the_work_goes_on(tmp_path):
    """A worker that is killed leaves no last words: they are on the disk before."""
    store = SqliteSnapshots(tmp_path / "snapshots.db")
    config = attrs.evolve(BRIEF, snapshots=store, snapshot_interval=0.05)
    work, seen = Work(Job(), config), []

    def wait(session):
        until = time.monotonic() + 5
        while store.load("job") is None and time.monotonic() < until:
            time.sleep(0.02)
        seen.append(store.load("job"))

    with work.leased():
        PromptWork(ToolUser(wait), lambda _: (prompt_of(), Session())).answer("x", work)

    assert len(Session.restore(seen[0])[ToolInvoked].all()) == 1


def test_a_stale_attempt_does_not_replace_the_snapshot_of_a_newer_one(tmp_path):
    store = SqliteSnapshots(tmp_path / "snapshots.db")

    assert store.save("m", 2, "newer")
    assert not store.save("m", 1, "stale")
    assert store.save("m", 2, "newest")
    assert store.load("m") == "newest"


@pytest.mark.parametrize("text", ["no json", "{}", '{"version": 999}'])
def test_a_snapshot_that_cannot_be_read_lets_the_message_begin_anew(text, caplog):
    session = Attempt(message_id="7", snapshot=text).session()

    assert session[ToolInvoked].all() == ()
    assert "message 7 begins anew" in caplog.text


def test_a_store_that_fails_stops_no_work():
    class Broken:
        def load(self, message_id):
            raise ConnectionError("down")

        save = drop = load

    mailbox = InMemoryMailbox()
    mailbox.send("x")
    mailbox.receive()[0].nack()
    config = attrs.evolve(CONFIG, snapshots=Broken())
    loop = MainLoop(
        ToolUser(), mailbox, config, prepare=lambda _, attempt: (prompt_of(), attempt.session())
    )

    assert loop.run(until_idle=True).done == 1
