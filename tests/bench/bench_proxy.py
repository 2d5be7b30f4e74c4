"""What the proxy adds to a request, beside a direct one in the same run.

Upstream, proxy and client are processes of their own on loopback; the bodies are conversations of
60 KB, 1 MB and 5 MB in the form of Anthropic Messages, in which each request is one call longer
than the one before it, as an agent sends them. ``bench_proxy.py memory`` sends 10,000 requests.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from measure import row

ANSWER = json.dumps(
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "I look further."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
).encode()
EVENTS = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 10}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hm."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]
SIZES = {"60 KB": (60_000, 60), "1 MB": (1_000_000, 16), "5 MB": (5_000_000, 8)}
PROVIDERS = ("doom-loop", "diagnostic-signal", "consultation-prompt", "parallel-tool-reminder")
MUST_MILLISECONDS = 4.0
MUST_START_SECONDS = 1.5
MEMORY_REQUESTS = 10_000


def serve_upstream() -> None:
    """Answer on a free port, whose number is printed, at once."""
    import asyncio

    stream = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in EVENTS)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                body = await reader.readexactly(size)
                streamed = b'"stream": true' in body[:200]
                kind = "text/event-stream" if streamed else "application/json"
                answer = stream if streamed else ANSWER
                lines = f"content-type: {kind}\r\ncontent-length: {len(answer)}\r\n\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + lines.encode() + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=2**20)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())


def started(command: list[str]) -> tuple[subprocess.Popen[str], str]:
    """Start a server; return it and the line that it prints."""
    kept = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kept)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def start_proxy(upstream: str) -> tuple[subprocess.Popen[str], str]:
    """Start the command that a user would start."""
    command = [str(Path(sys.executable).parent / "trimtab"), "proxy", "--serve", "--quiet"]
    for provider in PROVIDERS:
        command += ["--guidance", provider]
    return started([*command, "--upstream", upstream])


def conversation(size: int, steps: int) -> list[dict[str, Any]]:
    """Return messages of about `size` bytes; the last `steps` are sent one by one."""
    result = "lorem ipsum dolor sit amet, consectetur adipiscing elit\n" * 50
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix it."}]
    length, number = 0, 0
    while length < size or number < steps + 2:
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash"}
        params = {"command": f"sed -n {number}p file", "description": "Read a line"}
        answer = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": f"{number} {result}",
        }
        messages.append({"role": "assistant", "content": [{**call, "input": params}]})
        messages.append({"role": "user", "content": [answer]})
        length += len(result) + 300
        number += 1
    return messages


def bodies(size: int, steps: int, *, streamed: bool) -> list[bytes]:
    """Return the last requests of a conversation, each one call longer."""
    messages = conversation(size, steps)
    head = {"model": "m", "stream": streamed, "max_tokens": 100}
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    ends = range(len(messages) - 2 * steps, len(messages) + 1, 2)
    return [
        json.dumps({**head, "messages": messages[:end], "tools": tools}).encode() for end in ends
    ]


def send(
    connection: http.client.HTTPConnection, path: str, name: str, body: bytes
) -> tuple[float, float]:
    """Send one request; return milliseconds to the first byte of the answer and to its end."""
    headers = {"x-claude-code-session-id": name, "x-api-key": "k", "user-agent": "claude-cli/2"}
    began = time.perf_counter()
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    response.read(1)
    first = time.perf_counter()
    response.read()
    return (first - began) * 1e3, (time.perf_counter() - began) * 1e3


def measured(size: str, streamed: bool, direct: str, proxied: str) -> None:
    """Send each request directly and through the proxy, one after the other."""
    wanted, steps = SIZES[size]
    taken: dict[str, list[tuple[float, float]]] = {direct: [], proxied: []}
    connections = {url: http.client.HTTPConnection(urlsplit(url).netloc) for url in taken}
    name = f"{size} {streamed}"
    for body in bodies(wanted, steps, streamed=streamed):
        for url, connection in connections.items():
            taken[url].append(send(connection, f"{urlsplit(url).path}/v1/messages", name, body))
    for what, index in (("first byte", 0), ("whole", 1)):
        plain, relayed = (
            statistics.median(times[index] for times in taken[url][2:]) for url in (direct, proxied)
        )
        must = f"+{MUST_MILLISECONDS} ms" if size == "60 KB" else "-"
        how = "streamed" if streamed else "in one piece"
        beside = f"direct {plain:.1f} ms, by proxy {relayed:.1f} ms"
        row(f"{size}, {how}, {what}", f"+{relayed - plain:.1f} ms", must, beside)


def start_up(direct: str) -> None:
    """Measure from the start of the command to the first answer."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        proxy, url = start_proxy(direct)
        parts = urlsplit(url)
        send(http.client.HTTPConnection(parts.netloc), f"{parts.path}/v1/messages", "s", b"{}")
        taken.append(time.perf_counter() - began)
        stop(proxy)
    plain = _seconds([sys.executable, "-c", "import httpx, uvicorn"])
    beside = f"python -c 'import httpx, uvicorn': {plain:.2f} s"
    got = f"{statistics.median(taken):.2f} s"
    row("start to first answer", got, f"{MUST_START_SECONDS} s", beside)


def _seconds(command: list[str]) -> float:
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(command, check=True)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def memory(direct: str) -> None:
    """Send 10,000 requests of 400 conversations; print how much memory the proxy has."""
    proxy, url = start_proxy(direct)
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    sent = bodies(20_000, 24, streamed=True)
    for number in range(MEMORY_REQUESTS):
        name = f"s{number // len(sent)}"
        body = sent[number % len(sent)].replace(b"toolu_", f"toolu_{name}_".encode())
        send(connection, f"{parts.path}/v1/messages", name, body)
        if (number + 1) % (MEMORY_REQUESTS // 10) == 0:
            row(f"resident after {number + 1} requests", f"{resident(proxy.pid):.0f} MB", "flat")
    stop(proxy)


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def stop(process: subprocess.Popen[str]) -> None:
    """End a process that was started here."""
    process.terminate()
    process.wait(10)
    if process.stdout is not None:
        process.stdout.close()


def main(arguments: list[str]) -> None:
    """Print the table."""
    upstream, port = started([sys.executable, __file__, "upstream"])
    direct = f"http://127.0.0.1:{port}"
    try:
        if "memory" in arguments:
            memory(direct)
            return
        start_up(direct)
        proxy, url = start_proxy(direct)
        for size in SIZES:
            for streamed in (False, True):
                measured(size, streamed, direct, url)
        stop(proxy)
    finally:
        stop(upstream)


if __name__ == "__main__":
    if sys.argv[1:] == ["upstream"]:
        serve_upstream()
    else:
        main(sys.argv[1:])
