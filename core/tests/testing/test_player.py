"""The kit for tests plays runs as a host would, and looks at nothing that is installed."""

from __future__ import annotations

import pytest

from trimtab import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Outcome,
    ProviderOptionsError,
    TaskCompletionResult,
    ToolInvoked,
    UnknownProvider,
    UserMessage,
    enable,
)
from trimtab.testing import (
    Call,
    Checker,
    Commentator,
    Compaction,
    Lab,
    Message,
    Player,
    Speaker,
    Text,
    Wait,
    build_trajectory,
    recorded_session,
)

FAILING = Call("shell", {"command": "pytest"}, "1 failed", outcome="error")


def test_the_player_says_after_which_items_guidance_came() -> None:
    third = Speaker(verdict=lambda context: context.tool_call_count == 3)
    player = Player(guidance=[third]).play([FAILING] * 4)
    assert (player.first, player.spoke, player.texts) == (2, [2], ("Look before you leap.",))
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
    trajectory = build_trajectory([FAILING] * 3)
    assert trajectory.consecutive_errors == 3
    session = recorded_session([FAILING, Call("read")])
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
