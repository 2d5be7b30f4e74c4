"""What trimtab adds to one tool turn of a loop on the OpenAI client's objects.

The client is a stand-in that answers at once with parsed objects of the official client, so
that nothing but the loop is measured: a plain loop, and the guided one with every built-in
provider that is installed.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from threading import Lock, Thread
from types import SimpleNamespace
from typing import Any

import attrs
from measure import median, row, yardstick
from openai.types.chat import ChatCompletion

from trimtab import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    Prompt,
    Session,
    Tool,
    ToolResult,
    enable,
)
from trimtab.inspection import UnknownProvider
from trimtab_openai import HOST, GuidedLoop, Settings

TURNS = 100
ROUNDS = 25
MUST_MICROSECONDS = 200
GUIDANCE = ("diagnostic-signal", "doom-loop", "consultation-prompt", "parallel-tool-reminder")
CHECKERS = ("plan-based-checker",)


@attrs.frozen
class Target:
    path: str
    line: int


def read(params: Target, *, context: Any) -> ToolResult[str]:
    """Answer with 200 bytes that differ from call to call."""
    return ToolResult.ok(f"{params.path}:{params.line} " + "lorem ipsum dolor sit amet " * 7)


READ = Tool("read", "Read a file.", Target, read)


def completion(message: dict[str, Any], reason: str) -> ChatCompletion:
    """Return a response as the official client makes it."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return ChatCompletion.model_validate({**head, "choices": [choice], "usage": usage})


def script() -> list[ChatCompletion]:
    """Return one run: a call in each of `TURNS` answers, then the end."""
    made = []
    for number in range(TURNS):
        arguments = json.dumps({"path": f"src/module_{number}.py", "line": number})
        function = {"name": "read", "arguments": arguments}
        call = {"id": f"c{number}", "type": "function", "function": function}
        made.append(completion({"content": None, "tool_calls": [call]}, "tool_calls"))
    return [*made, completion({"content": "Done."}, "stop")]


class Client:
    """Answers from a script, at once."""

    def __init__(self, answers: list[ChatCompletion]) -> None:
        left = iter(answers)
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=lambda **_: next(left)))


def plain(client: Client) -> None:
    """The loop that everybody writes."""
    messages: list[Any] = [{"role": "user", "content": "Fix it."}]
    while True:
        message = client.chat.completions.create(messages=messages, model="m").choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            result = READ.call(json.loads(call.function.arguments), context=None)  # type: ignore[arg-type]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result.render()})


def guided(prompt: Prompt[Any], settings: Settings) -> Callable[[Client], None]:
    """The same with trimtab."""

    def run(client: Client) -> None:
        opened = Session().open_run(prompt, host=HOST)
        GuidedLoop(client, opened, model="m", settings=settings).complete("Fix it.")
        opened.close()

    return run


def everything() -> Prompt[Any]:
    """Return a prompt with the built-in providers that are installed."""
    trigger = FeedbackTrigger(every_n_seconds=30)
    return Prompt(
        ns="bench",
        key="main",
        tools=(READ,),
        guidance_providers=[enable(name) for name in GUIDANCE if installed(name, "guidance")],
        feedback_providers=[
            FeedbackProviderConfig(enable("deadline-feedback"), trigger)
            for name in ("deadline-feedback",)
            if installed(name, "feedback")
        ],
        completion_checkers=[enable(n) for n in CHECKERS if installed(n, "completion")],
        config=None,
    )


def installed(name: str, kind: str) -> bool:
    """Whether a distribution offers this provider."""
    fields: dict[str, Any] = {
        f"{kind}_providers" if kind != "completion" else "completion_checkers": [enable(name)]
    }
    try:
        Prompt(ns="bench", key=name, config=None, **fields)
    except UnknownProvider:
        return False
    return True


def one(loop: Callable[[Client], None]) -> float:
    """Return the microseconds of one turn, over one run."""
    client = Client(script())
    began = time.perf_counter_ns()
    loop(client)
    return (time.perf_counter_ns() - began) / 1000 / TURNS


def hand_off() -> float:
    """Return the microseconds in which a waiting thread answers: the price of a limit."""
    asked, answered = Lock(), Lock()
    asked.acquire()
    answered.acquire()

    def serve() -> None:
        while True:
            asked.acquire()
            answered.release()

    def ask() -> None:
        asked.release()
        answered.acquire(timeout=0.25)

    Thread(target=serve, daemon=True).start()
    return median(ask)


def added(loop: Callable[[Client], None]) -> tuple[float, float, float]:
    """Return what `loop` adds to the plain one, median and best of rounds, and the plain best.

    The two take turns, so that what else the machine does falls on both.
    """
    pairs = [(one(plain), one(loop)) for _ in range(ROUNDS)]
    best = min(first for first, _ in pairs)
    least = min(second for _, second in pairs)
    return statistics.median(second - first for first, second in pairs), least - best, best


def main() -> None:
    bare = Prompt(ns="bench", key="bare", tools=(READ,), config=None)
    full = everything()
    names = ", ".join(source.name for source in full.table.sources)
    unit = yardstick({"path": "src/module_1.py", "text": "x" * 200})
    print(f"{names}; yardstick {unit:.1f} µs, a thread asked and answering {hand_off():.0f} µs")
    for what, prompt, limit in (
        ("no provider", bare, 1.0),
        ("all providers, a limit each", full, 1.0),
        ("all providers, called directly", full, None),
    ):
        middle, best, base = added(guided(prompt, Settings(timeout=limit, max_turns=TURNS + 1)))
        row(
            f"added to a tool turn: {what}",
            f"{middle:.0f} µs",
            f"≤ {MUST_MICROSECONDS} µs",
            f"best of {ROUNDS}: {best:.0f} µs, plain {base:.0f} µs",
        )


if __name__ == "__main__":
    main()
