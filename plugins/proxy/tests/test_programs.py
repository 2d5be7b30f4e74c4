"""Programs from npm behind the proxy: words in exactly one request, and nothing else changed."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from trimtab_signals import Calls
from trimtab_test_servers import Call, OpenAIServer, say

from .programs import SHELL, npm_program, steps

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

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


RESUMED = {
    "codex": ["resume", "--last", "--skip-git-repo-check", "-m", "gpt-5.1-codex", "On."],
    "qwen": ["--continue", "-p", "On."],
    "opencode": ["--continue", "On."],
}


@pytest.mark.parametrize("name", OPENAI_PROGRAMS)
def test_a_conversation_that_is_resumed_goes_on_in_its_run(ground, prompt, name):
    package, executable, call, before, after = OPENAI_PROGRAMS[name]
    program = npm_program(package, executable)
    script = iter([*steps(call, last="One."), *steps(call, call)])

    def answer(request):
        return next(script) if request.json.get("tools") else say("A title")

    with OpenAIServer(answer) as server:
        environment = openai_environment(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run([program, *before, *after], environment, proxy)
            again = ground.run([program, *before, *RESUMED[name]], environment, proxy)
            calls = ground.calls()

    assert (done.stdout.strip(), again.stdout.strip()) == ("One.", "All done."), again.stderr
    counts = [n for n, each in zip(ground.guided(), ground.passed, strict=True) if tools_of(each)]
    assert counts == [0, 0, 0, 1, 0]
    assert calls == [3]
    assert ground.guide.counts.runs == 1
    ground.check()


def tools_of(passed):
    return json.loads(passed.came).get("tools")


CODE = "const ran = await tools.exec_command({cmd: 'cat missing'}); throw new Error(ran.output);"


class ScriptServer:
    """Answers requests by a function of their bodies; a base for scripted APIs."""

    path = ""

    def __enter__(self):
        requests = self.requests = []
        script = self.answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                requests.append(body)
                kind, answer = script(self.path, body)
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}{self.path}"
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()


class CodeServer(ScriptServer):
    """A scripted Responses API for models that call tools by code: three times, then it ends."""

    path = "/v1"

    def answer(self, _, body):
        number = body.count(b'"custom_tool_call_output"')
        if number >= 3:
            part = {"type": "output_text", "text": "All done.", "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
        else:
            item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}"}
            item = {**item, "name": "exec", "input": CODE, "status": "completed"}
        usage = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
        response = {"id": f"resp_{number}", "object": "response", "output": [], "usage": usage}
        events = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**response, "status": "completed"}},
        ]
        stream = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        return "text/event-stream", "".join(stream).encode()


def test_codex_with_a_model_that_calls_tools_by_code_is_guided_in_one_request(ground, prompt):
    program = npm_program("@openai/codex", "codex")
    flags = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    with CodeServer() as server:
        environment = openai_environment(ground, server)
        with ground.proxy(prompt, environment) as proxy:
            done = ground.run([program, *flags, "Fix it."], environment, proxy)
            (known,) = (thread.follower.run for thread in ground.guide.threads)
            failed = known.trajectory.follow(Calls).consecutive_errors

    assert (done.returncode, done.stdout.strip()) == (0, "All done."), done.stderr
    assert ground.guided() == [0, 0, 1, 0]
    assert ground.relations() == {"new": 1, "next": 3}
    assert failed == 3
    ground.check()


class GeminiServer(ScriptServer):
    """A scripted Gemini API: calls the shell three times, then ends."""

    def answer(self, path, body):
        candidate = {"content": {"role": "model", "parts": [_part(body)]}, "finishReason": "STOP"}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": {}}).encode()
        if "stream" in path:
            return "text/event-stream", b"data: " + answer + b"\r\n\r\n"
        return "application/json", answer


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
