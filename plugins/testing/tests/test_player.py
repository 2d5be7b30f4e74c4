"""The kit for tests plays runs as a host would, and looks at nothing that is installed."""

from __future__ import annotations

import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from trimtab import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Outcome,
    RecorderContext,
    Resources,
    RootedFilesystem,
    TaskCompletionContext,
    TaskCompletionResult,
    ToolInvoked,
    enable,
    hookimpl,
)
from trimtab.events import UserMessage
from trimtab.inspection import ProviderOptionsError, UnknownProvider
from trimtab_testing import (
    Call,
    Checker,
    Commentator,
    Compaction,
    Lab,
    Message,
    Player,
    ProviderFailed,
    Speaker,
    Text,
    Wait,
)

FAILING = Call("shell", {"command": "pytest"}, "1 failed", outcome="error")


def test_the_player_says_after_which_items_guidance_came() -> None:
    third = Speaker(verdict=lambda context: context.tool_call_count == 3)
    player = Player(guidance=[third]).play([FAILING] * 4)
    assert (player.first, player.spoke, player.texts) == (2, [2], ("Look before you leap.",))
    assert player.said == ((2, "Look before you leap."),)
    assert player.delivered[0].call_index == 2


def test_a_list_of_calls_is_one_turn() -> None:
    player = Player().play([[Call("read"), Call("read")], Call("write")])
    assert player.run.state.turns == 2
    assert [call.turn for call in player.session[ToolInvoked].all()] == [0, 0, 1]


def test_time_passes_as_the_script_says() -> None:
    player = Player(deadline=60).play([Call("read", at=10), Wait(20), Call("read", at=45)])
    assert player.clock.seconds == 45
    assert player.run.deadline is not None
    assert player.run.deadline.remaining().total_seconds() == 15


def test_texts_messages_and_compactions_reach_the_run() -> None:
    player = Player(guidance=[Speaker(decision_points=("pre_response",))])
    player.play([Message("go"), Text("done?"), Compaction("short")])
    assert player.spoke == [1]
    [message] = player.session[UserMessage].all()
    assert message.text == "go"


def test_feedback_and_completion_are_asked() -> None:
    every = FeedbackProviderConfig(Commentator(), FeedbackTrigger(every_n_calls=2))
    checker = Checker(answer=lambda context: TaskCompletionResult.incomplete("Tests are missing."))
    player = Player(feedback=[every], completion=[checker]).play([Call("read")] * 4)
    assert [item.summary for item in player.feedback] == ["2 calls", "4 calls"]
    assert not player.may_stop().may_stop


def test_checkers_find_the_files_of_the_test(tmp_path: Path) -> None:
    def answer(context: TaskCompletionContext) -> TaskCompletionResult:
        there = context.filesystem is not None and context.filesystem.exists("report.md")
        return TaskCompletionResult.ok() if there else TaskCompletionResult.incomplete("Write it.")

    files = Resources.of(RootedFilesystem(tmp_path))
    player = Player(completion=[Checker(answer=answer)], resources=files)

    assert player.may_stop().feedback == "Write it."
    (tmp_path / "report.md").touch()
    assert player.may_stop().may_stop


def test_after_a_restart_the_run_goes_on_with_new_providers() -> None:
    made: list[Speaker] = []

    def speaker() -> GuidanceProviderConfig:
        made.append(Speaker())
        return GuidanceProviderConfig(made[-1], max_per_run=1)

    player = Player(guidance=[speaker]).play([FAILING])
    player.restart()
    player.play([FAILING] * 3)
    assert len(made) == 2
    assert player.spoke == [0], "what was said before counts"
    assert player.run.state.calls == 4


def test_a_trajectory_and_a_session_are_built_from_calls() -> None:
    trajectory = Player().play([FAILING] * 3).trajectory
    assert (trajectory.calls, trajectory.turns) == (3, 3)
    session = Player().play([FAILING, Call("read")]).session
    assert [call.outcome for call in session[ToolInvoked].all()] == [Outcome.ERROR, Outcome.OK]


def test_the_lab_knows_only_what_it_is_given() -> None:
    lab = Lab(guidance={"my-speaker": Speaker})
    player = lab.player(guidance=[enable("my-speaker", text="Stop.")])
    assert player.play([FAILING]).texts == ("Stop.",)
    with pytest.raises(UnknownProvider, match=r"Did you mean 'my-speaker'"):
        lab.prompt(guidance=["my-speeker"])
    with pytest.raises(UnknownProvider, match=r"No guidance provider 'doom-loop' is installed"):
        lab.prompt(guidance=["doom-loop"])
    with pytest.raises(ProviderOptionsError, match="no option 'txt'"):
        lab.prompt(guidance=[enable("my-speaker", txt="Stop.")])


class Misspelt(Speaker):
    """Raises where it is asked to."""

    def classify(self, *, context: Any) -> Any:
        raise KeyError("no such key")


class Returning(Speaker):
    def classify(self, *, context: Any) -> Any:
        return "relevant"


def misspelt_summary(context: Any) -> Any:
    raise KeyError("no such key")


def test_a_guide_that_raises_fails_the_test_with_its_own_traceback() -> None:
    with pytest.raises(
        ProviderFailed, match=r"guidance provider 'speaker' failed after item 1, in .*KeyError"
    ) as failed:
        Player(guidance=[Misspelt()]).play([Message("go"), FAILING])
    cause = failed.value.__cause__
    assert isinstance(cause, KeyError)
    assert cause.__traceback__ is not None
    frames = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert frames[-1] == "classify"


def test_a_guide_that_returns_the_wrong_thing_fails_the_test() -> None:
    with pytest.raises(ProviderFailed, match="classify"):
        Player(guidance=[Returning()]).play([FAILING])


def test_a_checker_that_raises_fails_the_test_when_asked() -> None:
    player = Player(completion=[Checker(answer=misspelt_summary)]).play([FAILING])
    with pytest.raises(ProviderFailed, match=r"the completion checker .* when the agent") as failed:
        player.may_stop()
    assert isinstance(failed.value.__cause__, KeyError)


def test_a_commentator_that_raises_fails_the_test() -> None:
    class Broken(Commentator):
        def provide(self, *, context: Any) -> Any:
            raise KeyError("no such key")

    every = FeedbackProviderConfig(Broken(), FeedbackTrigger(every_n_calls=1))
    with pytest.raises(ProviderFailed, match="feedback provider"):
        Player(feedback=[every]).play([FAILING])


def test_a_failure_when_the_run_opens_is_raised_too() -> None:
    class Opening:
        name = "opening"

        @hookimpl
        def run_opened(self, context: Any) -> None:
            raise KeyError("no such key")

        @hookimpl
        def guide_pre_response(self, context: Any) -> None:
            return None

    with pytest.raises(ProviderFailed, match="when the run was opened"):
        Player(guidance=[Opening()])


def test_failures_are_kept_for_tests_that_are_about_them() -> None:
    player = Player(guidance=[Misspelt()], faults="record").play([FAILING] * 2)
    assert player.spoke == []
    assert [(fault.source.name, fault.call_index) for fault in player.faults] == [
        ("speaker", 0),
        ("speaker", 1),
    ]
    player.restart()
    assert len(player.play([FAILING]).faults) == 3


@pytest.mark.parametrize("given", [Speaker, Speaker(), "doom-loop"])
def test_a_provider_alone_is_no_list_of_them(given: Any) -> None:
    with pytest.raises(TypeError, match=r"providers are given as a list: write \["):
        Player(guidance=given)


def test_a_player_knows_two_ways_to_take_failures() -> None:
    with pytest.raises(ValueError, match="'raise' or 'record', not 'ignore'"):
        Player(faults="ignore")  # type: ignore[arg-type]


def test_calls_take_time_and_begin_together() -> None:
    quick, slow = Call("quick", seconds=0.1), Call("slow", seconds=2.5)
    player = Player().play([Wait(1), [slow, quick], Call("read")])

    ended = [(one.tool, one.duration, one.started) for one in player.session[ToolInvoked].all()]
    began = player.clock.wall - timedelta(seconds=2.5)
    assert ended == [("quick", 0.1, began), ("slow", 2.5, began), ("read", None, None)]
    assert player.clock.seconds == 3.5


@pytest.mark.parametrize("times", [{"at": 1, "seconds": 1}, {"seconds": -1}])
def test_a_call_has_one_time(times: Any) -> None:
    with pytest.raises(ValueError, match="seconds"):
        Call("read", **times)


def test_recorders_see_what_is_played() -> None:
    seen: list[object] = []

    class Tap:
        name = "tap"

        def open(self, context: RecorderContext) -> Tap:
            return self

        def record(self, event: object) -> None:
            seen.append(event)

        def close(self) -> None:
            seen.append("closed")

    Player(recorders=[Tap()]).play([Call("read")])

    assert [one.tool for one in seen if isinstance(one, ToolInvoked)] == ["read"]


@pytest.mark.parametrize("item", ["read", ["read"], None, 3])
def test_what_is_no_item_is_named(item):
    with pytest.raises(TypeError, match=r"an item of a run is a Call, .*, not "):
        Player().play([item])


def test_an_item_that_stands_alone_is_answered_with_the_list():
    with pytest.raises(TypeError, match=r"play takes a list of items: write \[Call\(…\)\]"):
        Player().play(Call("read"))
