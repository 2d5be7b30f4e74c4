"""Requests and answers pass as they are, but for the words that are put in."""

import gzip
import json
import logging
import socket
import time

import httpx
import pytest

from trimtab_proxy._guide import Guide
from trimtab_proxy._server import ProxyServer
from trimtab_proxy._upstreams import Upstream as Service

from . import upstream as fake

pytestmark = pytest.mark.slow

KEY = {"authorization": "Bearer sk-secret-key", "x-claude-code-session-id": "s1"}


@pytest.fixture
def guide(make_prompt, speaker):
    prompt = make_prompt(speaker())
    return Guide(prompt, prompt)


@pytest.fixture
def start(guide):
    """Start a proxy in front of an upstream."""
    started = []

    def start(service, guide=guide, base=""):
        proxy = ProxyServer(guide, {"": Service(service.url + base)})
        started.append(proxy.__enter__())
        return proxy

    yield start
    for proxy in started:
        proxy.close()


def post(proxy, path, body, **options):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**KEY, **options.pop("headers", {})}
    with httpx.Client(trust_env=False) as client:
        return client.post(proxy.base_url + path, content=content, headers=headers, **options)


def guided_body(form, story):
    return form.body([story.said("Fix it."), *story.step(0), *story.step(1)])


def test_words_are_added_and_every_other_byte_stays(start, form, story):
    with fake.Upstream() as service:
        proxy = start(service)
        first = json.dumps(form.body([story.said("Fix it. é")])).encode()
        second = json.dumps(guided_body(form, story), indent=1).encode()
        post(proxy, form.path, first)
        post(proxy, form.path, second)
        post(proxy, form.path, second)

    plain, guided, again = (each.body for each in service.received)
    at = guided.index(b"<guidance")
    assert plain == first
    assert guided == again != second
    extra = len(guided) - len(second)
    assert any(guided[:s] + guided[s + extra :] == second for s in range(at - 60, at + 1))
    assert guided.count(b"Heed this") == 1


def test_headers_pass_as_they_come(start):
    sent = [
        ("Authorization", "Bearer a"),
        ("Authorization", "Bearer b"),
        ("X-Api-Key", "k"),
        ("Anthropic-Beta", "one,two"),
        ("User-Agent", "agent/1 (x; y)"),
        ("Cookie", "a=b"),
        ("X-Empty", ""),
        ("Sec-Fetch-Mode", "cors"),
    ]
    with fake.Upstream() as service:
        proxy = start(service)
        with httpx.Client(trust_env=False, headers={"accept": "x/y"}) as client:
            client.post(
                proxy.base_url + "/v1/messages?beta=true&x=%2F", headers=sent, content=b"{}"
            )

    received = service.received[0]
    assert received.line == "POST /v1/messages?beta=true&x=%2F HTTP/1.1"
    own = {"host", "content-length", "accept-encoding", "connection"}
    passed = [(n.lower(), v) for n, v in received.headers if n.lower() not in own]
    assert sorted(passed) == sorted([*((n.lower(), v) for n, v in sent), ("accept", "x/y")])
    assert received.values("host") == [service.url.removeprefix("http://")]


def test_the_answer_passes_as_it_comes(start):
    body = b"\x1f\x8b not what it says"
    raw = fake.answer(body, "418 I'm a teapot", x_request_id="r1", content_encoding="gzip")
    with fake.Upstream(raw) as service:
        proxy = start(service)
        with httpx.Client(trust_env=False) as client:
            with client.stream("POST", proxy.base_url + "/v1/messages", content=b"{}") as got:
                passed = b"".join(got.iter_raw())

    assert (got.status_code, passed) == (418, body)
    assert got.headers["x-request-id"] == "r1"
    assert got.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("status", ["529 Overloaded", "429 Too Many Requests", "500 Oops"])
def test_errors_pass_and_are_tried_once(start, status, form, story):
    raw = fake.answer(b'{"type": "error"}', status, retry_after="7")
    with fake.Upstream(raw) as service:
        got = post(start(service), form.path, guided_body(form, story))

    assert (got.status_code, got.headers["retry-after"]) == (int(status[:3]), "7")
    assert len(service.received) == 1


def test_a_stream_stays_a_stream(start):
    pieces = [fake.chunk(b"data: {}\n\n") for _ in range(4)]
    with fake.Upstream(fake.STREAM, *pieces, b"0\r\n\r\n", pause=0.1) as service:
        proxy = start(service)
        arrived = []
        with httpx.Client(trust_env=False) as client:
            with client.stream("POST", proxy.base_url + "/v1/messages", content=b"{}") as got:
                arrived += [time.monotonic() for _ in got.iter_raw()]

    assert len(arrived) == 4
    assert arrived[-1] - arrived[0] > 0.2


def test_when_the_client_hangs_up_the_upstream_stops(start):
    pieces = [fake.chunk(b"data: {}\n\n") for _ in range(100)]
    with fake.Upstream(fake.STREAM, *pieces, pause=0.1) as service:
        proxy = start(service)
        with httpx.Client(trust_env=False) as client:
            with client.stream("POST", proxy.base_url + "/v1/messages", content=b"{}") as got:
                next(got.iter_raw())
        assert service.broken_off.wait(5)


def test_when_the_client_hangs_up_before_the_answer_the_upstream_stops(start):
    with fake.Upstream(b"", *[b""] * 100, pause=0.1) as service:
        proxy = start(service)
        with pytest.raises(httpx.ReadTimeout):
            post(proxy, "/v1/messages", b"{}", timeout=0.5)
        assert service.broken_off.wait(5)


def test_an_upstream_that_breaks_off_breaks_the_answer_off(start):
    raw = fake.STREAM + fake.chunk(b"data: {}\n\n") + b"5\r\nab"
    with fake.Upstream(raw, hangs_up=True) as service:
        proxy = start(service)
        with pytest.raises(httpx.RemoteProtocolError):
            post(proxy, "/v1/messages", b"{}")


def test_no_upstream_is_a_bad_gateway(start):
    with fake.Upstream() as service:
        proxy = start(service)
    got = post(proxy, "/v1/messages", b"{}")

    assert got.status_code == 502
    assert "no answer from upstream" in got.json()["error"]["message"]


def test_redirects_are_the_clients(start):
    raw = fake.answer(b"", "307 Temporary Redirect", location="http://127.0.0.1:1/")
    with fake.Upstream(raw) as service:
        got = post(start(service), "/v1/messages", b"{}", follow_redirects=False)

    assert got.status_code == 307
    assert len(service.received) == 1


def test_cookies_of_the_upstream_are_not_kept(start):
    raw = fake.answer(b"{}", set_cookie="session=1; Path=/")
    with fake.Upstream(raw) as service:
        proxy = start(service)
        for _ in range(2):
            assert post(proxy, "/v1/messages", b"{}").headers["set-cookie"] == "session=1; Path=/"

    assert service.received[1].values("cookie") == []


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"\xff\xfe{}",
        b'{"messages": [{"role": "user", "content": "\xff"}]}',
        b'{"messages": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"messages": 1, "messages": 2}',
        b'{"messages": {"role": "user"}, "tools": [{"name": 1}]}',
        b'{"messages": [1, null, "a", []], "tools": [null, 2]}',
        b'{"messages": [{"role": "user", "content": [null, 1]}], "tools": [{"name": "x"}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "tool_result"}]}], "tools": [{}]}',
        b'{"input": [{"type": 7}], "tools": [{"name": []}]}',
        b'{"contents": [{"parts": {"a": 1}}, {"parts": [{"functionCall": {"name": 5}}]}]}',
        b"",
    ],
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
def test_bodies_of_no_known_form_pass_unchanged(start, body, path):
    with fake.Upstream() as service:
        got = post(start(service), path, body)

    assert got.status_code == 200
    assert service.received[0].body == body


def test_a_compressed_body_passes_unread(start, form, story):
    body = gzip.compress(json.dumps(guided_body(form, story)).encode())
    with fake.Upstream() as service:
        post(start(service), form.path, body, headers={"content-encoding": "gzip"})

    assert service.received[0].body == body


def test_other_paths_pass_unread(start, form, story):
    body = json.dumps(guided_body(form, story)).encode()
    with fake.Upstream() as service:
        proxy = start(service, base="/base")
        post(proxy, form.path + "/count_tokens", body)
        with httpx.Client(trust_env=False) as client:
            client.get(proxy.base_url + "/v1/models?limit=5")

    assert service.received[0].body == body
    assert service.received[1].line == "GET /base/v1/models?limit=5 HTTP/1.1"


def test_a_provider_that_hangs_or_raises_holds_nothing_up(make_prompt, speaker, start, form, story):
    class Bad(speaker):
        def classify(self, *, context):
            if context.tool_call_count == 2:
                time.sleep(30)
            raise RuntimeError("no")

    guide = Guide(make_prompt(Bad()), timeout=0.2)
    with fake.Upstream() as service:
        proxy = start(service, guide)
        began = time.monotonic()
        got = post(proxy, form.path, guided_body(form, story))

    assert got.status_code == 200
    assert time.monotonic() - began < 5
    assert service.received[0].body == json.dumps(guided_body(form, story)).encode()


def test_a_slow_provider_holds_no_other_conversation_up(make_prompt, speaker, start, story, form):
    class Slow(speaker):
        def classify(self, *, context):
            time.sleep(0.8)
            return super().classify(context=context)

    guide = Guide(make_prompt(Slow()), timeout=5)
    with fake.Upstream() as service:
        proxy = start(service, guide)
        body = json.dumps(guided_body(form, story)).encode()
        slow = socket.create_connection(("127.0.0.1", proxy.port))
        path = proxy.base_url.removeprefix(f"http://127.0.0.1:{proxy.port}") + form.path
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{proxy.port}\r\n"
        slow.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.1)
        began = time.monotonic()
        got = post(proxy, "/v1/models", b"{}")
        waited = time.monotonic() - began
        slow.close()

    assert got.status_code == 200
    assert waited < 0.6


def test_nothing_of_a_request_is_logged(start, caplog, capfd, form, story):
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    try:
        with fake.Upstream() as service:
            proxy = start(service)
            for _ in range(2):
                post(proxy, form.path, guided_body(form, story))
    finally:
        for name in ("httpx", "httpcore", "uvicorn", "uvicorn.error", "uvicorn.access"):
            logging.getLogger(name).setLevel(logging.NOTSET)

    told = capfd.readouterr()
    by_proxy = [r for r in caplog.records if r.threadName.startswith("trimtab-proxy")]
    text = "".join((told.out, told.err, *(r.getMessage() for r in by_proxy)))
    assert "sk-secret-key" not in text
    assert "Fix it." not in text
