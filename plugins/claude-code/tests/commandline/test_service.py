"""The resident process against clients that mean no good, and its own end."""

import http.client
import json
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from trimtab import ManualClock
from trimtab_claude_code.service.desk import Desk
from trimtab_claude_code.service.endpoint import PROOF, URL_PATH, make_endpoint
from trimtab_claude_code.service.server import HookServer, Limits
from trimtab_claude_code.service.wire import Stranger, ask

QUICK = Limits(connections=8, quiet_seconds=0.5, request_seconds=1.0)


@attrs.frozen
class Running:
    """A server on a thread of this process."""

    server: HookServer
    thread: threading.Thread

    @property
    def endpoint(self):
        return self.server.endpoint

    def post(self, body=b"{}", path=URL_PATH, **changed):
        """Post as a hook does, with some headers changed; None takes one away."""
        headers = {
            "Host": f"127.0.0.1:{self.endpoint.port}",
            "Authorization": f"Bearer {self.endpoint.token}",
            "Content-Length": str(len(body)),
            **{name.replace("_", "-"): value for name, value in changed.items()},
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.endpoint.port, timeout=10)
        connection.putrequest("POST", path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        try:
            connection.send(body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture
def running(desk):
    folder = desk.state / "claude-code"
    folder.mkdir(parents=True)
    started = []

    def start(limits=QUICK, **more):
        endpoint = make_endpoint(folder)
        listener = socket.create_server(("127.0.0.1", endpoint.port), backlog=128)
        server = HookServer(endpoint, listener, Desk(folder, **more), limits)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        started.append(Running(server, thread))
        return started[-1]

    yield start
    for one in started:
        one.server.shutdown()
        one.server.server_close()


def event(name, **fields):
    return json.dumps({"session_id": "s", "hook_event_name": name, **fields}).encode()


def test_a_hook_is_answered(running, desk):
    one = running()

    status, body = one.post(event("UserPromptSubmit", prompt="Go.", cwd=str(desk.project)))

    said = json.loads(body)["hookSpecificOutput"]["additionalContext"]
    assert (status, "main-after-0" in said) == (200, True)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Authorization": "Bearer \u00fc".encode("latin-1")}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Host": None}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Length": None}, 411),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": "1e3"}, 411),
        ({"Content_Length": "²"}, 411),
        ({"Content_Length": str(100 * 2**20)}, 413),
        ({"Content_Length": "9" * 5000}, 413),
        ({"path": "/other"}, 404),
        ({"body": b"[]"}, 400),
        ({"body": b"{"}, 400),
        ({"body": b"[" * 100_000}, 400),
        ({"body": b"\xff"}, 400),
    ],
)
def test_whoever_is_no_hook_is_refused(running, changed, status):
    changed = {
        name: value.encode("utf-8") if name == "Content_Length" and value else value
        for name, value in changed.items()
    }

    assert running().post(**changed)[0] == status


def test_a_refusal_of_the_token_proves_nothing_to_the_asker(running):
    one = running()
    connection = http.client.HTTPConnection("127.0.0.1", one.endpoint.port, timeout=10)
    connection.request("POST", URL_PATH, body=b"{}")

    answer = connection.getresponse()

    assert (answer.status, answer.headers[PROOF]) == (401, None)


def raw(one, request):
    """Send bytes as they are; return the answer's status."""
    with socket.create_connection(("127.0.0.1", one.endpoint.port), timeout=10) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("line", "more", "status"),
    [
        ("GET /trimtab/status HTTP/1.1", "", 501),
        ("POST /trimtab/hook HTTP/1.1", "", 411),
        ("POST /trimtab/hook HTTP/1.1", "Transfer-Encoding: chunked\r\n", 411),
        ("POST /trimtab/hook HTTP/1.1", "Content-Length: 9\r\n", 400),
        ("POST /trimtab/hook HTTP/1.1", "Host: evil.example\r\n", 421),
        ("POST /trimtab/hook HTTP/1.1", "hOST: evil.example\r\n", 421),
        ("POST /trimtab/hook HTTP/1.1", "X: a\r\n Content-Length: 2\r\n", 411),
        ("POST /trimtab/hook HTTP/1.1", f"X: {'y' * 70_000}\r\n", 431),
        ("POST /trimtab/hook HTTP/1.1", "X: y\r\n" * 200, 431),
        ("POST / x HTTP/1.1", "", 400),
    ],
)
def test_what_is_no_request_of_a_hook_is_refused(running, line, more, status):
    one = running()
    host, token = f"127.0.0.1:{one.endpoint.port}", one.endpoint.token
    head = f"{line}\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}\r\n"

    assert raw(one, head.encode()) == status
    assert one.post()[0] == 200


def test_a_body_of_100_mb_is_refused_before_it_is_read(running):
    one = running()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    head = (
        f"POST {URL_PATH} HTTP/1.1\r\nHost: 127.0.0.1:{one.endpoint.port}\r\n"
        f"Authorization: Bearer {one.endpoint.token}\r\nContent-Length: {100 * 2**20}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", one.endpoint.port), timeout=5) as client:
        client.sendall(head.encode())
        sent = 0
        try:
            while sent < 100 * 2**20:
                sent += client.send(bytes(2**16))
        except OSError:
            pass

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert sent < 20 * 2**20
    assert grown < 30_000  # KB
    assert one.post()[0] == 200


def trickle(port, seconds):
    """Send a request one byte at a time; return how long it was listened to."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        try:
            for byte in b"POST / HTTP/1.1\r\nX: " + b"y" * 10_000:
                client.sendall(bytes([byte]))
                time.sleep(0.05)
                if time.monotonic() - began > seconds:
                    break
        except OSError:
            pass
    return time.monotonic() - began


def test_who_sends_byte_by_byte_is_cut_off_and_others_are_served_again(running):
    one = running()
    with ThreadPoolExecutor(8) as pool:
        lasted = list(pool.map(lambda _: trickle(one.endpoint.port, 20), range(8)))

    assert max(lasted) < 10
    assert one.post()[0] == 200


def test_who_trickles_gives_way_where_others_wait(running):
    one = running(attrs.evolve(QUICK, quiet_seconds=5.0, request_seconds=30.0))
    with ThreadPoolExecutor(16) as pool:
        lasting = [pool.submit(trickle, one.endpoint.port, 10) for _ in range(16)]
        time.sleep(0.2)
        began = time.monotonic()
        status, _ = one.post()
        waited = time.monotonic() - began

        assert (status, waited < 5) == (200, True)
        one.post()
        assert sum(future.result() < 5 for future in lasting) >= 8


def test_who_says_nothing_is_cut_off(running):
    one = running()
    with socket.create_connection(("127.0.0.1", one.endpoint.port), timeout=10) as client:
        assert client.recv(1) == b""
    assert one.post()[0] == 200


def test_a_thousand_posts_at_once_are_answered_or_closed_and_leave_nothing_behind(running, desk):
    one, before = running(), threading.active_count()
    body = event("PreToolUse", tool_name="Bash", tool_input={}, cwd=str(desk.project))

    def post(number):
        call = json.loads(body) | {"tool_use_id": f"t{number}"}
        try:
            return one.post(json.dumps(call).encode())[0]
        except OSError:
            return 0

    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(post, range(1000)))

    assert set(answers) <= {0, 200}
    assert answers.count(200) > 500
    deadline = time.monotonic() + 5
    while threading.active_count() > before + 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before + 2
    assert one.post()[0] == 200


def test_where_no_thread_is_to_be_had_an_event_is_lost_and_no_place(running, monkeypatch):
    one = running(attrs.evolve(QUICK, connections=2))
    start = threading.Thread.start

    def no_more(thread):
        if "process_request_thread" in thread.name:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", no_more)
    for _ in range(5):
        with pytest.raises(OSError, match=r"closed|reset"):
            ask(one.endpoint, b"{}", 5.0)
    monkeypatch.undo()

    assert ask(one.endpoint, b"{}", 5.0) == b"{}"


def test_memory_stays_flat_over_many_long_events(running, desk):
    one = running()

    def events(numbers):
        for number in numbers:
            call = {
                "tool_name": "Read",
                "tool_input": {"file_path": f"{number}.txt"},
                "tool_use_id": f"t{number}",
                "cwd": str(desk.project),
            }
            one.post(event("PreToolUse", **call))
            one.post(event("PostToolUse", **call, tool_response=f"{number} " * 20_000))
            one.post(event("PostToolBatch", tool_calls=[call], cwd=str(desk.project)))

    events(range(100))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    events(range(100, 300))

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 15_000  # KB
    (journal,) = (desk.state / "claude-code" / "sessions").glob("*.jsonl")
    assert journal.stat().st_size < 20_000_000


def test_more_sessions_than_are_kept_wait_in_their_journals(running, desk):
    one = running(most=2)
    for number in range(5):
        told = {"session_id": f"s{number}", "cwd": str(desk.project)}
        one.post(event("UserPromptSubmit", **told, prompt="Go."))

    assert len(one.server.desk) == 2
    again = event("UserPromptSubmit", session_id="s0", cwd=str(desk.project), prompt="Go.")
    assert one.post(again) == (200, b"{}")  # said before


def test_it_ends_when_nothing_has_come_for_long(running):
    clock = ManualClock()
    one = running(Limits(idle_seconds=60), clock=clock)
    one.post(event("UserPromptSubmit", prompt="Go."))
    one.post(event("SessionEnd"))

    clock.advance(61)

    one.thread.join(5)
    assert not one.thread.is_alive()


def test_it_waits_longer_for_a_session_that_has_not_ended(running):
    clock = ManualClock()
    one = running(Limits(idle_seconds=60, forsaken_seconds=600), clock=clock)
    one.post(event("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="t"))

    clock.advance(599)
    one.thread.join(0.5)
    assert one.thread.is_alive()

    clock.advance(2)
    one.thread.join(5)
    assert not one.thread.is_alive()


def test_it_ends_when_it_is_told_to(running):
    one = running()

    assert ask(one.endpoint, b"", 5.0, "/trimtab/stop") == b"{}"

    one.thread.join(5)
    assert not one.thread.is_alive()


def test_a_stranger_on_the_port_is_found_out(running, desk):
    one = running()
    impostor = one.endpoint._replace(token="another")

    with pytest.raises(Stranger):
        ask(impostor, b"{}", 5.0)
