"""What a hook event of Claude Code costs: the client's process, the server's answer, a turn.

Processes are measured by their CPU time, in turn, beside a Python that does nothing. Turns are
those of the real program against a scripted model; without the program they are left out.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measure import row

from trimtab_claude_code import _client
from trimtab_claude_code._program import find_program
from trimtab_claude_code._status import ask_server
from trimtab_claude_code._transport import connect, remove_endpoint

ROUNDS, TURNS, RUNS = 40, 20, 5
STAGES = (1, 100, 500)
TOML = """
[hosts.claude-code]
prompt = "bench/main"
[prompts."bench/main"]
guidance = ["doom-loop", "diagnostic-signal", "consultation-prompt", "parallel-tool-reminder"]
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work, state = Path(name, "work"), Path(name, "state")
        work.mkdir()
        os.environ["TRIMTAB_HOME"] = str(state)
        os.environ["CLAUDE_PROJECT_DIR"] = str(work)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        (work / "trimtab.toml").write_text(TOML)
        for number in range(5):
            (work / f"{number}.txt").write_text(f"{number}\n")
        settings = Path(name, "settings.json")
        install(work, settings)
        folder = state / "claude-code"
        try:
            measure_without_server(work)
            measure_session(folder, work)
            program = find_program()
            if program is None:
                print("the claude program was not found: its turns are not measured")
            else:
                measure_turns(program, work, settings)
        finally:
            remove_endpoint(folder)


def install(work: Path, settings: Path) -> None:
    words = ["install", "claude-code", "--settings", str(settings), "--assume-version", "2.1.332"]
    subprocess.run(
        [sys.executable, "-m", "trimtab", *words], cwd=work, check=True, stdout=subprocess.DEVNULL
    )


def measure_session(folder: Path, work: Path) -> None:
    """One session grows; at some of its lengths, clients and the server are measured."""
    client = [sys.executable, "-I", "-S", _client.__file__, str(folder), "8"]
    began = time.perf_counter()
    subprocess.run(client, input=next(events(0, work)), check=True, stdout=subprocess.DEVNULL)
    cold = (time.perf_counter() - began) * 1000
    row("first event, which starts the server, wall time", f"{cold:.0f} ms", "")
    number = 1
    for stage in STAGES:
        while number < stage:
            for body in events(number, work):
                ask(folder, body)
            number += 1
        number = measure_clients(client, work, stage, number)
        number = measure_server(folder, work, stage, number)
        measure_start(folder, work, stage, number)
        number += 1


def measure_without_server(work: Path) -> None:
    """Measure an event that is let go because the server could not be started a moment ago."""
    with tempfile.TemporaryDirectory() as name:
        client = [sys.executable, "-I", "-S", _client.__file__, name, "8"]
        Path(name, _client.FAILED).touch()
        ours, beside = beside_bare_python(client, work, 1)
        row("event while no server can be started, CPU", f"{ours:.1f} ms", "≤ 2 ×", beside)


def measure_clients(client: list[str], work: Path, stage: int, number: int) -> int:
    ours, beside = beside_bare_python(client, work, number)
    row(f"client of a hook event, {stage} turns, CPU", f"{ours:.1f} ms", "≤ 2.5 ×", beside)
    return number + ROUNDS // 3 + 1


def beside_bare_python(client: list[str], work: Path, number: int) -> tuple[float, str]:
    """Start bare Pythons and clients in turn, so that all meet the same noise."""
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    rounds = [
        (cpu_of(bare, b""), cpu_of(client, body))
        for body in itertools.islice(bodies(work, number), ROUNDS)
    ]
    nothing, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
    return ours, f"python -I -S -c pass: {nothing:.1f} ms; ratio {ours / nothing:.2f}"


def measure_server(folder: Path, work: Path, stage: int, number: int) -> int:
    """Send events from here; the server's CPU time is read from its process."""
    pid = ask_server(folder).process
    before, walls = ticks(pid), []
    for body in itertools.islice(bodies(work, number), 150):
        began = time.perf_counter()
        ask(folder, body)
        walls.append((time.perf_counter() - began) * 1000)
    cpu = (ticks(pid) - before) / 150
    wall = statistics.median(walls)
    row(
        f"server, one event, {stage} turns, CPU", f"{cpu:.2f} ms", "≤ 0.9 ms", f"wall {wall:.2f} ms"
    )
    return number + 51


def measure_start(folder: Path, work: Path, stage: int, number: int) -> None:
    """End the server; measure how long the next event waits for another one."""
    pid = ask_server(folder).process
    remove_endpoint(folder)
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.05)
    client = [sys.executable, "-I", "-S", _client.__file__, str(folder), "30"]
    began = time.perf_counter()
    subprocess.run(client, input=next(bodies(work, number)), check=True, stdout=subprocess.DEVNULL)
    taken = (time.perf_counter() - began) * 1000
    row(f"event that takes up a session of {stage} turns", f"{taken:.0f} ms", "", "wall time")


def cpu_of(command: list[str], body: bytes) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=body, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used * 1000


def ticks(pid: int) -> float:
    """Return the milliseconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def ask(folder: Path, body: bytes) -> None:
    project = os.environ["CLAUDE_PROJECT_DIR"].encode()
    home = os.environ["TRIMTAB_HOME"].encode()
    known = {b"CLAUDE_PROJECT_DIR": project, b"TRIMTAB_HOME": home}
    values = [known.get(name, b"") for name in _client.NAMES]
    with connect(folder, 10.0) as connection:
        connection.sendall(b"\0".join([b"event", *values, body]))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass


def bodies(work: Path, first: int) -> Iterator[bytes]:
    for number in itertools.count(first):
        yield from events(number, work)


def events(number: int, work: Path) -> Iterator[bytes]:
    """Yield the events of a turn with one call."""
    call = {
        "tool_name": "Read",
        "tool_input": {"file_path": f"{number}.txt"},
        "tool_use_id": f"t{number}",
    }
    head = {"session_id": "posts", "cwd": str(work)}
    text = {"tool_response": "text " * 40}
    yield json.dumps({**head, **call, "hook_event_name": "PreToolUse"}).encode()
    yield json.dumps({**head, **call, **text, "hook_event_name": "PostToolUse"}).encode()
    batch = [{**call, **text}]
    yield json.dumps({**head, "hook_event_name": "PostToolBatch", "tool_calls": batch}).encode()


def measure_turns(program: Path, work: Path, settings: Path) -> None:
    """Run without hooks, with hooks that do little and with trimtab's in turn."""
    ways = [(), *_little(settings), ("--settings", str(settings))]
    rounds = [[turn(program, work, *way) for way in ways] for _ in range(RUNS)]
    without, nothing, bare, ours = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    beside = (
        f"hooks that run `exit 0`: +{nothing - without:.0f} ms; that start an empty Python: "
        f"+{bare - without:.0f} ms; without {without:.0f} ms a turn"
    )
    row("a turn of the program with one call", f"+{ours - without:.0f} ms", "", beside)


def _little(settings: Path) -> Iterator[tuple[str, str]]:
    """Write settings whose hooks do nothing, in a shell and in Python; yield the options."""
    text = settings.read_text()
    commands = {
        "idle": {"command": "exit 0"},
        "bare": {"command": sys.executable, "args": ["-I", "-S", "-c", "pass"]},
    }
    for name, command in commands.items():
        data, file = json.loads(text), settings.with_name(f"{name}.json")
        for hook in (h for groups in data["hooks"].values() for g in groups for h in g["hooks"]):
            hook.pop("args", None)
            hook.update(command)
        file.write_text(json.dumps(data))
        yield "--settings", str(file)


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


if __name__ == "__main__":
    main()
