"""Whatever a provider does, the agent waits two seconds for an event at most."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from trimtab_claude_code import _client
from trimtab_claude_code._breaker import EVENT_SECONDS
from trimtab_claude_code._guided_session import LOAD_SECONDS
from trimtab_trace import SetAside

from .conftest import alive, guidance, payload, server_pid, wait_for_server

pytestmark = pytest.mark.slow

TURN = ("PreToolUse", "PostToolUse", "PostToolBatch")
MODULE = """
import os, re, signal, time
from trimtab import ClassificationResult

class Provider:
    name, category = "NAME", "test"

    def __init__(self):
        AT_START

    def classify(self, context):
        if context.tool_call_count:
            ACT
        return ClassificationResult(relevant=False)

    def provide(self, context):
        raise NotImplementedError
"""
ACTS = {
    "backtracking": "re.match(r'(a+)+$', 'a' * 44 + 'b')",
    "exiting": "os._exit(3)",
    "crashing": "signal.raise_signal(11)",
}
TOML = """
[hosts.claude-code]
prompt = "agent/main"
[prompts."agent/main"]
guidance = [{names}, {{ use = "claude-code-canary", options = {{ word = "main" }} }}]
"""


@pytest.fixture
def offer(user, tmp_path):
    """Install a provider that does something, and enable it before the canary."""

    def offer(name, act, at_start="pass"):
        site = tmp_path / "site"
        made = site / f"{name}-1.dist-info"
        made.mkdir()
        (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (made / "entry_points.txt").write_text(
            f"[trimtab.guidance]\n{name} = module_{name}:Provider\n"
        )
        code = MODULE.replace("NAME", name).replace("ACT", act).replace("AT_START", at_start)
        (site / f"module_{name}.py").write_text(code)
        names.append(name)
        listed = ", ".join(f'"{one}"' for one in names)
        (user.project / "trimtab.toml").write_text(TOML.format(names=listed))

    names = []
    return offer


@pytest.fixture
def event(user, folder):
    """Run the client as the installed hooks do; return its output and the seconds it took."""

    def run(name, number=0, session_id="s", seconds=EVENT_SECONDS, **fields):
        body = json.dumps(payload(name, number, session_id, **fields)).encode()
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-I", "-S", _client.__file__, str(folder), f"{seconds:g}"],
            input=body,
            capture_output=True,
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(user.project)},
            check=True,
            timeout=60,
        )
        return guidance(json.loads(done.stdout or b"{}")), time.monotonic() - began

    return run


def servers(folder):
    """The processes of this folder's server."""
    lines = subprocess.run(
        ["ps", "-ewwo", "pid,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if f"_server {folder}" in line]


def why_left_out(trimtab):
    """Why all providers are left out of a session, as ``trimtab status`` says it."""
    sessions = json.loads(trimtab("status", "--all", "--json")[1])["sessions"]
    nudges = [nudge for session in sessions for nudge in session["nudges"]]
    (reason,) = [nudge["reason"] for nudge in nudges if nudge["provider"] == "every provider"]
    return reason


@pytest.fixture
def begin(hook, folder):
    """Load the session, with time for it: how long a cold start takes is another question."""

    def begin():
        hook(payload("UserPromptSubmit", prompt="Go."), timeout="30")
        wait_for_server(folder)
        return folder

    return begin


@pytest.mark.parametrize("name", ACTS)
def test_a_provider_that_holds_or_ends_the_server_costs_one_event_and_stays_out(
    name, offer, begin, event, trimtab
):
    offer(name, ACTS[name])
    folder = begin()
    first = server_pid(folder)

    took = [event(each)[1] for each in TURN]
    wait_for_server(folder)
    later = [event(each, 1, seconds=30) for each in TURN]  # it loads the project anew

    assert not alive(first)
    assert max(took) < 3.5  # 2 s, and room for a machine under load
    assert "main-after-2" in later[-1][0]  # the other provider goes on
    assert {*SetAside(folder.parent).read()} == {name}
    said = trimtab("status")[1]
    assert name in said
    assert f"--bring-back {name}" in said
    assert len(servers(folder)) == 1


def test_a_provider_that_was_brought_back_is_asked_again(offer, hook, begin, user, trimtab):
    offer("exiting", ACTS["exiting"])
    SetAside(user.state).add("exiting", host="claude-code", reason="ended the hook server")
    begin()
    assert hook(payload("PreToolUse")) == {}
    assert [*SetAside(user.state).read()] == ["exiting"]

    assert trimtab("status", "--bring-back", "exiting")[0] == 0

    assert SetAside(user.state).read() == {}
    status, said = trimtab("status", "--bring-back", "exiting")
    assert (status, "exiting is not set aside" in said) == (2, True)


def test_a_session_waits_twice_at_most(offer, begin, event, trimtab):
    for number in range(3):  # each is found only when the one before it is out
        offer(f"backtracking{number}", ACTS["backtracking"])
    folder = begin()

    took = []
    for number in range(6):
        took += [event(each, number)[1] for each in TURN]
        wait_for_server(folder)

    assert sum(1 for seconds in took if seconds > EVENT_SECONDS) == 2
    assert len(servers(folder)) == 1
    reason = why_left_out(trimtab)
    assert reason.startswith("the agent has waited 3.")
    assert "backtracking0 1.7 s, backtracking1 1.7 s" in reason


def test_a_session_waits_five_seconds_at_most_however_slow_its_providers_are(
    offer, begin, event, trimtab, tmp_path
):
    """None of them is overdue, and the server is started again before the time is reached."""
    asked = tmp_path / "asked"
    for number in range(6):
        offer(f"slow{number}", f"time.sleep(0.15), open({str(asked)!r}, 'a').write('x')")
    offer("holding", "re.match(r'(a+)+$', 'a' * 20 + 'b')")
    folder = begin()
    counts = []
    for number in range(5):
        for each in TURN:
            event(each, number)
        counts.append(asked.stat().st_size)
        if number == 0:
            os.kill(server_pid(folder), signal.SIGKILL)
            event("PostToolBatch", session_id="other", seconds=30)
        wait_for_server(folder)  # where a slow event has made others pass

    assert counts[0] < counts[-1] == counts[-2]
    assert 0.15 * counts[-1] < 5 + 2 * LOAD_SECONDS  # of two servers
    assert "slow" in why_left_out(trimtab)
    assert "goes on without" in trimtab("status", "claude-code")[1]


def test_a_provider_that_sleeps_is_left_out_of_the_session(offer, begin, event, trimtab):
    offer("sleeping", "time.sleep(60)")
    begin()

    said = [event(each, number) for number in range(2) for each in TURN]

    assert sum(seconds > 0.9 for _, seconds in said) <= 2
    assert "main-after-2" in said[-1][0]
    assert "sleeping left out (the agent has waited 1.0 s for it)" in trimtab("status")[1]


def test_a_checker_may_take_its_time_while_the_server_answers(user, hook, folder, tmp_path):
    site = tmp_path / "site"
    made = site / "checking-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: checking\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[trimtab.completion]\nchecking = checking:Checker\n")
    (site / "checking.py").write_text(
        "import time\nfrom trimtab import TaskCompletionResult\n"
        "class Checker:\n"
        "    name = 'checking'\n"
        "    def check(self, context):\n"
        "        time.sleep(4)\n"
        "        return TaskCompletionResult.incomplete('Run the tests.')\n"
    )
    (user.project / "trimtab.toml").write_text(
        '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\ncompletion = ["checking"]\n'
    )
    hook(payload("UserPromptSubmit", prompt="Go."), timeout="30")
    done = subprocess.run(
        [sys.executable, "-I", "-S", _client.__file__, str(folder), f"{EVENT_SECONDS:g}", "30"],
        input=json.dumps(payload("Stop", last_assistant_message="Done.")).encode(),
        capture_output=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(user.project)},
        check=True,
        timeout=60,
    )

    assert "Run the tests." in guidance(json.loads(done.stdout))


def test_a_server_in_which_no_thread_can_run_ends_itself(user, folder, tmp_path):
    code = (
        "import re, sys, threading\n"
        "from pathlib import Path\n"
        "from trimtab_claude_code import _server\n"
        "_server._HELD_TIMEOUT = 1.5\n"
        "def hold():\n"
        "    re.match(r'(a+)+$', 'a' * 60 + 'b')\n"
        "threading.Timer(1.0, hold).start()\n"
        "_server.main([sys.argv[1]])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], timeout=60, check=False)

    assert done.returncode == 1


def test_a_server_that_nobody_asks_ends_itself(user, folder):
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from trimtab_claude_code._server import HookServer\n"
        "from trimtab_claude_code._transport import Listener\n"
        "os.chdir(sys.argv[1])\n"
        "HookServer(Path(sys.argv[1]), Listener(Path(sys.argv[1])), idle_timeout=0.1).serve()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], timeout=60, check=False)

    assert done.returncode == 0
    assert server_pid(folder) is None


@pytest.mark.skipif(sys.platform == "win32", reason="sets a limit of the system")
def test_a_full_disk_does_not_silence_a_living_server(hook, folder, user):
    import resource

    hook(payload("UserPromptSubmit", prompt="Go."), timeout="30")
    resource.prlimit(server_pid(folder), resource.RLIMIT_FSIZE, (0, 0))

    for session in ("s", "new"):
        for name in TURN:
            said = guidance(hook(payload(name, session_id=session)))
        assert "main-after-1" in said
