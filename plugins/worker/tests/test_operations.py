"""What operators look at: probes, metrics, and messages in a mailbox."""

import json
import threading
import time
import urllib.error
import urllib.request

import pytest

from trimtab import MarkdownSection, Prompt, PromptResponse, Session
from trimtab_worker import (
    Health,
    InMemoryMailbox,
    MailboxError,
    MainLoop,
    MainLoopConfig,
    Metrics,
)
from trimtab_worker._health import HealthFile, HealthServer, read_health

CONFIG = MainLoopConfig(poll_wait=0.02, longest_silence=60, watchdog_threshold=None, retry_delay=0)


class Agent:
    def __init__(self):
        self.go_on = threading.Event()
        self.go_on.set()

    def evaluate(self, prompt, *, session, deadline=None, budget=None, heartbeat=None):
        self.go_on.wait(10)
        if "fail" in prompt.render().text:
            raise RuntimeError("it fails")
        return PromptResponse("done")


class Unreachable(InMemoryMailbox):
    down = False

    def take(self, count, visibility):
        if self.down:
            raise MailboxError("no route to host")
        return super().take(count, visibility)


def prepare(request):
    section = MarkdownSection(key="k", title="T", template=str(request))
    return Prompt("a", "b", [section], config=None), Session()


@pytest.fixture
def agent():
    return Agent()


@pytest.fixture
def loop(agent):
    return MainLoop(agent, Unreachable(), CONFIG, prepare=prepare)


@pytest.fixture
def running(loop):
    thread = threading.Thread(target=loop.run, daemon=True)
    thread.start()
    yield loop
    loop.stop(drain=0)
    thread.join(10)


def wait_for(check):
    until = time.monotonic() + 10
    while not check():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_loop_is_ready_while_it_runs_and_its_mailbox_answers(running):
    wait_for(lambda: running.health().ready)
    running.requests.down = True
    wait_for(lambda: running.health().mailbox_error)

    health = running.health()
    assert (health.live, health.ready) == (True, False)
    assert "no route to host" in health.mailbox_error


def test_a_loop_that_drains_is_live_and_not_ready(running, agent):
    agent.go_on.clear()
    running.requests.send("x")
    wait_for(lambda: running.health().working)
    running.stop()

    health = running.health()
    assert (health.live, health.ready, health.stopping) == (True, False, True)
    agent.go_on.set()
    wait_for(lambda: not running.health().running)
    assert not running.health().live


def test_several_are_as_good_as_the_worst_of_them():
    good = Health(running=True, working=1)
    assert Health.of_all([good, good]) == Health(running=True, working=2)
    assert not Health.of_all([good, Health()]).live
    assert not Health.of_all([good, Health(running=True, stuck=("worker-0",))]).live
    assert not Health.of_all([]).live


@pytest.mark.waits
@pytest.mark.parametrize(
    ("health", "statuses"),
    [
        (Health(running=True), (200, 200, 404)),
        (Health(running=True, mailbox_error="gone"), (200, 503, 404)),
        (Health(), (503, 503, 404)),
    ],
)
def test_probes_are_answered_by_http(health, statuses):
    def status(path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=5) as said:
                return said.status, json.load(said)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    with HealthServer(("127.0.0.1", 0), lambda: health) as server:
        found = [status(path) for path in ("/live", "/ready", "/other")]

    assert tuple(code for code, _ in found) == statuses
    assert {body["mailbox_error"] for _, body in found} == {health.mailbox_error}


def test_a_file_tells_the_health_while_the_worker_lives(tmp_path):
    path, fares = tmp_path / "health.json", [Health(running=True, working=2)]
    assert read_health(path) == Health()
    with HealthFile(path, lambda: fares[0]) as written:
        assert read_health(path) == fares[0]
        fares[0] = Health(running=True, stuck=("worker-0",))
        written._write()
        assert not path.exists()
        fares[0] = Health(running=True)
        written._write()
    assert not path.exists()
    path.write_text("{")
    assert read_health(path) == Health()


def test_metrics_tell_what_a_loop_does(loop, agent):
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    from opentelemetry.sdk.metrics import MeterProvider

    reader = export.InMemoryMetricReader()
    loop.listen(Metrics(loop.requests, provider=MeterProvider([reader])))
    for body in ("x", "fail", "y"):
        loop.requests.send(body)
    loop.requests.send("later", delay=60)
    loop.run(max_messages=4)

    found = {}
    for metric in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics:
        for point in metric.data.data_points:
            labels = tuple(point.attributes.values())
            value = point.count if hasattr(point, "count") else point.value
            found[(metric.name.removeprefix("trimtab."), *labels)] = value
    assert found[("worker.messages", "done")] == 2
    assert found[("worker.messages", "failed")] == 2
    assert found[("worker.redeliveries",)] == 1
    assert found[("worker.wait",)] == 3
    assert found[("worker.duration",)] == 2
    assert found[("mailbox.messages", "memory", "waiting")] == 1
    assert found[("mailbox.messages", "memory", "delayed")] == 1
    assert found[("mailbox.oldest", "memory")] > 0
