"""The command hooks as the program runs them: one process, stdin to stdout, never an error."""

import json
import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trimtab_claude_code.service.endpoint import make_endpoint, read_endpoint
from trimtab_claude_code.service.wire import ask
from trimtab_claude_code.state.folders import user_folder
from trimtab_claude_code.state.troubles import Troubles

TURN = ("PreToolUse", "PostToolUse", "PostToolBatch")


def payload(name, number=0, **fields):
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": f"t{number}"}
    batch = {"tool_calls": [{**call, "tool_response": "x"}]}
    told = batch if name == "PostToolBatch" else call
    return {"session_id": "s", "hook_event_name": name, "cwd": str(Path.cwd()), **told, **fields}


@pytest.fixture
def hook(desk):
    """Run a hook's process on a payload; return what it answers."""

    def run(told, *words):
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        module = words or ("trimtab_claude_code.command", str(user_folder()))
        done = subprocess.run(
            [sys.executable, "-P", "-m", *module],
            input=body,
            capture_output=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout or b"{}")

    return run


LOUD = """
import os
from trimtab import ClassificationResult, DecisionPoint
print("imported")

class Loud:
    name, category, decision_points = "loud", "test", (DecisionPoint.PRE_TOOL_SELECTION,)
    def classify(self, *, context):
        print("asked")
        os.write(1, b"unbuffered")
        return ClassificationResult(relevant=False)
    def provide(self, *, context):
        raise AssertionError
"""


@pytest.fixture
def client(hook):
    """Run the hook that asks the resident process; end that process afterwards."""
    folder = user_folder()
    make_endpoint(folder)
    yield lambda told: hook(told, "trimtab_claude_code.client", str(folder / "service.json"))
    try:
        ask(read_endpoint(folder / "service.json"), b"", 5.0, "/trimtab/stop")
    except OSError:
        pass


def words(answer):
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def test_processes_follow_one_another_in_one_session(hook):
    assert "main-after-0" in words(hook(payload("UserPromptSubmit", prompt="Go.")))
    answers = [hook(payload(name, tool_response="x")) for name in TURN]

    assert answers[:2] == [{}, {}]
    assert "main-after-1" in words(answers[2])
    assert Troubles(user_folder()).all() == ()


def test_agent_types_have_the_prompts_that_the_configuration_names(hook):
    spoken = {
        kind: words(hook(payload("SubagentStart", agent_id=kind, agent_type=kind)))
        for kind in ("general-purpose", "Explore", "Plan")
    }

    assert "sub-after-0" in spoken["general-purpose"]
    assert spoken["Explore"] == ""
    assert "main-after-0" in spoken["Plan"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 50_000, b'"x"'])
def test_what_is_no_event_is_answered_with_nothing_and_told_later(hook, body):
    assert hook(body) == {}
    assert "could not be answered" in hook(payload("SessionStart"))["systemMessage"]
    assert "systemMessage" not in hook(payload("SessionStart"))


def test_a_broken_configuration_is_told_at_the_next_start(hook, desk):
    (desk.project / "trimtab.toml").write_text("[hosts.claude-code]\nprompt = 'no/such'")

    assert hook(payload("UserPromptSubmit", prompt="Go.")) == {}
    assert "no/such" in hook(payload("SessionStart"))["systemMessage"]


@pytest.mark.parametrize("how", ["command", "client"])
def test_every_session_that_begins_with_an_unreadable_configuration_says_so(
    how, hook, client, desk
):
    (desk.project / "trimtab.toml").write_text("[[[")
    ask_hook = client if how == "client" else hook

    for _ in range(2):
        assert "can't be read as TOML" in ask_hook(payload("SessionStart"))["systemMessage"]
    assert ask_hook(payload("UserPromptSubmit", prompt="Go.")) == {}


def test_a_project_without_configuration_is_left_alone(hook, desk):
    (desk.project / "trimtab.toml").unlink()

    assert hook(payload("SessionStart")) == {}
    assert hook(payload("UserPromptSubmit", prompt="Go.")) == {}


def test_the_project_folder_counts_more_than_where_the_shell_stands(hook, desk, monkeypatch):
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(desk.project))

    assert "main-after-0" in words(hook(payload("UserPromptSubmit", prompt="Go.", cwd="/")))


def test_the_client_starts_the_resident_process_and_hands_over(client):
    assert "main-after-0" in words(client(payload("UserPromptSubmit", prompt="Go.")))
    pid = json.loads(ask(make_endpoint(user_folder()), b"", 5.0, "/trimtab/status"))["pid"]

    assert client(payload("UserPromptSubmit", prompt="Go.")) == {}  # said before
    assert json.loads(ask(make_endpoint(user_folder()), b"", 5.0, "/trimtab/status"))["pid"] == pid


def test_a_port_in_strange_hands_is_told_where_a_session_begins(client, trimtab):
    import http.server
    import threading

    endpoint = make_endpoint(user_folder())
    address = ("127.0.0.1", endpoint.port)
    with http.server.HTTPServer(address, http.server.BaseHTTPRequestHandler) as stranger:
        threading.Thread(target=stranger.serve_forever, args=(0.05,), daemon=True).start()

        assert client(payload("UserPromptSubmit", prompt="Go.")) == {}
        said = client(payload("SessionStart"))["systemMessage"]
        assert trimtab("install", "claude-code")[0] == 0
        assert "main-after-0" in words(client(payload("UserPromptSubmit", prompt="Go.")))
        stranger.shutdown()

    assert "answered by another program; install the hooks again" in said
    assert read_endpoint(user_folder() / "service.json").port != endpoint.port


@pytest.mark.e2e  # it takes a while: once is enough
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
def test_a_port_that_says_nothing_costs_seconds_and_is_told(client, name):
    endpoint = make_endpoint(user_folder())
    with socket.create_server(("127.0.0.1", endpoint.port)):
        began = time.monotonic()
        said = client(payload(name)).get("systemMessage", "timed out")

    assert "timed out" in said
    assert time.monotonic() - began < 8  # the hook itself is given 10
    assert "timed out" in Troubles(user_folder()).all()[0].what


def test_a_port_that_another_connection_has_is_told_without_waiting(client):
    endpoint = make_endpoint(user_folder())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", endpoint.port))  # and does not listen
        began = time.monotonic()
        said = client(payload("SessionStart"))["systemMessage"]

    assert "ddress already in use" in said
    assert time.monotonic() - began < 4


def test_a_missing_endpoint_is_told_where_a_session_begins(client):
    (user_folder() / "service.json").unlink()

    assert "service.json" in client(payload("SessionStart"))["systemMessage"]


def test_status_shows_what_was_said_and_why_not(hook, trimtab):
    hook(payload("UserPromptSubmit", prompt="Go."))
    hook(payload("UserPromptSubmit", prompt="Go."))

    status, printed = trimtab("status", "claude-code")
    assert status == 0
    assert "main agent, prompt agent/main: 0 turns, 0 calls" in printed
    assert "delivered claude-code-canary pre_tool_selection: main-after-0" in printed
    assert "suppressed claude-code-canary pre_tool_selection: same text as before" in printed

    report = json.loads(trimtab("status", "claude-code", "--json")[1])
    (session,) = report["sessions"]
    assert [said["what"] for said in session["runs"][0]["decided"]] == ["delivered", "suppressed"]


def test_status_says_where_nothing_can_be_noted(desk, unmeasured):
    state = user_folder()

    # -B: Python would leave modules compiled in part.
    done = subprocess.run(
        [sys.executable, "-B", "-m", "trimtab", "status", "claude-code"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        env=unmeasured,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (1, "")
    assert f"trouble: {state} can't be written to: File too large" in done.stdout


def test_what_a_provider_prints_is_no_part_of_the_status(hook, desk):
    hook(payload("UserPromptSubmit", prompt="Go."))
    site = desk.home.parent / "site"
    offer = site / "loud-1.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1\n")
    (offer / "entry_points.txt").write_text("[trimtab.guidance]\nloud = loud:Loud\n")
    (site / "loud.py").write_text(LOUD)
    toml = (desk.project / "trimtab.toml").read_text()
    (desk.project / "trimtab.toml").write_text(
        toml.replace('{ use = "claude-code-canary", options = { word = "main" } }', '"loud"')
    )

    done = subprocess.run(
        [sys.executable, "-m", "trimtab", "status", "claude-code", "--json"],
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert len(json.loads(done.stdout)["sessions"]) == 1
    assert all(word in done.stderr for word in (b"imported", b"asked", b"unbuffered"))


def test_a_new_session_removes_journals_of_long_ago(hook, desk):
    hook(payload("UserPromptSubmit", session_id="old", prompt="Go."))
    hook(payload("UserPromptSubmit", session_id="recent", prompt="Go."))
    (old,) = desk.state.rglob("old.jsonl")
    days = 24 * 3600
    os.utime(old, (time.time() - 31 * days,) * 2)
    os.utime(old.with_name("recent.jsonl"), (time.time() - 29 * days,) * 2)

    hook(payload("SessionStart"))

    assert {file.stem for file in old.parent.glob("*.jsonl")} == {"recent", "s"}


def test_status_leaves_out_what_has_ended(hook, trimtab):
    hook(payload("UserPromptSubmit", prompt="Go."))
    hook(payload("SessionEnd", reason="other"))

    assert "no session is running" in trimtab("status", "claude-code")[1]
    assert "main-after-0" in trimtab("status", "claude-code", "--all")[1]
