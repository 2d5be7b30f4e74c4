"""The task of each queue: it writes when it ran, and when it was sent."""

from __future__ import annotations

import os
import time
from typing import Any

ENGINE, REDIS, POSTGRES, RAN = (
    os.environ[f"QUEUES_{name}"] for name in ("ENGINE", "REDIS", "POSTGRES", "RAN")
)
_FILE = os.open(RAN, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def note(sent: float) -> None:
    """Write one line: now, the time of sending, the process."""
    os.write(_FILE, f"{time.time()} {sent} {os.getpid()}\n".encode())


if ENGINE.startswith("trimtab"):
    from trimtab import MarkdownSection, Prompt, PromptResponse, Session
    from trimtab_worker import MainLoopConfig, WorkerSetup, open_mailbox

    class Agent:
        """Answers at once; the whole of a main loop stands around it."""

        def evaluate(self, prompt: Any, **_: Any) -> PromptResponse[Any]:
            """Note the message."""
            note(float(prompt.name.rpartition("/")[2].replace("t", ".")))
            return PromptResponse("done")

        async def aevaluate(self, prompt: Any, **_: Any) -> PromptResponse[Any]:
            """Not used."""
            raise NotImplementedError

    def prepare(request: Any) -> tuple[Prompt[Any], Session]:
        """Make a prompt and a session for one message."""
        section = MarkdownSection(key="k", title="T", template="x")
        return Prompt("queue", str(request).replace(".", "t"), [section]), Session()

    def setup() -> WorkerSetup:
        """Return what a worker is made of."""
        config = MainLoopConfig(longest_silence=60)
        return WorkerSetup(adapter=Agent(), prepare=prepare, config=config)

    def sender() -> Any:
        """Return what sends one message."""
        return open_mailbox(os.environ["QUEUES_MAILBOX"]).send

elif ENGINE == "celery":
    from celery import Celery

    app = Celery("queues", broker=REDIS)
    app.conf.update(
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        task_ignore_result=True,
        broker_connection_retry_on_startup=True,
    )
    task = app.task(note, name="note")

    def sender() -> Any:
        """Return what sends one message."""
        return task.delay

elif ENGINE == "dramatiq":
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker

    dramatiq.set_broker(RedisBroker(url=REDIS))
    actor = dramatiq.actor(note)

    def sender() -> Any:
        """Return what sends one message."""
        return actor.send

elif ENGINE == "rq":
    import redis
    from rq import Queue

    def sender() -> Any:
        """Return what sends one message."""
        queue = Queue(connection=redis.Redis.from_url(REDIS))
        return lambda sent: queue.enqueue("tasks.note", sent, result_ttl=0)

elif ENGINE == "procrastinate":
    import procrastinate

    jobs = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=POSTGRES))

    @jobs.task(name="note", pass_context=False)
    def job(sent: float) -> None:
        """Note the message."""
        note(sent)

    def sender() -> Any:
        """Return what sends one message."""
        jobs.open()
        return lambda sent: job.defer(sent=sent)
