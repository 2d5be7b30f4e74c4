"""Real programs behind the proxy, with folders of their own, and what passed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from trimtab_proxy._guide import Guide
from trimtab_proxy._launching import launch
from trimtab_proxy._relay import Relay
from trimtab_proxy._server import ProxyServer
from trimtab_proxy._upstreams import read_upstreams
from trimtab_test_servers import Call, claude_code_environment, say

SECONDS = 110
INSTALL_SECONDS = 150
NEEDS_SCRIPTS = frozenset({"opencode-ai"})
SHELL = "cat missing"
CACHE = Path(sys.prefix) / "trimtab-programs"


@attrs.frozen
class Passed:
    """One request as the program sent it and as it went on."""

    path: str
    headers: dict
    came: bytes
    went: bytes
    sent_headers: tuple


@attrs.define
class Ground:
    """Where programs run: a folder to work in, a home, and the proxy's record."""

    folder: Path
    passed: list = attrs.field(factory=list)
    guide: Guide | None = None

    @property
    def work(self):
        return self.folder / "work"

    @property
    def home(self):
        return self.folder / "home"

    def environment(self, **more):
        kept = {n: v for n, v in os.environ.items() if n in {"PATH", "LANG", "TMPDIR", "TERM"}}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            **more,
        }

    def run(self, command, environment, proxy=None):
        """Run a program to its end, behind `proxy` where one is given."""
        if proxy is not None:
            start = launch(command, environment, proxy.base_url)
            command, environment = start.command, start.environment
        return subprocess.run(
            command,
            env=environment,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def proxy(self, prompt, environment, **options):
        self.guide = Guide(prompt, prompt, **options)
        return ProxyServer(self.guide, read_upstreams({}, environment))

    def guided(self):
        """How often the words stand in each request that went on."""
        return [each.went.count(b"Heed this") for each in self.passed]

    def check(self):
        """What holds whatever happens: nothing else changed, and nothing was left behind."""
        for each in self.passed:
            assert without_words(each) == each.came
            assert b"Heed this" not in each.came
            own = {b"host", b"content-length", b"accept-encoding"}
            sent = {pair for pair in each.headers if pair[0] not in own | {b"connection"}}
            assert sent == {pair for pair in each.sent_headers if pair[0] not in own}
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        assert not [path for path in files if b"Heed this" in path.read_bytes()]
        assert not self.guide.counts.failures

    def calls(self):
        """How many calls each run knows, while the proxy runs."""
        return sorted(t.follower.run.state.calls for t in self.guide.threads if t.told)

    def relations(self):
        return {str(relation): n for relation, n in self.guide.counts.relations.items()}


def without_words(passed):
    """Cut out what was put in; the rest must be what came."""
    start = next((i for i, b in enumerate(passed.came) if passed.went[i] != b), len(passed.came))
    extra = len(passed.went) - len(passed.came)
    for at in range(max(0, start - extra), start + 1):
        if passed.went[:at] + passed.went[at + extra :] == passed.came:
            return passed.came
    return passed.went


def record(monkeypatch, passed):
    """Keep what passes every proxy of this test."""
    outgoing = Relay._outgoing

    def keep(self, incoming, body):
        request = outgoing(self, incoming, body)
        sent = tuple((name.lower(), value) for name, value in request.headers.raw)
        path = incoming.route.rest.decode()
        passed.append(Passed(path, tuple(incoming.headers), incoming.body, body, sent))
        return request

    monkeypatch.setattr(Relay, "_outgoing", keep)


def npm_program(package, name):
    """The path of a program from the npm registry, installed once per environment."""
    folder = CACHE / package.replace("/", "+")
    program = folder / "node_modules" / ".bin" / name
    if not program.exists():
        npm = shutil.which("npm") or pytest.skip("needs npm")
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund"]
        if package not in NEEDS_SCRIPTS:  # other scripts fetch what the programs run without
            command.append("--ignore-scripts")
        command.append(package)
        _install(command, package)
    return str(program)


def claude_program(version=None):
    """The path of Claude Code as a wheel of its SDK bundles it; the installed one where None."""
    if version is None:
        sdk = pytest.importorskip("claude_agent_sdk", reason="needs the SDK and its program")
        return str(Path(sdk.__file__).parent / "_bundled" / "claude")
    folder = CACHE / f"claude-agent-sdk-{version}"
    program = folder / "claude_agent_sdk" / "_bundled" / "claude"
    if not program.exists():
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
        package = f"claude-agent-sdk=={version}"
        options = ["--no-deps", "--quiet", "--target", str(folder), "--python", sys.executable]
        _install([uv or pytest.skip("needs uv"), "pip", "install", *options, package], package)
    return str(program)


def _install(command, package):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} could not be installed in time")
    if done.returncode:
        pytest.skip(f"{package} can't be installed here: {done.stderr[-300:]}")


def json_result(done):
    """What Claude Code prints with ``--output-format json``."""
    return json.loads(done.stdout.strip().splitlines()[-1])


def bash(command=SHELL):
    """A call of Claude Code's shell."""
    return Call("Bash", {"command": command, "description": "Run it"})


def steps(*calls, last="All done."):
    """A script that makes one call after the other and ends."""
    return [*(say(call) for call in calls), say(last)]


def claude(program, *arguments, model="claude-sonnet-4-5"):
    """A command that runs Claude Code to the end of one turn."""
    flags = ["--permission-mode", "bypassPermissions", "--model", model, "--output-format", "json"]
    return [program, "-p", *arguments, *flags]


def at_home(ground, server):
    """The environment in which Claude Code goes to a server."""
    return ground.environment(**claude_code_environment(server, ground.home))
