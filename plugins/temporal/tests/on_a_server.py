"""A program that runs agents on Temporal's test server, and prints what happened as JSON.

The server listens on all interfaces, so this runs in a network namespace of its own.
"""

import asyncio
import concurrent.futures
import fcntl
import json
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from datetime import timedelta

from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from trimtab import MarkdownSection, Prompt, PromptResponse, ToolInvoked
from trimtab_temporal import agent_activity
from trimtab_worker import Attempt, ReceiptHandleExpiredError

HEARTBEAT = 3.0
happened = []
begun = threading.Event()


def note(**facts):
    happened.append(facts)
    sys.stderr.write(f"{json.dumps(facts)}\n")


class Agent:
    """Does what its request names."""

    def evaluate(self, prompt, *, session, deadline=None, budget=None, heartbeat=None):
        attempt = prompt.resources.get(Attempt)
        kind = prompt.name.rpartition("/")[2]
        note(kind=kind, what="begins", number=attempt.number, process=os.getpid())
        run = session.open_run(prompt, deadline=deadline)
        try:
            return getattr(self, kind)(attempt, session, deadline, heartbeat, run)
        finally:
            run.close()

    def beats(self, attempt, session, deadline, heartbeat, run):
        for _ in range(60):
            time.sleep(0.1)
            heartbeat.beat()
        note(kind="beats", what="deadline", left=deadline.remaining().total_seconds())
        return PromptResponse(f"done by attempt {attempt.number}")

    def hangs(self, attempt, session, deadline, heartbeat, run):
        if attempt.number == 1:
            time.sleep(HEARTBEAT * 2.5)
            try:
                attempt.check()
            except ReceiptHandleExpiredError as error:
                note(kind="hangs", what="zombie refused", error=str(error))
        return PromptResponse(f"done by attempt {attempt.number}")

    def cancelled(self, attempt, session, deadline, heartbeat, run):
        begun.set()
        until = time.monotonic() + 30
        while not deadline.expired and time.monotonic() < until:
            heartbeat.beat()
            time.sleep(0.05)
        note(kind="cancelled", what="deadline", expired=deadline.expired)
        return PromptResponse("ended early")

    def resumes(self, attempt, session, deadline, heartbeat, run):
        note(kind="resumes", what="found", calls=len(session[ToolInvoked].all()))
        if attempt.number == 1:
            for number in range(3):
                run.tool_started("look", {"page": number}, f"c{number}")
                run.tool_finished(f"c{number}", "seen")
                heartbeat.beat()
            raise RuntimeError("the machine is on fire")
        return PromptResponse("went on")

    def exits(self, attempt, session, deadline, heartbeat, run):
        if attempt.number == 1:
            raise asyncio.CancelledError
        return PromptResponse(f"done by attempt {attempt.number}")

    def killed(self, attempt, session, deadline, heartbeat, run):
        if attempt.number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return PromptResponse(f"done by attempt {attempt.number}")


def prepare(request, attempt):
    section = MarkdownSection(key="k", title="T", template="x")
    return Prompt("agent", request["kind"], [section]), attempt.session()


def activity():
    def on_event(event):
        note(what=type(event).__name__, message=event.message_id, number=event.deliveries)

    return agent_activity(Agent(), prepare, resume="snapshot", on_event=on_event)


@workflow.defn
class Ask:
    @workflow.run
    async def run(self, request: dict) -> dict:
        return await workflow.execute_activity(
            "trimtab_agent",
            request,
            task_queue=request.get("queue"),
            start_to_close_timeout=timedelta(seconds=60),
            heartbeat_timeout=timedelta(seconds=HEARTBEAT) if not request.get("bare") else None,
            retry_policy=RetryPolicy(
                maximum_attempts=3, initial_interval=timedelta(seconds=0.3), backoff_coefficient=1
            ),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )


def raise_loopback():
    """Bring up the one interface of a new network namespace."""
    with socket.socket() as any_socket:
        request = struct.pack("16sH14s", b"lo", 0x1 | 0x40, b"")
        fcntl.ioctl(any_socket, 0x8914, request)


def worker(client, queue="agents", workflows=(Ask,)):
    return Worker(
        client,
        task_queue=queue,
        workflows=list(workflows),
        activities=[activity()],
        activity_executor=concurrent.futures.ThreadPoolExecutor(8),
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_heartbeat_throttle_interval=timedelta(seconds=0.5),
        default_heartbeat_throttle_interval=timedelta(seconds=0.5),
    )


async def serve(address, queue):
    """What the process of a worker does that is killed, or that takes over."""
    client = await Client.connect(address)
    async with worker(client, queue, ()):
        sys.stdout.write("serving\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def start_worker(address, queue):
    command = [sys.executable, __file__, "serve", address, queue]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "serving\n"
    return process


async def ask(client, kind, **more):
    started = time.monotonic()
    request = {"kind": kind, **more}
    try:
        answer = await client.execute_workflow(Ask.run, request, id=kind, task_queue="agents")
    except WorkflowFailureError as error:
        cause = error.cause
        while cause.__cause__ is not None:
            cause = cause.__cause__
        answer = f"{type(cause).__name__}: {cause}"
    return {"answer": answer, "seconds": time.monotonic() - started}


async def cancel(client):
    request = {"kind": "cancelled"}
    handle = await client.start_workflow(Ask.run, request, id="cancelled", task_queue="agents")
    await asyncio.to_thread(begun.wait)
    await asyncio.sleep(1)
    started = time.monotonic()
    await handle.cancel()
    try:
        await handle.result()
        ended = "completed"
    except WorkflowFailureError as error:
        ended = type(error.cause).__name__
    return {"ended": ended, "seconds": time.monotonic() - started}


async def killed(client, address):
    first = start_worker(address, "processes")
    asking = asyncio.create_task(ask(client, "killed", queue="processes"))
    status = await asyncio.to_thread(first.wait)
    second = start_worker(address, "processes")
    try:
        return {**await asking, "status": status}
    finally:
        second.kill()
        second.wait()


async def main(program):
    raise_loopback()
    logging.disable()
    environment = await WorkflowEnvironment.start_time_skipping(test_server_existing_path=program)
    address = environment.client.service_client.config.target_host
    async with environment:
        with environment.auto_time_skipping_disabled():
            async with worker(environment.client):
                client = environment.client
                kinds = ("beats", "hangs", "resumes", "exits")
                answers = await asyncio.gather(
                    *(ask(client, kind) for kind in kinds), ask(client, "bare", bare=True)
                )
                results = dict(zip((*kinds, "bare"), answers, strict=True))
                results["cancelled"] = await cancel(client)
                results["killed"] = await killed(client, address)
                threads = [one.name for one in threading.enumerate() if "cancel" in one.name]
    json.dump({"results": results, "happened": happened, "threads": threads}, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(*sys.argv[2:]))
    else:
        asyncio.run(main(sys.argv[1]))
