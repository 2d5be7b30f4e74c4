"""A user of the command line: a home, a project, and Claude Code's settings."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

from trimtab._cli import main
from trimtab.inspection import refresh
from trimtab_claude_code import _client, _settings_edit
from trimtab_claude_code._canary import install_canary
from trimtab_claude_code._status import ask_server
from trimtab_claude_code._transport import remove_endpoint

VERSION = "2.1.332"
TOML = """
[hosts.claude-code]
prompt = "agent/main"
agents = { Explore = false, "general-purpose" = "agent/sub" }

[prompts."agent/main"]
guidance = [{ use = "claude-code-canary", options = { word = "main" } }]

[prompts."agent/sub"]
guidance = [{ use = "claude-code-canary", options = { word = "sub" } }]
"""


@attrs.frozen
class User:
    """A home, a project and a folder for state."""

    home: Path
    project: Path
    state: Path

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def write(self, content) -> Path:
        """Write the user's settings: bytes, text, or an object as JSON."""
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content, indent=2) + "\n"
        raw = content if isinstance(content, bytes) else content.encode()
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_bytes(raw)
        return self.settings


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user whose working directory is a project that assigns prompts."""
    user = User(tmp_path / "home", tmp_path / "project", tmp_path / "state")
    user.home.mkdir()
    user.project.mkdir()
    (user.project / "trimtab.toml").write_text(TOML)
    for name in [name for name in os.environ if name.startswith(("TRIMTAB_", "CLAUDE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(user.home))
    monkeypatch.setenv("TRIMTAB_HOME", str(user.state))
    monkeypatch.setattr(_settings_edit, "MANAGED", tmp_path / "managed")
    monkeypatch.chdir(user.project)
    install_canary(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    refresh()
    return user


@pytest.fixture
def trimtab(capsys):
    """Run a command line; return its exit status and what it printed.

    An installation does not try the program, unless one is named.
    """

    def run(*words):
        if words[0] == "install" and not {"--program", "--assume-version"} & {*words}:
            words = (*words, "--assume-version", VERSION)
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


@pytest.fixture
def folder(user):
    """The user's own folder; the server that runs there is ended afterwards."""
    from trimtab_claude_code._journal import user_folder

    folder = user_folder()
    yield folder
    end_server(folder)


def end_server(folder):
    """Let the server of a folder end, and wait until it has."""
    pid = server_pid(folder)
    remove_endpoint(folder)
    end = time.monotonic() + 20
    while pid and alive(pid) and time.monotonic() < end:
        time.sleep(0.02)


def server_pid(folder):
    """Return the process id of the server; None where none answers."""
    return ask_server(folder).process


def wait_for_server(folder, not_pid=None, seconds=30):
    """Wait until a server, another than `not_pid`, answers and events do not pass."""
    end = time.monotonic() + seconds
    while server_pid(folder) in (None, not_pid) or _events_pass(folder):
        assert time.monotonic() < end, "no server answers"
        time.sleep(0.05)


def _events_pass(folder):
    try:
        return time.time() < float((folder / _client.PAUSED).read_text().split()[0])
    except OSError:
        return False


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def hook(user, folder):
    """Run the client on an event, as the program does; return what it answers."""

    def run(event, *, fails=False, timeout="8", **variables):
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        done = subprocess.run(
            [sys.executable, "-I", "-S", _client.__file__, str(folder), timeout],
            input=body,
            capture_output=True,
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(user.project), **variables},
            check=False,
            timeout=60,
        )
        if fails:
            return done.returncode, done.stderr.decode()
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout or b"{}")

    return run


def payload(name, number=0, session_id="s", **fields):
    """One event of a session, in the shape that the program sends."""
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": f"t{number}"}
    batch = {"tool_calls": [{**call, "tool_response": "x"}]}
    content = batch if name == "PostToolBatch" else call
    head = {"session_id": session_id, "hook_event_name": name, "cwd": str(Path.cwd())}
    return {**head, **content, **fields}


def guidance(output):
    """Return the text that an output adds to the conversation."""
    return output.get("hookSpecificOutput", {}).get("additionalContext", "")
