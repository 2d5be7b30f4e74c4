"""What may not make a difference, whatever the run."""

from __future__ import annotations

import attrs
from hypothesis import HealthCheck, example, given, settings, strategies as st

from trimtab import ToolProfile
from trimtab_testing import Call, Compaction, Message, Text

from .playing import play

PROFILES = (
    ToolProfile(names="look", read_only=True),
    ToolProfile(names="put", writes=True),
    ToolProfile(names="shell", command_params="command"),
    ToolProfile(names="wait", polling=True),
    ToolProfile(names="other"),
)
NAMES = [name for profile in PROFILES for name in profile.names]
ANSWERS = ["", "ok", "3 hits: a, b, c", "No results found for that", "2 failed, 1 passed"]


def arguments(tool):
    if tool == "shell":
        return st.sampled_from([{"command": c} for c in ("ls", "rm x", "pytest", "sleep 3; ls")])
    return st.sampled_from([{"x": 1}, {"x": 2}, {"q": "near-equal words", "n": 3}])


calls = st.sampled_from(NAMES).flatmap(
    lambda tool: st.builds(
        Call,
        st.just(tool),
        arguments(tool),
        st.sampled_from(ANSWERS),
        st.sampled_from(["ok", "error"]),
    )
)
batches = st.lists(calls, min_size=1, max_size=3)
others = st.sampled_from(
    [
        Compaction(),
        Message("go on"),
        Message("task 1 is done", notification=True),
        Text("I am still working on it, please wait."),
    ]
)
# A few actions, taken again and again, so that there is something to find.
rounds = st.lists(st.one_of(batches, batches, batches, others), min_size=1, max_size=5)
runs = st.lists(st.tuples(rounds, st.integers(1, 5)), min_size=1, max_size=3).map(
    lambda parts: [action for part, times in parts for action in part * times]
)
common = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)


def told(actions, profiles=PROFILES, **options):
    return play(actions, profiles=profiles, **options).spoke


def each(action, change):
    """Return `action` with every call of it changed."""
    return [change(call) for call in action] if isinstance(action, list) else action


@example(
    [
        [Call("look", {"x": 1}, "ok", "error"), Call("wait", {"x": 1}, "")],
        [
            Call("put", {"x": 1}, ""),
            Call("shell", {"command": "sleep 3; ls"}, ""),
            Call("other", {"x": 1}, "", "error"),
        ],
    ]
    * 5
)
@example(
    [[Call("wait", {"x": 1}, ""), Call("wait", {"x": 1}, "ok"), Call("other", {"x": 1}, "ok")]] * 3
    + [[Call("wait", {"x": 1}, "ok")]] * 2
)
@common
@given(runs)
def test_names_of_tools_make_no_difference(actions):
    new = {name: f"zz{number}" for number, name in enumerate(NAMES)}
    profiles = [
        attrs.evolve(profile, names=tuple(new[name] for name in profile.names))
        for profile in PROFILES
    ]
    renamed = [each(action, lambda c: attrs.evolve(c, tool=new[c.tool])) for action in actions]
    assert told(renamed, profiles) == told(actions)


@common
@given(runs, st.randoms(use_true_random=False))
def test_the_order_of_siblings_makes_no_difference(actions, random):
    shuffled = [
        random.sample(action, len(action)) if isinstance(action, list) else action
        for action in actions
    ]
    assert told(shuffled) == told(actions)


@common
@given(runs)
@example(
    [[Call("look", {"x": 1}, "ok"), Call("put", {"x": 1}, "")]] * 5
    + [[Call("look", {"x": 1}, "ok")]]
)
def test_chance_details_make_no_difference(actions):
    """Of calls that ask the same, that is: where the arguments vary, an id may be the news."""

    def volatile(number):
        return lambda call: attrs.evolve(
            call,
            params={"of": call.tool, "request_id": f"r{number}", "absent": None},
            result=f"{call.result} 2026-11-27T10:00:{number % 60:02d}Z pid {number} {number}.5s",
        )

    constant = [each(action, volatile(7)) for action in actions]
    varying = [each(action, volatile(number)) for number, action in enumerate(actions)]
    assert told(varying, in_doubt=False) == told(constant, in_doubt=False)


@common
@given(runs, st.data())
def test_a_changed_answer_makes_no_loop_out_of_none(actions, data):
    batches = [i for i, action in enumerate(actions) if isinstance(action, list)]
    if told(actions, in_doubt=False) or not batches:
        return
    place = data.draw(st.sampled_from(batches))
    other = each(
        actions[place], lambda c: attrs.evolve(c, result=f"something new: {c.tool} 17 of 90")
    )
    assert told([*actions[:place], other, *actions[place + 1 :]], in_doubt=False) == []


@common
@given(runs, st.data())
def test_what_was_saved_goes_on_as_if_nothing_had_happened(actions, data):
    place = data.draw(st.integers(0, len(actions)))
    whole = play(actions)
    parted = play(actions[:place])
    parted.restart()
    parted.play(actions[place:])
    assert parted.spoke == whole.spoke
    texts = [
        [(n.injection, n.level, n.episode) for n in player.delivered] for player in (whole, parted)
    ]
    assert texts[0] == texts[1]


def test_a_notice_that_came_before_the_first_call_is_saved_too():
    actions = [Message("task 1 is done", notification=True), [Call("look", {"x": 1})]] * 3
    player = play(actions[:1])
    player.restart()

    assert player.play(actions[1:]).spoke == told(actions) == [5]


names = st.from_regex(r"[a-z]{3,9}[-#. ][a-z]{2,9}", fullmatch=True)
unmoved = st.sampled_from(["Page unchanged", "Clicked, no effect", "Nothing has changed"])


@common
@given(st.lists(names, min_size=6, max_size=9, unique=True), unmoved)
def test_whatever_is_clicked_a_page_that_says_it_stays_is_told(clicked, said):
    assert told([Call("browser_click", {"element": name}, said) for name in clicked])[0] <= 5


@common
@given(st.lists(st.sampled_from(["a.top", "b.end"]), min_size=7, max_size=9), unmoved)
def test_whichever_of_two_is_clicked_a_page_that_says_it_stays_is_told(clicked, said):
    assert told([Call("browser_click", {"element": name}, said) for name in clicked])[0] <= 6


@common
@given(
    st.sampled_from(["updated", "1 row affected", "ok: saved", "4 passed", "No issues found"]),
    st.lists(st.integers(1, 999), min_size=3, max_size=20, unique=True),
)
def test_a_list_that_is_worked_off_is_left_alone(said, numbers):
    assert told([Call("other", {"id": number}, said) for number in numbers]) == []


@common
@example([8, 1, 2, 80, 81, 82, 83, 84], "a")
@given(st.lists(st.integers(1, 99), min_size=3, max_size=11, unique=True), st.sampled_from("abc"))
def test_numbered_names_are_subjects(numbers, letter):
    asked = [{"host": f"{letter}web{number}"} for number in numbers]
    assert told([Call("other", params, "four days up") for params in asked]) == []


@common
@given(
    st.sampled_from(["queued", "still running", '{"state": "in_progress"}', "not ready yet"]),
    st.lists(st.floats(10.5, 40), min_size=3, max_size=18),
)
def test_what_goes_on_may_be_asked_for_after_a_pause(said, pauses):
    times = [sum(pauses[:count]) for count in range(len(pauses))]
    assert told([Call("other", {"id": 1}, said, at=at) for at in times]) == []


@common
@given(st.lists(st.text("abc ", min_size=12, max_size=30), min_size=5, max_size=8, unique=True))
def test_a_screen_that_is_moved_has_moved_unless_it_shows_the_same(views):
    scroll = Call("scroll", {"by": 1}, "ok")
    moves = [action for view in views for action in (scroll, Call("look", {}, f"seen: {view}."))]
    stays = [scroll, Call("look", {}, "seen: the end of it all.")] * 4
    assert told(moves) == []
    assert told(stays)[0] == 4


def timed(actions, gaps):
    """Return the actions, the calls of each so many seconds after those before."""
    now = 0
    for number, action in enumerate(actions):
        now += gaps[number % len(gaps)]
        if isinstance(action, list):
            yield [attrs.evolve(call, at=now) for call in action]
        else:
            yield action


@common
@given(runs, st.lists(st.sampled_from([1, 20, 90, 1_000]), min_size=1, max_size=5), st.data())
def test_a_restart_changes_nothing(actions, gaps, data):
    actions = list(timed(actions, gaps))
    place = data.draw(st.integers(0, len(actions)))
    player = play(actions[:place], profiles=PROFILES)
    player.restart()

    assert player.play(actions[place:]).said == play(actions, profiles=PROFILES).said


def test_pauses_that_grow_are_known_after_a_restart():
    ends = [0, 5, 20, 65, 200, 605]
    tries = [Call("edit", {"x": 1}, "locked by another user", "error", at=end) for end in ends]
    whole, player = play(tries), play(tries[:4])
    player.restart()

    assert player.play(tries[4:]).said == whole.said


def test_siblings_of_several_tools_with_equal_arguments_may_end_in_any_order():
    first = [
        Call("look", {"x": 1}, ""),
        Call("wait", {"x": 1}, ""),
        Call("look", {"x": 1}, "", "error"),
    ]
    then = [Call("look", {"x": 1}, ""), Call("wait", {"x": 1}, "", "error")]

    assert told([first, then] * 5) == told([first[::-1], then[::-1]] * 5)


def test_twins_that_fail_without_a_word_may_end_in_any_order():
    twins = [Call("look", {"q": "x"}, "", "ok"), Call("look", {"q": "x"}, "", "error")]
    other = Call("shell", {"command": "sleep 3; ls"}, "")
    then = [Call("look", {"x": 1}, ""), Call("wait", {"x": 1}, "", "error")]

    assert told([[*twins, other], then] * 5) == told([[*twins[::-1], other], then] * 5)
