"""Running tool calls: whatever a handler does, there is an answer and a record."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from itertools import pairwise

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab import (
    Deadline,
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
    return 7


def plain(params, *, context):
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
    "plain": plain,
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
    "odd": (Outcome.ERROR, "ToolError: odd: the handler returned int instead of a ToolResult"),
    "plain": (Outcome.OK, "a.py"),
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


def test_what_is_no_result_is_told_to_the_author(execute, caplog):
    execute(ToolCall("odd", {"path": "a.py"}, "c1"))

    assert "The tool 'odd' failed, as the handler returned int instead of" in caplog.text


def takes_no_context(params): ...
def takes_another(params, ctx): ...
def takes_more(params, extra, *, context): ...
def takes_no_params(*, context): ...


@pytest.mark.parametrize(
    "handler", [takes_no_context, takes_another, takes_more, takes_no_params, lambda: None]
)
def test_a_handler_that_no_call_fits_is_refused(handler):
    name = handler.__name__ if handler.__name__.isidentifier() else "handler"
    with pytest.raises(TypeError, match=rf"write: def {name}\(params, \*, context\): …"):
        Tool("read", "Read.", Path, handler)


@pytest.mark.parametrize(
    "handler",
    [
        lambda params, context: "",
        lambda params, *, context, more=1: "",
        lambda *args, **kwargs: "",
        lambda params, **others: "",
        functools.partial(lambda root, params, *, context: "", "/"),
    ],
)
def test_a_handler_that_calls_fit_is_taken(handler):
    assert Tool("read", "Read.", Path, handler).handler is handler


INVALID = {
    "unknown tool": (ToolCall("wirte", {}, "c1"), 'There is no tool "wirte". Tools: read, fail'),
    "no object": (ToolCall("read", '{"pa', "c1"), "read: the arguments are not valid JSON (Unter"),
    "a field too many": (ToolCall("slow", {"path": "a", "x": 1}, "c1"), "slow: "),
    "a field too few": (
        ToolCall("read", {}, "c1"),
        "read: missing params.path (string). Arg",
    ),
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


def test_a_loop_of_another_kind_is_not_explained(run):
    def sync(params, *, context):
        raise RuntimeError("event loop of the motor stands still")

    async def plain(params, *, context):
        raise RuntimeError("infinite loop in the recipe")

    for handler in (sync, plain):
        executor = ToolExecutor(run, [Tool("mix", "", Path, handler)])
        text = executor.execute(ToolCall("mix", {"path": "a"}, "c1")).text
        assert "aevaluate" not in text


def test_an_object_with_an_async_call_is_awaited(run):
    class Handler:
        async def __call__(self, params, *, context):
            return ToolResult.ok(params.path)

    executor = ToolExecutor(run, [Tool("read", "", Path, Handler())])
    answer = asyncio.run(executor.aexecute(ToolCall("read", {"path": "a"}, "c1")))
    assert answer.text == "a"


def test_what_an_async_tool_keeps_of_an_earlier_call_is_named_with_the_remedy(run):
    async def keep(params, *, context):
        kept.append(asyncio.get_running_loop())
        kept[0].call_soon(print)

    kept, executor = [], ToolExecutor(run, [Tool("read", "Read.", Path, keep)])
    executor.execute(ToolCall("read", {"path": "a"}, "c1"))
    answer = executor.execute(ToolCall("read", {"path": "a"}, "c2"))

    assert answer.text.startswith("RuntimeError: Event loop is closed. Here each call of an async")
    assert "await aevaluate()" in answer.text


def test_two_tools_of_one_name_are_refused(run):
    with pytest.raises(ToolError, match="two tools are called 'read'"):
        ToolExecutor(run, [TOOLS[0], Tool("read", "", Path, fail)])


def sleep(params, *, context):
    time.sleep(5)
    return "too late"


async def async_sleep(params, *, context):
    await asyncio.sleep(5)


@pytest.mark.slow
@pytest.mark.parametrize("handler", [sleep, async_sleep])
@pytest.mark.parametrize("on_a_loop", [False, True])
def test_a_tool_does_not_outlast_the_deadline(handler, on_a_loop):
    prompt = Prompt(ns="a", key="b", config=None)
    run = Session().open_run(prompt, deadline=Deadline(0.2))
    executor = ToolExecutor(run, [Tool("wait", "", Path, handler)])
    call = ToolCall("wait", {"path": "a"}, "c1")
    began = time.monotonic()
    answer = asyncio.run(executor.aexecute(call)) if on_a_loop else executor.execute(call)
    assert time.monotonic() - began < 2
    assert answer.outcome is Outcome.INTERRUPTED
    assert "the deadline passed" in answer.text
    late = executor.execute(attrs.evolve(call, call_id="c2"))
    assert late.text == "interrupted: the deadline had passed before the tool could run"
    assert [call.outcome for call in run.session[ToolInvoked].all()] == [Outcome.INTERRUPTED] * 2


def test_abandoned_calls_are_interrupted_and_their_results_dropped(run):
    go_on, entered = threading.Event(), threading.Event()

    def wait(params, *, context):
        entered.set()
        go_on.wait(5)
        return "done"

    executor = ToolExecutor(run, [Tool("wait", "", Path, wait)])
    thread = threading.Thread(target=executor.execute, args=[ToolCall("wait", {"path": "a"}, "c")])
    thread.start()
    entered.wait(5)
    executor.abandon()
    go_on.set()
    thread.join()
    assert [call.outcome for call in run.session[ToolInvoked].all()] == [Outcome.INTERRUPTED]


def test_an_unknown_tool_gets_the_names_that_exist(run):
    executor = ToolExecutor(run, TOOLS[:2])
    text = executor.execute(ToolCall("raed", {}, "c")).text
    assert text == "There is no tool \"raed\". Did you mean 'read'? Tools: read, fail."


def test_cut_off_arguments_are_shown_as_they_are(run):
    executor = ToolExecutor(run, TOOLS)
    text = executor.execute(ToolCall("read", '{"path": "a",', "c")).text
    assert '{"path": "a",' in text
    assert text.endswith("Arguments: path (string).")


@attrs.frozen
class Leaving:
    path: str = attrs.field()

    @path.validator
    def _leave(self, _, value):
        raise SystemExit(value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (ToolCall("", {}, "1"), "There is no tool"),
        (ToolCall("leaving", {"path": "a"}, "1"), "SystemExit: a"),
    ],
)
def test_whatever_the_model_sends_it_reads_what_is_wrong(call, words):
    run = Session().open_run(Prompt("a", "b", config=None))
    run.model_responded(tool_calls=[call])
    answer = ToolExecutor(run, [Tool("leaving", "", Leaving, read)]).execute(call)
    assert words in answer.text
    [recorded] = run.session[ToolInvoked].all()
    assert recorded.outcome is Outcome.INVALID
    assert recorded.tool


@given(st.lists(st.sampled_from(["read", "plan", "unknown"]), max_size=8))
def test_calls_of_sequential_tools_run_alone_and_in_order(names):
    tools = (TOOLS[0], Tool("plan", "", Path, read, sequential=True))
    calls = [ToolCall(name, {"path": "a"}, f"c{n}") for n, name in enumerate(names)]
    run = Session().open_run(Prompt("agent", "main", config=None))

    groups = ToolExecutor(run, tools).groups(calls)

    assert [call for group in groups for call in group] == calls
    assert all(len(group) == 1 for group in groups if group[0].tool == "plan")
    assert all("plan" in (a[-1].tool, b[0].tool) for a, b in pairwise(groups))
