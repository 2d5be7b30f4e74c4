"""The application of the tests: agents that do what their request names, and write a journal."""

import asyncio
import json
import os
import time

from celery import Celery

from trimtab import MarkdownSection, Prompt, PromptResponse, ToolInvoked
from trimtab_celery import agent_task
from trimtab_worker import Attempt, ReceiptHandleExpiredError, SqliteSnapshots, WorkConfig

VISIBILITY = 4
RAISED = {
    "CancelledError": asyncio.CancelledError(),
    "SystemExit": SystemExit(3),
    "GeneratorExit": GeneratorExit(),
}
LONGEST = 150
JOURNAL = os.environ["TRIMTAB_TEST_JOURNAL"]
app = Celery(
    "agents", broker=os.environ["TRIMTAB_TEST_REDIS"], backend=os.environ["TRIMTAB_TEST_REDIS"]
)
app.conf.broker_transport_options = {"visibility_timeout": VISIBILITY}
app.conf.worker_prefetch_multiplier = 1
app.conf.broker_connection_retry_on_startup = True


def note(**facts):
    line = json.dumps({**facts, "worker": os.getpid()}).encode() + b"\n"
    file = os.open(JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, line)
    os.close(file)


def works_on(how_long, number):
    """Yield every tenth of a second: for so many seconds, or until the test says a word.

    Args:
        how_long: seconds, or the words by delivery.
        number: of the delivery.
    """
    said = isinstance(how_long, list) and f"{JOURNAL}.{how_long[number - 1]}"
    until = time.monotonic() + (LONGEST if said else how_long)
    while time.monotonic() < until and not (said and os.path.exists(said)):  # noqa: PTH110
        time.sleep(0.1)
        yield


class Agent:
    def evaluate(self, prompt, *, session, deadline=None, budget=None, heartbeat=None):
        attempt = prompt.resources.get(Attempt)
        kind, how_long = json.loads(prompt.render().text.partition("\n\n")[2])
        known = len(session[ToolInvoked].all())
        note(what="begins", kind=kind, number=attempt.number, id=attempt.message_id, known=known)
        run = session.open_run(prompt, deadline=deadline)
        run.tool_started("look", {"n": attempt.number}, f"c{attempt.number}")
        run.tool_finished(f"c{attempt.number}", "seen")
        if kind in RAISED:
            raise RAISED[kind]
        for _ in works_on(how_long, attempt.number):
            if kind != "hangs" or attempt.number > 1:
                heartbeat.beat()
        try:
            attempt.check()
            note(what="effect", kind=kind, number=attempt.number)
        except ReceiptHandleExpiredError as error:
            note(what="refused", kind=kind, number=attempt.number, error=str(error))
        run.close()
        return PromptResponse(f"done by delivery {attempt.number}")


def prepare(request, attempt):
    section = MarkdownSection(key="k", title="T", template=json.dumps(request))
    return Prompt("agent", "main", [section]), attempt.session()


agent = agent_task(
    app,
    Agent(),
    prepare,
    name="tests.agent",
    config=WorkConfig(
        on_lease_lost="continue",
        snapshots=SqliteSnapshots(f"{JOURNAL}.snapshots"),
        snapshot_interval=0.5,
    ),
    on_event=lambda event: note(what=type(event).__name__, number=event.deliveries),
)


@app.task(bind=True, acks_late=True, name="tests.plain")
def plain(self, how_long, kind="plain"):
    note(what="begins", kind=kind, number=0)
    if kind.removeprefix("plain ") in RAISED:
        raise RAISED[kind.removeprefix("plain ")]
    for _ in works_on(how_long, 1):
        pass
    note(what="effect", kind=kind, number=0)
    return "done"
