"""DESIGN 6 for Claude Code: hooks over HTTP for each tool turn, and the start of a command hook.

The turns are those of the real program against a scripted model; without the program only the
resident process itself is measured.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from measure import row

from trimtab_claude_code.service.endpoint import FILE, make_endpoint
from trimtab_claude_code.service.wire import ask
from trimtab_claude_code.verbs.doctor import find_program

STARTS, TURNS, RUNS = 21, 20, 5
TOML = """
[hosts.claude-code]
prompt = "bench/main"
[prompts."bench/main"]
guidance = ["doom-loop", "diagnostic-signal"]
"""


def trimtab(*words: str, work: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "trimtab", *words], cwd=work, check=True, stdout=subprocess.DEVNULL
    )


def started(code: list[str], body: bytes) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-P", *code], input=body, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def starts(work: Path, state: Path) -> None:
    """Start each kind of process in turn, so that all meet the same noise."""
    before, after, batch = events(0, work)
    folder = state / "claude-code"
    command = ["-m", "trimtab_claude_code.command", str(folder)]
    client = ["-m", "trimtab_claude_code.client", str(folder / FILE)]
    runs = [
        (["-c", "pass"], b""),
        (["-c", "import attrs, pluggy"], b""),
        (command, batch),
        (command, before),
        (client, after),
    ]
    rounds = [[started(*run) for run in runs] for _ in range(STARTS + 1)][1:]
    bare, imports, asking, noting, client_ms = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    beside = f"import attrs, pluggy: {imports - bare:.0f} ms over bare Python ({bare:.0f} ms)"
    row("command hook, two providers: where one may speak", over(asking, bare), "≤ 90 ms", beside)
    row("  where nobody may", over(noting, bare), "≤ 90 ms")
    row("  that asks the resident process", over(client_ms, bare), "")


def over(taken: float, bare: float) -> str:
    return f"{taken - bare:.0f} ms"


def resident(work: Path, state: Path) -> None:
    """Post the three events of a tool turn, without the program."""
    endpoint = make_endpoint(state / "claude-code")
    taken = []
    for number in range(60):
        bodies = list(events(number, work))
        began = time.perf_counter()
        for body in bodies:
            ask(endpoint, body, 10.0)
        taken.append((time.perf_counter() - began) * 1000)
    row("resident process: three events of a turn", f"{statistics.median(taken):.1f} ms", "")


def events(number: int, work: Path) -> Iterator[bytes]:
    call = {
        "tool_name": "Read",
        "tool_input": {"file_path": f"{number}.txt"},
        "tool_use_id": f"t{number}",
    }
    told = {"session_id": "posts", "cwd": str(work)}
    yield json.dumps({**told, **call, "hook_event_name": "PreToolUse"}).encode()
    after = {**told, **call, "hook_event_name": "PostToolUse", "tool_response": "text"}
    yield json.dumps(after).encode()
    batch = [{**call, "tool_response": "text"}]
    yield json.dumps({**told, "hook_event_name": "PostToolBatch", "tool_calls": batch}).encode()


def turn(program: Path, work: Path, *words: str) -> float:
    """Return the median milliseconds between two requests of the program."""
    from trimtab_test_servers import AnthropicServer, Call, claude_code_environment, say

    came: list[float] = []

    def script(_: object) -> object:
        came.append(time.perf_counter())
        number = len(came)
        read = Call("Read", {"file_path": str(work / f"{number % 5}.txt")})
        return say(read) if number <= TURNS else say("Done.")

    with tempfile.TemporaryDirectory() as home, AnthropicServer(script) as server:
        subprocess.run(
            [program, "-p", "Go.", *words, "--model", "claude-opus-5"],
            cwd=work,
            env={**os.environ, **claude_code_environment(server, Path(home))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )
    gaps = [later - earlier for earlier, later in itertools.pairwise(came)]
    return statistics.median(gaps) * 1000


class _Nothing(BaseHTTPRequestHandler):
    """Answers each hook at once with nothing: what is left is the program's own price."""

    def do_POST(self) -> None:  # http.server's name
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def idle_settings(settings: Path) -> Iterator[Path]:
    """Serve the same hooks by a process that does nothing; return settings that lead there."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Nothing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        port = make_endpoint(Path(os.environ["TRIMTAB_HOME"], "claude-code")).port
        text = settings.read_text().replace(f":{port}/", f":{server.server_port}/")
        idle = settings.with_name("idle.json")
        idle.write_text(text)
        yield idle
        server.shutdown()


def turns(program: Path, work: Path, settings: Path) -> None:
    """Run without hooks, with hooks that do nothing and with trimtab's in turn."""
    with idle_settings(settings) as idle:
        ways = ((), ("--settings", str(idle)), ("--settings", str(settings)))
        rounds = [[turn(program, work, *way) for way in ways] for _ in range(RUNS)]
    without, nothing, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
    beside = f"hooks that do nothing: +{nothing - without:.1f} ms; without {without:.1f} ms a turn"
    row("HTTP hooks, for each tool turn", f"+{ours - without:.1f} ms", "≤ 15 ms", beside)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work, state, settings = (Path(name, part) for part in ("work", "state", "s.json"))
        work.mkdir()
        os.environ["TRIMTAB_HOME"] = str(state)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        (work / "trimtab.toml").write_text(TOML)
        for number in range(5):
            (work / f"{number}.txt").write_text(f"{number}\n")
        trimtab("install", "claude-code", "--settings", str(settings), work=work)
        starts(work, state)
        resident(work, state)
        program = find_program()
        if program:
            turns(program, work, settings)
        else:
            print("the claude program is not here: no turns of it")
        ask(make_endpoint(state / "claude-code"), b"", 5.0, "/trimtab/stop")


if __name__ == "__main__":
    main()
