"""What a web page, another user of the machine or a hostile client may try."""

import contextlib
import json
import socket

import pytest

from trimtab_proxy._guide import Guide
from trimtab_proxy._server import ProxyServer, ServerFailed
from trimtab_proxy._upstreams import (
    MOST_BODY_BYTES,
    Upstream as Service,
    UpstreamInvalid,
    stays_below,
)

from . import upstream as fake

pytestmark = pytest.mark.slow


@pytest.fixture
def ground():
    """A proxy whose upstream stands at /base, and that upstream."""
    with fake.Upstream() as service:
        upstreams = {"anthropic": Service(service.url + "/base")}
        with ProxyServer(Guide(None), upstreams) as proxy:
            yield proxy, service


def send(proxy, target, *lines, host=None, body=b"", method="POST"):
    """Send one request as raw bytes; return the status of the answer."""
    host = f"127.0.0.1:{proxy.port}" if host is None else host
    lines = [f"host: {host}", *lines] if host else list(lines)
    if body and not any("encoding" in line or "length" in line for line in lines):
        lines.append(f"content-length: {len(body)}")
    head = "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""])
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(head.encode("latin-1") + body)
        answer = connection.makefile("rb").readline()
    return int(answer.split()[1]) if answer else None


def path_of(proxy, rest="/anthropic/v1/messages"):
    return proxy.base_url.removeprefix(f"http://127.0.0.1:{proxy.port}") + rest


def test_a_plain_request_passes(ground):
    proxy, service = ground

    assert send(proxy, path_of(proxy), body=b"{}") == 200
    assert service.received[0].line == "POST /base/v1/messages HTTP/1.1"


def test_it_listens_on_this_machine_alone(ground):
    assert ground[0]._socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "127.0.0.1:{port}@evil.example",
        "evil@127.0.0.1:{port}",
        "0.0.0.0:{port}",
        "localhost.evil.example:{port}",
        "2130706433:{port}",
        "",
    ],
)
def test_a_name_that_was_bound_to_this_machine_is_refused(ground, host):
    proxy, service = ground

    assert send(proxy, path_of(proxy), host=host.format(port=proxy.port)) in {400, 403}
    assert service.received == []


def test_two_host_headers_are_refused(ground):
    proxy, service = ground

    assert send(proxy, path_of(proxy), "host: evil.example") in {400, 403}
    assert service.received == []


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1"])
def test_web_pages_are_refused(ground, origin):
    proxy, service = ground

    assert send(proxy, path_of(proxy), f"origin: {origin}") == 403
    assert send(proxy, path_of(proxy), f"origin: {origin}", method="OPTIONS") == 403
    assert service.received == []


@pytest.mark.parametrize(
    "target",
    ["/", "/anthropic/v1/messages", "/wrong/anthropic/v1/messages", "/%00", "/" + "a" * 32 + "/x"],
)
def test_a_path_without_the_secret_is_refused(ground, target):
    proxy, service = ground

    assert send(proxy, target) in {400, 403}
    assert service.received == []


def test_the_secret_must_be_whole(ground):
    proxy, service = ground
    token = path_of(proxy, "")

    assert send(proxy, token[:-1] + "/anthropic/v1/messages") == 403
    assert send(proxy, token + "x/anthropic/v1/messages") == 403
    assert service.received == []


@pytest.mark.parametrize(
    "rest",
    [
        "/anthropic/../admin",
        "/anthropic/v1/../../admin",
        "/anthropic/..",
        "/anthropic/./admin",
        "/anthropic/%2e%2e/admin",
        "/anthropic/%2E%2e/admin",
        "/anthropic/%252e%252e/admin",
        "/anthropic/..%2fadmin",
        "/anthropic/..%5cadmin",
        "/anthropic/..\\admin",
        "/anthropic//evil.example/x",
        "/anthropic/v1/%2f%2fevil.example",
        "/anthropic/v1/\x7f",
        "/anthropic/v1/%00",
        "/anthropic/v1/%0d%0aX:%20y",
        "/../anthropic/v1",
        "/%2e%2e/anthropic/v1",
        "//evil.example/",
    ],
)
def test_no_path_leaves_the_base_of_the_upstream(ground, rest):
    proxy, service = ground

    assert send(proxy, path_of(proxy, rest)) in {400, 404}
    assert service.received == []


@pytest.mark.parametrize(
    "target", ["http://evil.example/", "evil.example:443", "*", "//evil.example"]
)
def test_the_client_names_no_upstream(ground, target):
    proxy, service = ground

    assert send(proxy, target) in {400, 403}
    assert send(proxy, target + path_of(proxy)[1:]) in {400, 403}
    assert service.received == []


def test_an_upstream_that_is_not_there_is_not_found(ground):
    proxy, _ = ground

    assert send(proxy, path_of(proxy, "/openai/v1/responses")) == 404
    assert send(proxy, path_of(proxy, "")) == 404


def test_web_sockets_are_refused(ground):
    proxy, service = ground
    lines = ("connection: upgrade", "upgrade: websocket")

    assert send(proxy, path_of(proxy), *lines, method="GET") == 426
    assert service.received == []


def test_an_offer_of_another_protocol_is_ignored_and_not_passed_on(ground):
    proxy, service = ground
    offer = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAEAAEAAAAIA")

    assert send(proxy, path_of(proxy), *offer, body=b"{}") == 200
    assert {name.lower() for name, _ in service.received[0].headers}.isdisjoint(
        {"upgrade", "http2-settings"}
    )


def test_a_body_that_is_said_to_be_too_large_is_refused_unread(ground):
    proxy, service = ground

    assert send(proxy, path_of(proxy), f"content-length: {MOST_BODY_BYTES + 1}") == 413
    assert service.received == []


def test_a_body_that_grows_too_large_is_refused(ground):
    proxy, service = ground
    size = 1024 * 1024
    chunk = b"%x\r\n%b\r\n" % (size, b"x" * size)
    body = chunk * (MOST_BODY_BYTES // size + 1)

    assert send(proxy, path_of(proxy), "transfer-encoding: chunked", body=body) in {413, None}
    assert service.received == []


@pytest.mark.parametrize(
    "lines",
    [
        ("content-length: 2", "transfer-encoding: chunked"),
        ("content-length: 2", "content-length: 3"),
        ("content-length: -1",),
        ("content-length: 99999999999999999999999",),
        ("transfer-encoding: x, chunked",),
        ("bad header: x",),
        ("x: " + "y" * 600_000,),
    ],
)
def test_no_second_request_is_smuggled_in(ground, lines):
    proxy, service = ground
    body = b"0\r\n\r\nPOST /base/admin HTTP/1.1\r\nhost: x\r\n\r\n"

    send(proxy, path_of(proxy), *lines, body=body)

    assert all("/base/v1/messages" in each.line for each in service.received)
    assert all(b"admin" not in each.body for each in service.received)


def test_a_request_without_a_key_gets_none(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login user password secret-of-ours\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "secret-of-ours")
    with fake.Upstream() as service:
        with ProxyServer(Guide(None), {"anthropic": Service(service.url)}) as proxy:
            assert send(proxy, path_of(proxy), body=b"{}") == 200

    names = {name.lower() for name, _ in service.received[0].headers}
    assert names == {"host", "accept-encoding", "content-length"}


def test_a_proxy_of_the_network_is_not_asked_for_a_service_on_this_machine(monkeypatch):
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with fake.Upstream() as service:
        with ProxyServer(Guide(None), {"anthropic": Service(service.url)}) as proxy:
            assert send(proxy, path_of(proxy), body=b"{}") == 200


def test_nothing_of_a_request_is_written_to_disk(tmp_path, monkeypatch, make_prompt, speaker):
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "TRIMTAB_HOME", "XDG_STATE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    step = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "B"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
    ]
    asked = {"messages": [{"role": "user", "content": "Fix it."}, *step], "tools": [{"name": "B"}]}
    with fake.Upstream() as service:
        upstreams = {"anthropic": Service(service.url)}
        with ProxyServer(Guide(make_prompt(speaker(calls=(1,)))), upstreams) as proxy:
            send(proxy, path_of(proxy), "x-api-key: secret", body=json.dumps(asked).encode())

    assert b"Heed this" in service.received[0].body
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_said(ground):
    with pytest.raises(ServerFailed, match="can't be used"):
        ProxyServer(Guide(None), {}, port=ground[0].port)


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example/v1",
        "http://127.0.0.1.evil.example",
        "ftp://127.0.0.1",
        "api.example",
        "https://",
        "https://user:secret@api.example",
        "https://api.example/v1?key=secret",
        "https://api.example/#x",
        "https://[::1",
        "https://api.example:99999999",
    ],
)
def test_keys_go_nowhere_unencrypted(url):
    with pytest.raises(UpstreamInvalid) as caught:
        Service(url)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://localhost:1/v1/", "http://[::1]:80", "http://127.9.0.1"])
def test_a_service_on_this_machine_needs_no_encryption(url):
    assert Service(url).base == url.rstrip("/")


@pytest.mark.parametrize(
    "path",
    [
        b"/v1/messages",
        b"/v1beta/models/gemini-2.5-pro:streamGenerateContent",
        b"/v1/files/a%20b",
        b"/v1/x...y/..z/",
        b"/openai/deployments/a/chat/completions",
        b"/",
    ],
)
def test_usual_paths_stay_below(path):
    assert stays_below(path)
