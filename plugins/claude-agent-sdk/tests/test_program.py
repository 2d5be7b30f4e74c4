"""Guidance, feedback and the gate with the real program: what the model gets to read."""

import asyncio
import subprocess
import sys
import time

import attrs
import pytest

import trimtab_claude_agent_sdk
from trimtab import (
    Budget,
    Deadline,
    DecisionPoint,
    Delivery,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceDelivered,
    Heartbeat,
    Outcome,
    Plan,
    PlanStep,
    PromptEvaluationError,
    Session,
    Tool,
    ToolInvoked,
    ToolResult,
)
from trimtab.events import (
    CompactionHappened,
    ModelResponded,
    ProviderFaulted,
    RunClosed,
)
from trimtab_claude_agent_sdk import (
    ClaudeAgentSDKAdapter,
    ClaudeAgentSDKClientConfig,
    _conversation as conversation,
    hooks,
)
from trimtab_claude_code.hooks import HookFailed
from trimtab_test_servers import Call, Fault, choose, claude_code_asker, say
from trimtab_trace import JsonlTrace, open_trace, replay

pytestmark = pytest.mark.e2e

MODELS = ["claude-sonnet-4-5", "claude-opus-5"]
POINT = DecisionPoint
FAILING = "cat missing"


def bash(command, **more):
    return Call("Bash", {"command": command, "description": "Run it", **more})


def agent(**more):
    task = {"description": "Look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    return Call("Agent", {**task, "run_in_background": False, **more})


def outcomes(session):
    return [(call.tool, call.outcome) for call in session[ToolInvoked].all()]


@attrs.frozen
class Answer:
    number: int


# Guidance.


@pytest.mark.parametrize("model", MODELS)
def test_a_looping_agent_hears_of_it_after_the_third_repeat(ground, make_prompt, model):
    pytest.importorskip("trimtab_doom_loop")
    script = [*(say(bash(FAILING)) for _ in range(4)), say("Done.")]
    ground.evaluate(script, make_prompt("doom-loop"), model=model)

    assert ground.heard('<guidance source="doom-loop">') == [0, 0, 0, 1, 1]
    assert ground.server.refusals == ()
    delivered = ground.session[GuidanceDelivered].all()
    assert [(each.turn, each.delivery) for each in delivered] == [(2, Delivery.PERSISTED)]


@pytest.mark.parametrize("model", MODELS)
def test_rt_ephemeral_reanchor(ground, make_prompt, speaker, model):
    script = [say(bash("echo one")), say(bash("echo two")), say("Done.")]
    ground.evaluate(script, make_prompt(speaker()), model=model)
    first, second, third = (request.messages for request in ground.requests)

    assert plain(second[: len(first)]) == plain(first)
    assert plain(third[: len(second)]) == plain(second)
    assert ground.heard("Heed this.") == [0, 1, 1]


def plain(messages):
    """Messages without the marks of the prompt cache, which move."""
    return [
        {**message, "content": [without_mark(block) for block in blocks(message)]}
        for message in messages
    ]


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def without_mark(block):
    return {key: value for key, value in block.items() if key != "cache_control"}


def test_a_second_prompt_without_providers_hears_nothing(ground, make_prompt, speaker):
    ground.evaluate([say(bash("echo one")), say("Done.")], make_prompt(speaker()))
    first = ground.heard("Heed this.")
    ground.evaluate([say(bash("echo one")), say("Done.")], make_prompt(key="other"))

    assert (first, ground.heard("Heed this.")) == ([0, 1], [0, 0])


def test_a_subagent_has_counts_of_its_own(ground, make_prompt, speaker):
    main = [say(bash("echo one")), say(bash("echo two"), agent()), say("Done.")]
    sub = [say(bash("echo a")), say(bash("echo b")), say(bash("echo c")), say("Looked.")]
    script = choose(claude_code_asker, {"main": main, "subagent": sub})
    ground.evaluate(script, make_prompt(speaker(calls=3)))
    askers = [claude_code_asker(request) for request in ground.requests]
    last_heard = dict(zip(askers, ground.heard("Heed this."), strict=True))

    assert sorted(state.calls for state in ground.session.runs().values()) == [3, 3]
    assert last_heard == {"main": 1, "subagent": 1}
    delivered = ground.session[GuidanceDelivered].all()
    assert sorted(each.agent_id is None for each in delivered) == [False, True]


def test_a_subagent_in_the_background_is_waited_for(ground, make_prompt, checker):
    main = [say(agent(run_in_background=True)), say("I wait."), say("All done.")]
    sub = [say(bash("python3 -c 'import time; time.sleep(1)'")), say("Looked.")]
    script = choose(claude_code_asker, {"main": main, "subagent": sub})
    gate = checker(open_checks=0)
    response = ground.evaluate(script, make_prompt(), task_completion_checker=gate)

    assert response.text == "All done."
    assert gate.checks == 2  # at the last stop and after the end, not while the agent waits
    assert outcomes(ground.session) == [("Agent", Outcome.OK), ("Bash", Outcome.OK)]


def test_a_compaction_keeps_the_counts(ground, make_prompt, speaker):
    main = [say(bash("echo one")), say("Done."), say(bash("echo two")), say("Done.")]
    summary = [say("<summary>One echo.</summary>")]
    script = choose(claude_code_asker, {"main": main, "compaction": summary})
    prompt = make_prompt(speaker(calls=2))
    ground.converse(script, hooks(prompt, ground.session), "Go.", "/compact", "Again.")

    assert len(ground.session[CompactionHappened]) == 1
    assert [state.calls for state in ground.session.runs().values()] == [2]
    assert ground.heard("Heed this.") == [0, 0, 0, 0, 1]


def test_a_resumed_conversation_keeps_the_counts(ground, make_prompt, speaker):
    prompt = make_prompt(speaker(calls=2))
    ground.evaluate([say(bash("echo one")), say("Done.")], prompt)
    (run_id,) = ground.session.runs()
    ground.session = Session.restore(ground.session.snapshot())
    again = attrs.evolve(bash("echo two"), id="toolu_of_another_server")
    ground.evaluate([say(again), say("Done.")], prompt, resume=run_id.rpartition("/")[2])

    assert [state.calls for state in ground.session.runs().values()] == [2]
    assert ground.heard("Heed this.") == [0, 1]


def test_a_call_is_refused_where_the_configuration_allows_it(ground, make_prompt, speaker, patient):
    provider = speaker(calls=0, decision_points=(POINT.PRE_TOOL_EXECUTION,))
    prompt = make_prompt(patient(provider, refuse=True))
    ground.evaluate([say(bash("touch made")), say("Done.")], prompt)

    assert not (ground.work / "made").exists()
    assert outcomes(ground.session) == [("Bash", Outcome.DENIED)]
    assert ground.heard("Heed this.")[1] == 1


# What the host did with text in the past.


def shout(params, *, context):
    context.beat()
    return ToolResult.ok(params.text.upper())


@attrs.frozen
class Words:
    text: str


SHOUT = Tool("shout", "Say it louder.", Words, shout)


def test_rt_mcp_context_lost(ground, make_prompt, speaker):
    prompt = make_prompt(speaker(decision_points=(POINT.POST_TOOL_RESULT,)), tools=[SHOUT])
    script = [say(Call("mcp__trimtab__shout", {"text": "hi"})), say("Done.")]
    ground.evaluate(script, prompt)

    assert ground.heard("Heed this.") == [0, 1]
    assert ground.heard("HI")[1] >= 1


def test_rt_pretool_context_dropped_on_failure(ground, make_prompt, speaker):
    prompt = make_prompt(speaker(decision_points=(POINT.POST_TOOL_RESULT,)))
    ground.evaluate([say(bash(FAILING)), say("Done.")], prompt)

    assert outcomes(ground.session) == [("Bash", Outcome.ERROR)]
    assert ground.heard("Heed this.") == [0, 1]


@pytest.mark.parametrize("model", MODELS)
def test_rt_same_turn(ground, make_prompt, speaker, model):
    prompt = make_prompt(speaker(decision_points=(POINT.POST_TOOL_RESULT,)))
    note = Call("Write", {"file_path": str(ground.work / "plan.md"), "content": "1. look\n"})
    ground.evaluate([say(note), say("Done.")], prompt, model=model)

    assert ground.heard("Heed this.") == [0, 1]


def test_rt_plain_stdout(ground, make_prompt):
    """Feedback is handed over in the envelope that reaches the model, not as bare text."""
    reporter = FeedbackProviderConfig(Reporter(), FeedbackTrigger(every_n_calls=1))
    (ground.work / "a.py").write_text("old\n")
    path = str(ground.work / "a.py")
    script = [
        say(Call("Read", {"file_path": path})),
        say(Call("Edit", {"file_path": path, "old_string": "old", "new_string": "new"})),
        say("Done."),
    ]
    ground.evaluate(script, make_prompt(feedback_providers=[reporter]))

    assert ground.heard('<feedback source="reporter"') == [0, 1, 2]
    assert (ground.work / "a.py").read_text() == "new\n"


@attrs.frozen
class Reporter:
    name: str = "reporter"

    def should_run(self, *, context):
        return True

    def provide(self, *, context):
        return Feedback(provider_name=self.name, summary=f"{context.tool_call_count} calls made.")


# The gate.


def test_an_agent_that_stops_early_is_sent_back_three_times_at_most(ground, make_prompt, checker):
    response = ground.evaluate(
        [say(f"Done {n}.") for n in range(5)], make_prompt(), task_completion_checker=checker()
    )

    assert ground.heard("Write the docs.") == [0, 1, 2, 3]
    assert response.text == "Done 3."


def test_rt_stop_callback_missing(ground, make_prompt):
    """The only hook is the one at Stop, and a plan with a pending step holds the agent."""
    pytest.importorskip("trimtab_plan_based_checker")
    steps = (PlanStep("write parser", "done"), PlanStep("run tests", "pending"))
    ground.session.dispatch(Plan(steps=steps))
    prompt = make_prompt(checkers=["plan-based-checker"])
    at_stop = {"Stop": hooks(prompt, ground.session)["Stop"]}
    ground.converse([say(f"Done {n}.") for n in range(4)], at_stop, "Go.")

    assert ground.heard("run tests") == [0, 1, 2, 3]


def test_structured_output_is_held_until_the_work_is_done(ground, make_prompt, checker):
    script = [say(Call("StructuredOutput", {"number": n})) for n in (1, 2)]
    prompt = make_prompt(output_type=Answer)
    response = ground.evaluate(script, prompt, task_completion_checker=checker(open_checks=1))

    assert response.output == Answer(2)
    assert outcomes(ground.session) == [
        ("StructuredOutput", Outcome.DENIED),
        ("StructuredOutput", Outcome.OK),
    ]
    assert ground.heard("Write the docs.") == [0, 1]


def test_structured_output_with_open_work_is_no_valid_end(ground, make_prompt, checker):
    script = [say(Call("StructuredOutput", {"number": n})) for n in range(4)]

    with pytest.raises(PromptEvaluationError, match="Write the docs"):
        ground.evaluate(script, make_prompt(output_type=Answer), task_completion_checker=checker())
    assert len(ground.requests) == 4


def test_a_lasting_fault_of_the_service_is_no_early_stop(ground, make_prompt, checker):
    gate = checker()

    with pytest.raises(PromptEvaluationError, match="did not finish"):
        ground.evaluate(lambda _: Fault(400), make_prompt(), task_completion_checker=gate)
    assert gate.checks == 0
    assert outcomes(ground.session) == []
    assert ground.session[RunClosed].latest().reason.startswith("PromptEvaluationError: ")


# The record.


@pytest.mark.parametrize("model", MODELS)
def test_every_call_is_recorded_with_what_became_of_it(ground, make_prompt, model):
    calls = [
        bash("echo fine"),
        bash(FAILING),
        Call("Write", {"file_path": "/etc/forbidden", "content": "x"}),
        Call("Nowhere", {"x": 1}),
        Call("Read", {"path": "a"}),
        Call("mcp__trimtab__shout", {"text": "hi"}),
        Call("mcp__trimtab__shout", {"volume": 11}),
    ]
    script = [*(say(call) for call in calls), say("Done.")]
    prompt = make_prompt(tools=[SHOUT])
    options = {"allowed_tools": ["Bash"]}
    ground.evaluate(script, prompt, model=model, options=options, permission_mode="dontAsk")

    assert outcomes(ground.session) == [
        ("Bash", Outcome.OK),
        ("Bash", Outcome.ERROR),
        ("Write", Outcome.DENIED),
        ("Nowhere", Outcome.INVALID),
        ("Read", Outcome.INVALID),
        ("mcp__trimtab__shout", Outcome.OK),
        ("mcp__trimtab__shout", Outcome.INVALID),
    ]
    assert [call.turn for call in ground.session[ToolInvoked].all()] == list(range(7))
    assert ground.session[HookFailed].all() == ()


def test_parallel_calls_are_one_turn(ground, make_prompt):
    script = [say(*(bash(f"echo {n}") for n in range(4))), say("Done.")]
    ground.evaluate(script, make_prompt())

    assert [call.turn for call in ground.session[ToolInvoked].all()] == [0] * 4


def test_a_recorded_run_replays_identically(ground, make_prompt, speaker, patient, tmp_path):
    pytest.importorskip("trimtab_deadline_feedback")
    left = FeedbackProviderConfig("deadline-feedback", FeedbackTrigger(every_n_calls=1))
    prompt = make_prompt(
        patient(speaker(calls=2)),
        feedback_providers=[left],
        recorders=[JsonlTrace(str(tmp_path / "traces"))],
    )
    main = [say(bash("echo one"), bash(FAILING)), say(agent()), say(bash("echo two")), say("Done.")]
    scripts = {"main": main, "subagent": [say(bash("echo a")), say(bash("echo b")), say("Looked.")]}
    deadline = Deadline(600, started=Deadline(1).started - 500)
    ground.evaluate(choose(claude_code_asker, scripts), prompt, limits={"deadline": deadline})

    prompts = {prompt.name: prompt}
    files = (tmp_path / "traces").iterdir()
    replays = [replay(open_trace(path), prompts=prompts) for path in files]
    assert [each.difference for each in replays] == [None] * 2
    assert all(each.decisions for each in replays)


def test_time_that_is_up_interrupts_the_agent_and_what_it_said_remains(ground, make_prompt):
    script = [say("I wait.", bash("python3 -c 'import time; time.sleep(50)'")), say("Done.")]
    response = ground.evaluate(script, make_prompt(), limits={"deadline": Deadline(8)})

    assert response.text == "I wait."
    assert (response.stop_reason, response.truncated) == ("deadline", True)
    assert ground.session[RunClosed].latest().reason == "deadline"
    assert outcomes(ground.session) == [("Bash", Outcome.INTERRUPTED)]


def test_no_program_is_started_where_no_time_is_left(ground, make_prompt):
    response = ground.evaluate([say("Done.")], make_prompt(), limits={"deadline": Deadline(0)})

    assert (response.text, response.stop_reason) == (None, "deadline")
    assert ground.requests == ()


def test_a_run_that_is_cancelled_ends_within_seconds(ground, make_prompt):
    script = [say(bash("python3 -c 'import time; time.sleep(50)'")), say("Done.")]
    ended = {}

    async def cancel():
        config = ClaudeAgentSDKClientConfig(
            cwd=ground.work,
            permission_mode="bypassPermissions",
            options=ground.options(ground.server),
        )
        adapter = ClaudeAgentSDKAdapter(model=MODELS[0], client_config=config)
        task = asyncio.ensure_future(adapter.aevaluate(make_prompt(), session=ground.session))
        for _ in range(600):
            if any(state.running for state in ground.session.runs().values()):
                break
            await asyncio.sleep(0.05)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ended["seconds"] = time.monotonic() - began

    with ground.serving(script):
        asyncio.run(asyncio.wait_for(cancel(), 60))

    assert ended["seconds"] < 4
    assert outcomes(ground.session) == [("Bash", Outcome.INTERRUPTED)]


def test_work_that_stays_open_is_said_in_the_response(ground, make_prompt, checker):
    script = [say(f"Done. ({number})") for number in range(6)]
    response = ground.evaluate(script, make_prompt(checkers=[checker()]))

    assert (response.text, response.stop_reason) == ("Done. (3)", "open work")
    assert ground.session[RunClosed].latest().reason == "open work"


def test_an_answer_that_is_cut_off_is_an_error(ground, make_prompt):
    cut = attrs.evolve(say("So far."), stop_reason="model_context_window_exceeded")

    with pytest.raises(PromptEvaluationError, match="context window limit"):
        ground.evaluate([cut] * 8, make_prompt())


def test_installed_hooks_do_not_guide_the_same_session_twice(
    ground, make_prompt, speaker, tmp_path, monkeypatch
):
    hooks = ground.work / ".claude" / "settings.local.json"
    toml = '[hosts.claude-code]\nprompt = "a/b"\n[prompts."a/b"]\nguidance = ["doom-loop"]\n'
    (ground.work / "trimtab.toml").write_text(toml)
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(ground.work)
    install = ["install", "claude-code", "--project", "--assume-version", "2.1.332"]
    subprocess.run([sys.executable, "-m", "trimtab", *install], check=False, timeout=60)
    assert hooks.exists()

    looks = [say(bash("cat missing")) for _ in range(4)]
    ground.evaluate(
        [*looks, say("Done.")],
        make_prompt("doom-loop"),
        options={"setting_sources": ["user", "project", "local"]},
    )

    assert ground.heard("<guidance")[-1] == 1
    assert not list((tmp_path / "state").rglob("server.sock"))
    with pytest.warns(UserWarning, match="so a program that reads it is guided twice"):
        trimtab_claude_agent_sdk.hooks(make_prompt(), ground.session)


def test_a_program_that_hangs_is_left_when_time_is_up(ground, make_prompt, monkeypatch):
    monkeypatch.setattr(conversation, "INTERRUPT_TIMEOUT", 1.0)
    script = [say("I stop.", bash("kill -STOP $PPID")), say("Done.")]
    began = time.monotonic()
    response = ground.evaluate(script, make_prompt(), limits={"deadline": Deadline(7)})

    assert response.text == "I stop."
    assert time.monotonic() - began < 30


def test_a_budget_that_is_used_up_interrupts_the_agent(ground, make_prompt):
    script = (say(bash(f"echo {n}")) for n in range(50))
    limits = {"budget": Budget(max_total_tokens=500)}
    response = ground.evaluate(script, make_prompt(), limits=limits)
    assert response.stop_reason == "budget: max_total_tokens"
    assert ground.session[RunClosed].latest().reason == response.stop_reason
    (state,) = ground.session.runs().values()

    assert 500 <= state.usage.total_tokens <= 2_000


def test_usage_and_cost_are_on_record(ground, make_prompt):
    ground.evaluate([say(bash("echo one")), say("Done.")], make_prompt())
    (state,) = ground.session.runs().values()

    assert (state.usage.input_tokens, state.usage.output_tokens) == (200, 40)
    assert state.usage.cost > 0
    assert ground.session[RunClosed].latest().reason == "completed"


@pytest.mark.parametrize("limits", [{}, {"budget": Budget(max_cost=100)}], ids=["free", "limited"])
def test_what_a_response_has_read_is_counted_before_the_next(ground, make_prompt, limits):
    script = [*(say("I look.", bash(f"echo {n}"), bash("echo")) for n in range(4)), say("Done.")]
    ground.evaluate(script, make_prompt(), limits=limits)
    *responses, _ = ground.session[ModelResponded].all()
    (state,) = ground.session.runs().values()

    assert sum(each.usage.input_tokens for each in responses if each.usage) >= 400
    assert (state.usage.input_tokens, state.usage.output_tokens) == (500, 100)


def test_work_beats(ground, make_prompt):
    beats = []
    heartbeat = Heartbeat()
    heartbeat.add_callback(lambda: beats.append(1))
    script = [say(Call("mcp__trimtab__shout", {"text": "hi"})), say("Done.")]
    ground.evaluate(script, make_prompt(tools=[SHOUT]), limits={"heartbeat": heartbeat})

    assert len(beats) > 5


def test_the_model_sees_the_tools_of_the_prompt_from_the_start(ground, make_prompt):
    ground.evaluate([say("Done.")], make_prompt(tools=[SHOUT]))
    offered = {tool["name"]: tool for tool in ground.requests[0].json["tools"]}

    assert offered["mcp__trimtab__shout"]["input_schema"]["required"] == ["text"]


# Faults.


class Raising:
    name, category = "raising", "test"
    decision_points = tuple(POINT)

    def classify(self, *, context):
        raise KeyError("boom")

    provide = classify


class Sleeping(Raising):
    name = "sleeping"

    def classify(self, *, context):
        import time

        time.sleep(10)


class Garbage(Raising):
    name = "garbage"

    def classify(self, *, context):
        return {"hookSpecificOutput": 3}


@pytest.mark.parametrize("provider", [Raising(), Sleeping(), Garbage()], ids=lambda each: each.name)
def test_a_broken_provider_changes_nothing_else(ground, make_prompt, provider):
    script = [say(bash("echo one")), say(bash(FAILING)), say("Done.")]
    ground.evaluate(script, make_prompt())
    expected = [plain(request.messages) for request in ground.requests]
    response = ground.evaluate(script, make_prompt(provider, key="broken"))

    assert [plain(request.messages) for request in ground.requests] == expected
    assert response.text == "Done."
    assert {fault.source.name for fault in ground.session[ProviderFaulted].all()} == {provider.name}
    assert ground.session[HookFailed].all() == ()
