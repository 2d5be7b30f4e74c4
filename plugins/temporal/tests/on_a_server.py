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
from pathlib import Path

from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from trimtab import MarkdownSection, Prompt, PromptResponse, ToolInvoked
from trimtab_temporal import agent_activity
from trimtab_worker import Attempt, ReceiptHandleExpiredError
from trimtab_worker.testing import Proxy

HEARTBEAT = 3.0
RAISED = {
    "CancelledError": asyncio.CancelledError(),
    "SystemExit": SystemExit(3),
    "GeneratorExit": GeneratorExit(),
    "KeyboardInterrupt": KeyboardInterrupt(),
}
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
            if kind in RAISED and attempt.number == 1:
                raise RAISED[kind]
            return getattr(self, kind, self.ends)(attempt, session, deadline, heartbeat, run)
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

    def ends(self, attempt, session, deadline, heartbeat, run):
        return PromptResponse(f"done by attempt {attempt.number}")

    def stopped(self, attempt, session, deadline, heartbeat, run):
        if attempt.number == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(1)  # to notice
            sys.stdout.write(f"lost: {attempt.lost()}\n")
            sys.stdout.flush()
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


def worker(client, queue="agents", workflows=(Ask,), **options):
    return Worker(
        client,
        task_queue=queue,
        workflows=list(workflows),
        activities=[activity()],
        activity_executor=concurrent.futures.ThreadPoolExecutor(8),
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_heartbeat_throttle_interval=timedelta(seconds=0.5),
        default_heartbeat_throttle_interval=timedelta(seconds=0.5),
        **options,
    )


async def serve(address, queue):
    """What the process of a worker does that is killed, or that takes over."""
    client = await Client.connect(address)
    # With one at a time, a worker that is stopped at its work does not ask for more.
    async with worker(client, queue, (), max_concurrent_activities=1):
        sys.stdout.write("serving\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def start_worker(address, queue):
    command = [sys.executable, __file__, "serve", address, queue]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "serving\n"
    return process


async def ask(client, kind, identifier=None, **more):
    started = time.monotonic()
    request = {"kind": kind, **more}
    try:
        answer = await client.execute_workflow(
            Ask.run, request, id=identifier or kind, task_queue="agents"
        )
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
    first = start_worker(address, "killed")
    asking = asyncio.create_task(ask(client, "killed", queue="killed"))
    status = await asyncio.to_thread(first.wait)
    second = start_worker(address, "killed")
    try:
        return {**await asking, "status": status}
    finally:
        end(second)


async def stopped(client, address):
    """A worker stops itself, and goes on when another one has answered."""
    first = start_worker(address, "stopped")
    asking = asyncio.create_task(ask(client, "stopped", queue="stopped"))
    await asyncio.to_thread(wait_until_stopped, first.pid)
    second = start_worker(address, "stopped")
    try:
        answer = await asking
        first.send_signal(signal.SIGCONT)
        said = iter(first.stdout.readline, "")  # the SDK writes there, too
        lost = await asyncio.to_thread(next, (one for one in said if one.startswith("lost: ")))
        handle = client.get_workflow_handle("stopped")
        await asyncio.sleep(1)  # to answer, if it did
        return {**answer, "lost": lost, "after": await handle.result()}
    finally:
        end(first)
        end(second)


def wait_until_stopped(pid):
    stat = Path(f"/proc/{pid}/stat")
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.1)


async def cut_off(client, address):
    """The connection of a worker is cut while its agent beats."""
    proxy = Proxy(int(address.rpartition(":")[2]))
    first = start_worker(f"127.0.0.1:{proxy.port}", "cut")
    asking = asyncio.create_task(ask(client, "beats", queue="cut", identifier="cut"))
    try:
        await asyncio.sleep(2)
        proxy.cut()
        return await asking
    finally:
        end(first)
        proxy.close()


def end(process):
    process.kill()
    process.wait()


async def main(program):
    raise_loopback()
    logging.disable()
    environment = await WorkflowEnvironment.start_time_skipping(test_server_existing_path=program)
    address = environment.client.service_client.config.target_host
    async with environment:
        with environment.auto_time_skipping_disabled():
            async with worker(environment.client):
                client = environment.client
                kinds = ("beats", "hangs", "resumes", *RAISED)
                answers = await asyncio.gather(
                    *(ask(client, kind) for kind in kinds), ask(client, "bare", bare=True)
                )
                results = dict(zip((*kinds, "bare"), answers, strict=True))
                results["cancelled"] = await cancel(client)
                results["killed"], results["stopped"], results["cut"] = await asyncio.gather(
                    killed(client, address), stopped(client, address), cut_off(client, address)
                )
                threads = [one.name for one in threading.enumerate() if "cancel" in one.name]
    json.dump({"results": results, "happened": happened, "threads": threads}, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(*sys.argv[2:]))
    else:
        asyncio.run(main(sys.argv[1]))
