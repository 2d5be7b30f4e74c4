"""`trimtab effect` finds an effect that is there, claims none that is not, and names harm."""

from __future__ import annotations

import json
import random
from pathlib import Path

import attrs
import pytest

from trimtab import Outcome, Prompt, PromptTemplate, Session
from trimtab_replay._effect import Difference, Share, Verdict, effects, sentence
from trimtab_replay._effect_measures import (
    Aftermath,
    Arm,
    Comparing,
    Comparison,
    Measure,
    Moment,
    RecordedCall,
    RecordedRun,
    Records,
)

from .simulated import Traffic

pytestmark = pytest.mark.slow

HELPING = Traffic(nudged=0.8, held_out=0.2)
HARMING = Traffic(nudged=0.1, held_out=0.7)
NONE = Traffic(nudged=0.5, held_out=0.5)


def compare(runs: list[RecordedRun], turns: int = 3) -> list[Comparison]:
    comparing = Comparing(turns)
    for run in runs:
        comparing.add(run)
    return comparing.comparisons()


def record(folder: Path, traffic: Traffic, runs: int, seed: int = 7) -> Path:
    chance = random.Random(seed)
    for number in range(runs):
        snapshot = traffic.session(chance).snapshot()
        (folder / f"{number:04}.json").write_text(snapshot)
    return folder


def verdict(run, folder: Path) -> dict:
    status, printed, _ = run("effect", folder, "--json")
    assert status == 0
    (provider,) = json.loads(printed)["providers"]
    return provider


@pytest.mark.parametrize(("traffic", "expected"), [(HELPING, "helps"), (HARMING, "harms")])
def test_a_known_effect_is_found_in_recorded_sessions(run, tmp_path, traffic, expected):
    found = verdict(run, record(tmp_path, traffic, 120))

    assert (found["provider"], found["verdict"]) == ("nagging", expected)
    assert found["nudged_runs"] + found["held_out_runs"] == 120
    low, high = found["measures"]["progress"]["interval"]
    truth = traffic.nudged - traffic.held_out
    assert low < truth < high


def test_no_effect_is_claimed_where_there_is_none(run, tmp_path):
    found = verdict(run, record(tmp_path, NONE, 120))

    assert found["verdict"] in {"unclear", "no difference"}


def test_harm_to_completion_outweighs_progress(run, tmp_path):
    traffic = Traffic(nudged=0.9, held_out=0.2, nudged_done=0.1, held_out_done=0.8)
    found = verdict(run, record(tmp_path, traffic, 120))

    assert found["verdict"] == "harms"
    assert "harm (completed at the end)" in found["message"]


def test_few_runs_are_too_few(run, tmp_path):
    found = verdict(run, record(tmp_path, HELPING, 12))

    assert found["verdict"] == "too little"
    assert "too few runs to tell" in found["message"]


def test_a_record_without_held_out_runs_says_what_to_set(run, tmp_path):
    traffic = Traffic(nudged=0.8, held_out=0.2, holdout=0.0)
    status, printed, _ = run("effect", record(tmp_path, traffic, 12))

    assert status == 0
    assert "Set holdout = 0.5" in " ".join(printed.split())


def test_the_sentence_for_people_has_the_numbers(run, tmp_path):
    _, printed, _ = run("effect", record(tmp_path, HELPING, 120))

    assert "nagging: its nudges help" in " ".join(printed.split())
    assert "within 3 turns" in " ".join(printed.split())


def test_a_file_that_is_no_record_is_named(run, tmp_path):
    path = tmp_path / "notes.json"
    path.write_text('{"a": 1}')
    status, _, said = run("effect", path)

    assert status == 1
    assert "no snapshot, journal or trace" in said


def test_a_missing_file_is_named(run, tmp_path):
    status, _, said = run("effect", tmp_path / "nowhere.json")

    assert status == 1
    assert "no such file" in said


def runs_of(path: Path) -> list[RecordedRun]:
    records = Records()
    found = list(records.runs([path]))
    assert records.skipped == []
    return found


def test_a_journal_s_snapshot_is_read(tmp_path):
    snapshot = HELPING.session(random.Random(1)).snapshot()
    path = tmp_path / "session.jsonl"
    lines = [{"snapshot": snapshot, "at": "2026-01-01T00:00:00Z"}, {"payload": {"a": 1}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    (found,) = runs_of(path)

    assert (len(found.calls), len(found.moments), found.is_closed) == (6, 1, True)


def test_old_calls_of_a_snapshot_are_read(tmp_path):
    session = Session(keep=1)
    run = session.open_run(Prompt(PromptTemplate("a", "b"), config=None))
    for number in range(4):
        run.tool_started("read", {"path": f"{number}.py"}, str(number))
        run.tool_finished(str(number), "text", outcome=Outcome.ERROR if number == 0 else Outcome.OK)
    path = tmp_path / "session.json"
    path.write_text(session.snapshot())

    (found,) = runs_of(path)

    assert ["0.py" in call.action for call in found.calls] == [True, False, False, False]
    assert [call.is_ok for call in found.calls] == [False, True, True, True]


def test_a_trace_is_read(tmp_path):
    slices = json.loads(HELPING.session(random.Random(1)).snapshot())["slices"]
    names = {"ToolInvoked": "ToolReturned", "RunClosed": "RunTerminated"}
    rows = [
        {"event_type": names.get(kind, kind), "run_id": event["run_id"], "payload": event}
        for kind, events in slices.items()
        for event in events["items"]
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    (found,) = runs_of(path)

    assert (len(found.calls), len(found.moments), found.is_closed) == (6, 1, True)


def test_a_moment_whose_calls_are_no_longer_on_record_is_left_out():
    calls = [RecordedCall(turn, "a", "x", True) for turn in range(50, 60)]
    run = RecordedRun("r", calls, [Moment("p", 2, True)], is_partial=True)

    assert compare([run]) == []


def test_only_the_first_moment_of_a_run_counts():
    calls = [RecordedCall(turn, "a", "x", True) for turn in range(9)]
    run = RecordedRun("r", calls, [Moment("p", 2, True), Moment("p", 5, True)])

    (comparison,) = compare([run])

    assert len(comparison.nudged) == 1
    assert comparison.nudged.count(Measure.PROGRESS) == (0, 1)


def test_progress_is_a_new_answer_within_the_turns():
    calls = [RecordedCall(turn, "a", "x", True) for turn in range(6)]
    calls.append(RecordedCall(6, "b", "new", True))
    run = RecordedRun("r", calls, [Moment("p", 2, False)])

    (late,) = compare([run], turns=3)
    (in_time,) = compare([run], turns=4)

    assert late.held_out.count(Measure.PROGRESS) == (0, 1)
    assert in_time.held_out.count(Measure.PROGRESS) == (1, 1)


def drawn(chance: random.Random, rate: float, runs: int) -> Arm:
    arm = Arm()
    for _ in range(runs):
        moves, done = chance.random() < rate, chance.random() < 0.5
        arm.aftermaths.append(Aftermath(moves, moves, False, done, 3))
    return arm


def test_verdicts_on_traffic_without_an_effect_are_rarely_wrong():
    chance = random.Random(3)
    claims = 0
    for _ in range(400):
        comparison = Comparison("p", drawn(chance, 0.4, 40), drawn(chance, 0.4, 40))
        (effect,) = effects([comparison])
        claims += effect.verdict in {Verdict.HELPS, Verdict.HARMS}

    assert claims <= 400 * 0.05


def test_an_effect_is_found_as_often_as_the_needed_runs_promise():
    chance = random.Random(4)
    known = Difference(Measure.PROGRESS, Share(50, 100), Share(50, 100), 0.975)
    found = 0
    for _ in range(200):
        comparison = Comparison(
            "p", drawn(chance, 0.6, known.needed), drawn(chance, 0.4, known.needed)
        )
        (effect,) = effects([comparison])
        found += effect.verdict is Verdict.HELPS

    assert found >= 200 * 0.7


def test_more_comparisons_need_wider_intervals():
    one = effects([Comparison("a")])[0].differences[0].confidence
    many = effects([Comparison(name) for name in "abcde"])[0].differences[0].confidence

    assert 0.95 < one < many < 1.0


@pytest.mark.parametrize("count", [0, 5, 10])
def test_intervals_stay_within_their_bounds(count):
    share = Share(count, 10)
    low, high = share.interval(1.96)

    assert 0 <= low <= share.rate <= high <= 1


@pytest.mark.parametrize(
    ("nudged", "held_out", "words"),
    [
        (1, 0, "the only run in which it spoke was nudged, so"),
        (1_200, 0, "all 1,200 runs in which it spoke were nudged, so"),
        (0, 1, "the only run was not nudged (shadow"),
        (0, 2, "none of the 2 runs was nudged (shadow"),
    ],
)
def test_a_record_of_one_kind_counts_its_runs_in_words(nudged, held_out, words):
    seen = Aftermath(True, True, False, None, None)
    arms = [Arm([seen] * count) for count in (nudged, held_out)]
    (effect,) = effects([Comparison("nagging", *arms)])

    assert f"nagging: {words}" in sentence(effect, 3)


def test_one_run_is_counted_as_one(run, tmp_path):
    _, printed, said = run("effect", record(tmp_path, HELPING, 1))

    assert printed.splitlines()[0] == "1 recorded run"
    assert "1 runs" not in printed + said


def test_a_run_that_lies_on_disk_several_times_counts_once(run, tmp_path):
    record(tmp_path, HELPING, 12)
    once = verdict(run, tmp_path)
    (tmp_path / "copy").mkdir()
    for path in list(tmp_path.glob("*.json")):
        (tmp_path / "copy" / path.name).write_text(path.read_text())
    status, printed, _ = run("effect", tmp_path, "--json")
    document = json.loads(printed)
    assert status == 0
    assert (document["runs"], document["copies"]) == (12, 12)
    assert document["providers"] == [once]


def test_the_record_that_tells_most_of_a_run_counts():
    moments = [Moment("p", 2, True)]
    calls = [RecordedCall(turn, "a", "x", True) for turn in range(6)]
    short = RecordedRun("r", calls[:3], moments)
    whole = RecordedRun("r", [*calls, RecordedCall(3, "b", "new", True)], moments, is_closed=True)
    for order in ([short, whole], [whole, short]):
        (comparison,) = compare(order)
        assert comparison.nudged.count(Measure.GAVE_UP) == (0, 1)
        assert len(comparison.nudged) == 1
        assert comparison.nudged.calls_to_end == 4


def known(progress: float, completed: float | None, runs: int, task: str = "") -> Arm:
    """An arm with these shares, exactly."""
    share = round(runs * progress)
    return Arm(
        [
            Aftermath(
                left=True,
                progress=n < share,
                gave_up=False,
                completed=None if completed is None else n < runs * completed,
                calls_to_end=3,
                task=task and f"{task} {n}",
            )
            for n in range(runs)
        ]
    )


def test_no_difference_is_claimed_only_where_each_decisive_measure_says_so():
    (same,) = effects([Comparison("p", known(0.5, 0.5, 2_000), known(0.5, 0.5, 2_000))])
    (unknown,) = effects([Comparison("p", known(0.5, None, 2_000), known(0.5, None, 2_000))])
    one, other = known(0.5, None, 2_000), known(0.5, None, 2_000)
    one.aftermaths += known(0.5, 0.8, 20).aftermaths
    other.aftermaths += known(0.5, 0.4, 20).aftermaths
    (few,) = effects([Comparison("p", one, other)])

    assert same.verdict is Verdict.NO_DIFFERENCE
    assert "'completed at the end' is below 20%" in sentence(same, 3)
    assert unknown.verdict is Verdict.NO_DIFFERENCE
    assert "Nothing is known of 'completed at the end'" in sentence(unknown, 3)
    assert few.verdict is Verdict.UNCLEAR
    assert "completion would show" in sentence(few, 3)


def test_verdicts_hold_however_often_one_looks():
    chance = random.Random(5)
    claims = 0
    for _ in range(200):
        nudged, held_out = drawn(chance, 0.4, 100), drawn(chance, 0.4, 100)
        looks = (
            effects([Comparison("p", Arm(nudged.aftermaths[:n]), Arm(held_out.aftermaths[:n]))])
            for n in range(10, 101, 5)
        )
        claims += any(look[0].verdict in {Verdict.HELPS, Verdict.HARMS} for look in looks)

    assert claims <= 200 * 0.05


def test_runs_of_one_task_tell_less_than_runs_of_many():
    chance = random.Random(6)
    claims = {"alike": 0, "told": 0}
    for _ in range(100):
        nudged, held_out = Arm(), Arm()
        for task in range(24):  # each task is easy or not, and given to one arm
            arm, value = (nudged, held_out)[task % 2], chance.random() < 0.5
            arm.aftermaths += [Aftermath(value, value, False, None, 3, f"t{task}")] * 10
        for name in claims:
            arms = [
                Arm(
                    [attrs.evolve(a, task=a.task if name == "told" else "") for a in arm.aftermaths]
                )
                for arm in (nudged, held_out)
            ]
            (effect,) = effects([Comparison("p", *arms)])
            claims[name] += effect.verdict in {Verdict.HELPS, Verdict.HARMS}
    assert claims["told"] <= 5 < claims["alike"]


def test_a_check_that_was_skipped_or_failed_says_nothing_of_completion():
    for status, completed in (("ok", (1, 1)), ("incomplete", (0, 1)), ("unverified", (0, 0))):
        run = RecordedRun("r", [], [Moment("p", 1, True)], completion=status)
        (comparison,) = compare([run])
        assert comparison.nudged.count(Measure.COMPLETED) == completed
