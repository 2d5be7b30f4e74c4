"""The parts of the benchmark of words that need no model."""

from __future__ import annotations

import hashlib
import html
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import given, strategies as st

from trimtab_signals import _untried as untried
from words import arms, episodes, fit, guided, moments, next_call, others, passes, plans, tables
from words.calls import Call, judge, parse
from words.moments import Moment, Right, Step
from words.plans_tasks import TASKS
from words.remote import RemoteModel
from words.samples import difference, means, sign_test, wilson
from words.ways import FIRST_WAYS, WAYS_OUT
from words.worlds import WORLDS


@pytest.fixture
def stuck() -> Moment:
    """A service that could not be started, three times."""
    world = WORLDS["service"](1)
    call = {"service": world.name}
    answer = f"error: {world.name} could not be started"
    steps = (Step("start_service", call, answer, ok=False),) * 3
    return Moment("service-1", "service", due=True, task=world.task, steps=steps, seed=1)


@pytest.mark.parametrize("family", WORLDS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_world_has_a_way_out_whose_steps_are_progress(family: str, seed: int) -> None:
    world = WORLDS[family](seed)
    for name, arguments in WAYS_OUT[family](world):
        before = len(world.reached)
        answer = world.call(name, arguments)
        assert answer.ok, answer.text
        assert len(world.reached) > before or world.finished

    assert world.solved


@pytest.mark.parametrize("family", WORLDS)
def test_the_first_way_fails_in_a_trap_and_only_there(family: str) -> None:
    trap, easy = WORLDS[family](1), WORLDS[family](1, trap=False)
    trap.call(*FIRST_WAYS[family](trap))
    easy.call(*FIRST_WAYS[family](easy))

    assert not trap.reached and easy.reached
    assert 12 <= len(trap.tools()) <= 20


@pytest.mark.parametrize("family", WORLDS)
def test_a_tool_that_does_not_help_is_no_progress(family: str) -> None:
    useful = {name for name, _ in WAYS_OUT[family](WORLDS[family](1))}
    idle = 0
    for tool in WORLDS[family].tools():
        world = WORLDS[family](1)
        world.call(tool.name, dict.fromkeys(tool.params, "nothing like it"))
        idle += not world.reached
        assert not world.solved

    assert idle >= len(WORLDS[family].tools()) - len(useful) - 3


def test_a_call_that_makes_no_sense_is_answered() -> None:
    world = WORLDS["room"](1)

    assert not world.call("no_such_tool", {}).ok
    assert "'thing' is missing" in world.call("open_thing", {}).text
    assert world.call("finish", {"answer": "done"}).ok
    assert world.finished and not world.solved


def test_moments_are_read_as_they_were_written(stuck: Moment, tmp_path: Path) -> None:
    path = tmp_path / "moments.jsonl"
    moments.append([stuck], path)

    assert list(moments.read(path)) == [stuck]


KEPT = list(moments.read())
SECOND = list(moments.read(moments.MOMENTS.with_name("moments_second.jsonl")))
FOURTH = list(moments.read(moments.MOMENTS.with_name("moments_fourth.jsonl")))
SCREEN = list(moments.read(moments.MOMENTS.with_name("moments_screen.jsonl")))
RESULTS = moments.MOMENTS.with_name("results")


def test_there_are_enough_moments_of_enough_kinds() -> None:
    due = Counter(moment.due for moment in KEPT)
    kinds = {moment.family for moment in KEPT if moment.due}

    assert len(KEPT) >= 40 and len(kinds) >= 10
    assert abs(due[True] - due[False]) <= 4
    assert len({moment.id for moment in KEPT}) == len(KEPT)
    assert all(10 <= len(moment.all_tools()) <= 20 for moment in KEPT)


def test_the_second_pass_has_enough_moments_of_other_kinds() -> None:
    due = [moment for moment in SECOND if moment.due]

    assert len(due) >= 14 and len({moment.family for moment in due}) >= 10
    assert not {moment.family for moment in SECOND} & {moment.family for moment in KEPT}


def test_texts_are_screened_on_other_moments_than_they_are_measured_on() -> None:
    assert not {m.family for m in SCREEN} & {m.family for m in [*KEPT, *SECOND, *FOURTH]}


@pytest.mark.parametrize("moment", FOURTH, ids=lambda moment: moment.id)
def test_a_text_is_short_and_names_no_tool_that_nobody_asked_for(moment: Moment) -> None:
    block = arms.BLOCK.search(arms.text_at(moment))
    if block is None:
        return
    assert len(html.unescape(block[2])) <= 300
    assert not set(re.findall(r"\w+", block[2])) & set(moment.harm)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [*fit.SETS, "thirteenth", "fourteenth", "fifteenth", "sixteenth"]
)
def test_no_text_of_a_pass_names_a_tool_that_does_harm(number: str) -> None:
    for moment in moments.read(RESULTS.parent / f"moments_{number}.jsonl"):
        _, text = passes.text_of(moment)
        assert not set(re.findall(r"[\w-]+", html.unescape(text))) & set(moment.harm), moment.id


@pytest.mark.parametrize("moment", [*KEPT, *SECOND], ids=lambda moment: moment.id)
def test_the_providers_speak_where_it_is_due_and_nowhere_else(moment: Moment) -> None:
    spoken = guided.spoken_at(moment)

    assert spoken == (len(moment.steps) if moment.due else None)


@pytest.mark.parametrize(
    "moment", [m for m in [*KEPT, *SECOND] if m.seed is not None], ids=lambda m: m.id
)
def test_a_world_answers_again_as_it_did(moment: Moment) -> None:
    world = WORLDS[moment.family](moment.seed or 0, trap=moment.trap)
    answers = [world.call(step.tool, step.arguments) for step in moment.steps]

    assert world.task == moment.task
    assert [(a.text, a.ok) for a in answers] == [(s.answer, s.ok) for s in moment.steps]


@pytest.mark.parametrize("moment", [*KEPT, *SECOND], ids=lambda moment: moment.id)
def test_the_arms_differ_in_the_text_alone(moment: Moment) -> None:
    made = {request.arm: request for request in arms.requests(moment)}
    shipped, plain = made["shipped"], made["none"]

    assert plain.messages == moment.messages() and not plain.text
    assert shipped.messages[:-1] == plain.messages
    assert shipped.text.startswith("<guidance ") and made["placebo"].text.startswith("<guidance ")
    assert abs(len(made["placebo"].text) - len(shipped.text)) <= 2
    if moment.due:
        inside = made["shipped@tool"].messages
        assert inside[-1]["content"].endswith(shipped.text)
        assert len(inside) == len(plain.messages)
    if moment.due:
        unlisted, likeness, second, third = arms.requests(moment, arms.MORE_ARMS)
        assert "one of these" not in unlisted.text
        assert abs(len(likeness.text) - len(shipped.text)) <= 80
        assert "this goes on" in second.text and "still the same" in third.text
    assert set(shipped.listed) <= {tool.name for tool in moment.all_tools()}


def test_what_a_model_writes_is_read_as_a_call() -> None:
    assert parse('look_around", "arguments": {}}\n') == Call("look_around", {})
    assert parse('open", "arguments": {"a": "b\nc"}} and more').arguments == {"a": "b\nc"}
    assert parse("look_around").tool == ""
    assert parse('open", "arguments": "all"}').tool == ""


def test_a_call_is_judged_by_the_state_of_its_world(stuck: Moment) -> None:
    again = judge(stuck, Call("start_service", dict(stuck.steps[0].arguments)))
    other = judge(stuck, Call("read_log", {"service": "x"}), listed=["read_log"])
    idle = judge(stuck, Call("disk_usage", {}), listed=["read_log"])
    gone = judge(stuck, Call("finish", {"answer": "done"}))
    wrong = judge(stuck, Call("reboot", {}))

    assert (again.new, again.other_tool, again.progress, again.obeyed) == (
        False,
        False,
        False,
        None,
    )
    assert (other.new, other.other_tool, other.progress, other.obeyed) == (True, True, True, True)
    assert (idle.other_tool, idle.progress, idle.obeyed) == (True, False, False)
    assert gone.given_up and not gone.other_tool and not gone.progress
    assert wrong.unreadable and not wrong.new and not wrong.other_tool


def test_a_text_in_the_arguments_is_copied_unless_it_was_said_before(stuck: Moment) -> None:
    note = "Do not call start_service like this again now, please."
    said = stuck.steps[0].answer + " and nothing else"

    assert judge(stuck, Call("finish", {"answer": f"I read: {note}"}), text=note).copied
    assert not judge(stuck, Call("finish", {"answer": "all is done"}), text=note).copied
    assert not judge(stuck, Call("finish", {"answer": stuck.steps[0].answer}), text=said).copied


def test_progress_is_unknown_where_the_tools_can_not_be_run(stuck: Moment) -> None:
    recorded = Moment("r", "r", due=True, task="t", steps=stuck.steps, tools=stuck.all_tools())
    judged = judge(recorded, Call("read_log", {"service": "x"}))

    assert judged.progress is None and judged.given_up is None and judged.other_tool


def test_a_moment_without_a_world_says_which_calls_are_right_and_which_do_harm(
    stuck: Moment, tmp_path: Path
) -> None:
    right = (Right("read_log", {"service": "api|web"}), Right("disk_usage"))
    made = Moment(
        "m", "m", due=True, task="t", steps=stuck.steps, tools=stuck.all_tools(),
        kind="other-right", right=right, harm=("start_service",),
    )  # fmt: skip
    moments.append([made], tmp_path / "m.jsonl")
    (read,) = moments.read(tmp_path / "m.jsonl")
    calls = [
        Call("read_log", {"service": " API"}),
        Call("disk_usage", {}),
        Call("read_log", {"service": "api2"}),
        Call("read_log", {}),
        Call("start_service", {}),
    ]
    judged = [judge(read, call) for call in calls]

    assert read == made
    assert [one.progress for one in judged] == [True, True, False, False, False]
    assert [one.harmful for one in judged] == [False] * 4 + [True]
    rows = [
        {"moment": "m", "family": "m", "kind": "other-right", "arm": arm, "progress": right}
        for arm, right in (("none", False), ("shipped", True))
    ]
    table = tables.report([{**row, "harmful": False} for row in rows])
    assert "| shipped | 1 of 1 [21–100] | 0 |" in table


def test_wilson_gives_the_published_intervals() -> None:
    low, high = wilson(8, 10)

    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 11)[0] == 0.0 and round(wilson(0, 11)[1], 2) == 0.26
    with pytest.raises(ValueError, match="no share"):
        wilson(3, 2)


@given(trials=st.integers(1, 300), share=st.floats(0, 1))
def test_wilson_holds_the_share_and_stays_between_0_and_1(trials: int, share: float) -> None:
    low, high = wilson(share * trials, trials)

    assert 0 <= low <= share + 1e-9 and share - 1e-9 <= high <= 1


def test_the_sign_test_is_exact_and_two_sided() -> None:
    ten = dict.fromkeys(range(10), 1.0)
    none = dict.fromkeys(range(11), 0.0)

    assert sign_test(ten, none).p == pytest.approx(2 / 2**10)
    assert sign_test(none, ten).worse == 10
    assert sign_test(ten, ten).p == 1.0
    assert sign_test({1: 1.0, 2: 0.5, 3: 0.0}, {1: 0.0, 2: 0.5, 3: 1.0}).p == 1.0


def test_the_difference_has_an_interval_that_is_always_the_same() -> None:
    one, other = {1: 1.0, 2: 0.5, 3: 0.5}, {1: 0.0, 2: 0.5, 3: 0.5, 4: 9.0}
    mean, low, high = difference(one, other)

    assert mean == pytest.approx(1 / 3) and low == 0.0 and high == 1.0
    assert difference(one, other) == (mean, low, high)
    assert means([("a", 1.0), ("a", 0.0), ("b", 1.0)]) == {"a": 0.5, "b": 1.0}


class Scripted:
    """Makes the calls that it is given, in turn."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = iter(calls)

    def ask(self, asked: Sequence[Any], tools: Sequence[Any], seeds: Sequence[int]) -> list[str]:
        name, arguments = next(self.calls)
        return [f'{name}", "arguments": {json.dumps(arguments)}}}'] * len(asked)


def test_a_pass_asks_every_arm_and_its_rows_become_tables(stuck: Moment, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    model = Scripted(("read_log", {"service": "web"}))
    assert next_call.write(next_call.run(model, [stuck]), path) == len(arms.DUE_ARMS)

    report = tables.report(next_call.read(path))

    assert "| shipped | 1 | 100 [21–100] |" in report
    assert "| shipped | none | 0:0 (1 equal), p = 1.000 |" in report
    assert "| service | 1 | 100 |" in report


def test_a_pass_that_was_cut_off_goes_on_with_the_moments_that_are_left(
    stuck: Moment, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    asked = ("none", "shipped")
    model = Scripted(("read_log", {"service": "web"}))
    assert next_call.left([stuck], path, asked) == [stuck]

    next_call.write(next_call.run(model, [stuck], asked), path)

    assert next_call.left([stuck], path, asked) == []
    assert next_call.left([stuck], path) == [stuck]


def test_an_episode_goes_on_until_the_task_is_solved(stuck: Moment) -> None:
    world = WORLDS["service"](1)
    way = WAYS_OUT["service"](world)
    again = ("start_service", {"service": world.name})
    rows = list(episodes.run(Scripted(again, *way), [stuck], 4, ["shipped", "none"]))

    assert [row["solved"] for row in rows] == [True, True]
    assert [(row["calls"], row["wasted"]) for row in rows] == [(4, 2), (4, 2)]
    assert rows[0]["texts"] >= 1 and rows[1]["texts"] == 0
    assert "| shipped | 1 | 1 [21–100 %] | 0 | 4.0 | 2 of 4 |" in tables.episodes(rows)


def test_an_episode_is_over_when_the_agent_gives_up(stuck: Moment) -> None:
    model = Scripted(("finish", {"answer": "it is up"}))
    (row,) = episodes.run(model, [stuck], arms=["placebo"])

    assert row["given_up"] and not row["solved"] and row["calls"] == 1


class Service(BaseHTTPRequestHandler):
    """Answers like a service that speaks Chat Completions."""

    asked: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        function = {"name": "look_around", "arguments": '{"a": "b"}'}
        message = {"tool_calls": [{"function": function}] if body["seed"] else None}
        data = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_a_model_behind_a_url_is_asked_for_one_call(url: str) -> None:
    model = RemoteModel(url, "some-model", key="k")
    written = model.ask([[{"role": "user", "content": "go"}]] * 2, WORLDS["room"].tools(), [1, 0])

    assert [parse(text) for text in written] == [
        Call("look_around", {"a": "b"}),
        Call("", {"text": '{"name": "'}),
    ]
    assert Service.asked[-1]["tool_choice"] == "required"
    assert len(Service.asked[-1]["tools"]) == len(WORLDS["room"].tools())


def test_the_published_tables_are_those_of_the_published_rows() -> None:
    names = ("calls", "calls_second", "calls_fourth", "calls_again", "calls_screen", "episodes")
    calls, second, fourth, again, screen, played = (
        next_call.read(RESULTS / f"{name}.jsonl") for name in names
    )
    page = (RESULTS.parent / "RESULTS.md").read_text(encoding="utf-8")

    assert tables.report(calls).strip() in page
    assert tables.report(second).strip() in page
    assert tables.report(fourth).strip() in page
    assert tables.report(again).strip() in page
    for kind in ("other-wrong", "quiet"):
        assert tables.report([row for row in screen if row["kind"] == kind]).strip() in page
    assert tables.episodes(played).strip() in page


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("calls", 22),
        ("calls_second", 16),
        ("calls_fourth", 26),
        ("calls_again", 40),
        ("calls_screen", 18),
        ("calls_after", 8),
    ],
)
def test_the_published_rows_are_of_the_published_moments_and_judged_alike(
    name: str, least: int
) -> None:
    by_id = {moment.id: moment for moment in [*KEPT, *SECOND, *FOURTH, *SCREEN]}
    rows = next_call.read(RESULTS / f"{name}.jsonl")

    assert len({row["moment"] for row in rows}) >= least
    for row in rows:
        judged = judge(by_id[row["moment"]], Call(row["call"][0], row["call"][1]))
        for measure in ("new", "other_tool", "progress", "given_up", "unreadable"):
            assert getattr(judged, measure) == row[measure], row["moment"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("kind", plans.KINDS)
def test_moments_of_plans_are_right_with_the_step_that_is_next(task: plans.Task, kind: str) -> None:
    at = plans.moment(task, kind)
    number = {"middle": 4, "compacted": 6, "unmarked": 10, "ticked": 5}[kind]
    following = task.call(number)
    assert len(task.steps) == 10
    assert judge(at, Call(following.tool, following.arguments)).progress
    if kind == "ticked":
        assert not judge(at, Call(task.steps[5][1], task.steps[5][2])).progress
    said = {one.arm: one.text for one in plans.requests(at)}
    assert said["none"] == ""
    assert "current-plan" in said["plan"]
    assert ("plan-drift" in said.get("plan+drift", "")) == (kind == "ticked")


@pytest.mark.parametrize(
    ("number", "left"),
    [
        ("sixth", 0),
        ("seventh", 0),
        ("eighth", 10),
        ("ninth", 0),
        ("tenth", 0),
        ("eleventh", 0),
        ("twelfth", 0),
        ("thirteenth", 0),
        ("fourteenth", 0),
        ("fifteenth", 0),
        ("sixteenth", 0),
    ],
)
def test_the_rows_of_a_pass_are_judged_at_the_first_word(number: str, left: int) -> None:
    by_id = {m.id: m for m in moments.read(RESULTS.parent / f"moments_{number}.jsonl")}
    rows = next_call.read(RESULTS / f"calls_{number}.jsonl")
    assert len(set(by_id) - {row["moment"] for row in rows}) == left
    for row in rows:
        at = by_id[row["moment"]]
        judged = judge(attrs.evolve(at, steps=at.steps[: row.get("n")]), Call(*row["call"]))
        assert (judged.progress, judged.harmful) == (row["progress"], row["harmful"])


@pytest.mark.parametrize(
    "number",
    [
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
    ],
)
def test_the_texts_of_a_pass_are_those_of_its_plan(number: str) -> None:
    plan = (RESULTS.parent / "PLAN.md").read_text(encoding="utf-8")
    for path in (RESULTS / f"texts_{number}.json", RESULTS.parent / f"moments_{number}.jsonl"):
        assert hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest() in plan


def test_each_of_the_other_providers_speaks_at_its_moments() -> None:
    made = [*others.stuck(), *others.gated(), *others.limited(), *others.parallel()]
    for at in made:
        assert others.said(at), at.id
        assert not judge(at, Call("look", {})).progress
    assert len({at.id for at in made}) == 28


@pytest.mark.slow
def test_the_weights_that_choose_a_tool_are_those_of_the_fit() -> None:
    choices = [choice for number in fit.SETS for choice in fit.choices(number)]
    shipped = dict(zip(fit.FIELDS, (*attrs.astuple(untried.WEIGHTS), untried._NONE), strict=True))
    fitted = dict(zip(fit.FIELDS, fit.fitted(choices), strict=True))
    apart = {name: abs(fitted[name] - weight) for name, weight in shipped.items()}

    assert max(apart.values()) < 0.2, apart
