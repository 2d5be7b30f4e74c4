"""What both services share: recording, faults, delays, scripts chosen by request."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from urllib.parse import urlsplit

import pytest

from trimtab_test_servers import AnthropicServer, Fault, Hang, LoopbackServer, choose, say

HEADERS = {"x-api-key": "x", "anthropic-version": "2023-06-01"}


def post(server: LoopbackServer, body, path="/v1/messages", headers=HEADERS, timeout=10):
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=timeout)
    try:
        connection.request("POST", path, sent, headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read().decode()
    finally:
        connection.close()


def ask(text: str) -> dict:
    messages = [{"role": "user", "content": text}]
    return {"model": "m", "max_tokens": 10, "messages": messages}


def test_requests_are_kept_verbatim_with_their_headers():
    body = (
        b'{ "model": "m",\n "max_tokens": 10, "messages": [{"role":"user","content":"h\\u00e9"}]}'
    )
    with AnthropicServer([say("ok")]) as server:
        post(server, body, path="/v1/messages?beta=true", headers={**HEADERS, "X-Mine": "1"})
    (request,) = server.requests
    assert request.body == body
    assert (request.path, request.route) == ("/v1/messages?beta=true", "/v1/messages")
    assert request.headers["x-mine"] == "1"
    assert request.mentions("hé")
    assert not request.mentions("model")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")],
)
def test_a_fault_has_the_service_s_shape_and_is_no_refusal(status, kind):
    with AnthropicServer([Fault(status, retry_after_seconds=0.5), say("ok")]) as server:
        answered, headers, text = post(server, ask("hi"))
        after, _, _ = post(server, ask("hi"))
    assert (answered, after) == (status, 200)
    assert headers["retry-after"] == "0.5"
    assert json.loads(text)["error"]["type"] == kind
    assert server.refusals == ()


def test_a_slow_turn_waits_and_a_hang_drops_the_connection():
    with AnthropicServer([say("late", delay_seconds=0.2), Hang(0.1)]) as server:
        begun = monotonic()
        assert post(server, ask("hi"))[0] == 200
        assert monotonic() - begun >= 0.2
        with pytest.raises(http.client.RemoteDisconnected):
            post(server, ask("hi"))


def test_closing_ends_a_hang_at_once():
    arrived = threading.Event()

    def hang(_request):
        arrived.set()
        return Hang(60)

    with AnthropicServer(hang) as server:
        thread = threading.Thread(target=_quietly, args=(server,))
        thread.start()
        assert arrived.wait(10)
    thread.join(timeout=10)
    assert not thread.is_alive()


def _quietly(server: LoopbackServer) -> None:
    with pytest.raises((http.client.HTTPException, OSError)):
        post(server, ask("hi"))


def test_a_finished_script_is_a_refusal_that_says_so():
    with AnthropicServer([]) as server:
        status, _, text = post(server, ask("hi"))
    assert status == 400
    assert "the script has no further turn" in json.loads(text)["error"]["message"]
    assert [refusal.status for refusal in server.refusals] == [400]


def test_scripts_chosen_by_the_request_advance_on_their_own():
    def who(request):
        return "sub" if request.mentions("SUB") else "main"

    script = choose(who, {"main": [say("m1"), say("m2")], "sub": [say("s1")]})
    with AnthropicServer(script) as server:
        texts = [
            json.loads(post(server, ask(text))[2])["content"][0]["text"]
            for text in ("a", "SUB", "b")
        ]
    assert texts == ["m1", "s1", "m2"]


def test_parallel_requests_get_one_turn_each():
    turns = [say(str(number)) for number in range(40)]
    with AnthropicServer(turns) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: post(server, ask("hi"))[2], range(40)))
    said = {json.loads(answer)["content"][0]["text"] for answer in answers}
    assert said == {str(number) for number in range(40)}
    assert len(server.requests) == 40


def test_an_unknown_path_is_refused_and_a_probe_is_not_recorded():
    with AnthropicServer([]) as server:
        assert post(server, ask("hi"), path="/v1/complete")[0] == 404
        assert post(server, b"", path="/api/hello")[0] == 200
    assert server.requests == ()
    assert len(server.refusals) == 1
