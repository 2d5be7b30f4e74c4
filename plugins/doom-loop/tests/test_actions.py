"""The indexes of the last actions say what a search through all of them says."""

from __future__ import annotations

from collections import deque
from itertools import product

from hypothesis import given, settings, strategies as st

from trimtab import Prompt, Session
from trimtab_doom_loop._actions import Action
from trimtab_doom_loop._kept import Actions
from trimtab_doom_loop._similarity import answer_key
from trimtab_signals import CallRecord, Calls, TurnRecord, same_outputs

KEEP = 2


def records(tools: int, params: int, answers: int) -> tuple[CallRecord, ...]:
    run = Session().open_run(Prompt("a", "b", []))
    for number, (tool, x, answer) in enumerate(
        product(range(tools), range(params), range(answers))
    ):
        run.tool_started(f"ask{tool}", {"x": x}, str(number))
        run.tool_finished(str(number), f"answer {'ab'[answer]}")
    return run.trajectory.follow(Calls).recent(tools * params * answers)


CALLS = records(6, 2, 2)
batches = st.lists(st.sampled_from(CALLS), min_size=1, max_size=3)
single = st.lists(st.sampled_from(CALLS), min_size=1, max_size=1)
CLEAR: list[CallRecord] = []
runs = st.lists(st.one_of(single, single, single, batches, st.just(CLEAR)), min_size=1, max_size=40)


def asked(action: Action) -> set[str]:
    return {call.fingerprint for call in action.calls}


def answered(action: Action) -> set[str]:
    return {answer_key(call) for call in action.calls}


def check_against(before: list[Action], actions: Actions, action: Action) -> None:
    alike = [one for one in before if asked(one) == asked(action)]
    same = [one for one in alike if same_outputs(one.calls, action.calls)]
    brought = [one for one in before if answered(one) == answered(action)]
    assert action.kind == (same[0].kind if same else action.number)
    assert action.brought == (brought[0].brought if brought else action.number)

    calls = [call for one in actions.kept for call in one.calls]
    for call in CALLS:
        count = sum(one.fingerprint == call.fingerprint for one in calls)
        assert actions.count(call) == count
        count = sum(one.tool == call.tool for one in calls)
        assert actions.count_alike(call) == count
        of_tool = [one for one in actions.kept if one.calls[0].tool == call.tool]
        assert list(actions.alike_in_tool(call)) == of_tool[::-1]

    is_single = len(action.calls) == 1
    is_only = actions.count(action.calls[0]) == 1
    assert actions.newest_is_news == (is_single and not alike and not brought and is_only)


@settings(max_examples=200, deadline=None)
@given(runs)
def test_what_is_looked_up_is_what_a_search_finds(turns):
    actions = Actions(KEEP)
    for number, calls in enumerate(turns):
        before = list(actions.kept)
        if not calls:
            actions.clear()
            continue
        action = actions.add(TurnRecord(tuple(calls), number))
        assert list(actions.kept) == [*before, action][-KEEP:]
        check_against(before, actions, action)


def test_what_is_kept_of_many_actions_is_bounded():
    """Whether their calls and tools are new each time, or always the same."""
    new, same = records(20, 3, 1), records(1, 1, 1)
    actions = Actions(KEEP)
    for number, call in enumerate((*new, *same * 100, *new)):
        actions.add(TurnRecord((call,) * (1 + number % 2), number))
        held = [part for part in vars(actions).values() if isinstance(part, dict | deque)]
        assert max(map(len, held)) <= KEEP


def test_what_is_used_all_along_is_not_forgotten_among_much_that_is_new():
    same = records(1, 1, 1)[0]
    actions = Actions(KEEP)
    for number, new in enumerate(records(60, 1, 1)[1:]):
        actions.add(TurnRecord((new,), 2 * number))
        actions.add(TurnRecord((same,), 2 * number + 1))
        assert actions.count(same) == actions.count_alike(same) == KEEP // 2
        assert actions.kept[-1].brought == 1
