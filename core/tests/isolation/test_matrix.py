"""Whatever a provider does in any of its hooks: it is a fault of its own, and nobody else's.

Every hook that core calls, by every way to fail, with and without a timeout; and what hooks may
wrongly return.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from trimtab import (
    ClassificationResult,
    CompletionCheckerConfig,
    CompositeChecker,
    DecisionPoint,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceInjection,
    Prompt,
    Resources,
    RootedFilesystem,
    Session,
    TaskCompletionResult,
    ToolInvoked,
    hookimpl,
)
from trimtab.events import ObserverFaulted, ProviderFaulted
from trimtab.trajectory import BaseProjection

Act = Callable[..., Any]
SELECT = DecisionPoint.PRE_TOOL_SELECTION
EACH_CALL = FeedbackTrigger(every_n_calls=1)
TURNS = 3


# Ways to fail ----------------------------------------------------------------------------------


class Own(BaseException):
    """An author's exception beside `Exception`."""


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Interrupting(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class Textless(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307


class NoArguments(Exception):
    args = None  # type: ignore[assignment]


class FailingArguments(Exception):
    @property
    def args(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no arguments")


class Sly(str):
    """A text whose methods raise."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __str__(self) -> str:
        raise RuntimeError("shown")

    def __len__(self) -> int:
        return 3

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("encoded")

    def translate(self, *_: Any) -> str:
        raise RuntimeError("translated")


class SlyMessage(Exception):
    def __str__(self) -> str:
        return Sly("a text")


def raising(error: BaseException) -> Act:
    def act(*_: Any, **__: Any) -> Any:
        raise error

    return act


def deeper() -> Any:
    return deeper()


def without_end(*_: Any, **__: Any) -> Any:
    return deeper()  # Python 3.13.0 never ends a function with ** that calls itself


FAILURES: dict[str, Act] = {
    "an own exception": raising(Own("x")),
    "an interrupt": raising(KeyboardInterrupt()),
    "an exit": raising(SystemExit(0)),
    "the end of a generator": raising(GeneratorExit()),
    "no memory": raising(MemoryError()),
    "a recursion": without_end,
    "the end of an iteration": raising(StopIteration(1)),
    "the end of an async iteration": raising(StopAsyncIteration()),
    "a cancellation": raising(asyncio.CancelledError()),
    "a text that exits": raising(Mute()),
    "a text that interrupts": raising(Interrupting()),
    "a text that is none": raising(Textless()),
    "a text of a sly class": raising(SlyMessage()),
    "arguments that are none": raising(NoArguments()),
    "arguments that fail": raising(FailingArguments()),
    "a group": raising(ExceptionGroup("several", [ValueError(1)])),
    "a group of interrupts": raising(BaseExceptionGroup("several", [KeyboardInterrupt()])),
    "half a character": raising(ValueError("\ud800")),
    "a long text": raising(ValueError("x" * 10_000_000)),
}


# Providers, of which one hook does what the test wants -------------------------------------------


class Guide:
    name = category = "bad"

    def __init__(self, classify: Act | None = None, provide: Act | None = None) -> None:
        self._classify = classify or (lambda _: ClassificationResult(relevant=True))
        self._provide = provide or (lambda _: GuidanceInjection("bad", "bad text"))

    def classify(self, *, context: Any) -> Any:
        return self._classify(context)

    def provide(self, *, context: Any) -> Any:
        return self._provide(context)


class Hooked:
    name = category = "bad"

    def __init__(self, act: Act) -> None:
        self.act = act

    @hookimpl
    def guide_pre_tool_selection(self, context: Any) -> Any:
        return self.act(context)


class Living(Guide):
    """Fails when a run is opened or closed."""

    def __init__(self, opened: Act | None = None, closed: Act | None = None) -> None:
        super().__init__()
        self._opened, self._closed = opened or (lambda _: None), closed or (lambda _: None)

    @hookimpl
    def run_opened(self, context: Any) -> None:
        self._opened(context)

    @hookimpl
    def run_closed(self, context: Any) -> None:
        self._closed(context)


class Following(Guide):
    """Follows the run with a projection of which one method does what the test wants."""

    def __init__(self, method: str, act: Act, *, quiet: bool) -> None:
        super().__init__()
        methods = {method: lambda _, *facts: act(*facts), "quiet": quiet}
        self.projection = type("Failing", (BaseProjection,), methods)

    @hookimpl
    def run_opened(self, context: Any) -> None:
        context.trajectory.attach("bad", self.projection())

    def classify(self, *, context: Any) -> Any:
        context.trajectory.projection("bad")
        return ClassificationResult(relevant=False)


class Comment:
    name = "bad"

    def __init__(self, should_run: Act | None = None, provide: Act | None = None) -> None:
        self._should_run = should_run or (lambda _: True)
        self._provide = provide or (lambda _: Feedback(summary="bad feedback"))

    def should_run(self, *, context: Any) -> Any:
        return self._should_run(context)

    def provide(self, *, context: Any) -> Any:
        return self._provide(context)


class HookedComment:
    name = "bad"

    def __init__(self, act: Act) -> None:
        self.act = act

    @hookimpl
    def give_feedback(self, context: Any) -> Any:
        return self.act(context)


class Check:
    name = "bad"

    def __init__(self, act: Act) -> None:
        self.act = act

    def check(self, context: Any) -> Any:
        return self.act(context)


class AsyncCheck(Check):
    async def check(self, context: Any) -> Any:
        await asyncio.sleep(0)
        return self.act(context)


class HookedCheck:
    name = "bad"

    def __init__(self, act: Act) -> None:
        self.act = act

    @hookimpl
    def check_completion(self, context: Any) -> Any:
        return self.act(context)


class Tape:
    name = "bad"

    def __init__(self, **methods: Act) -> None:
        self.methods = methods

    def open(self, context: Any) -> Any:
        if "open" in self.methods:
            return self.methods["open"](context)
        return self

    def record(self, event: Any) -> Any:
        return self.methods["record"](event) if "record" in self.methods else None

    def close(self) -> None:
        if "close" in self.methods:
            self.methods["close"]()


class BadFiles:
    """A filesystem among the resources that fails."""

    def __init__(self, act: Act) -> None:
        self.act = act

    def exists(self, path: str) -> bool:
        return self.act(path)  # type: ignore[no-any-return]

    def read_text(self, path: str) -> str:
        return self.act(path)  # type: ignore[no-any-return]

    def glob(self, pattern: str) -> list[str]:
        return self.act(pattern)  # type: ignore[no-any-return]


# The others, which must not notice ---------------------------------------------------------------


class GoodGuide:
    name = category = "good"

    def classify(self, *, context: Any) -> ClassificationResult:
        return ClassificationResult(relevant=True, episode=f"call-{context.tool_call_count}")

    def provide(self, *, context: Any) -> GuidanceInjection:
        return GuidanceInjection("good", f"good after {context.tool_call_count}")


class GoodComment:
    name = "good"

    def should_run(self, *, context: Any) -> bool:
        return True

    def provide(self, *, context: Any) -> Feedback:
        return Feedback(summary="good feedback")


class GoodCheck:
    name = "good"

    def check(self, context: Any) -> TaskCompletionResult:
        return TaskCompletionResult.incomplete("work is left")


class GoodTape:
    name = "good"

    def __init__(self) -> None:
        self.heard: list[str] = []

    def open(self, context: Any) -> GoodTape:
        return self

    def record(self, event: Any) -> None:
        self.heard.append(type(event).__name__)

    def close(self) -> None:
        self.heard.append("closed")


def _comment(bad: Any) -> FeedbackProviderConfig:
    return FeedbackProviderConfig(bad, EACH_CALL)


def _check(bad: Any) -> CompletionCheckerConfig:
    return CompletionCheckerConfig(bad, timeout=5.0)


def _composite(bad: Any) -> CompletionCheckerConfig:
    return _check(CompositeChecker([bad, GoodCheck()]))


def problems(
    *,
    timeout: float | None,
    guidance: tuple[Any, ...] = (),
    feedback: tuple[Any, ...] = (),
    completion: tuple[Any, ...] = (),
    recorders: tuple[Any, ...] = (),
    resources: Resources | None = None,
    faults: bool | None = True,
) -> Iterator[str]:
    """Let a run live with a bad provider, and yield what somebody else notices of it."""
    session, tape = Session(), GoodTape()
    prompt: Prompt[Any] = Prompt(
        "a",
        "b",
        guidance_providers=[*guidance, GoodGuide()],
        feedback_providers=[*feedback, _comment(GoodComment())],
        completion_checkers=[*completion, GoodCheck()],
        recorders=[*recorders, tape],
        feedback_delivery="all",
        config=None,
    )
    if resources is not None:
        prompt = prompt.bind(resources=resources)
    run = session.open_run(prompt, timeout=timeout, run_id="run")
    for number in range(TURNS):
        run.user_message("go on")
        run.model_responded(text="so")
        run.tool_started("read", {"page": number}, f"c{number}")
        run.tool_finished(f"c{number}", "text")
        run.compacted()
        if "good feedback" not in (run.feedback(timeout=timeout) or ""):
            yield "the other feedback is lost"
        if "good" not in run.guide(SELECT, timeout=timeout).text:
            yield "the other guidance is lost"
    if run.check_completion().may_stop:
        yield "the gate is open"
    restored = Session.restore(session.snapshot())
    restored.open_run(prompt, run_id="run", timeout=timeout).close()
    run.close("done")
    if tape.heard.count("closed") != 2:
        yield "the other recorder is not closed"
    if tape.heard.count("ToolInvoked") != TURNS:
        yield "the other recorder misses calls"
    named = [event.source.name for event in session[ProviderFaulted].all()]
    named += [event.source.name for event in restored[ProviderFaulted].all()]
    if faults is not None and ("bad" in named) is not faults:
        yield f"faults of {named or 'nobody'}"


HOOKS: dict[str, Callable[[Act], dict[str, Any]]] = {
    "classify": lambda act: {"guidance": (Guide(classify=act),)},
    "provide": lambda act: {"guidance": (Guide(provide=act),)},
    "a guidance hook": lambda act: {"guidance": (Hooked(act),)},
    "run_opened": lambda act: {"guidance": (Living(opened=act),)},
    "run_closed": lambda act: {"guidance": (Living(closed=act),)},
    "should_run": lambda act: {"feedback": (_comment(Comment(should_run=act)),)},
    "provide feedback": lambda act: {"feedback": (_comment(Comment(provide=act)),)},
    "a feedback hook": lambda act: {"feedback": (_comment(HookedComment(act)),)},
    "check": lambda act: {"completion": (_check(Check(act)),)},
    "an async check": lambda act: {"completion": (_check(AsyncCheck(act)),)},
    "a completion hook": lambda act: {"completion": (_check(HookedCheck(act)),)},
    "open": lambda act: {"recorders": (Tape(open=act),)},
    "record": lambda act: {"recorders": (Tape(record=act),)},
    "close": lambda act: {"recorders": (Tape(close=act),)},
    "a filesystem": lambda act: {
        "feedback": (FeedbackProviderConfig(Comment(), FeedbackTrigger(on_file_created="STOP")),),
        "resources": Resources({RootedFilesystem: BadFiles(act)}),
    },
    **{
        f"{'a quiet' if quiet else 'a'} projection's {method}": (
            lambda act, method=method, quiet=quiet: {
                "guidance": (Following(method, act, quiet=quiet),)
            }
        )
        for quiet in (False, True)
        for method in (
            "call_ended",
            "turn_closed",
            "responded",
            "user_spoke",
            "compacted",
            "state",
            "load_state",
        )
    },
}


SOME = ("an own exception", "an interrupt", "a cancellation", "a text that exits")
"""Ways that are tried after each change; all of them take some twenty seconds."""


def failing(hook: str, ways: Iterable[str], timeout: float | None) -> dict[str, list[str]]:
    """Return what somebody else notices of each way to fail."""
    found = {way: list(problems(timeout=timeout, **HOOKS[hook](FAILURES[way]))) for way in ways}
    return {way: wrong for way, wrong in found.items() if wrong}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("hook", HOOKS)
def test_a_failing_hook_is_one_provider_s_fault(hook: str) -> None:
    assert failing(hook, SOME, None) == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("hook", HOOKS)
def test_every_way_to_fail_in_every_hook_is_one_provider_s_fault(
    hook: str, timeout: float | None
) -> None:
    assert failing(hook, FAILURES, timeout) == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Check, AsyncCheck])
@pytest.mark.parametrize("way", FAILURES)
def test_a_failing_checker_of_a_composite_is_unverified_and_the_next_is_asked(
    kind: type[Check], way: str
) -> None:
    bad = kind(FAILURES[way])
    assert list(problems(timeout=None, completion=(_composite(bad),), faults=False)) == []


@pytest.mark.parametrize("way", FAILURES)
def test_a_failing_observer_is_one_event_and_the_others_hear(way: str) -> None:
    session, heard = Session(), list[Any]()
    session.observe(ToolInvoked, FAILURES[way])
    session.observe(ToolInvoked, heard.append)
    run = session.open_run(Prompt("a", "b", config=None))
    run.tool_started("read", {}, "c1")
    run.tool_finished("c1", "text")

    assert len(heard) == 1
    assert len(session[ObserverFaulted]) == 1


# Wrong answers -----------------------------------------------------------------------------------


class Evil:
    """An object whose methods raise."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError


class Classless:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


async def coroutine() -> None:
    """Be returned, and never awaited."""


WRONG: dict[str, Callable[[], Any]] = {
    "an object whose methods raise": Evil,
    "an object without a class": Classless,
    "a coroutine": coroutine,
    "a generator": lambda: (number for number in (1,)),
    "NotImplemented": lambda: NotImplemented,
    "a class": lambda: Feedback,
    "a number": lambda: 5,
    "a text": lambda: "x",
    "no number": lambda: float("nan"),
    "an exception": lambda: ValueError("x"),
}
ANSWERING = {
    hook: HOOKS[hook]
    for hook in (
        "classify",
        "provide",
        "a guidance hook",
        "should_run",
        "provide feedback",
        "a feedback hook",
        "check",
        "an async check",
        "a completion hook",
        "open",
        "record",
    )
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("hook", ANSWERING)
def test_a_wrong_answer_is_a_fault(hook: str, timeout: float | None) -> None:
    found = {
        what: list(problems(timeout=timeout, **HOOKS[hook](lambda *_, made=made: made())))
        for what, made in WRONG.items()
    }
    assert {what: wrong for what, wrong in found.items() if wrong} == {}


class SlyNumber(int):
    def __lt__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __gt__ = __eq__ = __lt__
    __hash__ = int.__hash__


class Nudge(GuidanceInjection):
    def __init__(self, text: str = "a nudge") -> None:
        super().__init__("nudge", text)


class Verdict(ClassificationResult):
    def __init__(self) -> None:
        super().__init__(True)


class Note(Feedback):
    def __init__(self, text: str = "a note") -> None:
        super().__init__(summary=text)


class Result(TaskCompletionResult):
    def __init__(self) -> None:
        super().__init__("incomplete", "work is left")  # type: ignore[arg-type]


def forced(record: Any, **fields: Any) -> Any:
    """Return a record with fields that its class would have refused."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)
    return record


Made = Callable[[], Any]
OWN_ANSWERS: list[tuple[str, Made]] = [
    ("classify", Verdict),
    ("classify", lambda: ClassificationResult(True, episode=Sly("loop"), reason=Sly("why"))),
    ("classify", lambda: ClassificationResult(True, episode="\ud800")),
    ("classify", lambda: ClassificationResult(False, episode=Sly("loop"))),
    ("classify", lambda: ClassificationResult(True, reason="x" * 5_000_000)),
    ("provide", Nudge),
    ("provide", lambda: GuidanceInjection("k", "text", priority=SlyNumber(3))),
    ("provide", lambda: GuidanceInjection("k", Sly("text"))),
    ("provide", lambda: GuidanceInjection(Sly("k"), "text", category=Sly("c"))),
    ("a guidance hook", Nudge),
    ("provide feedback", Note),
    ("provide feedback", lambda: Feedback(summary=Sly("text"), suggestions=(Sly("look"),))),
    ("provide feedback", lambda: Feedback(summary="\ud800" * 10_000)),
    ("provide feedback", lambda: forced(Feedback(summary="s"), source=5, at="now", elapsed=Evil())),
    ("a feedback hook", Note),
    ("check", Result),
    ("check", lambda: TaskCompletionResult.incomplete(Sly("left"), progress=Sly("1/2"))),
    ("an async check", Result),
]


@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize(("hook", "made"), OWN_ANSWERS)
def test_records_of_own_classes_are_taken_for_what_they_say(
    hook: str, made: Made, timeout: float | None
) -> None:
    bad = HOOKS[hook](lambda _: made())
    assert list(problems(timeout=timeout, **bad, faults=False)) == []


@pytest.mark.parametrize(
    ("hook", "made"),
    [
        ("classify", lambda: forced(ClassificationResult(True), confidence="high")),
        ("classify", lambda: forced(ClassificationResult(True), relevant=1)),
        ("provide", lambda: forced(GuidanceInjection("k", "text"), content=5)),
        ("provide", lambda: forced(GuidanceInjection("k", "text"), content="x\x00")),
        ("provide feedback", lambda: forced(Feedback(summary="s"), observations=5)),
        ("provide feedback", lambda: forced(Feedback(summary="s"), severity="loud")),
        ("check", lambda: forced(TaskCompletionResult.ok(), status="perhaps")),
    ],
)
def test_a_record_with_a_field_of_another_type_is_a_fault(hook: str, made: Made) -> None:
    assert list(problems(timeout=None, **HOOKS[hook](lambda _: made()))) == []
