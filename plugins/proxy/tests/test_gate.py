"""The gate: a final answer that is sent back, a call that is refused, in one message."""

import json
import threading

import httpx
import pytest

from trimtab import DecisionPoint, GuidanceProviderConfig, TaskCompletionResult
from trimtab_proxy import _guidance
from trimtab_proxy._gate import Frames
from trimtab_proxy._guide import Guide
from trimtab_proxy._server import ProxyServer
from trimtab_proxy._upstreams import Upstream as Service
from trimtab_test_servers import AnthropicServer, Call, Fault, OpenAIServer, Thinking, say

pytestmark = pytest.mark.slow

HEADERS = {
    "authorization": "Bearer k",
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "x-claude-code-session-id": "s1",
}


class Checker:
    """Sends back a given number of times."""

    name = "checker"

    def __init__(self, times):
        self.times = times

    def check(self, context):
        self.times -= 1
        if self.times < 0:
            return TaskCompletionResult.ok()
        return TaskCompletionResult.incomplete("Run the tests first.")


class Api:
    """One API with its scripted service: how a request looks, and what its stream says."""

    def __init__(self, form):
        self.form = form
        self.anthropic = form.wire.name == "anthropic-messages"
        self.server = AnthropicServer if self.anthropic else OpenAIServer
        self.path = "/v1/messages" if self.anthropic else "/chat/completions"

    def send(self, proxy, *story):
        body = {**self.form.body(list(story)), "stream": True}
        if not self.anthropic:
            body["stream_options"] = {"include_usage": True}
        url = proxy.base_url + self.path
        got = httpx.post(url, json=body, headers=HEADERS, trust_env=False, timeout=30)
        assert got.status_code == 200
        events = [event for _, event in Frames().feed(got.content)]
        return [event for event in events if event is not None]

    def answer(self, events):
        collector = self.form.wire.events()
        for event in events:
            collector.add(event)
        return collector.answer()


@pytest.fixture
def api(form):
    if form.wire.name not in {"anthropic-messages", "openai-chat"}:
        pytest.skip("this API has no gate")
    return Api(form)


@pytest.fixture
def gated(make_prompt):
    def make(*guidance, checkers=()):
        prompt = make_prompt(*guidance, completion_checkers=checkers)
        return Guide(prompt, prompt, gate=True)

    return make


def conversation(server):
    return [each.messages for each in server.requests]


def test_a_final_answer_is_sent_back_within_one_message(api, gated, story):
    script = [say("All done."), say("Right, testing.", Call("Bash", {"command": "pytest"}))]
    with api.server(script) as server:
        guide = gated(checkers=[Checker(1)])
        with ProxyServer(guide, {"": Service(server.base_url)}) as proxy:
            events = api.send(proxy, story.said("Fix it."))

    answer = api.answer(events)
    assert answer.text.split() == ["All", "done.", "Right,", "testing."]
    assert [call.tool for call in answer.calls] == ["Bash"]
    assert answer.usage.output_tokens == 40
    assert server.refusals == ()
    first, second = conversation(server)
    assert second[: len(first)] == first
    assert "Run the tests first." in str(second[-1])
    assert "All done." in str(second[-2])
    # Clients add up what the deltas of a message say, the role too.
    assert str(events).count("'role': 'assistant'") == 1


def test_the_blocks_of_both_rounds_are_numbered_through(api, gated, story):
    if not api.anthropic:
        pytest.skip("only blocks are numbered")
    script = [say(Thinking("Hm."), "All done."), say(Thinking("Oh."), "Right.", Call("Bash", {}))]
    with api.server(script) as server:
        with ProxyServer(gated(checkers=[Checker(1)]), {"": Service(server.base_url)}) as proxy:
            events = api.send(proxy, story.said("Fix it."))

    starts = [e for e in events if e["type"] == "content_block_start"]
    kinds = [e["content_block"]["type"] for e in starts]
    assert kinds == ["thinking", "text", "thinking", "text", "tool_use"]
    assert [e["index"] for e in starts] == [0, 1, 2, 3, 4]
    assert [e["type"] for e in events].count("message_start") == 1
    assert [e["type"] for e in events].count("message_stop") == 1
    assert "signature" in str(server.requests[1].messages[-2])


def test_an_answer_that_may_stand_passes_byte_for_byte(api, gated, story):
    with api.server([say("All done.")] * 2) as server:
        upstream = Service(server.base_url)
        with ProxyServer(gated(checkers=[Checker(0)]), {"": upstream}) as proxy:
            through = api.send(proxy, story.said("Fix it."))
        with ProxyServer(Guide(None), {"": upstream}) as proxy:
            direct = api.send(proxy, story.said("Fix it."))

    ids = {"id", "created"}
    assert [plain(e, ids) for e in through] == [plain(e, ids) for e in direct]
    assert len(server.requests) == 2


def plain(event, without):
    if isinstance(event, dict):
        return {k: plain(v, without) for k, v in event.items() if k not in without}
    return [plain(v, without) for v in event] if isinstance(event, list) else event


def test_a_refused_call_never_reaches_the_program(api, gated, speaker, story):
    refusing = GuidanceProviderConfig(
        speaker(calls=(0,), decision_points=(DecisionPoint.PRE_TOOL_EXECUTION,)), refuse=True
    )
    script = [say(Call("Bash", {"command": "rm -rf /"})), say("I leave it.")]
    with api.server(script) as server:
        with ProxyServer(gated(refusing), {"": Service(server.base_url)}) as proxy:
            events = api.send(proxy, story.said("Clean up."))

    answer = api.answer(events)
    assert (answer.text.strip(), answer.calls) == ("I leave it.", ())
    assert "rm -rf" not in json.dumps(events)
    assert "Not run. <guidance" in str(server.requests[1].messages[-1])
    assert server.refusals == ()


def test_a_provider_that_may_not_refuse_refuses_nothing(api, gated, speaker, story):
    quiet = GuidanceProviderConfig(
        speaker(calls=(0,), decision_points=(DecisionPoint.PRE_TOOL_EXECUTION,))
    )
    with api.server([say(Call("Bash", {"command": "ls"}))]) as server:
        with ProxyServer(gated(quiet), {"": Service(server.base_url)}) as proxy:
            answer = api.answer(api.send(proxy, story.said("Go.")))

    assert len(answer.calls) == len(server.requests) == 1


def test_an_error_of_the_service_lets_the_first_answer_pass(api, gated, story):
    with api.server([say("All done."), Fault(500)]) as server:
        with ProxyServer(gated(checkers=[Checker(1)]), {"": Service(server.base_url)}) as proxy:
            answer = api.answer(api.send(proxy, story.said("Go.")))

    assert answer.text == "All done."
    assert len(server.requests) == 2


def test_a_gate_that_never_opens_gives_way(api, gated, story):
    with api.server(lambda _: say("All done.")) as server:
        with ProxyServer(gated(checkers=[Checker(99)]), {"": Service(server.base_url)}) as proxy:
            answer = api.answer(api.send(proxy, story.said("Go.")))

    assert answer is not None
    assert 2 <= len(server.requests) <= 9


def test_an_answer_passes_where_a_checker_takes_longer_than_the_limit(
    api, gated, story, monkeypatch
):
    monkeypatch.setattr(_guidance, "JUDGE_SECONDS", 0.2)
    done = threading.Event()

    class Waiting(Checker):
        def check(self, context):
            done.wait(60)
            return super().check(context)

    with api.server([say("All done.")]) as server:
        with ProxyServer(gated(checkers=[Waiting(9)]), {"": Service(server.base_url)}) as proxy:
            answer = api.answer(api.send(proxy, story.said("Go.")))
            done.set()

    assert answer.text == "All done."
    assert len(server.requests) == 1


def test_an_answer_is_told_once(api, gated, story):
    guide = gated(checkers=[Checker(0)])
    with api.server(lambda _: say("Look.", Call("Bash", {"command": "ls"}, id="call_0"))) as server:
        with ProxyServer(guide, {"": Service(server.base_url)}) as proxy:
            api.send(proxy, story.said("Go."))
            call = story.answered("Look.", (("call_0", "ls"),))
            api.send(proxy, story.said("Go."), call, story.ran("call_0"))
            [thread] = guide.threads  # without a name too it is known by the answer
            run = thread.follower.run
            assert (run.state.turns, run.state.calls) == (2, 1)


def test_questions_to_the_user_pass(api, gated, story):
    with api.server([say("Which one do you want?")]) as server:
        with ProxyServer(gated(checkers=[Checker(9)]), {"": Service(server.base_url)}) as proxy:
            api.send(proxy, story.said("Go."))

    assert len(server.requests) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_events_are_cut_wherever_the_bytes_are(size, end):
    stream = b"".join(b'event: x\ndata: {"n": %d}' % n + end for n in range(5))
    frames = Frames()
    cut = [
        pair for at in range(0, len(stream), size) for pair in frames.feed(stream[at : at + size])
    ]

    assert [event for _, event in cut] == [{"n": n} for n in range(5)]
    assert b"".join(frame for frame, _ in cut) + frames.rest() == stream
