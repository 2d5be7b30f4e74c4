"""Whatever a provider does, requests go on and answers pass."""

import json
import os
import threading
import time

import httpx
import pytest

from trimtab.inspection import refresh
from trimtab_proxy._guidance import DECISION_SECONDS
from trimtab_proxy._guide_link import GuideLink
from trimtab_proxy._server import ProxyServer
from trimtab_proxy._upstreams import Upstream as Service
from trimtab_trace import SetAside

from . import upstream as fake

pytestmark = pytest.mark.slow

MODULE = """
import os, re, signal, time
from trimtab import ClassificationResult, GuidanceInjection

class Acting:
    name, category = "acting", "acting"

    def classify(self, context):
        if context.tool_call_count == 2:
            ACT
        return ClassificationResult(relevant=False)

    def provide(self, context):
        raise NotImplementedError

class Speaking:
    name, category = "speaking", "speaking"

    def classify(self, context):
        return ClassificationResult(relevant=True, episode=str(context.tool_call_count))

    def provide(self, context):
        return GuidanceInjection("k", f"Heed this after {context.tool_call_count} calls.")
"""
ACTS = {
    "backtracking": "re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "exiting": "os._exit(3)",
    "crashing": "signal.raise_signal(11)",
}


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """Install the two providers; return what sets the act of one, and starts the proxy."""
    site = tmp_path / "site"
    made = site / "acting-1.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: acting\nVersion: 1\n")
    (made / "entry_points.txt").write_text(
        "[trimtab.guidance]\nacting = acting:Acting\nspeaking = acting:Speaking\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    refresh()
    started = []

    def start(service, act):
        (site / "acting.py").write_text(MODULE.replace("ACT", act))
        link = GuideLink(guidance=["acting", "speaking"])
        link.start()
        started.append(ProxyServer(link, {"": Service(service.url)}))
        return started[-1].__enter__()

    yield start
    for proxy in started:
        proxy.close()


def request(proxy, story, form, calls):
    """Send the request after so many calls; return the seconds that it took."""
    parts = [story.said("Fix it.")]
    for number in range(calls):
        parts += story.step(number)
    body = json.dumps(form.body(parts)).encode()
    headers = {"x-claude-code-session-id": "s1"}
    began = time.monotonic()
    with httpx.Client(trust_env=False, timeout=60) as client:
        answer = client.post(proxy.base_url + form.path, content=body, headers=headers)
    assert answer.status_code == 200
    return time.monotonic() - began


@pytest.fixture
def form(request):
    from .conftest import FORMS, Form

    return Form(*FORMS["anthropic"])


@pytest.mark.parametrize("name", ACTS)
def test_a_provider_that_holds_or_ends_its_process_costs_one_request(
    name, offered, story, form, tmp_path
):
    with fake.Upstream() as service:
        proxy = offered(service, ACTS[name])
        took = [request(proxy, story, form, calls) for calls in range(3)]
        for calls in range(3, 60):  # until its new process has started
            took.append(request(proxy, story, form, calls))
            if b"Heed this" in service.received[-1].body:
                break
            time.sleep(0.5)
        counts = proxy.guidance.counts()
        notes = proxy.guidance.notes

    said = [each.body.count(b"Heed this") for each in service.received]
    assert said[1] == 1
    assert said[2] == 0  # it went on without
    assert said[-1] == 1  # and the other provider goes on
    assert max(took) < DECISION_SECONDS + 5
    assert {*SetAside(tmp_path / "state").read()} == {"acting"}
    assert any("acting" in note and "--bring-back acting" in note for note in notes)
    assert sum(counts.failures.values()) == 1


def test_bytes_pass_while_a_provider_holds_its_process(offered, story, form):
    with fake.Upstream() as service:
        proxy = offered(service, ACTS["backtracking"])
        for calls in range(2):
            request(proxy, story, form, calls)
        body = json.dumps(form.body([story.said("x"), *story.step(0), *story.step(1)])).encode()
        url = proxy.base_url + form.path
        with httpx.Client(trust_env=False, timeout=60) as client:
            held = threading.Thread(target=client.post, args=(url,), kwargs={"content": body})
            held.start()
            time.sleep(0.3)
            began = time.monotonic()
            with httpx.Client(trust_env=False, timeout=60) as other:
                assert other.get(proxy.base_url + "/v1/models").status_code == 200
            seconds = time.monotonic() - began
            held.join()

    assert seconds < 2


def test_a_provider_that_sleeps_costs_its_timeout(offered, story, form):
    with fake.Upstream() as service:
        proxy = offered(service, "time.sleep(60)")
        for calls in range(3):
            request(proxy, story, form, calls)

    assert service.received[2].body.count(b"Heed this") == 1


def test_what_was_set_aside_stays_out_and_is_said(offered, story, form, tmp_path):
    SetAside(tmp_path / "state").add("acting", host="proxy", reason="ended the process")
    with fake.Upstream() as service:
        proxy = offered(service, ACTS["exiting"])
        took = [request(proxy, story, form, calls) for calls in range(4)]

    assert len(took) == 4
    assert [each.body.count(b"Heed this") for each in service.received][2] == 1
    assert any("set aside" in note for note in proxy.guidance.notes)
