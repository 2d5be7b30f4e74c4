"""ConsultationPromptProvider on real runs."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    GuidanceProviderConfig,
    Host,
    Outcome,
    Prompt,
    Session,
    ToolCall,
    enable,
)
from trimtab.inspection import ProviderOptionsError
from trimtab_consultation_prompt import ConsultationPromptProvider

NAME = "consultation-prompt"


class LoopWatch:
    """Speaks about one loop, after every turn that policy lets it."""

    name = "loop-watch"
    category = "loop"
    decision_points = (DecisionPoint.PRE_TOOL_SELECTION,)

    def classify(self, *, context):
        return ClassificationResult(True, episode="the-loop")

    def provide(self, *, context):
        text = f"Again, after {context.tool_call_count} calls."
        return GuidanceInjection("loop", text, priority=10, category=self.category)


class Agent:
    """An agent that takes turns; each method returns what the provider said after the turn."""

    def __init__(self, provider=None, tools=None, before=()):
        providers = [*before, provider or ConsultationPromptProvider()]
        prompt = Prompt("a", "b", config=None, guidance_providers=providers)
        self.session = Session()
        host = Host(tools=None if tools is None else frozenset(tools))
        self.run = self.session.open_run(prompt, host=host)

    def turn(self, *calls):
        asked = [ToolCall(tool, params, f"c{n}") for n, (tool, params, _) in enumerate(calls)]
        self.run.model_responded(tool_calls=asked)
        for call in asked:
            self.run.tool_started(call.tool, call.params, call.call_id)
        for call, (_, _, error) in zip(asked, calls, strict=True):
            outcome = Outcome.ERROR if error else Outcome.OK
            self.run.tool_finished(call.call_id, error or "ok", outcome=outcome)
        said = self.run.guide(DecisionPoint.PRE_TOOL_SELECTION).injections
        return next((item.content for item in said if item.source == NAME), "")

    def edit(self, number):
        return self.turn(("edit", {"file": "a.py", "text": f"version {number}"}, None))

    def test(self, error="FAIL"):
        return self.turn(("run_tests", {}, error))

    def attempts(self, numbers):
        return [bool(self.edit(number) or self.test()) for number in numbers]


def test_five_different_attempts_that_failed():
    agent = Agent()
    assert agent.attempts(range(4)) == [False] * 4
    agent.edit(4)
    assert agent.test() == (
        '5 different attempts have failed, the last with "FAIL". Do not try a further variation '
        "now: ask someone else for a fresh view, such as a reviewer or the user. Say what you "
        "tried, and what each attempt showed."
    )


def test_the_specifications_words_are_an_option():
    agent = Agent(ConsultationPromptProvider(wording="seed"))
    agent.attempts(range(4))
    agent.edit(4)
    assert agent.test() == (
        "Multiple attempts unsuccessful. Consider using request_review to get fresh perspective "
        "from specialized agent."
    )


def test_a_failure_that_is_repaired_is_no_attempt_at_the_next():
    agent = Agent()
    for number, name in enumerate(["numpy", "pytz", "scipy", "h5py", "yaml", "attrs", "lxml"]):
        assert not agent.test(f"ModuleNotFoundError: No module named '{name}'")
        agent.edit(number)


def test_failures_that_nobody_followed_up_lapse():
    agent = Agent()
    for number in range(8):
        assert not agent.turn((f"tool_{number}", {}, f"broken {number}"))
        for other in range(7):
            agent.turn(("read", {"path": f"{number}-{other}"}, None))


def test_one_failure_again_and_again_takes_twice_as_long():
    agent = Agent()
    said = [agent.test() for _ in range(10)]
    assert not any(said[:9])
    assert "The same attempt has failed 10 times" in said[9]


def test_the_same_changes_again_are_the_same_attempts():
    agent = Agent()
    assert not any(agent.attempts([1, 2] * 4 + [1]))
    agent.edit(2)
    assert "10 attempts have failed, only 2 of them different" in agent.test()


def test_different_calls_that_fail_are_different_attempts():
    agent = Agent()
    commands = ["make", "cmake .", "ninja", "bazel build", "meson compile"]
    said = [agent.turn(("Bash", {"command": c}, "exit 2")) for c in commands]
    assert [bool(text) for text in said] == [False] * 4 + [True]


def test_calls_that_fail_together_are_one_attempt():
    agent = Agent()
    assert not agent.turn(*(("fetch", {"url": f"/{n}"}, "502") for n in range(10)))
    assert not agent.turn(*(("fetch", {"url": f"/{n}"}, "502") for n in range(10, 20)))


def test_what_a_program_says_to_one_input_after_the_other_is_no_attempt():
    agent = Agent()
    inputs = ["a;;", "a;;;", ";", ";;", "1;;2", "a;", "b"]
    calls = [
        ("bash", {"command": f"echo -n '{text}' | lint - 2>&1"}, f"cannot parse {text!r}")
        for text in inputs
    ]
    assert not any(agent.turn(call) for call in calls)
    same = [(tool, params, "lint: no such program") for tool, params, _ in calls]
    agent = Agent()
    assert [bool(agent.turn(call)) for call in same].index(True) == 4


def test_looking_around_between_failures_is_no_change():
    agent = Agent()
    for n in range(9):
        agent.turn(("read", {"path": f"{n}.py"}, None))
        agent.turn(("Bash", {"command": f"cat {n}.py | head"}, None))
        assert not agent.test()


def test_waiting_for_something_is_no_failure():
    agent = Agent()
    assert not any(agent.turn(("wait_for_build", {}, "not yet")) for _ in range(30))


def test_success_of_what_failed_ends_the_count():
    agent = Agent()
    agent.attempts(range(4))
    agent.test(error=None)
    assert agent.attempts(range(10, 14)) == [False] * 4
    assert agent.attempts([14]) == [True]


@given(st.lists(st.integers(0, 999), min_size=5, max_size=15, unique=True))
def test_fewer_errors_each_time_are_progress(counts):
    agent = Agent()
    for number, count in enumerate(sorted(counts, reverse=True)):
        agent.edit(number)
        assert not agent.test(f"FAILED: {count} failed, 3 passed")


@given(st.lists(st.integers(0, 999), min_size=5, max_size=9))
def test_as_many_errors_or_more_are_none(counts):
    agent = Agent()
    said = []
    for number, count in enumerate(sorted(counts)):
        agent.edit(number)
        said.append(agent.test(f"FAILED: {count} failed, 3 passed"))
    assert [bool(text) for text in said[:5]] == [False] * 4 + [True]


def test_success_of_something_else_does_not():
    agent = Agent()
    agent.attempts(range(4))
    agent.turn(("fetch", {"url": "/"}, None), ("read", {"path": "a"}, None))
    assert agent.attempts([4]) == [True]


def test_a_new_request_ends_the_count():
    agent = Agent()
    agent.attempts(range(4))
    agent.run.user_message("try something else")
    assert agent.attempts(range(4)) == [False] * 4


@pytest.mark.parametrize("tool", ["request_review", "mcp__team__request_review"])
def test_it_is_silent_after_a_consultation(tool):
    agent = Agent(tools=["edit", "run_tests", tool])
    agent.attempts(range(4))
    agent.turn((tool, {"question": "why?"}, None))
    assert agent.attempts(range(4, 8)) == [False] * 4
    assert agent.attempts([8]) == [True]


def test_a_tool_that_the_agent_lacks_is_not_named():
    assert not any(Agent(tools=["edit", "run_tests"]).attempts(range(20)))
    assert any(Agent(tools=["edit", "run_tests", "request_review"]).attempts(range(20)))


def test_at_most_two_rounds_a_run():
    said = Agent().attempts(range(60))
    assert [n for n, spoke in enumerate(said, 1) if spoke] == [5, 10]


def test_a_second_round_may_come_five_turns_after_the_first():
    agent = Agent(ConsultationPromptProvider(failure_threshold=1))
    said = [agent.turn((f"tool_{number}", {}, f"FAIL {number}")) for number in range(8)]
    assert [n for n, text in enumerate(said) if text] == [0, 5]


def test_a_loop_that_goes_on_after_its_nudges():
    agent = Agent(before=[GuidanceProviderConfig(LoopWatch(), cooldown_turns=2)])
    said = [agent.turn(("look", {}, None)) for _ in range(10)]
    assert not any(said[:3])
    spoken = [text for text in said if text]
    assert "The same pattern has gone on after 2 reminders." in spoken[0]
    assert len(spoken) <= 2


def test_a_loop_of_another_category_is_not_followed():
    provider = ConsultationPromptProvider(loop_category="other")
    agent = Agent(provider, before=[LoopWatch()])
    assert not any(agent.turn(("look", {}, None)) for _ in range(10))


def test_options_are_obeyed():
    options = {"failure_threshold": 2, "consultation_tool": "ask", "message": "{tool}: {count}"}
    agent = Agent(enable(NAME, **options))
    agent.attempts([1])
    agent.edit(2)
    assert agent.test() == "ask: 2"


@pytest.mark.parametrize(
    "options",
    [
        {"failure_threshold": 0},
        {"failure_threshold": 2.5},
        {"consultation_tool": "a\x07"},
        {"message": "{tool.name}"},
        {"message": "a\rb"},
        {"message": 3},
        {"consultation_tool": ""},
        {"consultation_tool": "x" * 65},
        {"max_rounds": 0},
        {"loop_category": None},
        {"loop_category": ""},
        {"loop_category": 3},
        {"max_rounds": True},
        {"failure_threshold": True},
        {"message": "{n}"},
        {"message": "x" * 501},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ProviderOptionsError, match=next(iter(options))):
        Prompt("a", "b", config=None, guidance_providers=[enable("consultation-prompt", **options)])


def test_a_restored_session_goes_on_counting():
    agent = Agent()
    agent.attempts(range(4))
    session = Session.restore(agent.session.snapshot())
    agent.run = session.open_run(agent.run.prompt, run_id=agent.run.run_id)
    assert agent.attempts([4]) == [True]


@given(st.lists(st.sampled_from(["fail", "same", "loop", "fine"]), min_size=10, max_size=60))
def test_rounds_are_five_turns_apart_whatever_their_reason(turns):
    agent = Agent(ConsultationPromptProvider(2, max_rounds=9), before=[LoopWatch()])
    spoke = []
    for number, kind in enumerate(turns):
        if kind in ("fail", "same"):
            said = agent.turn(("run", {"n": number if kind == "fail" else 0}, f"broken {kind}"))
        else:
            said = agent.turn(("read", {"n": number if kind == "fine" else 0}, None))
        if said:
            spoke.append(number)
    assert all(later - earlier >= 5 for earlier, later in pairwise(spoke))
