"""The client and the server of hook events: one process for all sessions, private to its user."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from trimtab_claude_code import _client
from trimtab_claude_code._launcher import start_server
from trimtab_claude_code._server import InstalledPackages
from trimtab_claude_code._transport import PORT, SOCKET, connect, remove_endpoint

from .conftest import alive, end_server, guidance, payload, server_pid, wait_for_server

pytestmark = pytest.mark.slow

TURN = ("PreToolUse", "PostToolUse", "PostToolBatch")


def rss(pid):
    (line,) = (
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in line
    )
    return int(line.split()[1])


def waited(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_the_first_event_starts_the_server_and_all_are_answered(hook, folder):
    assert "main-after-0" in guidance(hook(payload("UserPromptSubmit", prompt="Go.")))
    said = [guidance(hook(payload(name))) for name in TURN]

    assert "main-after-1" in said[-1]
    assert server_pid(folder)


def test_agent_types_have_the_prompts_that_the_configuration_names(hook):
    sub = {"agent_id": "a1", "agent_type": "general-purpose"}
    alone = {"agent_id": "a2", "agent_type": "Explore"}

    assert "sub-after-0" in guidance(hook(payload("SubagentStart", **sub)))
    assert guidance(hook(payload("SubagentStart", **alone))) == ""


def imported_by_the_client(folder):
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", _client.__file__, str(folder), "8"],
        input=json.dumps(payload("PreToolUse")).encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )

    lines = done.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines}


NEEDLESS = {"re", "typing", "pathlib", "hashlib", "json", "os", "socket", "enum", "site"}


def test_the_client_imports_built_in_modules_only(user, folder, hook):
    hook(payload("UserPromptSubmit", prompt="Go."))

    assert imported_by_the_client(folder) & NEEDLESS == set()


def test_so_does_it_for_half_a_minute_after_a_start_that_failed(folder):
    failed = folder / _client.FAILED
    failed.touch()

    assert imported_by_the_client(folder) & NEEDLESS == set()

    long_ago = time.time() - _client.RETRY_AFTER - 1
    os.utime(failed, (long_ago, long_ago))
    assert imported_by_the_client(folder) >= {"json", "pathlib"}
    assert not failed.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_port_is_opened_and_nobody_else_can_enter(hook, folder):
    hook(payload("SessionStart"))

    pid = server_pid(folder)
    sockets = {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir() if file.exists()}
    listening = {
        f"socket:[{fields[9]}]"
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:])
    }
    assert sockets & listening == set()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.rglob("*"):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def test_a_folder_that_others_can_enter_is_closed_first(hook, folder):
    folder.chmod(0o755)

    assert guidance(hook(payload("UserPromptSubmit", prompt="Go.")))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs another user")
def test_a_folder_of_another_user_is_not_used(hook, folder):
    os.chown(folder, 65_534, 65_534)

    said = hook(payload("SessionStart"))

    assert "is not a folder of this user" in said["systemMessage"]
    os.chown(folder, 0, 0)


def test_a_long_path_of_the_folder_is_no_obstacle(user, tmp_path):
    folder = tmp_path / "a long name".ljust(120, "x") / "state"
    folder.mkdir(parents=True, mode=0o700)
    command = [sys.executable, "-I", "-S", _client.__file__, str(folder), "8"]
    event = json.dumps(payload("UserPromptSubmit", prompt="Go.")).encode()
    try:
        answers = [subprocess.run(command, input=event, capture_output=True) for _ in range(2)]
    finally:
        end_server(folder)

    assert b"main-after-0" in answers[0].stdout
    assert answers[1].stdout == b""  # the same words are not said twice


def test_a_killed_server_is_started_again_and_counts_go_on(hook, folder):
    for number in range(3):
        for name in TURN:
            said = guidance(hook(payload(name, number)))
        os.kill(server_pid(folder), signal.SIGKILL)
        assert f"main-after-{number + 1}" in said


def test_a_server_that_does_not_answer_is_ended_and_replaced_meanwhile(hook, folder):
    hook(payload("UserPromptSubmit", prompt="Go."))
    pid = server_pid(folder)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert hook(payload("PreToolUse"), timeout="1.7") == {}
        assert not alive(pid)
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGCONT)

    wait_for_server(folder, pid)
    said = [guidance(hook(payload(name))) for name in TURN[1:]]
    assert "main-after-1" in said[-1]


def test_a_listener_that_says_nothing_costs_one_event_seconds(hook, folder):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(folder / SOCKET))
        stranger.listen()
        assert hook(payload("PreToolUse"), timeout="1.7") == {}

        wait_for_server(folder)
        said = [guidance(hook(payload(name))) for name in TURN]

    assert "main-after-1" in said[-1]


def test_where_no_server_can_start_each_event_goes_on_and_the_user_is_told(hook, folder, user):
    site = user.home.parent / "site"
    (site / "trimtab_claude_code").mkdir()
    (site / "trimtab_claude_code" / "__init__.py").write_text("raise OSError('broken')")

    told = hook(payload("SessionStart"))["systemMessage"]
    began = time.monotonic()
    said = [hook(payload(name)) for name in TURN]
    seconds = time.monotonic() - began
    status, text = hook(payload("SessionEnd"), fails=True)

    assert "trimtab is inactive in this session" in told
    assert "broken" in told
    assert said == [{}, {}, {}]
    assert seconds < 10
    assert (status, "The hook server can't be reached" in text) == (1, True)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\0\0\0", b"\xff\xfe", b'{"a":' * 5000, b"x" * 17_000_000]
)
def test_what_is_no_event_is_answered_with_nothing(hook, body):
    assert hook(body) == {}
    assert guidance(hook(payload("UserPromptSubmit", prompt="Go.")))


def test_a_large_event_is_answered(hook):
    hook(payload("UserPromptSubmit", prompt="Go."))
    large = payload("PostToolUse", tool_response={"stdout": "x" * 10_000_000})

    assert hook(large) == {}


def test_many_sessions_at_once_are_answered_by_one_server(hook, folder, user):
    answers = {}

    def run(number):
        event = payload("UserPromptSubmit", session_id=f"s{number}", prompt="Go.")
        answers[number] = guidance(hook(event, timeout="30"))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all("main-after-0" in answers[number] for number in range(12))
    servers = subprocess.run(
        ["ps", "-ewwo", "args"], capture_output=True, text=True, check=True
    ).stdout
    assert servers.count(f"_server {folder}") == 1


def test_silent_connections_do_not_keep_others_out(hook, folder):
    hook(payload("UserPromptSubmit", prompt="Go."))
    silent = [connect(folder, 5) for _ in range(60)]
    try:
        assert hook(payload("PreToolUse"), timeout="30") == {}
    finally:
        for connection in silent:
            connection.close()
    assert "main-after-1" in guidance(hook(payload("PostToolBatch")))


HANGING = """
import time
time.sleep(60)
"""


def test_a_provider_that_hangs_while_it_is_imported_costs_one_project_little(
    hook, folder, user, tmp_path
):
    hook(payload("UserPromptSubmit", prompt="Go."))
    site, other = tmp_path / "site", tmp_path / "other"
    other.mkdir()
    offer = site / "hanging-1.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: hanging\nVersion: 1\n")
    (offer / "entry_points.txt").write_text("[trimtab.guidance]\nhanging = hanging:Hanging\n")
    (site / "hanging.py").write_text(HANGING)
    (other / "trimtab.toml").write_text(
        '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\nguidance = ["hanging"]\n'
    )
    there = {"CLAUDE_PROJECT_DIR": str(other)}
    pid = server_pid(folder)
    waited(lambda: not pid or not alive(pid))  # it has seen the new package
    hook(payload("PreToolUse"))

    began = time.monotonic()
    for _ in range(2):
        assert hook(payload("SessionStart", session_id="other"), **there, timeout="6") or True
    seconds = time.monotonic() - began
    wait_for_server(folder)  # events pass for a while after one that was not answered

    assert seconds < 20
    assert "main-after" in guidance(hook(payload("PostToolBatch")))


def test_only_installing_and_removing_packages_counts_as_a_change(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    packages = InstalledPackages()

    (tmp_path / "__pycache__").mkdir()
    assert not packages.changed()
    (tmp_path / "new-1.dist-info").mkdir()
    assert packages.changed()


@pytest.mark.parametrize("session_id", [None, "", 5, {"a": 1}, ["x"] * 1000, True])
def test_an_event_without_a_session_is_answered_with_nothing(hook, user, session_id):
    assert hook(payload("UserPromptSubmit", session_id=session_id, prompt="Go.")) == {}
    assert list(user.state.rglob("*.jsonl")) == []


def test_memory_stays_flat_over_many_events(hook, folder):
    hook(payload("UserPromptSubmit", prompt="Go."))
    pid = server_pid(folder)
    head = b"\0".join([b"event", str(Path.cwd()).encode(), *[b""] * (len(_client.NAMES) - 1)])

    def send(number):
        for name in TURN:
            event = payload(name, number, tool_response={"stdout": "x" * 5000})
            _client_ask(folder, head + b"\0" + json.dumps(event).encode())

    for number in range(150):
        send(number)
    before = rss(pid)
    for number in range(150, 450):
        send(number)

    assert rss(pid) - before < 8_000


def _client_ask(folder, request):
    with connect(folder, 10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass


def test_the_server_ends_when_its_endpoint_is_removed(hook, folder):
    hook(payload("SessionStart"))
    pid = server_pid(folder)

    assert remove_endpoint(folder)

    assert waited(lambda: not alive(pid))


def test_the_server_ends_when_packages_are_installed(hook, folder, user):
    hook(payload("SessionStart"))
    pid = server_pid(folder)
    (user.home.parent / "site" / "new-1.dist-info").mkdir()

    assert waited(lambda: not alive(pid))
    assert guidance(hook(payload("UserPromptSubmit", prompt="Go.")))


def test_starting_twice_starts_one(user, folder):
    start_server(folder)
    pid = server_pid(folder)

    start_server(folder)

    assert server_pid(folder) == pid


# Where there are no Unix sockets.


@pytest.fixture
def portable(folder):
    """A folder in which no socket can be made."""
    (folder / SOCKET).mkdir()
    (folder / SOCKET / "file").touch()
    yield folder
    end_server(folder)


def test_without_unix_sockets_a_port_is_chosen_at_each_start(hook, portable):
    assert guidance(hook(payload("UserPromptSubmit", prompt="Go.")))
    first = (portable / PORT).read_text()
    assert stat.S_IMODE((portable / PORT).stat().st_mode) == 0o600
    pid = server_pid(portable)

    os.kill(pid, signal.SIGKILL)
    said = [guidance(hook(payload(name))) for name in TURN]

    assert "main-after-1" in said[-1]
    port, secret = first.split()
    again = (portable / PORT).read_text().split()
    assert secret not in again
    assert port not in again


def listening_on(port, seconds=60):
    """Listen on a port that was in use until now: its last connections may still be closing."""
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(0.1)


def test_who_takes_the_port_learns_nothing_and_decides_nothing(hook, portable):
    hook(payload("SessionStart"))
    pid = server_pid(portable)
    port = int((portable / PORT).read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    assert waited(lambda: not alive(pid))
    heard = []

    def listen(stranger):
        while True:
            try:
                connection, _ = stranger.accept()
            except OSError:
                return
            with connection:
                heard.append(connection.recv(4096))
                connection.sendall(b"x" * 16 + b'+={"continue": false}')

    with listening_on(port) as stranger:
        threading.Thread(target=listen, args=(stranger,), daemon=True).start()
        said = hook(payload("UserPromptSubmit", prompt="SECRET"))
        stranger.shutdown(socket.SHUT_RDWR)

    assert "main-after-0" in guidance(said)
    assert heard
    assert all(len(part) == 16 for part in heard)


def test_a_client_without_the_secret_is_not_answered(hook, portable):
    hook(payload("SessionStart"))
    port = int((portable / PORT).read_text().split()[0])

    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(bytes(16))
        assert len(connection.recv(32)) in range(1, 33)
        connection.sendall(bytes(16) + b"event" + bytes(7) + b'{"hook_event_name": "Stop"}')
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:
            pass


def test_a_file_in_the_folder_of_a_server_is_no_new_package(tmp_path, monkeypatch):
    """With ``python -c``, an empty name on ``sys.path`` is the folder that the server works in."""
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.chdir(tmp_path)
    packages = InstalledPackages()
    (tmp_path / "calls").write_text("x")

    assert not packages.changed()
