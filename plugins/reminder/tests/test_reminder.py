"""Reminder on real runs."""

import tomllib
from typing import ClassVar

import pytest
from hypothesis import given, settings, strategies as st

from trimtab import (
    Budget,
    Deadline,
    DecisionPoint,
    Delivery,
    GuidanceProviderConfig,
    Host,
    ManualClock,
    Prompt,
    Session,
    ToolCall,
    Usage,
    enable,
    load_configuration,
)
from trimtab.events import GuidanceDelivered, GuidanceSuppressed
from trimtab.hosting import Chat
from trimtab_reminder import Reminder, Rule
from trimtab_testing import GuidanceConformance, Speaker

TESTS = "Run the tests before you commit."
GERMAN = "Answer in German."


class Agent:
    """An agent that takes turns, and what it reads before each request."""

    def __init__(self, *rules, run=None, max_per_run=1000, host=None, others=(), **options):
        mine = GuidanceProviderConfig(Reminder(rules, **options), max_per_run=max_per_run)
        self.prompt = Prompt("a", "b", config=None, guidance_providers=[*others, mine])
        self.session = Session(clock=ManualClock())
        self.run = self.session.open_run(
            self.prompt, run_id="r", host=host or Host(), **(run or {})
        )
        self.turns = 0

    def ask(self, point=DecisionPoint.PRE_TOOL_SELECTION, **more):
        return self.run.guide(point, **more).text

    def turn(self, tool="work", usage=None):
        """Take a turn with one call; return what the next request carries."""
        call = ToolCall(tool, {"n": self.turns}, f"c{self.turns}")
        self.turns += 1
        self.run.model_responded(tool_calls=[call], usage=usage)
        self.run.tool_finished(call.call_id, f"done {self.turns}")
        return self.ask()

    def restart(self):
        self.session = Session.restore(self.session.snapshot(), clock=self.session.clock)
        self.run = self.session.open_run(self.prompt, run_id="r", host=self.run.host)

    def spoken_in(self, turns):
        return [n for n in range(1, turns + 1) if self.turn()]


def said(*texts):
    body = texts[0] if len(texts) == 1 else "\n".join(f"• {text}" for text in texts)
    return f'<guidance source="reminder">{body}</guidance>'


def test_a_plain_text_is_repeated_every_20_turns():
    agent = Agent(TESTS)

    assert agent.spoken_in(60) == [20, 40, 60]


def test_the_text_is_the_users_word_for_word():
    agent = Agent(Rule(TESTS, every_turns=2))
    agent.turn()

    assert agent.turn() == said(TESTS)


@pytest.mark.parametrize(
    ("first", "expected"), [(None, [3, 6, 9]), (1, [1, 4, 7, 10]), (5, [5, 8])]
)
def test_the_first_time_may_be_another_one(first, expected):
    assert Agent(Rule(TESTS, every_turns=3, first_after=first)).spoken_in(10) == expected


def test_with_the_first_request_and_with_every_one_after_it():
    agent = Agent(Rule(TESTS, every_turns=1, first_after=0))

    assert agent.ask() == said(TESTS)
    assert agent.spoken_in(5) == [1, 2, 3, 4, 5]


@settings(max_examples=15)
@given(every=st.integers(1, 9), restarted=st.sets(st.integers(0, 30), max_size=4))
def test_restarts_change_no_time(every, restarted):
    agent, spoken = Agent(Rule(TESTS, every_turns=every)), []
    for n in range(1, 31):
        if n in restarted:
            agent.restart()
        if agent.turn():
            spoken.append(n)

    assert spoken == list(range(every, 31, every))


def test_rules_of_one_moment_share_a_text():
    agent = Agent(Rule(TESTS, every_turns=2), Rule(GERMAN, every_turns=1))
    agent.turn()

    assert agent.turn() == said(TESTS, GERMAN)


def test_rules_that_do_not_fit_come_with_the_next_request_in_turn():
    rules = [Rule(f"{n} " + "long " * 60, every_turns=1) for n in range(3)]
    agent = Agent(*rules)
    heads = [agent.turn().partition(">")[2][:1] for _ in range(9)]

    assert heads == list("012012012")


def test_a_share_of_the_context_counts_again_when_the_history_was_shortened():
    agent = Agent(Rule(TESTS, at_context=[0.5, 0.9]), context_window=1000)
    read = (400, 510, 600, 905, 950, 200, 300, 550)

    spoken = [n for n in read if agent.turn(usage=Usage(n - 10, 10))]

    assert spoken == [510, 905, 550]


def test_a_share_of_the_budget_is_said_once():
    agent = Agent(Rule(TESTS, at_budget=0.5), run={"budget": Budget(max_total_tokens=100)})

    assert [bool(agent.turn(usage=Usage(20, 0))) for _ in range(5)] == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_a_share_of_the_time_is_said_once():
    clock = ManualClock()
    agent = Agent(Rule(TESTS, at_budget=0.5), run={"deadline": Deadline(100, clock)})
    spoken = []
    for seconds in (40, 9, 1, 25):
        clock.advance(seconds)
        spoken.append(bool(agent.turn()))

    assert spoken == [False, False, True, False]


def test_after_each_compaction():
    agent = Agent(Rule(TESTS, after_compaction=True))
    assert agent.spoken_in(30) == []
    agent.run.compacted("short")
    assert agent.turn() == said(TESTS)
    assert agent.spoken_in(30) == []
    agent.run.compacted()
    assert agent.turn() == said(TESTS)


def test_before_calls_of_a_tool_and_after_them():
    before = Rule(TESTS, point="pre_tool_execution", tools=["commit"])
    after = Rule(GERMAN, point="post_tool_result", tools="commit")
    agent = Agent(before, after)
    point = DecisionPoint.PRE_TOOL_EXECUTION

    assert agent.ask(point, pending=[ToolCall("read")]) == ""
    assert agent.ask(point, pending=[ToolCall("read"), ToolCall("commit")]) == said(TESTS)
    agent.turn("read")
    assert agent.ask(DecisionPoint.POST_TOOL_RESULT) == ""
    agent.turn("commit")
    assert agent.ask(DecisionPoint.POST_TOOL_RESULT) == said(GERMAN)


def test_before_the_answer_once_for_each_request_of_the_user():
    agent = Agent(Rule(TESTS, point="pre_response"))
    chat = Chat(agent.run, strict=True)
    for _ in range(2):
        chat.user_said("Do it.")
        chat.response("Done.")
        assert not chat.may_stop()
        assert chat.request() == said(TESTS)
        chat.response("Done, with tests.")
        assert chat.may_stop()


def test_no_pause_of_core_holds_it_back_and_its_limits_do():
    agent = Agent(Rule(TESTS, every_turns=1), max_per_run=7)

    assert agent.spoken_in(12) == [1, 2, 3, 4, 5, 6, 7]
    (held,) = agent.session[GuidanceSuppressed].all()
    assert held.reason == "run budget used up"


def test_it_opens_no_episode():
    agent = Agent(Rule(TESTS, every_turns=1))
    agent.spoken_in(3)

    assert agent.run.state.episodes.all() == ()
    assert {event.episode for event in agent.session[GuidanceDelivered].all()} == {""}


def test_it_speaks_again_where_the_host_keeps_texts():
    host = Host("keeps", dict.fromkeys(DecisionPoint, Delivery.PERSISTED))

    assert Agent(Rule(TESTS, every_turns=3), host=host).spoken_in(9) == [3, 6, 9]


def test_what_the_prompts_limit_drops_comes_with_the_next_request():
    loud = Speaker("loud", category="reminder", priority=1)
    agent = Agent(Rule(TESTS, every_turns=2), others=[loud])
    told = [agent.turn() for _ in range(4)]

    assert [TESTS in text for text in told].count(True) >= 1
    assert TESTS not in told[0]


SETTINGS = """
[[prompts."a/b".guidance]]
use = "reminder"
max_per_run = 50

[prompts."a/b".guidance.options]
context_window = 200_000
rules = [
  "Answer in German.",
  { text = "Run the tests before you commit.", every_turns = 10 },
  { text = "Never write a key into a file.", after_compaction = true, at_context = 0.5 },
]
"""


def test_rules_from_a_file_are_those_from_code(tmp_path):
    file = tmp_path / "trimtab.toml"
    file.write_text(SETTINGS)
    options = tomllib.loads(SETTINGS)["prompts"]["a/b"]["guidance"][0]["options"]
    (config,) = load_configuration(file).prompts["a/b"].guidance

    assert config.provider.options == options
    assert Reminder(**options).rules == (
        Rule(GERMAN),
        Rule(TESTS, every_turns=10),
        Rule("Never write a key into a file.", after_compaction=True, at_context=0.5),
    )


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (TESTS, "rules must be a list"),
        ([], "rules is empty"),
        ([TESTS, 7], r"rules\[1\] must be a text"),
        ([{"text": TESTS, "every": 3}], r"rules\[0\] has no field 'every'.*every_turns"),
        ([{"every_turns": 3}], r"rules\[0\] has no text"),
        ([{"text": TESTS, "every_turns": 0}], r"rules\[0\]: every_turns must be 1 or more"),
        ([{"text": "a bell \a"}], "without control characters"),
        ([{"text": "x" * 481}], "1 to 480 characters"),
        ([TESTS, TESTS], "two rules have the text"),
        ([{"text": TESTS, "at_context": 0.5}], "needs context_window"),
        ([{"text": TESTS, "at_budget": [0.5, 1.5]}], "at_budget must be from 0 to 1"),
        ([{"text": TESTS, "point": "later"}], "'pre_tool_selection'"),
        ([{"text": TESTS, "tools": ["commit"]}], "tools needs point"),
        ([{"text": TESTS, "tools": 3, "point": "post_tool_result"}], "names of tools"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_place(rules, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Reminder(rules)


def test_a_prompt_says_what_is_missing():
    with pytest.raises(Exception, match="rules"):
        Prompt("a", "b", config=None, guidance_providers=[enable("reminder")])


@pytest.mark.slow
class TestConformance(GuidanceConformance):
    """Plain rules, and one at each occasion that needs no host."""

    provider = Reminder
    options: ClassVar = {
        "rules": [
            TESTS,
            {"text": GERMAN, "every_turns": 3},
            {"text": "Write down what is decided.", "after_compaction": True, "at_budget": 0.5},
            {"text": "Check the names.", "point": "post_tool_result", "tools": ["Bash"]},
        ]
    }
    speaks_on_good_runs = True
