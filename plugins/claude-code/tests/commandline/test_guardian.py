"""The resident process and the one that watches it, killed in every order."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trimtab_claude_code.service.endpoint import make_endpoint
from trimtab_claude_code.service.wire import ask
from trimtab_claude_code.state.folders import user_folder
from trimtab_claude_code.state.troubles import Troubles

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there nobody watches")


class Resident:
    """The processes behind the hooks, started as a hook starts them."""

    def __init__(self, folder):
        self.folder = folder
        self.endpoint = make_endpoint(folder)
        self.started = set()

    def start(self, **fields):
        """Begin a session; return what its user is told."""
        file = str(self.folder / "service.json")
        hook = subprocess.run(
            [sys.executable, "-P", "-m", "trimtab_claude_code.client", file],
            input=event("SessionStart", **fields),
            stdout=subprocess.PIPE,
            check=True,
            timeout=30,
        )
        self.started |= {*self.processes()}
        return json.loads(hook.stdout).get("systemMessage", "")

    def post(self, name, number=0, **fields):
        answer = ask(self.endpoint, event(name, number, **fields), 10.0)
        return json.loads(answer).get("hookSpecificOutput", {}).get("additionalContext", "")

    def processes(self):
        """The ids of the process that serves and of the one that watches it."""
        answer = json.loads(ask(self.endpoint, b"", 10.0, "/trimtab/status"))
        return answer["pid"], answer["guardian"]

    def troubles(self):
        return [trouble.what for trouble in Troubles(self.folder).all()]

    def stop(self):
        ask(self.endpoint, b"", 5.0, "/trimtab/stop")

    def is_silent(self):
        try:
            socket.create_connection(("127.0.0.1", self.endpoint.port), timeout=5).close()
        except ConnectionRefusedError:
            return True
        return False


def event(name, number=0, **fields):
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": f"t{number}"}
    batch = {"tool_calls": [{**call, "tool_response": "x"}]}
    told = batch if name == "PostToolBatch" else call
    common = {"session_id": "s", "hook_event_name": name, "cwd": str(Path.cwd())}
    return json.dumps({**common, **told, **fields}).encode()


@pytest.fixture
def resident(desk):
    resident = Resident(user_folder())
    yield resident
    try:
        resident.stop()
    except OSError:
        pass
    assert all(gone(pid) for pid in resident.started)


def gone(pid):
    """Wait until a process has ended; return whether it has."""
    return until(lambda: not running(pid))


def running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"  # nobody may be there to bury it


def until(happens, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not happens() and time.monotonic() < deadline:
        time.sleep(0.02)
    return happens()


def test_events_wait_for_the_next_process_when_one_is_killed(resident):
    resident.start()
    pid, guardian = resident.processes()
    resident.post("UserPromptSubmit", prompt="Go.")
    for name in ("PreToolUse", "PostToolUse", "PostToolBatch"):
        resident.post(name, 1, tool_response="x")

    os.kill(pid, signal.SIGKILL)
    said = [resident.post(name, 2, tool_response="x") for name in ("PreToolUse", "PostToolBatch")]

    assert said == ["", said[1]]
    assert "main-after-2" in said[1]
    resident.started |= {*resident.processes()}
    assert resident.processes()[1] == guardian
    assert resident.processes()[0] != pid
    assert "died of signal 9, Killed; it was started again" in resident.start(source="resume")
    assert resident.start(source="resume") == ""


@pytest.mark.e2e  # it takes a while: once is enough
@pytest.mark.timeout(60)
def test_a_stuck_process_is_replaced_and_its_events_are_answered(resident):
    resident.start()
    pid, guardian = resident.processes()

    os.kill(pid, signal.SIGSTOP)
    answer = ask(resident.endpoint, event("PreToolUse"), 40.0)  # behind the beats of the next one

    assert json.loads(answer) == {}
    assert resident.processes()[0] != pid
    assert resident.processes()[1] == guardian
    assert gone(pid)
    assert "was stuck for 15 s" in resident.troubles()[0]
    resident.started |= {*resident.processes()}


@pytest.mark.e2e  # as above
@pytest.mark.timeout(60)
def test_a_process_with_nothing_to_do_is_not_stuck(resident):
    resident.start()
    before = resident.processes()

    time.sleep(17.0)

    assert resident.processes() == before


def test_many_events_at_once_are_answered_by_the_next_process(resident):
    resident.start()
    os.kill(resident.processes()[0], signal.SIGKILL)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: resident.post("PreToolUse", n), range(60)))

    assert answers == [""] * 60
    resident.started |= {*resident.processes()}
    (journal,) = resident.folder.rglob("s.jsonl")
    assert sum(b'"PreToolUse"' in line for line in journal.read_bytes().splitlines()) == 60


def test_a_process_that_dies_again_and_again_is_given_up(resident):
    resident.start()
    for _ in range(4):
        pid, _ = resident.processes()
        resident.started.add(pid)
        os.kill(pid, signal.SIGKILL)

    assert until(resident.is_silent)
    assert "4 times within a minute, at last of signal 9, Killed" in resident.troubles()[-1]
    assert "4 times within a minute" in resident.start()  # which has begun anew


@pytest.mark.parametrize("both", [False, True])
def test_a_killed_guardian_leaves_no_process_and_the_next_session_says_so(resident, both):
    resident.start()
    pid, guardian = resident.processes()

    os.kill(guardian, signal.SIGKILL)
    if both:
        os.kill(pid, signal.SIGKILL)

    assert gone(pid)
    assert gone(guardian)
    assert resident.is_silent()
    assert "and the one that watches it were killed" in resident.start()
    assert resident.start() == ""


def test_a_guardian_that_is_told_to_end_ends_both_and_nothing_is_wrong(resident):
    resident.start()
    pid, guardian = resident.processes()

    os.kill(guardian, signal.SIGTERM)

    assert gone(pid)
    assert gone(guardian)
    assert resident.start() == ""


def test_a_stop_ends_both_at_once_and_the_next_session_starts_others(resident):
    resident.start()
    before = resident.processes()

    resident.stop()

    assert until(resident.is_silent, seconds=0.3)
    assert resident.start() == ""
    assert not {*before} & {*resident.processes()}
    assert resident.troubles() == []


def test_both_end_when_the_state_folder_is_gone(resident):
    resident.start()
    processes = resident.processes()

    shutil.rmtree(resident.folder)

    assert all(gone(pid) for pid in processes)


LINGERING = """
import time
from concurrent.futures import ThreadPoolExecutor
from trimtab_claude_code.canary import Canary

class Lingering(Canary):
    def classify(self, *, context):
        ThreadPoolExecutor().submit(time.sleep, 60)
        return super().classify(context=context)
"""


def test_a_thread_that_a_provider_left_running_keeps_no_process(resident, desk, tmp_path):
    info = tmp_path / "site" / "lingering-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: lingering\nVersion: 1\nRequires-Dist: trimtab\n")
    (info / "entry_points.txt").write_text("[trimtab.guidance]\nlinger = lingering:Lingering\n")
    (tmp_path / "site" / "lingering.py").write_text(LINGERING)
    toml = (desk.project / "trimtab.toml").read_text().replace("claude-code-canary", "linger", 1)
    (desk.project / "trimtab.toml").write_text(toml)
    resident.start()
    assert "main-after-0" in resident.post("UserPromptSubmit", prompt="Go.")
    processes = resident.processes()

    resident.stop()

    assert all(gone(pid) for pid in processes)
    assert resident.start() == ""


def test_installing_again_puts_new_processes_in_the_place_of_those_that_run(resident):
    resident.start()
    before = resident.processes()

    trimtab("install", "--project")

    resident.started |= {*resident.processes()}
    assert not {*before} & {*resident.processes()}
    assert resident.troubles() == []
    trimtab("uninstall", "--project")
    assert until(resident.is_silent)
    trimtab("install", "--user")
    assert resident.is_silent()


def test_uninstalling_in_one_place_leaves_the_process_to_others(resident):
    trimtab("install", "--user")
    trimtab("install", "--project")
    resident.start()

    trimtab("uninstall", "--project")
    assert not until(resident.is_silent, seconds=0.5)
    trimtab("uninstall", "--user")
    assert until(resident.is_silent)


def trimtab(verb, *words):
    command = [sys.executable, "-m", "trimtab", verb, "claude-code", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout


def test_status_names_both(resident):
    resident.start()

    pid, guardian = resident.processes()

    assert f"running, process {pid}, watched by {guardian}" in trimtab("status")


def test_a_port_that_is_taken_is_told(resident):
    resident.start()

    done = subprocess.run(
        [sys.executable, "-m", "trimtab_claude_code.service", resident.folder / "service.json"],
        capture_output=True,
        timeout=30,
    )

    assert done.returncode == 1
    assert b"ddress already in use" in done.stderr
