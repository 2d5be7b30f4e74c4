"""Feedback: when it is due, who speaks, what the agent reads."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from trimtab import (
    Budget,
    Deadline,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    Observation,
    Prompt,
    PromptTemplate,
    Resources,
    RootedFilesystem,
    Session,
    collect_feedback,
    hookimpl,
)
from trimtab.events import ProviderFaulted, ProviderSkipped
from trimtab.inspection import ProviderInvalid, ProviderOptionsError


def every(provider: Any, **trigger: Any) -> FeedbackProviderConfig:
    return FeedbackProviderConfig(provider, FeedbackTrigger(**trigger))


def play(kit: Any, run: Any, calls: int) -> list[int]:
    """Return at which of the next calls something was said."""
    spoken = []
    for number in range(1, calls + 1):
        kit.call(run)
        if run.feedback():
            spoken.append(number)
    return spoken


def test_every_n_calls_counts_the_call_just_made(kit: Any) -> None:
    run = kit.run(feedback_providers=[every(kit.Commentator(), every_n_calls=3)])

    assert play(kit, run, 10) == [3, 6, 9]


def test_every_n_seconds_fires_at_once_and_then_by_monotonic_time(kit: Any) -> None:
    run = kit.run(feedback_providers=[every(kit.Commentator(), every_n_seconds=30)])
    spoken = []
    for second in range(0, 100, 10):
        kit.call(run)
        spoken += [second] if run.feedback() else []
        kit.clock.advance(10)

    assert spoken == [0, 30, 60, 90]


@pytest.mark.parametrize("year", [2001, 2099])
def test_a_stepped_wall_clock_neither_stalls_nor_floods(kit: Any, year: int) -> None:
    run = kit.run(feedback_providers=[every(kit.Commentator(), every_n_seconds=30)])
    first = play(kit, run, 1)
    kit.clock.set_wall(datetime(year, 1, 1, tzinfo=UTC))
    still = play(kit, run, 3)
    kit.clock.advance(30)

    assert (first, still, play(kit, run, 1)) == ([1], [], [1])


def test_conditions_are_ored(kit: Any) -> None:
    config = every(kit.Commentator(), every_n_calls=100, every_n_seconds=30)
    run = kit.run(feedback_providers=[config])
    first = play(kit, run, 50)
    kit.clock.advance(31)

    assert (first, play(kit, run, 110)) == ([1], [1, 101])


def test_providers_keep_their_own_counts(kit: Any) -> None:
    providers = [kit.Commentator("two"), kit.Commentator("three")]
    run = kit.run(
        feedback_providers=[
            every(providers[0], every_n_calls=2),
            every(providers[1], every_n_calls=3),
        ],
        feedback_delivery="all",
    )
    play(kit, run, 6)

    spoken = [(f.provider_name, f.call_index) for f in kit.session[Feedback].all()]
    assert spoken == [("two", 1), ("three", 2), ("two", 3), ("two", 5), ("three", 5)]


def test_first_match_wins_and_the_next_is_due_at_the_next_call(kit: Any) -> None:
    run = kit.run(
        feedback_providers=[
            every(kit.Commentator("a"), every_n_calls=2),
            every(kit.Commentator("b"), every_n_calls=2),
        ]
    )
    play(kit, run, 4)

    assert [f.provider_name for f in kit.session[Feedback].all()] == ["a", "b", "a"]


def test_none_is_nothing_to_say_and_the_next_is_asked(kit: Any) -> None:
    quiet = kit.Commentator("quiet", say=lambda context: None)
    unwilling = kit.Commentator("unwilling", wanted=False)
    run = kit.run(
        feedback_providers=[
            every(p, every_n_calls=1) for p in (quiet, unwilling, kit.Commentator("c"))
        ]
    )
    play(kit, run, 2)

    assert [f.provider_name for f in kit.session[Feedback].all()] == ["c", "c"]
    assert (quiet.asked, unwilling.asked) == (2, 0)


def test_two_prompts_in_one_session_do_not_disturb_each_other(kit: Any) -> None:
    first = kit.run("a", feedback_providers=[every(kit.Commentator(), every_n_calls=3)])
    second = kit.run("b", feedback_providers=[every(kit.Commentator(), every_n_calls=3)])
    spoken = [
        (r.prompt.name[-1], bool(play(kit, r, 1)))
        for r in (first, first, second, second, first, second, first)
    ]

    assert [n for n, (_, said) in enumerate(spoken) if said] == [4, 5]


def test_the_runner_owns_name_time_and_index(kit: Any) -> None:
    old = Feedback(
        provider_name="lie", summary="x", at=datetime(2001, 1, 1, tzinfo=UTC), call_index=99
    )
    run = kit.run(
        feedback_providers=[every(kit.Commentator("true", say=lambda c: old), every_n_calls=2)]
    )
    spoken = play(kit, run, 4)
    last = kit.session[Feedback].latest()

    assert spoken == [2, 4]
    assert (last.provider_name, last.call_index, last.timestamp) == ("true", 3, kit.clock.now())
    assert last.source.name == "true"


def test_one_due_firing_is_delivered_once_to_parallel_calls(kit: Any) -> None:
    start = threading.Barrier(8)
    run = kit.run(feedback_providers=[every(kit.Commentator(), every_n_calls=8)])
    for _ in range(20):
        said: list[Any] = []
        for _ in range(8):
            kit.call(run)

        def ask() -> None:
            start.wait()
            said.append(run.feedback())  # noqa: B023

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(text is not None for text in said) == 1


def test_a_file_that_appears_is_noticed_once_per_run(kit: Any, tmp_path: Any) -> None:
    config = every(kit.Commentator(), on_file_created="out/report.md")
    prompt = Prompt(PromptTemplate("agent", "files", feedback_providers=[config]), config=None)
    bound = prompt.bind(resources=Resources.of(RootedFilesystem(tmp_path)))
    run = kit.session.open_run(bound)
    before = play(kit, run, 2)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/report.md").write_text("x")
    after = play(kit, run, 3)
    again = play(kit, kit.session.open_run(bound), 3)

    assert (before, after, again) == ([], [1], [])


def test_a_file_trigger_without_a_filesystem_says_so(kit: Any) -> None:
    run = kit.run(feedback_providers=[every(kit.Commentator(), on_file_created="x")])

    assert play(kit, run, 2) == []
    assert "Filesystem" in kit.session[ProviderSkipped].latest().reason


def test_the_use_of_a_tool_can_count_like_a_delivery(kit: Any) -> None:
    run = kit.run(feedback_providers=[every(kit.Commentator(), every_n_calls=3, reset_by="todo")])
    spoken = []
    for number, tool in enumerate(["read", "read", "todo", "read", "read", "read", "read", "todo"]):
        kit.call(run, tool)
        spoken += [number] if run.feedback() else []

    assert spoken == [5]


def test_a_delivery_after_the_use_of_the_tool_counts_from_the_delivery(kit: Any) -> None:
    trigger = every(kit.Commentator(), every_n_seconds=30, reset_by="todo")
    run = kit.run(feedback_providers=[trigger])
    kit.call(run, "todo")
    spoken = []
    for second in range(0, 100, 10):
        spoken += [second] if run.feedback() else []
        kit.clock.advance(10)

    assert spoken == [30, 60, 90]


def test_what_another_thread_is_asked_for_is_not_due(kit: Any) -> None:
    asked: list[int] = []

    def say(_: Any) -> Feedback:
        asked.append(1)
        if len(asked) == 1:
            thread = threading.Thread(target=lambda: beside.append(run.feedback()))
            thread.start()
            thread.join()
        return Feedback(summary="once")

    beside: list[Any] = []
    run = kit.run(feedback_providers=[every(kit.Commentator(say=say), every_n_calls=1)])
    kit.call(run)

    assert "once" in (run.feedback() or "")
    assert (beside, len(asked)) == ([None], 1)
    assert kit.session[ProviderFaulted].latest() is None


def test_of_a_long_feedback_a_hundred_observations_are_kept(kit: Any) -> None:
    many = Feedback(summary="much", observations=[Observation("c", str(n)) for n in range(150)])
    run = kit.run(feedback_providers=[every(kit.Commentator(say=lambda _: many), every_n_calls=1)])
    kit.call(run)
    (said,) = run.due_feedback()

    assert [one.description for one in said.observations] == [str(n) for n in range(100)]


def test_pauses_grow_and_end(kit: Any) -> None:
    trigger = {"every_n_calls": 10, "backoff": 2, "max_per_run": 3}
    run = kit.run(feedback_providers=[every(kit.Commentator(), **trigger)])
    first = play(kit, run, 40)
    later = Session.restore(kit.session.snapshot(), clock=kit.clock)
    resumed = later.open_run(run.prompt, run_id=run.run_id)

    assert (first, play(kit, resumed, 160)) == ([10, 30], [30])


@pytest.mark.parametrize("field", ["every_n_calls", "every_n_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_trigger_without_sense_is_refused(field: str, value: float) -> None:
    with pytest.raises((TypeError, ValueError), match=field):
        FeedbackTrigger(**{field: value})


def test_no_trigger_is_an_error_and_a_default_serves(kit: Any) -> None:
    class Eager(kit.Commentator):
        default_trigger = FeedbackTrigger(every_n_calls=2)

    run = kit.run(feedback_providers=[Eager()])

    assert play(kit, run, 4) == [2, 4]
    for trigger in (None, FeedbackTrigger()):
        with pytest.raises(ProviderOptionsError, match="no trigger"):
            kit.run(feedback_providers=[FeedbackProviderConfig(kit.Commentator(), trigger)])


def test_two_of_one_name_are_refused(kit: Any) -> None:
    twins = [every(kit.Commentator("x"), every_n_calls=1)] * 2
    with pytest.raises(ProviderInvalid, match="'x'"):
        kit.run(feedback_providers=twins)


def test_a_broken_provider_does_not_take_the_words_of_others(kit: Any) -> None:
    broken = kit.Commentator("broken", say=lambda context: 1 / 0)
    wrong = kit.Commentator("wrong", say=lambda context: "text")
    run = kit.run(
        feedback_providers=[
            every(p, every_n_calls=1) for p in (broken, wrong, kit.Commentator("c"))
        ]
    )

    assert play(kit, run, 5) == [1, 2, 3, 4, 5]
    assert (broken.asked, wrong.asked) == (3, 3)
    assert len(kit.session[ProviderFaulted].all()) == 6


def test_the_hook_method_is_the_second_way(kit: Any) -> None:
    class Hooked:
        name = "hooked"

        @hookimpl
        def give_feedback(self, context: Any) -> Any:
            return Feedback(summary=f"{context.tool_calls_since_last_feedback()} since")

    run = kit.run(feedback_providers=[every(Hooked(), every_n_calls=2)])
    play(kit, run, 4)

    assert [f.summary for f in kit.session[Feedback].all()] == ["2 since", "2 since"]


def test_what_the_context_tells(kit: Any) -> None:
    seen: list[Any] = []
    watcher = kit.Commentator("watcher", say=seen.append)
    other = kit.Commentator("other")
    run = kit.run(
        feedback_providers=[every(watcher, every_n_calls=1), every(other, every_n_calls=2)]
    )
    play(kit, run, 3)
    context = seen[-1]

    assert context.tool_call_count == 3
    assert context.last_feedback.provider_name == "other"
    assert context.tool_calls_since_last_feedback() == 1
    assert context.tool_calls_since_last_feedback_for_provider("watcher") == 3
    assert context.last_feedback_for_provider("watcher") is None
    assert [c.call_id for c in context.recent_tool_calls(2)] == ["c1", "c2"]
    assert context.filesystem is None


def test_triggers_go_on_after_a_restore(kit: Any) -> None:
    config = every(kit.Commentator(), every_n_calls=3)
    run = kit.run(feedback_providers=[config])
    play(kit, run, 4)
    later = Session.restore(kit.session.snapshot(), clock=kit.clock)
    resumed = later.open_run(run.prompt, run_id=run.run_id)

    assert play(kit, resumed, 5) == play(kit, run, 5) == [2, 5]


def test_collect_feedback_works_on_the_open_run_or_a_new_one(kit: Any) -> None:
    config = every(kit.Commentator(), every_n_calls=1)
    prompt = Prompt(PromptTemplate("agent", "x", feedback_providers=[config]), config=None)
    run = kit.session.run_of(prompt)
    kit.call(run)
    text = collect_feedback(prompt=prompt, session=kit.session)

    assert text == '<feedback source="commentator" severity="info">1 calls</feedback>'
    assert collect_feedback(prompt=prompt, session=kit.session) is None


def test_a_block_holds_everything() -> None:
    feedback = Feedback(
        provider_name="p",
        summary="S.",
        observations=(Observation("time", "short", "clock"),),
        suggestions=("Hurry.",),
        severity="warning",
    )

    assert feedback.render() == (
        '<feedback source="p" severity="warning">S.\n\n• time: short\n\n→ Hurry.</feedback>'
    )


@given(st.text(), st.text(min_size=1).filter(str.strip), st.text(), st.text())
def test_any_text_gives_one_well_formed_block(name: str, summary: str, what: str, do: str) -> None:
    feedback = Feedback(
        provider_name=name,
        summary=summary,
        observations=(Observation(what, do),),
        suggestions=(do,),
    )
    block = ElementTree.fromstring(feedback.render())

    assert block.tag == "feedback" and not list(block)


def test_a_severity_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="severity"):
        Feedback(summary="x", severity="loud")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        ({}, 0),
        ({"deadline": Deadline(60.0)}, 1),
        ({"budget": Budget(max_total_tokens=9)}, 1),
    ],
)
def test_who_speaks_of_limits_only_is_not_asked_without_them(
    kit: Any, limits: dict[str, Any], asked: int
) -> None:
    class OnLimits(kit.Commentator):  # type: ignore[misc, name-defined]
        limits_only = True

    on_limits = OnLimits()
    run = kit.run(feedback_providers=[every(on_limits, every_n_calls=1)], **limits)
    kit.call(run)

    assert (run.feedback() is not None, on_limits.asked) == (bool(asked), asked)
