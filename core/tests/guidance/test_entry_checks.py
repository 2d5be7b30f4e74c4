"""What providers, clients, resources and hosts hand in is checked where it comes in."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import attrs
import pytest

from trimtab import (
    ClassificationResult,
    CompletionCheckerConfig,
    CompositeChecker,
    Deadline,
    DecisionPoint,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    Filesystem,
    GuidanceInjection,
    GuidanceProviderConfig,
    Host,
    ManualClock,
    Observation,
    Outcome,
    Prompt,
    PromptTemplate,
    ProviderError,
    Resources,
    Run,
    Session,
    SessionError,
    TaskCompletionResult,
    Tool,
    ToolCall,
    ToolInvoked,
    ToolResult,
    TrimtabError,
    collect_feedback,
    collect_guidance,
    enable,
    hookimpl,
)
from trimtab.events import CompletionStatus, ProviderFaulted
from trimtab.hosting import Driver

SELECT = DecisionPoint.PRE_TOOL_SELECTION


class AsyncIncomplete:
    name = "later"

    async def check(self, context: Any) -> TaskCompletionResult:
        return TaskCompletionResult.incomplete("work is left")


class Hooked:
    name = "hooked"

    @hookimpl
    def check_completion(self, context: Any) -> TaskCompletionResult:
        return TaskCompletionResult.incomplete("hooked work is left")


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nested_composites_await_what_their_checkers_return(kit: Any, depth: int) -> None:
    checker: Any = AsyncIncomplete()
    for _ in range(depth):
        checker = CompositeChecker([checker])
    run = kit.run(completion_checkers=[checker])

    assert run.check_completion().status is CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "checker",
    [Hooked(), CompletionCheckerConfig(Hooked()), AsyncIncomplete()],
    ids=["hooks", "settings", "async"],
)
def test_a_clients_own_checker_may_have_every_form_that_a_prompts_has(
    kit: Any, checker: Any
) -> None:
    assert not kit.run().check_completion(extra=[checker]).may_stop


@pytest.mark.parametrize("checker", [object(), lambda context: None, "no-such-checker", 5])
def test_a_clients_checker_that_is_none_is_refused_before_anything_is_recorded(
    kit: Any, checker: Any
) -> None:
    run = kit.run()

    with pytest.raises(ProviderError):
        run.check_completion(extra=[checker])
    assert run.state.gate.attempts == 0


@pytest.mark.parametrize("fields", [{"priority": None}, {"priority": "high"}, {"category": 5}])
def test_an_injection_with_a_wrong_field_is_its_providers_failure(kit: Any, fields: Any) -> None:
    class Odd(kit.Speaker):
        def provide(self, *, context: Any) -> Any:
            return GuidanceInjection("odd", "text", **fields)

    run = kit.run(guidance_providers=[Odd("odd"), kit.Speaker("good")])
    kit.call(run)

    assert [i.source for i in run.guide(SELECT).injections] == ["good"]
    assert kit.session[ProviderFaulted].latest().source.name == "odd"


@pytest.mark.parametrize(
    "fields",
    [{"summary": 42}, {"summary": None}, {"summary": ""}, {"summary": "x", "suggestions": "abc"},
     {"summary": "x", "observations": ("text",)}],
)  # fmt: skip
def test_feedback_with_a_wrong_field_is_its_providers_failure(kit: Any, fields: Any) -> None:
    trigger = FeedbackTrigger(every_n_calls=1)
    odd = kit.Commentator("odd", say=lambda context: Feedback(**fields))
    run = kit.run(feedback_providers=[FeedbackProviderConfig(odd, trigger)])
    kit.call(run)

    assert run.feedback() is None
    assert kit.session[ProviderFaulted].latest().source.name == "odd"
    assert len(kit.session[Feedback]) == 0
    kit.session.snapshot()


def test_texts_for_the_agent_are_bounded() -> None:
    long = Feedback(summary="x" * 10_000_000, observations=[Observation("a", "b")] * 10_000)

    assert len(long.render()) < 4_200
    assert len(TaskCompletionResult.incomplete("x" * 10_000_000).feedback or "") <= 4_000


@pytest.mark.parametrize("status", ["bogus", None, 3])
def test_a_verdict_that_is_none_is_refused_where_it_is_made(status: Any) -> None:
    with pytest.raises(ValueError, match="CompletionStatus"):
        TaskCompletionResult(status, "left")


def test_a_plain_string_is_taken_for_the_member_of_an_enum(kit: Any) -> None:
    checker = kit.Checker(answer=lambda context: TaskCompletionResult("incomplete", "left"))
    run = kit.run(completion_checkers=[CompositeChecker([checker])])
    call = kit.call(run, outcome="error")

    assert not run.check_completion().may_stop
    assert call.outcome is Outcome.ERROR
    assert run.guide("pre_tool_selection") is not None


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 0, -1, "30", True])
def test_a_timeout_that_is_no_time_is_refused(seconds: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="timeout"):
        CompletionCheckerConfig(object(), timeout=seconds)


@pytest.mark.parametrize(
    "fields", [{"cooldown_turns": 1.5}, {"max_per_run": 0.5}, {"max_per_turn": True}]
)
def test_a_fraction_is_no_count(fields: Any) -> None:
    with pytest.raises(TypeError, match="whole number"):
        GuidanceProviderConfig(object(), **fields)


class Broken:
    """A filesystem whose disk is gone."""

    def exists(self, path: str) -> bool:
        raise OSError("no disk")

    def read_text(self, path: str) -> str:
        raise OSError("no disk")

    def glob(self, pattern: str) -> list[str]:
        raise OSError("no disk")


def test_a_filesystem_that_raises_stops_neither_the_opening_nor_the_call(kit: Any) -> None:
    trigger = FeedbackTrigger(on_file_created="done.txt")
    template = PromptTemplate(
        "a", "b", feedback_providers=[FeedbackProviderConfig(kit.Commentator(), trigger)]
    )
    bound = Prompt(template, config=None).bind(resources=Resources({Filesystem: Broken()}))
    run = kit.session.open_run(bound)
    kit.call(run)

    assert run.feedback() is None
    assert "no disk" in kit.session[ProviderFaulted].latest().error


def test_one_tool_of_the_prompt_says_nothing_about_the_hosts(kit: Any) -> None:
    @attrs.frozen
    class Note:
        text: str

    tool = Tool("note", "Take a note.", Note, lambda params, *, context: ToolResult.ok())

    assert kit.run(tools=[tool]).tools is None


@pytest.mark.parametrize(
    "act",
    [
        lambda run: run.guide("pre_tool_selections"),
        lambda run: run.guide(None),
        lambda run: run.guide(SELECT, timeout=0),
        lambda run: run.tool_started(None, {}, "c"),
        lambda run: run.tool_started("t", {}, 5),
        lambda run: run.tool_finished("c", tool="t", outcome="failed"),
        lambda run: run.tool_finished("c", tool="t", outcome=True),
        lambda run: run.tool_finished("c", tool="t", duration="1s"),
        lambda run: run.model_responded(tool_calls=[{"name": "sh"}]),
        lambda run: run.model_responded(usage={"input_tokens": 1}),
        lambda run: run.user_message("x", at="2020"),
        lambda run: run.user_message(5),
        lambda run: run.user_message("x", notification="no"),
        lambda run: run.session.dispatch(None),
        lambda run: run.session.dispatch(ToolInvoked),
        lambda run: run.guide(SELECT, pending=None),
        lambda run: run.guide(SELECT, pending=[{}]),
        lambda run: run.guide(SELECT, pending=[3]),
        lambda run: run.guide(SELECT, pending="x"),
        lambda run: run.guidance_context(SELECT, pending="x"),
        lambda run: run.tool_finished("c", tool="t", duration=-1),
        lambda run: run.tool_finished("c", tool="t", poll="yes"),
        lambda run: run.model_responded(stop_reason=3),
        lambda run: run.check_completion(api_error=3),
        lambda run: run.check_completion(stop_reason=3),
        lambda run: run.check_completion(final="no"),
        lambda run: run.check_completion(extra=None),
        lambda run: run.close(ValueError()),
        lambda run: run.session.open_run(run.prompt, run_id=3),
        lambda run: run.session.open_run(run.prompt, agent_id=3),
        lambda run: run.session.open_run(run.prompt, timeout="a"),
        lambda run: run.session.fork_run(run, run_id=3),
        lambda run: run.session.fork_run(None),
        lambda run: Driver(run, strict=True).responded(None, None),
        lambda run: Driver(run, strict=True).responded("x", None),
        lambda run: Driver(run, strict=True).responded("x", [{}]),
        lambda run: Driver(run, strict=True).answered(None, "x"),
        lambda run: Driver(run, strict=True).close(3),
    ],
)
def test_a_host_s_wrong_argument_is_refused_and_nothing_is_recorded(kit: Any, act: Any) -> None:
    run = kit.run()
    before = kit.session.snapshot()

    with pytest.raises(SessionError):
        act(run)
    assert kit.session.snapshot() == before


NEEDED = {"text": "x", "tool": "t", "params": {}, "call_id": "c", "point": SELECT}
ANYTHING = {"params", "result", "output", "replayed"}  # of `replayed` only the truth counts
TOLD = [
    Run.user_message,
    Run.model_responded,
    Run.tool_started,
    Run.tool_finished,
    Run.compacted,
    Run.guide,
    Run.feedback,
    Run.check_completion,
    Run.close,
]


@pytest.mark.parametrize(
    ("method", "name"),
    [
        pytest.param(method, name, id=f"{method.__name__}-{name}")
        for method in TOLD
        for name in list(inspect.signature(method).parameters)[1:]
        if name not in ANYTHING
    ],
)
def test_each_argument_of_a_host_is_refused_by_its_name_though_the_others_are_right(
    kit: Any, method: Any, name: str
) -> None:
    run = kit.run()
    before = kit.session.snapshot()
    known = inspect.signature(method).parameters
    right = {key: value for key, value in NEEDED.items() if key in known}

    with pytest.raises(SessionError, match=f"^{name} must be "):
        method(run, **{**right, name: object()})
    assert kit.session.snapshot() == before


@pytest.mark.parametrize("wrong", ["agent/main", None, PromptTemplate("a", "b")])
def test_only_a_prompt_is_opened(wrong: Any) -> None:
    with pytest.raises(SessionError, match="Prompt"):
        Session().open_run(wrong)


def test_a_deadline_is_no_number(kit: Any) -> None:
    with pytest.raises(SessionError, match="deadline"):
        kit.session.open_run(kit.run().prompt, deadline=5)


def test_a_deadline_starts_now_if_it_is_not_told_otherwise() -> None:
    assert Deadline(10, ManualClock(), None).remaining().total_seconds() == 10


def test_hostile_values_are_recorded_as_text(kit: Any) -> None:
    class Unreadable(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("no")

    run = kit.run()
    kit.call(run, params=Unreadable(a=1))

    assert run.trajectory.calls == run.state.calls == 1


def test_calls_that_share_an_id_keep_their_own_arguments(kit: Any) -> None:
    run = kit.run()
    run.tool_started("t", {"n": 1}, "x")
    run.tool_started("t", {"n": 2}, "x")

    assert [run.tool_finished("x").params["n"] for _ in range(2)] == [1, 2]


def test_a_call_that_never_ran_is_known_from_the_response(kit: Any) -> None:
    run = kit.run()
    run.model_responded(tool_calls=[ToolCall("sh", {"c": 1}, "c1")])
    call = run.tool_finished("c1", "denied", outcome=Outcome.DENIED)

    assert (call.tool, call.params) == ("sh", {"c": 1})


def test_collect_guidance_closes_the_turn_as_guide_does(kit: Any) -> None:
    counting = kit.Speaker(
        verdict=lambda context: ClassificationResult(context.trajectory.turns >= 3)
    )
    run = kit.run(guidance_providers=[counting])
    for _ in range(3):
        kit.call(run, params={"same": 1})

    assert collect_guidance(run.guidance_context(SELECT), decision_point=SELECT)


def test_feedback_is_asked_with_the_resources_that_are_bound_now(kit: Any) -> None:
    seen: list[Any] = []

    def say(context: Any) -> Any:
        seen.append(context.filesystem)

    config = FeedbackProviderConfig(kit.Commentator(say=say), FeedbackTrigger(every_n_calls=1))
    prompt = Prompt(PromptTemplate("a", "b", feedback_providers=[config]), config=None)
    kit.call(kit.session.run_of(prompt))
    files = Broken()
    collect_feedback(
        prompt=prompt.bind(resources=Resources({Filesystem: files})), session=kit.session
    )

    assert seen == [files]


def test_a_provider_under_several_kinds_hears_of_the_run_once(kit: Any) -> None:
    opened: list[Any] = []

    class Both(kit.Speaker):
        @hookimpl
        def run_opened(self, context: Any) -> None:
            opened.append(context)

        def check(self, context: Any) -> TaskCompletionResult:
            return TaskCompletionResult.ok()

    both = Both("both")
    kit.run(guidance_providers=[both], completion_checkers=[both])

    assert len(opened) == 1


def test_the_category_of_a_provider_serves_where_its_text_names_none(kit: Any) -> None:
    class Plain(kit.Speaker):
        def provide(self, *, context: Any) -> Any:
            return GuidanceInjection(self.name, f"{self.name} speaks")

    run = kit.run(guidance_providers=[Plain("one", "loop"), Plain("two", "loop")])
    kit.call(run)

    assert [i.category for i in run.guide(SELECT).injections] == ["loop"]


@pytest.mark.slow
def test_a_busy_machine_costs_no_error(kit: Any) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            pass

    busy = [threading.Thread(target=work) for _ in range(4)]
    for thread in busy:
        thread.start()
    try:
        run = kit.run(guidance_providers=[kit.Speaker()])
        for _ in range(20):
            kit.call(run)
            run.guide(SELECT, timeout=0.02)
    finally:
        stop.set()
        for thread in busy:
            thread.join()

    assert run.state.calls == 20
    failures = kit.session[ProviderFaulted].all()
    assert all("no answer within" in failure.error for failure in failures)


@attrs.frozen
class Out:
    value: int


def test_the_output_type_in_brackets_is_there_at_run_time() -> None:
    assert Prompt[Out]("a", "b", config=None).render().output_type is Out


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda kit: Session()["ToolInvoked"], "kind must be the class of a record"),
        (lambda kit: Session().observe("ToolInvoked", print), "kind must be the class"),
        (lambda kit: Session().observe(ToolInvoked, "print"), "callback must be callable"),
        (lambda kit: Session().register(ToolInvoked, "x"), "reducer must be callable"),
        (lambda kit: Session().register(ToolInvoked, lambda: 1), "reducer(records, record)"),
        (lambda kit: Session().observe(ToolInvoked, lambda: 1), "callback(record): too many"),
        (lambda kit: enable(None), "name must be text, not NoneType"),
        (lambda kit: enable(""), "name must not be empty"),
        (lambda kit: FeedbackTrigger(on_file_created="a/../../x"), "must stay below"),
        (lambda kit: Prompt("n", "k", guidance_limit=0), "guidance_limit must be"),
        (lambda kit: Prompt("n", "k", guidance_limit=True), "must be a whole number"),
        (lambda kit: Prompt("n", "k", feedback_delivery="x"), "must be one of 'first', 'all'"),
        (
            lambda kit: kit.run(guidance_providers=[kit.Speaker("")]),
            "name of the guidance provider",
        ),
        (lambda kit: kit.run(guidance_providers=[kit.Speaker(5)]), "text and not empty, not 5"),
        (lambda kit: Feedback(summary="a", suggestions="abc"), "suggestions must be a list of str"),
        (lambda kit: kit.run(guidance_providers=[5]), "int is not a guidance provider: it lacks"),
        (lambda kit: ClassificationResult(relevant="no"), "relevant must be True or False"),
        (lambda kit: Host(tools="shell"), "tools must be a list of str, not 'shell'"),
        (lambda kit: Host(tools=[5]), "tools must hold str, not 5"),
        (
            lambda kit: Host(delivery={"pre": 1}),
            "a point of delivery must be one of",
        ),
        (lambda kit: Host(delivery={SELECT: 1}), "a delivery must be one of Delivery.EPHEMERAL"),
        (lambda kit: Host(delivery=None), "delivery must be a mapping"),
        (lambda kit: Host(name=""), "name must not be empty"),
        (lambda kit: Host(name=None), "name must be text"),
        (lambda kit: Host(tool_profiles=["x"]), "tool_profiles must hold ToolProfile, not 'x'"),
        (lambda kit: Host(tool_profiles=None), "tool_profiles must be a list of ToolProfile"),
        (lambda kit: Host(parallel_calls="no"), "parallel_calls must be True, False or None"),
        (lambda kit: Host(tool_descriptions="x"), "tool_descriptions must be a Mapping"),
        (lambda kit: Host(tool_descriptions={"x": 1}), "tool_descriptions must be text"),
        (lambda kit: Session(clock=3), "clock must have the methods now() and monotonic()"),
        (lambda kit: Session(keep="a"), "keep must be a whole number or None, not 'a'"),
        (lambda kit: Session(keep=True), "keep must be a whole number or None, not True"),
        (lambda kit: Session(keep=10**5000), "keep must be 1 or more"),
        (lambda kit: Session.restore(None), "the snapshot must be text, not None"),
        (lambda kit: ToolCall(None, {}, "c"), "tool of a ToolCall must be text, not None"),
        (lambda kit: ToolCall("t", {}, 5), "call_id of a ToolCall must be text, not 5"),
        (lambda kit: Driver(None), "run must be a Run"),
        (lambda kit: Driver(kit.run(), timeout="a"), "timeout must be a number"),
    ],
)
def test_a_wrong_argument_is_named_where_it_is_given(kit: Any, make: Any, problem: str) -> None:
    with pytest.raises((TrimtabError, TypeError, ValueError)) as caught:
        make(kit)

    assert problem in str(caught.value)
    assert "Attribute(" not in str(caught.value)
    assert "Did you mean 'name'" not in str(caught.value)


def test_a_run_that_is_closed_holds_nobody(kit: Any) -> None:
    run = kit.run(completion_checkers=[kit.Checker(TaskCompletionResult.incomplete("open"))])
    run.close()

    checked = run.check_completion()
    assert (checked.status, checked.reason) == (CompletionStatus.SKIPPED, "the run is closed")
    assert not run.guide(DecisionPoint.PRE_TOOL_SELECTION)
