"""ParallelToolReminder on real runs."""

import pytest

from trimtab import (
    DecisionPoint,
    Host,
    Outcome,
    Prompt,
    Session,
    ToolCall,
    ToolProfile,
    enable,
)
from trimtab.inspection import ProviderOptionsError
from trimtab_parallel_tool_reminder import ParallelToolReminder

TEXT = (
    '<guidance source="parallel-tool-reminder">The last 3 turns made one call each (read), and none'
    " needed the answer of another. Ask for such calls together in one response.</guidance>"
)


class Agent:
    """An agent that takes turns; `texts` holds what it was told."""

    def __init__(self, provider=None, host=None, **template):
        providers = [provider or ParallelToolReminder()]
        prompt = Prompt("a", "b", config=None, guidance_providers=providers, **template)
        self.session = Session()
        self.run = self.session.open_run(prompt, host=host or Host())
        self.texts = []

    def turn(self, *calls, **end):
        """Take a turn of calls ``(tool, params, answer)``, and return what is said after it."""
        asked = [ToolCall(tool, params, f"c{n}") for n, (tool, params, _) in enumerate(calls)]
        self.run.model_responded(tool_calls=asked)
        for call in asked:
            self.run.tool_started(call.tool, call.params, call.call_id)
        for call, (_, _, answer) in zip(asked, calls, strict=True):
            self.run.tool_finished(call.call_id, answer, **end)
        text = self.run.guide(DecisionPoint.PRE_TOOL_SELECTION).text
        self.texts += [text] if text else []
        return text

    def turns(self, *calls):
        return [bool(self.turn(call)) for call in calls]


def read(name, answer="some text"):
    return "read", {"path": f"src/{name}.py"}, answer


def reads(count):
    return [read(f"module_{n}", f"text of number {n}") for n in range(count)]


def test_independent_reads_one_by_one_are_noticed():
    agent = Agent()
    assert agent.turns(*reads(3)) == [False, False, True]
    assert agent.texts == [TEXT]


def test_tools_may_differ():
    agent = Agent()
    agent.turns(read("a"), ("grep", {"pattern": "TODO"}, "docs/x.md:1: a note"), read("b"))
    assert "(read, grep)" in agent.texts[0]


@pytest.mark.parametrize(
    "chain",
    [
        [
            ("find_user", {"name": "Ada"}, {"id": "u-17"}),
            ("get_calendar", {"user": "u-17"}, {"free": "10:30"}),
            ("get_room", {"at": "10:30"}, "room 5"),
        ],
        [
            ("grep", {"pattern": "parse"}, "src/parser.py:3"),
            ("read", {"path": "src/parser.py"}, "from lexer import tokens"),
            ("read", {"path": "src/lexer.py"}, "text"),
        ],
        [
            ("get_item", {"id": 1}, {"next": 2}),
            ("get_item", {"id": 2}, {"next": 3}),
            ("get_item", {"id": 3}, {"next": 4}),
        ],
        [("list_pages", {"page": n}, f"entries of {n * 100}") for n in (1, 2, 3)],
        [("read", {"path": "a.py", "offset": n}, "lines") for n in (0, 100, 200)],
        [("Bash", {"command": f"sed -n {n},{n + 9}p a.py"}, "lines") for n in (1, 10, 20)],
        [("read", {"path": "a.py"}, "same")] * 4,
        [("edit", {"path": f"{n}.py"}, "ok") for n in range(4)],
        [("unknown", {"x": n}, "ok") for n in range(4)],
        [("think", {"thought": f"{n} is odd"}, "ok") for n in ("one", "three", "five")],
        [read("a", "text"), ("search_tools", {"query": "tasks"}, "TaskCreate"), read("b", "more")],
        [("Bash", {"command": f"make {n}"}, "ok") for n in ("one", "two", "three")],
        [("Bash", {"command": f"sleep 5; cat {n}"}, "ok") for n in ("one", "two", "three")],
    ],
)
def test_calls_that_must_wait_for_one_another_are_left_alone(chain):
    assert not any(Agent().turns(*chain))


def test_shell_commands_that_only_read_count():
    agent = Agent()
    commands = ["cat notes.md", "rg TODO lib", "git log --oneline"]
    assert agent.turns(*(("Bash", {"command": c}, "…") for c in commands))[-1]


def test_a_dependent_call_begins_a_new_streak():
    agent = Agent()
    listing = ("list_files", {"path": "."}, "alpha.py beta.py gamma.py")
    files = [("read", {"path": f"{name}.py"}, "text") for name in ("alpha", "beta", "gamma")]
    assert agent.turns(listing, *files) == [False, False, False, True]


def test_values_known_before_are_no_dependence():
    agent = Agent()
    calls = [("get_weather", {"city": c}, {"city": c, "sky": "clear"}) for c in ("Rome", "Oslo")]
    assert agent.turns(*calls, ("get_weather", {"city": "Bern"}, {}))[-1]


@pytest.mark.parametrize("end", [{"outcome": Outcome.ERROR}, {"poll": True}])
def test_failures_and_polls_do_not_count(end):
    agent = Agent()
    assert not any(agent.turn(call, **end) for call in reads(5))


def test_a_failure_ends_the_streak():
    agent = Agent()
    agent.turns(*reads(2))
    agent.turn(read("other"), outcome=Outcome.ERROR)
    assert not agent.turn(read("last"))


def test_declared_tools_count_whatever_their_name():
    profile = ToolProfile(names="translate", independent=True)
    agent = Agent(tool_profiles=[profile])
    calls = [("translate", {"text": word}, "…") for word in ("house", "garden", "street")]
    assert agent.turns(*calls)[-1]


def test_it_is_silent_where_one_call_is_all_a_turn_can_hold():
    assert not any(Agent(host=Host(parallel_calls=False)).turns(*reads(9)))
    assert any(Agent(host=Host(parallel_calls=True)).turns(*reads(9)))


def test_it_is_silent_once_the_agent_has_asked_for_several_at_once():
    agent = Agent()
    agent.turn(read("a"), read("b"))
    assert not any(agent.turns(*reads(20)))


def test_it_is_rare():
    agent = Agent()
    spoke = [n for n, said in enumerate(agent.turns(*reads(200)), 1) if said]
    assert spoke == [3, 12]


def test_a_message_of_the_user_begins_a_new_streak():
    agent = Agent()
    agent.turns(*reads(2))
    agent.run.user_message("and read this one too")
    assert not agent.turn(read("other"))


def test_options_are_obeyed():
    provider = enable(
        "parallel-tool-reminder", sequential_threshold=2, message="{count} of {tools}"
    )
    agent = Agent(provider)
    assert agent.turns(*reads(2)) == [False, True]
    assert agent.texts == ['<guidance source="parallel-tool-reminder">2 of read</guidance>']


@pytest.mark.parametrize(
    "options",
    [
        {"sequential_threshold": 1},
        {"sequential_threshold": 2.5},
        {"message": "{count:{width}}"},
        {"message": "{count!z}"},
        {"max_reminders": 0},
        {"max_reminders": True},
        {"message": ""},
        {"message": "{n}"},
        {"message": "x" * 501},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ProviderOptionsError, match=next(iter(options))):
        Prompt(
            "a", "b", config=None, guidance_providers=[enable("parallel-tool-reminder", **options)]
        )


def test_hostile_names_are_tamed():
    agent = Agent()
    calls = [(f"get_{n}</guidance>\n\x1b{'x' * 300}", {"n": f"value {n}"}, "") for n in "abc"]
    agent.turns(*calls)
    assert agent.texts[0].count("</guidance>") == 1
    assert agent.texts[0].isprintable()


def test_a_restored_session_goes_on_counting():
    agent = Agent()
    agent.turns(*reads(2))
    session = Session.restore(agent.session.snapshot())
    agent.run = session.open_run(agent.run.prompt, run_id=agent.run.run_id)
    assert agent.turn(read("last"))


def test_a_restored_session_still_sees_which_call_needed_which():
    agent = Agent()
    agent.turns(read("a", "it imports src/b.py"), read("b"))
    session = Session.restore(agent.session.snapshot())
    agent.run = session.open_run(agent.run.prompt, run_id=agent.run.run_id)

    assert not agent.turn(read("last"))


def test_a_long_streak_keeps_eight_calls():
    agent = Agent(ParallelToolReminder(sequential_threshold=100))
    agent.turns(*reads(40))
    streak = agent.run.trajectory.projection("parallel-tool-reminder")
    kept = [link.params[0] for link in streak.state().links]

    assert streak.length == 40
    assert kept == [f"src/module_{n}.py" for n in range(32, 40)]


TOWNS = ("Lyon", "Nice", "Lille", "Brest")


@pytest.mark.parametrize(
    ("asked", "tool", "answer"),
    [
        ("Quel temps fait-il à Lyon, Nice, Lille et Brest ?", "meteo", "{} : {} °C"),
        ("请比较 Lyon、Nice、Lille、Brest 的天气", "天气", "{} {}度"),
        ("Millainen sää on Lyonissa, Nicessä, Lillessä ja Brestissä?", "sää", "{} {} astetta"),
        ("Population of Lyon, Nice, Lille, Brest?", "wikipedia", "{} has {} inhabitants."),
    ],
)
def test_a_tool_of_which_nothing_is_known_counts_for_what_the_user_has_named(asked, tool, answer):
    known, unknown = Agent(), Agent()
    known.run.user_message(asked)
    unknown.run.user_message("Go on.")
    calls = [(tool, {"x": town}, answer.format(town, 17 + 3 * n)) for n, town in enumerate(TOWNS)]

    assert known.turns(*calls)[2]
    assert not any(unknown.turns(*calls))


@pytest.mark.parametrize(
    ("asked", "tool", "task"),
    [
        ("Relève Lyon, Nice, Lille et Brest, chacun pour soi.", "delegate", "Relever {} d'abord"),
        ("Prüfe Lyon, Nice, Lille und Brest.", "Agent", "Sieh in den Akten nach: {}"),
        ("리옹 Lyon, Nice, Lille, Brest 를 조사해 줘", "subagent", "{} 보고서를 써라"),
    ],
)
def test_the_entries_of_a_list_may_stand_in_a_sentence_that_is_the_same_each_time(
    asked, tool, task
):
    agent = Agent()
    agent.run.user_message(asked)
    calls = [
        (tool, {"task": task.format(town), "how": "fast"}, f"{n} pages")
        for n, town in enumerate(TOWNS)
    ]

    assert agent.turns(*calls)[2]


@pytest.mark.parametrize(
    "asked", ["Läs av lägenhet 1 till 10", "Lies die Zähler 1-10 ab", "1〜10号室の検針をして"]
)
def test_the_user_names_a_list_by_its_first_and_last(asked):
    agent = Agent()
    agent.run.user_message(asked)
    calls = [("mätare", {"nr": n}, {"kWh": 1_200 + 37 * n}) for n in (1, 2, 3, 4)]

    assert agent.turns(*calls)[2]
    assert not any(Agent().turns(*calls))


def test_the_list_may_stand_in_an_answer():
    agent = Agent()
    agent.run.user_message("How many rows has each table?")
    listed = ("list_tables", {}, list(TOWNS))
    counts = [("run", {"query": f"FROM {one} | COUNT"}, f"{17 + n}") for n, one in enumerate(TOWNS)]

    assert agent.turns(listed, *counts) == [False, False, False, True, False]


def test_a_list_in_an_answer_is_known_after_a_restart():
    agent = Agent()
    listed = ("list_tables", {}, list(TOWNS))
    counts = [("run", {"query": f"FROM {one} | COUNT"}, f"{17 + n}") for n, one in enumerate(TOWNS)]
    agent.turns(listed, *counts[:2])
    session = Session.restore(agent.session.snapshot())
    agent.run = session.open_run(agent.run.prompt, run_id=agent.run.run_id)

    assert agent.turn(counts[2])


@pytest.mark.parametrize("tool", ["deploy", "delete_town", "push"])
def test_what_changes_something_is_left_in_its_order(tool):
    agent = Agent()
    agent.run.user_message("Lyon, Nice, Lille, Brest")

    assert not any(agent.turns(*[(tool, {"x": town}, f"{town} 12") for town in TOWNS]))


def test_calls_in_words_of_the_agent_are_no_list():
    agent = Agent()
    agent.run.user_message("Write about Lyon, Nice, Lille and Brest")
    parts = ("begin with the river", "now the harbour, as promised", "end with the lighthouse")

    assert not any(agent.turns(*[("delegate", {"task": part}, f"{part[:3]} 1") for part in parts]))


def test_a_tool_of_which_nothing_is_known_and_that_only_confirms_does_not_count():
    agent = Agent()
    agent.run.user_message("Invite Lyon, Nice, Lille and Brest")

    assert not any(agent.turns(*[("einladen", {"x": town}, "ok") for town in TOWNS]))


@pytest.mark.parametrize(
    "order",
    [
        "Do them one at a time.",
        "Bitte eins nach dem anderen.",
        "Un appel à la fois, s'il te plaît.",
        "De uno en uno, por favor.",
        "Uma chamada por vez.",
        "Una chiamata alla volta.",
        "Делай по одному вызову за раз.",
        "请逐个调用",
        "一つずつ順番に呼び出してください",
        "한 번에 하나씩 호출해 주세요",
    ],
)
def test_who_asks_for_one_call_at_a_time_in_any_language_is_obeyed(order):
    agent = Agent()
    agent.run.user_message(order)

    assert not any(agent.turns(*reads(6)))


def test_who_asked_for_one_call_at_a_time_need_not_say_so_again():
    agent = Agent()
    agent.run.user_message("Do them one at a time.")
    agent.run.user_message("Go on.")

    assert not any(agent.turns(*reads(6)))


@pytest.mark.parametrize(
    "command", ["npm view {}", "aws s3 ls s3://{}", "pip show {}", "gh pr view {}", "rg {}Config"]
)
def test_a_program_that_only_looks_counts_whatever_its_name(command):
    things = ("alpha", "beacon", "cobalt", "delta")
    calls = [("bash", {"command": command.format(one)}, f"{one[::-1]} 1.2") for one in things]

    assert Agent().turns(*calls)[2]


@pytest.mark.parametrize("empty", ["no matches", "", "Keine Treffer: no results"])
def test_searches_for_what_the_user_has_named_need_no_result_of_another(empty):
    agent = Agent()
    agent.run.user_message("Check where we still use moment, lodash, request and q")
    names = ("moment", "lodash", "request", "q")
    calls = [("grep", {"pattern": f"require('{name}')", "path": "."}, empty) for name in names]

    assert agent.turns(*calls)[2]
    assert not any(Agent().turns(*calls))


@pytest.mark.parametrize("tool", ["step_func", "scroll_length", "next_value"])
def test_moves_by_name_are_independent_where_the_user_named_all_that_they_are_about(tool):
    calls = [(tool, {"x": n}, f"{n} gives {n * 7}") for n in (15, 27, 41)]
    agent, other = Agent(), Agent()
    agent.run.user_message("Work it out for 15, 27 and 41.")
    other.run.user_message("Work it out.")

    assert agent.turns(*calls)[-1]
    assert not any(other.turns(*calls))


@pytest.mark.parametrize("tool", ["IndexMappingTool", "get_weather_tool", "lookupContactTool"])
@pytest.mark.parametrize("key", ["index", "from", "to", "limit", "name"])
def test_a_name_is_no_page_whatever_its_argument_is_called(tool, key):
    agent = Agent()
    agent.turn(("list_all", {}, "orders, users, carts, events"))
    calls = [
        (tool, {key: [name]}, f"fields of the {n}") for n, name in enumerate(["users", "carts"])
    ]

    assert agent.turns(*calls, (tool, {key: ["events"]}, "one more field"))[-1]
