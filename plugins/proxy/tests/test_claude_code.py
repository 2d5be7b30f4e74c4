"""Claude Code behind the proxy: words in exactly one request, and nothing else changed."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from trimtab import DecisionPoint, GuidanceProviderConfig, TaskCompletionResult
from trimtab_test_servers import (
    AnthropicServer,
    Call,
    Fault,
    Thinking,
    choose,
    claude_code_asker,
    say,
)

from .programs import (
    at_home,
    bash,
    claude,
    claude_program,
    json_result,
    steps,
)
from .terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

MODELS = ["claude-sonnet-4-5", "claude-opus-5-5"]
OLDER_CLAUDE = "0.2.120"


@pytest.mark.parametrize("model", MODELS)
def test_claude_code_is_guided_in_one_request(ground, prompt, model):
    command = [*claude(claude_program(), "Fix it.", model=model)][:-2]
    with AnthropicServer(steps(bash(), bash(), bash())) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run(command, environment, proxy)
    with AnthropicServer(steps(bash(), bash(), bash())) as direct:
        plain = ground.run(command, at_home(ground, direct))

    assert ground.guided() == [0, 0, 1, 0]
    assert [each.body for each in server.requests] == [each.went for each in ground.passed]
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (0, "All done.\n")
    assert server.refusals == ()
    assert ground.relations() == {"new": 1, "next": 3}
    ground.check()


def test_an_older_claude_code_is_guided_in_one_request(ground, prompt):
    program = claude_program(OLDER_CLAUDE)
    with AnthropicServer(steps(bash(), bash(), bash())) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run(claude(program, "Fix it."), environment, proxy)

    assert done.returncode == 0, done.stderr
    assert sorted(ground.guided())[-2:] == [0, 1]
    ground.check()


@pytest.mark.parametrize("version", [None, OLDER_CLAUDE])
def test_subagents_in_parallel_have_runs_of_their_own(ground, prompt, version):
    tasks = [
        Call(
            "Agent" if version is None else "Task",
            {
                "description": "Look",
                "prompt": "Look around.",
                "subagent_type": "general-purpose",
                "run_in_background": False,
            },
        )
        for _ in range(2)
    ]
    lock, seen = threading.Lock(), {"main": 0}

    def script(request):
        text = str(request.messages)
        with lock:
            if "Look around." in str(request.messages[0]):
                return say("Seen.") if text.count("tool_result") >= 3 else say(bash())
            seen["main"] += 1
            return say(*tasks) if seen["main"] == 1 else say("All done.")

    with AnthropicServer(script) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run(claude(claude_program(version), "Go."), environment, proxy)
            calls = ground.calls()

    assert done.returncode == 0, done.stderr
    assert sum(ground.guided()) == 3
    assert calls == [2, 3, 3]
    ground.check()


def test_a_request_that_is_tried_again_has_the_same_words(ground, prompt):
    overloaded = Fault(529, retry_after_seconds=0)
    script = [say(bash()), say(bash()), overloaded, overloaded, say(bash()), say("All done.")]
    with AnthropicServer(script) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            ground.run(claude(claude_program(), "Fix it."), environment, proxy)

    assert ground.guided() == [0, 0, 1, 1, 1, 0]
    assert ground.relations()["retry"] == 2
    assert len({each.went for each in ground.passed[2:5]}) == 1
    assert ground.guide.counts.spoken == {"speaker": 1}
    ground.check()


def test_a_conversation_that_is_resumed_compacted_forked_and_taken_back(ground, prompt):
    program = claude_program()
    main = [*steps(bash()), *steps(bash()), *steps(bash()), *steps(bash()), *steps(bash())]
    scripts = {"main": main, "compaction": [say("<summary>A file is missing.</summary>")] * 3}
    with AnthropicServer(choose(claude_code_asker, scripts)) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy:

            def ask(*arguments):
                done = ground.run(claude(program, *arguments), environment, proxy)
                assert done.returncode == 0, done.stderr
                return json_result(done)["session_id"], dict(ground.guide.counts.relations)

            session, first = ask("Go.")
            _, resumed = ask("Again.", "--resume", session)
            _, forked = ask("Otherwise.", "--resume", session, "--fork-session")
            _, compacted = ask("/compact", "--resume", session)
            _, went_on = ask("On.", "--resume", session)
            calls = ground.calls()

    assert first == {"new": 1, "next": 1}
    assert resumed == {"new": 1, "next": 3}
    assert forked["fork"] == 1
    assert compacted.get("side", 0) >= 1
    assert went_on["compacted"] >= 1
    assert calls == [3, 3]
    assert sum(ground.guided()) == 1
    ground.check()


def test_going_back_to_an_earlier_answer_begins_anew_from_there(ground, prompt):
    program = claude_program()
    script = [*steps(bash("true"), last="One."), *steps(bash(), bash()), *steps(bash())]
    with AnthropicServer(script) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run(claude(program, "Go."), environment, proxy)
            session = json_result(done)["session_id"]
            ground.run(claude(program, "On.", "--resume", session), environment, proxy)
            back = answer_uuid(ground.home, session, "One.")
            arguments = ("Back.", "--resume", session, "--resume-session-at", back)
            done = ground.run(claude(program, *arguments), environment, proxy)
            calls = ground.calls()

    assert done.returncode == 0, done.stderr
    assert ground.relations().get("rewind", 0) >= 1
    assert calls == [2]
    ground.check()


def answer_uuid(home, session, text):
    """The id of an answer in the program's own record."""
    record_file = next(home.rglob(f"{session}.jsonl"))
    rows = map(json.loads, record_file.read_text().splitlines())
    return next(
        row["uuid"]
        for row in rows
        if row.get("type") == "assistant" and text in str(row["message"])
    )


GUIDED_ABOUT_CALL = {1: [0, 1, 0, 0, 0, 0], 2: [0, 0, 0, 1, 0, 0]}


@pytest.mark.parametrize("version", [None, OLDER_CLAUDE])
@pytest.mark.parametrize("call", GUIDED_ABOUT_CALL)
def test_a_compaction_in_mid_turn_goes_on_in_the_run_and_repeats_nothing(
    ground, make_prompt, speaker, version, call
):
    full = say(bash(), input_tokens=150_000)
    scripts = {
        "main": [say(bash()), full, *steps(bash(), bash())],
        "compaction": [say("<summary>A file is missing.</summary>")],
    }
    window = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
    with AnthropicServer(choose(claude_code_asker, scripts)) as server:
        environment = {**at_home(ground, server), **window}
        with ground.proxy(make_prompt(speaker(calls=(call,))), environment) as proxy:
            done = ground.run(claude(claude_program(version), "Fix it."), environment, proxy)
            known = ground.calls()

    assert json_result(done)["result"] == "All done."
    assert [claude_code_asker(request) for request in server.requests][2] == "compaction"
    asked = zip(ground.guided(), ground.passed, strict=True)
    assert [said for said, each in asked if each.came] == GUIDED_ABOUT_CALL[call]
    assert ground.relations() == {"new": 1, "next": 3, "side": 1, "compacted": 1}
    assert known == [4]
    assert ground.guide.counts.runs == 1
    ground.check()


QUESTION = "Please find out why the file is missing, and tell me the cause in one sentence."
ASIDE = "what is the time?"
OFFLINE = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9",
}


def kind_of(request):
    """What Claude Code asks for in a terminal."""
    last = str(request.messages[-1])
    if not request.json.get("tools"):
        return "title"
    return "suggestion" if "[SUGGESTION MODE" in last else "aside" if ASIDE in last else "main"


def in_terminal(ground, server):
    """The environment in which Claude Code asks all its questions, and none of the user."""
    folder = ground.home / ".claude"
    folder.mkdir()
    state = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": ["x"], "rejected": []},
        "projects": {str(ground.work): {"hasTrustDialogAccepted": True}},
    }
    (folder / ".claude.json").write_text(json.dumps(state))
    (folder / "settings.json").write_text('{"skipDangerousModePermissionPrompt": true}')
    environment = {**at_home(ground, server), **OFFLINE}
    del environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
    return {**environment, "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "true", "TERM": "xterm"}


def test_what_claude_code_asks_beside_the_conversation_is_not_guided(ground, prompt):
    scripts = {
        "title": [say('{"title": "A missing file"}')] * 3,
        "suggestion": [say("try once more")] * 3,
        "aside": [say("Late.")],
        "main": [*steps(bash(), bash(), bash()), *steps(bash(), last="Again done.")],
    }
    program = claude_program()
    flags = ["--permission-mode", "bypassPermissions", "--model", MODELS[0]]
    with AnthropicServer(choose(kind_of, scripts)) as server:
        environment = in_terminal(ground, server)

        def asked(*kinds):
            return set(kinds) <= {kind_of(request) for request in server.requests}

        with ground.proxy(prompt, environment) as proxy:
            with Terminal(ground, [program, *flags, QUESTION], environment, proxy) as terminal:
                terminal.wait_for("All done.")
                terminal.wait_until(lambda: asked("title", "suggestion"))
                terminal.enter(f"/btw {ASIDE}")
                terminal.wait_for("Late.")
            session = dict(ground.passed[-1].headers)[b"x-claude-code-session-id"].decode()
            done = ground.run(claude(program, "On.", "--resume", session), environment, proxy)
            calls = ground.calls()

    assert json_result(done)["result"] == "Again done."
    kinds = [kind_of(request) for request in server.requests]
    words = [request.mentions("Heed this") for request in server.requests]
    assert [said for kind, said in zip(kinds, words, strict=True) if kind == "main"] == [
        *(False, False, True, False),
        *(False, False),
    ]
    assert sum(words) == 1
    assert calls == [4]
    assert ground.guide.counts.runs == 1
    ground.check()


def test_an_error_of_the_service_ends_the_program_as_it_does_without_the_proxy(ground, prompt):
    command = [*claude(claude_program(), "Fix it.")][:-2]
    refused = Fault(400)
    with AnthropicServer(lambda _: refused) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run(command, environment, proxy)
    with AnthropicServer(lambda _: refused) as direct:
        plain = ground.run(command, at_home(ground, direct))

    assert (done.returncode, done.stdout, done.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    assert done.returncode != 0
    assert len(server.requests) == len(direct.requests)
    ground.check()


def test_the_gate_sends_claude_code_back_and_refuses_a_call(ground, make_prompt, speaker):
    class Checker:
        name = "checker"

        def check(self, context):
            if "tested" in (context.tentative_output or ""):
                return TaskCompletionResult.ok()
            return TaskCompletionResult.incomplete("Heed this: test it.")

    point = DecisionPoint.PRE_TOOL_EXECUTION
    refusing = GuidanceProviderConfig(speaker(calls=(1,), decision_points=(point,)), refuse=True)
    prompt = make_prompt(refusing, completion_checkers=[Checker()])
    script = [
        say(Thinking("Hm."), "All done."),
        say(bash("echo testing")),
        say(bash("rm -rf tests")),
        say("It is tested."),
    ]
    with AnthropicServer(script) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment, gate=True) as proxy:
            done = ground.run(claude(claude_program(), "Fix it."), environment, proxy)

    assert json_result(done)["result"] == "It is tested."
    assert [each.mentions("test it") for each in server.requests] == [False, True, False, False]
    assert server.refusals == ()
    record_of_program = "".join(path.read_text() for path in ground.home.rglob("*.jsonl"))
    assert "echo testing" in record_of_program
    assert "rm -rf tests" not in record_of_program
    assert "Heed this" not in record_of_program


def test_two_programs_at_once_are_kept_apart(ground, prompt):
    program = claude_program()

    def script(request):
        return say("Done.") if str(request.messages).count("tool_result") >= 3 else say(bash())

    with AnthropicServer(script) as server:
        environment = at_home(ground, server)
        with ground.proxy(prompt, environment) as proxy, ThreadPoolExecutor(2) as pool:
            command = claude(program, "The same words.")
            done = list(pool.map(lambda _: ground.run(command, environment, proxy), range(2)))
            calls = ground.calls()

    assert [each.returncode for each in done] == [0, 0]
    assert calls == [3, 3]
    assert sum(ground.guided()) == 2
    ground.check()
