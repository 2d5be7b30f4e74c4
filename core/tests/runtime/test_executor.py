"""Running tool calls: whatever a handler does, there is an answer and a record."""

from __future__ import annotations

import asyncio
import contextlib

import attrs
import pytest

from trimtab import (
    Heartbeat,
    ManualClock,
    Outcome,
    Prompt,
    Session,
    Tool,
    ToolCall,
    ToolError,
    ToolExecutor,
    ToolInvoked,
    ToolResult,
)


@attrs.frozen
class Path:
    path: str


def read(params, *, context):
    context.beat()
    return ToolResult.ok(f"{params.path}: {context.guidance}")


def fail(params, *, context):
    return ToolResult.error("no such file")


def burst(params, *, context):
    raise KeyError(params.path)


def leave(params, *, context):
    raise SystemExit(3)


def give_up(params, *, context):
    raise asyncio.CancelledError


async def wait_in_vain(params, *, context):
    other = asyncio.ensure_future(asyncio.sleep(10))
    other.cancel()
    await other


def odd(params, *, context):
    return params.path


async def slow(params, *, context):
    await asyncio.sleep(0)
    return ToolResult.ok(f"slowly {params.path}")


async def hang(params, *, context):
    await asyncio.sleep(60)


def halves(params, *, context):
    """Answers with halves of characters, as names of files that are no UTF-8 come to be."""
    return ToolResult.ok("\ud83d\ude00 \udcff")


def half(params, *, context):
    raise FileNotFoundError("a\udcff")


def number(params, *, context):
    return ToolResult.ok(message=3)


async def late(params, *, context):
    raise KeyError(params.path)


def stop(params, *, context):
    raise KeyboardInterrupt


HANDLERS = {
    "read": read,
    "fail": fail,
    "burst": burst,
    "leave": leave,
    "give_up": give_up,
    "wait_in_vain": wait_in_vain,
    "odd": odd,
    "slow": slow,
    "hang": hang,
    "late": late,
    "halves": halves,
    "half": half,
    "number": number,
    "stop": stop,
}
TOOLS = [Tool(name, "", Path, handler) for name, handler in HANDLERS.items()]


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def heartbeat(clock):
    return Heartbeat(clock)


@pytest.fixture
def run(clock):
    return Session(clock=clock).open_run(Prompt(ns="a", key="b", config=None))


@pytest.fixture(params=["execute", "aexecute"])
def execute(request, run, heartbeat):
    """Both ways to run a call, as one function."""
    executor = ToolExecutor(run, TOOLS, heartbeat=heartbeat)
    if request.param == "execute":
        return executor.execute

    def through_a_loop(call, **options):
        return asyncio.run(executor.aexecute(call, **options))

    return through_a_loop


ANSWERS = {
    "read": (Outcome.OK, "a.py: mind the tests"),
    "slow": (Outcome.OK, "slowly a.py"),
    "fail": (Outcome.ERROR, "no such file"),
    "burst": (Outcome.ERROR, "KeyError: 'a.py'"),
    "late": (Outcome.ERROR, "KeyError: 'a.py'"),
    "leave": (Outcome.ERROR, "SystemExit: 3"),
    "give_up": (Outcome.ERROR, "CancelledError: "),
    "wait_in_vain": (Outcome.ERROR, "CancelledError: "),
    "halves": (Outcome.OK, "😀 \ufffd"),
    "half": (Outcome.ERROR, "FileNotFoundError: a\ufffd"),
    "number": (Outcome.ERROR, "TypeError: message must be text, not int"),
    "odd": (Outcome.ERROR, "ToolError: odd: the handler returned str instead of a ToolResult"),
}


@pytest.mark.parametrize("tool", ANSWERS)
def test_a_call_is_answered_and_recorded(execute, run, tool):
    outcome, text = ANSWERS[tool]
    answer = execute(ToolCall(tool, {"path": "a.py"}, "c1"), guidance="mind the tests")
    recorded = run.session[ToolInvoked].latest()
    assert (answer.outcome, answer.text) == (outcome, text)
    assert (recorded.tool, recorded.params, recorded.call_id) == (tool, {"path": "a.py"}, "c1")
    assert (recorded.outcome, recorded.result) == (outcome, text)
    assert recorded.error == (None if outcome is Outcome.OK else text)


INVALID = {
    "unknown tool": (ToolCall("wirte", {}, "c1"), 'There is no tool "wirte". Tools: read, fail'),
    "no object": (ToolCall("read", '{"pa', "c1"), "read: arguments must be a JSON object, not"),
    "a field too many": (ToolCall("slow", {"path": "a", "x": 1}, "c1"), "slow: "),
    "a field too few": (ToolCall("read", {}, "c1"), "read: required field missing"),
}


@pytest.mark.parametrize(("call", "text"), INVALID.values(), ids=INVALID.keys())
def test_a_call_that_cannot_run_is_invalid(execute, run, call, text):
    answer = execute(call)
    assert answer.text.startswith(text)
    assert run.session[ToolInvoked].latest().outcome is Outcome.INVALID
    assert run.state.running == {}


def test_a_long_error_is_bounded(execute):
    answer = execute(ToolCall("burst", {"path": "x" * 100_000}, "c1"))
    assert len(answer.text) <= 2_000


def test_every_call_beats_once_at_its_end(execute, heartbeat):
    beats = []
    heartbeat.add_callback(lambda: beats.append(1))
    execute(ToolCall("burst", {"path": "a"}, "c1"))
    assert beats == [1]


def test_the_keyboard_interrupts_and_leaves_a_record(run):
    with pytest.raises(KeyboardInterrupt):
        ToolExecutor(run, TOOLS).execute(ToolCall("stop", {"path": "a"}, "c1"))
    assert run.session[ToolInvoked].latest().outcome is Outcome.INTERRUPTED


def test_a_cancelled_call_is_interrupted(run):
    async def cancel():
        call = ToolExecutor(run, TOOLS).aexecute(ToolCall("hang", {"path": "a"}, "c1"))
        task = asyncio.create_task(call)
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(cancel())
    assert run.session[ToolInvoked].latest().outcome is Outcome.INTERRUPTED


def test_an_async_handler_runs_where_a_loop_is_running_already(run):
    async def within_a_notebook():
        return ToolExecutor(run, TOOLS).execute(ToolCall("slow", {"path": "a"}, "c1"))

    assert asyncio.run(within_a_notebook()).text == "slowly a"


def test_an_object_with_an_async_call_is_awaited(run):
    class Handler:
        async def __call__(self, params, *, context):
            return ToolResult.ok(params.path)

    executor = ToolExecutor(run, [Tool("read", "", Path, Handler())])
    answer = asyncio.run(executor.aexecute(ToolCall("read", {"path": "a"}, "c1")))
    assert answer.text == "a"


def test_two_tools_of_one_name_are_refused(run):
    with pytest.raises(ToolError, match="two tools are called 'read'"):
        ToolExecutor(run, [TOOLS[0], Tool("read", "", Path, fail)])
