"""Stages: what follows what, on an adapter that answers from a script."""

from __future__ import annotations

import asyncio

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from trimtab import (
    Budget,
    MarkdownSection,
    Plan,
    PromptEvaluationError,
    PromptResponse,
    PromptTemplate,
    Session,
    Tool,
    ToolResult,
)
from trimtab.events import RunClosed
from trimtab_planning import (
    Fallback,
    Guardrails,
    PlanUpdated,
    Retry,
    Rewind,
    StageCompleted,
    StageDefinition,
    StageRunner,
    StageStarted,
    StagesTerminated,
    Terminate,
    Termination,
)


@attrs.frozen
class Goal:
    mission: str


class Scripted:
    """An adapter whose answers come from a script: a text, an output, an error, or a function."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.prompts = []
        self.budgets = []

    def evaluate(self, prompt, *, session, deadline=None, budget=None, heartbeat=None):
        self.prompts.append(prompt)
        self.budgets.append(budget)
        run = session.open_run(prompt)
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer(run)
        run.close()
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, PromptResponse) else PromptResponse(answer)

    async def aevaluate(self, prompt, **options):
        return await asyncio.to_thread(self.evaluate, prompt, **options)


def evaluate(stages, *answers, session=None, given="x", run_id=None, **options):
    adapter = Scripted(*answers)
    runner = StageRunner(adapter, stages, config=None, **options)
    return adapter, runner.run(given, session=session or Session(), run_id=run_id)


def moves(result):
    return [(event.stage, str(event.decision), event.next_stage) for event in result.trail]


def stage(name, *on_failure, **options):
    return StageDefinition(name, on_failure=on_failure, **options)


def good(text):
    return None if text == "good" else f"{text} is not good"


def test_the_output_of_a_stage_is_the_input_of_the_next():
    adapter, result = evaluate((stage("a"), stage("b")), "one", "two", given="begin")

    assert "begin" in adapter.prompts[0].render().text
    assert "one" in adapter.prompts[1].render().text
    assert (result.output, result.outputs) == ("two", {"input": "begin", "a": "one", "b": "two"})


def test_feed_makes_the_input_out_of_all_outputs_so_far():
    last = stage("c", feed=lambda outputs: f"{outputs['input']}+{outputs['a']}")
    adapter, _ = evaluate((stage("a"), stage("b"), last), "one", "two", "three", given="begin")

    assert "begin+one" in adapter.prompts[2].render().text


def test_an_input_that_does_not_fit_is_not_retried():
    stages = (stage("a"), stage("b", Retry(3), Rewind("a"), input_type=Goal))
    adapter, result = evaluate(stages, "text", '{"mission": "m"}', given=None)

    assert moves(result)[:2] == [("a", "next", "b"), ("b", "rewind", "a")]
    assert "can't be made" in result.detail
    assert len(adapter.prompts) == 2


def test_an_output_that_does_not_fit_is_retried_with_the_error_then_falls_back():
    stages = (
        stage("a", Retry(2), Fallback("plain"), output_type=Goal),
        stage("plain", spare=True),
        stage("end"),
    )
    adapter, result = evaluate(stages, "no", "{}", '{"mission": 1, "x": 2}', "plainly", "done")

    assert moves(result) == [
        ("a", "retry", "a"),
        ("a", "retry", "a"),
        ("a", "fallback", "plain"),
        ("plain", "next", "end"),
        ("end", "done", ""),
    ]
    assert "no JSON" in adapter.prompts[1].render().text
    assert "mission" in adapter.prompts[2].render().text
    assert "plainly" in adapter.prompts[4].render().text


def test_a_spare_stage_is_never_entered_in_order():
    _, result = evaluate((stage("a"), stage("s", spare=True), stage("b")), "1", "2")

    assert [event.stage for event in result.trail] == ["a", "b"]


def test_a_rewind_goes_back_as_often_as_it_may_and_then_the_run_ends():
    stages = (stage("a"), stage("b", Rewind("a", 2), Terminate("gave up"), checks=[good]))
    _, result = evaluate(stages, *"1b2b3b")

    assert [event.decision for event in result.trail] == [
        "next",
        "rewind",
        "next",
        "rewind",
        "next",
        "terminate",
    ]
    assert (result.reason, result.detail) == (Termination.FAILED, "gave up")
    assert "b" not in result.outputs


def test_the_stage_that_is_gone_back_to_reads_what_went_wrong():
    stages = (stage("a"), stage("b", Rewind("a"), checks=[good]))
    adapter, result = evaluate(stages, "1", "bad", "2", "good")

    assert "bad is not good" in adapter.prompts[2].render().text
    assert result.success


def test_choose_jumps_and_the_steps_in_between_are_skipped():
    session = Session()
    stages = (stage("a", choose=lambda text: "c"), stage("b"), stage("c"))
    _, result = evaluate(stages, "1", "3", session=session)

    assert moves(result) == [("a", "next", "c"), ("c", "done", "")]
    assert [step.status for step in session[Plan].latest().steps] == ["done", "skipped", "done"]


def test_choose_may_loop_until_the_attempts_are_used_up():
    stages = (stage("a", choose=lambda text: "a"),)
    _, result = evaluate(stages, *"12345", max_attempts=5)

    assert result.reason is Termination.FAILED
    assert result.detail == "5 attempts were made"


def test_a_filter_that_is_not_passed_is_a_violation():
    guardrails = Guardrails(filters=[lambda text: "a secret" if "key" in text else None])
    _, result = evaluate((StageDefinition("a", guardrails, on_failure=()),), "the key")

    assert result.reason is Termination.GUARDRAIL_VIOLATION
    assert result.detail == "a secret"


def test_a_tool_that_is_not_allowed_is_a_violation_even_if_the_host_ran_it():
    def call(run):
        run.tool_finished("c1", "ok", tool="Bash")
        return "done"

    stages = (StageDefinition("a", Guardrails(tools=["warehouse"]), on_failure=()),)
    _, result = evaluate(stages, call)

    assert result.reason is Termination.GUARDRAIL_VIOLATION
    assert result.detail == "tool 'Bash' is not allowed here"


def test_stages_get_the_tools_that_their_guardrails_allow():
    def tool(name):
        return Tool(name, "x", Goal, lambda params, *, context: ToolResult.ok())

    stages = (
        StageDefinition("a", Guardrails(tools=["warehouse"]), tools=[tool("warehouse__own")]),
        StageDefinition("b", Guardrails(tools=())),
        StageDefinition("c", reports=True),
    )
    tools = (tool("warehouse__sql"), tool("bash"))
    adapter, _ = evaluate(stages, "1", "2", "3", tools=tools)
    names = [[tool.name for tool in prompt.render().tools] for prompt in adapter.prompts]

    assert names == [
        ["warehouse__sql", "warehouse__own"],
        [],
        ["warehouse__sql", "bash", "stage_report"],
    ]


def test_a_template_keeps_its_sections_its_name_and_takes_the_input_as_parameter():
    template = PromptTemplate(
        "own", "goal", [MarkdownSection[Goal](key="g", title="Goal", template="Do ${mission}.")]
    )
    adapter, result = evaluate(
        (stage("a", instructions=template, input_type=Goal),), "x", given={"mission": "that"}
    )

    assert adapter.prompts[0].name == "own/goal"
    assert "Do that." in adapter.prompts[0].render().text
    assert result.success


def test_the_tightest_budget_holds():
    stages = (StageDefinition("a", Guardrails(max_tokens=500)), stage("b"))
    adapter = Scripted("1", "2")
    runner = StageRunner(adapter, stages, config=None, guardrails=Guardrails(max_tokens=900))
    runner.run(session=Session(), budget=Budget(max_total_tokens=800, max_cost=1.0))

    assert [budget.max_total_tokens for budget in adapter.budgets] == [500, 800]
    assert adapter.budgets[1].max_cost == 1.0


def test_an_evaluation_that_fails_counts_as_a_failure_of_its_stage():
    _, result = evaluate((stage("a", Retry(1)),), PromptEvaluationError("no end"), "good")

    assert result.trail[0].error == "no end"
    assert result.success


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionError("down"), Termination.FAILED),
        (KeyboardInterrupt(), Termination.MANUAL_STOP),
    ],
)
def test_any_other_error_passes_through_and_the_end_is_on_record(error, reason):
    session = Session()

    with pytest.raises(type(error)):
        evaluate((stage("a"),), error, session=session)
    assert session[StagesTerminated].latest().reason is reason
    assert session[RunClosed].latest().reason.startswith(str(reason))
    assert session[Plan].latest().status == "abandoned"


def test_a_run_is_stopped_by_hand_between_two_stages():
    session, adapter = Session(), Scripted("1", "2")
    runner = StageRunner(adapter, (stage("a"), stage("b")), config=None)
    result = runner.run(session=session, should_stop=lambda: bool(session[StageCompleted].all()))

    assert (result.reason, len(result.trail)) == (Termination.MANUAL_STOP, 1)


def test_the_plan_gets_a_new_version_when_a_spare_stage_stands_in():
    session = Session()
    stages = (stage("a", Fallback("s"), checks=[good]), stage("s", spare=True), stage("b"))
    evaluate(stages, "bad", "1", "2", session=session)
    plan = session[Plan].latest()

    assert plan.version == "plan.v2"
    assert [(step.step_id, step.status) for step in plan.steps] == [
        ("a", "skipped"),
        ("s", "done"),
        ("b", "done"),
    ]
    assert "revised" in {event.change for event in session[PlanUpdated].all()}


def test_a_run_goes_on_after_a_crash_where_it_stopped():
    session = Session()
    stages = (
        stage("a", output_type=Goal),
        stage("b", Retry(1), checks=[lambda goal: good(goal.mission)], output_type=Goal),
        stage("c", input_type=Goal),
    )
    with pytest.raises(ConnectionError):
        evaluate(stages, PromptResponse(output=Goal("m")), ConnectionError(), session=session)
    run_id = session[StageStarted].latest().stage_run
    crashed = Session()
    for kind in (StageStarted, StageCompleted):
        for event in session[kind].all():
            crashed.dispatch(event)
    restored = Session.restore(crashed.snapshot())
    adapter, result = evaluate(
        stages,
        PromptResponse(output=Goal("bad")),
        PromptResponse(output=Goal("good")),
        "end",
        session=restored,
        run_id=run_id,
    )

    assert moves(result) == [
        ("a", "next", "b"),
        ("b", "retry", "b"),
        ("b", "next", "c"),
        ("c", "done", ""),
    ]
    assert result.run_id == run_id
    assert '"mission": "m"' in adapter.prompts[0].render().text
    assert result.outputs["a"] == Goal("m")


def test_a_run_that_has_ended_is_not_run_again():
    session = Session()
    _, first = evaluate((stage("a"),), "1", session=session)
    adapter, again = evaluate((stage("a"),), session=session, run_id=first.run_id)

    assert adapter.prompts == []
    assert (again.reason, again.outputs["a"]) == (Termination.SUCCESS, "1")


def test_stages_run_on_an_event_loop():
    adapter = Scripted("no", '{"mission": "m"}', "end")
    stages = (stage("a", Retry(1), output_type=Goal), stage("b"))
    runner = StageRunner(adapter, stages, config=None)
    result = asyncio.run(runner.arun("x", session=Session()))

    assert result.success
    assert result.outputs["a"] == Goal("m")


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ((), "no stages to begin with"),
        ((stage("a", spare=True),), "no stages to begin with"),
        ((stage("input"),), "no stage can be called 'input'"),
        ((stage("a", Fallback("z")),), "Fallback names 'z'"),
        ((stage("a", Rewind("b")), stage("b")), "can't rewind to 'b': it is later"),
    ],
)
def test_stages_that_can_not_be_run_are_refused(stages, words):
    with pytest.raises(ValueError, match=words):
        StageRunner(Scripted(), stages)


def fails(*_):
    return 1 / 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checks": [fails]}, "a check of stage 'a' raised ZeroDivisionError: division by zero"),
        ({"guardrails": Guardrails(filters=[fails])}, "a check of stage 'a' raised ZeroDivision"),
        ({"choose": fails}, "`choose` of stage 'a' raised ZeroDivisionError"),
        ({"choose": lambda _: "z"}, "stage 'a' chose 'z'; stages are a"),
        ({"choose": lambda _: 3}, "stage 'a' chose 3; stages are a"),
    ],
)
def test_what_a_function_of_the_client_raises_is_a_failed_stage(options, words):
    session = Session()
    adapter, result = evaluate((StageDefinition("a", **options),), "1", "2", session=session)

    assert not result.success
    assert words in result.detail
    assert [event.success for event in session[StageCompleted].all()] == [False, False]
    assert words in adapter.prompts[1].render().text


def test_a_call_of_a_tool_that_the_stage_lacks_ends_nothing():
    def calls(run):
        run.tool_started("shell", {}, "c1")
        run.tool_finished("c1", "There is no tool shell.", outcome="invalid")
        return "done"

    _, result = evaluate((stage("a", guardrails=Guardrails(tools=["sql"])),), calls)

    assert result.success
    assert result.output == "done"


@pytest.mark.parametrize("reports", [True, False])
@pytest.mark.parametrize("tool", ["shell", "stage_report"])
def test_only_the_report_of_a_stage_that_may_report_is_no_call_of_its_own(reports, tool):
    def calls(run):
        run.tool_started(tool, {}, "c1")
        run.tool_finished("c1", "done")
        return "done"

    guarded = stage("a", guardrails=Guardrails(tools=["sql"]), reports=reports)
    _, result = evaluate((guarded,), calls)

    assert result.success is (reports and tool == "stage_report")


names = ("a", "b", "c")
transitions = st.one_of(
    st.builds(Retry, st.integers(1, 2)),
    st.builds(Fallback, st.sampled_from(names)),
    st.just(Rewind("a")),
    st.builds(Terminate, st.sampled_from(["", "why"])),
)
definitions = st.tuples(
    *(
        st.builds(
            lambda name, ways, spare: stage(name, *ways, checks=[good], spare=spare),
            st.just(name),
            st.lists(transitions, max_size=4),
            st.booleans() if name != "a" else st.just(False),
        )
        for name in names
    )
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(definitions, st.lists(st.sampled_from(["good", "bad"]), min_size=60, max_size=60))
def test_every_run_ends_and_its_record_is_whole(stages, answers):
    session = Session()
    _, result = evaluate(stages, *answers, session=session, max_attempts=40)
    started, ended = session[StageStarted].all(), session[StageCompleted].all()

    assert [event.stage for event in started] == [event.stage for event in ended]
    assert len(session[StagesTerminated]) == 1
    assert result.trail == ended
    assert result.success == (result.trail[-1].decision == "done")
    assert session[Plan].latest().status == ("completed" if result.success else "abandoned")
