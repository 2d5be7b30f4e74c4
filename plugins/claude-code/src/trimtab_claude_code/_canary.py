"""A provider and a model for ``trimtab doctor``: does the real program carry a word through?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import attrs

from trimtab import ClassificationResult, DecisionPoint, GuidanceContext, GuidanceInjection

FILE = "canary.txt"
NAME = "claude-code-canary"
_DISTRIBUTION = {
    "METADATA": "Metadata-Version: 2.1\nName: trimtab-doctor\nVersion: 0\nRequires-Dist: trimtab\n",
    "entry_points.txt": f"[trimtab.guidance]\n{NAME} = trimtab_claude_code._canary:Canary\n",
}
_MOST_BYTES = 16_000_000


@attrs.frozen
class Canary:
    """Guidance that is one word: before the first call, and another after it."""

    word: str = "tweet"
    name: str = NAME
    category: str = "diagnostic"
    decision_points: tuple[DecisionPoint, ...] = (DecisionPoint.PRE_TOOL_SELECTION,)

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        """Speak once at each count of calls."""
        calls = context.tool_call_count
        return ClassificationResult(relevant=True, episode=f"call-{calls}", found=calls)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        return GuidanceInjection("canary", spoken(self.word, context.found))


def spoken(word: str, calls: int) -> str:
    """Return what a canary says after a number of calls."""
    return f"{word}-after-{calls}"


def install_canary(site: Path) -> None:
    """Make a distribution that offers the canary to processes with `site` on their path only."""
    info = site / "trimtab_doctor-0.dist-info"
    info.mkdir(parents=True)
    for name, text in _DISTRIBUTION.items():
        (info / name).write_text(text, encoding="utf-8")


class CanaryModel(ThreadingHTTPServer):
    """Stands in for the model's service on loopback: one call, then the end; keeps `requests`."""

    daemon_threads = True

    def __init__(self) -> None:
        self.requests: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer while the block runs."""
        thread = Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    """Answers ``POST /v1/messages`` as a stream."""

    def do_POST(self) -> None:  # http.server's name
        length = min(int(self.headers.get("Content-Length") or 0), _MOST_BYTES)
        body = self.rfile.read(length).decode("utf-8", "replace")
        if not self.path.startswith("/v1/messages?") and self.path != "/v1/messages":
            self.send_error(404)
            return
        cast("CanaryModel", self.server).requests.append(body)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in _stream(called="tool_result" in body):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep no log."""


def _stream(*, called: bool) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_canary",
        "type": "message",
        "role": "assistant",
        "model": "canary",
    }
    empty: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": {**message, **empty}}
    block, delta = _words() if called else _call()
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": "end_turn" if called else "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _words() -> tuple[dict[str, Any], dict[str, Any]]:
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}


def _call() -> tuple[dict[str, Any], dict[str, Any]]:
    block = {"type": "tool_use", "id": "toolu_canary", "name": "Read", "input": {}}
    arguments = json.dumps({"file_path": FILE})
    return block, {"type": "input_json_delta", "partial_json": arguments}
