"""The real programs behind the proxy: words in exactly one request, and nothing else changed."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from trimtab import DecisionPoint, GuidanceProviderConfig, TaskCompletionResult
from trimtab_test_servers import (
    AnthropicServer,
    Call,
    Fault,
    OpenAIServer,
    Thinking,
    choose,
    claude_code_asker,
    claude_code_environment,
    say,
)

from .programs import (
    SHELL,
    Ground,
    claude_program,
    json_result,
    npm_program,
    record,
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

MODELS = ["claude-sonnet-4-5", "claude-opus-5-5"]
OLDER_CLAUDE = "0.2.120"


@pytest.fixture
def ground(tmp_path, monkeypatch):
    made = Ground(tmp_path)
    made.work.mkdir()
    made.home.mkdir()
    record(monkeypatch, made.passed)
    return made


@pytest.fixture
def prompt(make_prompt, speaker):
    return make_prompt(speaker())


def bash(command=SHELL):
    return Call("Bash", {"command": command, "description": "Run it"})


def steps(*calls, last="All done."):
    return [*(say(call) for call in calls), say(last)]


def claude(program, *arguments, model=MODELS[0]):
    flags = ["--permission-mode", "bypassPermissions", "--model", model, "--output-format", "json"]
    return [program, "-p", *arguments, *flags]


def at_home(ground, server):
    return ground.environment(**claude_code_environment(server, ground.home))


# Claude Code.


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


# Programs from npm.

OPENAI_PROGRAMS = {
    "codex": (
        "@openai/codex",
        "codex",
        Call("exec_command", {"cmd": SHELL}),
        ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
        ["-m", "gpt-5.1-codex", "Fix it."],
    ),
    "qwen": (
        "@qwen-code/qwen-code",
        "qwen",
        Call(
            "run_shell_command",
            {"command": SHELL, "description": "Run it", "is_background": False},
        ),
        ["--auth-type", "openai", "--yolo"],
        ["-p", "Fix it."],
    ),
    "opencode": (
        "opencode-ai",
        "opencode",
        Call("bash", {"command": SHELL, "description": "Run it"}),
        ["run", "--model", "openai/gpt-4o"],
        ["Fix it."],
    ),
}


def openai_environment(ground, server):
    return ground.environment(
        OPENAI_API_KEY="sk-test",
        OPENAI_BASE_URL=server.base_url,
        OPENAI_MODEL="qwen3-coder-plus",
        OPENCODE_DISABLE_MODELS_FETCH="1",
        OPENCODE_CONFIG_CONTENT=json.dumps(
            {
                "provider": {"openai": {"models": {"gpt-4o": {}}}},
                "permission": {"*": "allow"},
                "autoupdate": False,
            }
        ),
    )


def to_server(server):
    """Flags with which Codex CLI goes to a server."""
    settings = {"name": "direct", "base_url": server.base_url, "wire_api": "responses"}
    settings["env_key"] = "OPENAI_API_KEY"
    flags = ["-c", 'model_provider="direct"']
    for key, value in settings.items():
        flags += ["-c", f"model_providers.direct.{key}={json.dumps(value)}"]
    return flags


@pytest.mark.parametrize("name", OPENAI_PROGRAMS)
def test_a_program_of_the_openai_kind_is_guided_in_one_request(ground, prompt, name):
    package, executable, call, before, after = OPENAI_PROGRAMS[name]
    program = npm_program(package, executable)
    script = iter(steps(call, call, call))

    def answer(request):
        return next(script) if request.json.get("tools") else say("A title")

    with OpenAIServer(answer) as server:
        environment = openai_environment(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run([program, *before, *after], environment, proxy)
    script = iter(steps(call, call, call))
    with OpenAIServer(answer) as direct:
        flags = to_server(direct) if name == "codex" else []
        environment = openai_environment(ground, direct)
        plain = ground.run([program, *flags, *before, *after], environment)

    assert (done.returncode, done.stdout.strip()) == (0, "All done."), done.stderr
    assert (plain.returncode, plain.stdout) == (done.returncode, done.stdout), plain.stderr
    assert len(direct.requests) >= 4
    counts = [n for n, each in zip(ground.guided(), ground.passed, strict=True) if tools_of(each)]
    assert counts == [0, 0, 1, 0]
    assert [each.body for each in server.requests] == [each.went for each in ground.passed]
    assert server.refusals == ()
    assert ground.relations()["next"] == 3
    assert ground.guide.counts.runs == 1
    ground.check()


def tools_of(passed):
    return json.loads(passed.came).get("tools")


class GeminiServer:
    """A scripted Gemini API: calls the shell three times, then ends."""

    def __enter__(self):
        requests = self.requests = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                requests.append(body)
                part = _part(body)
                candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
                answer = json.dumps({"candidates": [candidate], "usageMetadata": {}}).encode()
                streamed = "stream" in self.path
                if streamed:
                    answer = b"data: " + answer + b"\r\n\r\n"
                kind = "text/event-stream" if streamed else "application/json"
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}"
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()


def _part(body):
    asked = json.loads(body)
    if not asked.get("tools"):
        return {"text": '{"reasoning": "x", "next_speaker": "user"}'}
    if body.count(b'"functionResponse"') >= 3:
        return {"text": "All done."}
    args = {"command": SHELL, "description": "Run it"}
    return {"functionCall": {"name": "run_shell_command", "args": args}}


def test_gemini_cli_is_guided_in_one_request(ground, prompt):
    program = npm_program("@google/gemini-cli", "gemini")
    settings = ground.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"disableAutoUpdate": True},
                "privacy": {"usageStatisticsEnabled": False},
            }
        )
    )
    command = [program, "--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "-p", "Fix it."]
    with GeminiServer() as server:
        environment = ground.environment(
            GEMINI_API_KEY="k", GOOGLE_GEMINI_BASE_URL=server.base_url, GEMINI_SANDBOX="false"
        )
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run(command, environment, proxy)
    with GeminiServer() as direct:
        plain = ground.run(command, {**environment, "GOOGLE_GEMINI_BASE_URL": direct.base_url})

    assert (done.returncode, done.stdout.strip()) == (0, "All done."), done.stderr
    assert (plain.returncode, plain.stdout) == (done.returncode, done.stdout), plain.stderr
    counts = [n for n, each in zip(ground.guided(), ground.passed, strict=True) if tools_of(each)]
    assert counts == [0, 0, 1, 0]
    assert server.requests == [each.went for each in ground.passed]
    assert ground.guide.counts.runs == 1
    ground.check()
