"""Plans: what is refused, how versions differ, what a revision keeps."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trimtab import Plan, PlannedTool, PlanStep, Session
from trimtab_planning import PlanBook, PlanUpdated, current_plan, diff, plan_text


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([PlanStep("x", step_id="a"), PlanStep("y", step_id="a")], "two steps have the id 'a'"),
        ([PlanStep("x", step_id="a", depends_on=["z"])], "step 'a' depends on 'z'"),
        (
            [
                PlanStep("x", step_id="a", depends_on=["b"]),
                PlanStep("y", step_id="b", depends_on=["a"]),
            ],
            "in a cycle: 'a', 'b', 'a'",
        ),
        ([PlanStep("x", step_id="a", depends_on=["a"])], "in a cycle: 'a', 'a'"),
        ([], "at least one step"),
        ([PlanStep("  ", step_id="a")], "step 'a' has no title"),
        ([PlanStep("x" * 201)], "title is longer than 200"),
        ([PlanStep("x")] * 201, "at most 200 steps"),
    ],
)
def test_a_plan_that_is_none_is_refused_and_the_step_is_named(book, steps, words):
    with pytest.raises(ValueError, match=words):
        book.author(steps)
    assert book.current is None


def test_steps_without_an_id_get_one_that_no_other_has(book):
    plan = book.author([PlanStep("x"), PlanStep("y", step_id="S1"), PlanStep("z")])

    assert [step.step_id for step in plan.steps] == ["S2", "S1", "S3"]


def test_versions_count_up_and_the_id_stays(book, steps):
    first = book.author(steps)
    second = book.revise(steps=steps[:2], reason="shorter")
    third = book.rollback("plan.v1")

    assert [plan.version for plan in book.history] == ["plan.v1", "plan.v2", "plan.v3"]
    assert first.plan_id == second.plan_id == third.plan_id
    assert book.current == third


def test_a_plan_that_is_set_again_unchanged_makes_no_new_version(book, steps):
    first = book.author(steps, exit_criteria=["all"])
    again = book.author(steps, exit_criteria=["all"])

    assert again == first
    assert len(book.history) == 1


def test_progress_makes_no_new_version_and_history_keeps_its_last_state(book, steps):
    book.author(steps)
    book.update_step("a", status="done", outcome="3 rows")
    book.revise(steps=(*steps, PlanStep("More", step_id="d")))

    assert [len(plan.open_steps) for plan in book.history] == [2, 3]
    assert book.version("plan.v1").steps[0].outcome == "3 rows"


def test_a_revision_keeps_the_progress_of_steps_by_id_or_else_by_title(book, steps):
    book.author(steps)
    book.update_step("a", status="done", outcome="3 rows")
    reworded = PlanStep("Fetch by hand", step_id="a")
    found = book.revise(steps=[reworded, steps[1]]).steps
    assert [(step.step_id, step.status, step.outcome) for step in found[:1]] == [
        ("a", "done", "3 rows")
    ]
    found = book.revise(
        steps=[PlanStep("New"), PlanStep("fetch by hand."), PlanStep("Check")]
    ).steps
    assert [(step.step_id, step.status) for step in found] == [
        ("S1", "pending"),
        ("a", "done"),
        ("b", "pending"),
    ]


def test_a_revision_that_names_a_status_has_it_and_a_rollback_has_what_was_done(book, steps):
    book.author(steps)
    book.update_step("a", status="done", outcome="3 rows")
    again = book.revise(
        steps=[PlanStep("Fetch", "in_progress", "a", outcome="too few"), *steps[1:]]
    )
    assert (again.steps[0].status, again.steps[0].outcome) == ("in_progress", "too few")

    book.update_step("a", status="done", outcome="9 rows")
    back = book.rollback(again.version)
    assert (back.steps[0].status, back.steps[0].outcome) == ("done", "9 rows")


def test_a_new_step_gets_no_id_of_one_that_was_dropped(book):
    book.author([PlanStep("A"), PlanStep("B")])
    book.update_step("S1", status="done")
    plan = book.revise(steps=[PlanStep("Other"), PlanStep("B")])

    assert [(step.step_id, step.status) for step in plan.steps] == [
        ("S3", "pending"),
        ("S2", "pending"),
    ]


@pytest.mark.parametrize("change", ["author", "revise"])
def test_a_plan_of_done_steps_only_is_completed(book, steps, change):
    if change == "author":
        plan = book.author([PlanStep("A", "done")])
    else:
        book.author(steps)
        book.update_step("a", status="done")
        plan = book.revise(steps=[PlanStep("Fetch")])

    assert plan.status == "completed"
    with pytest.raises(ValueError, match="the plan is completed; make a new one"):
        book.rollback("plan.v1")


def test_a_plan_of_done_steps_waits_for_its_exit_criteria(book):
    assert book.author([PlanStep("A", "done")], exit_criteria=["B"]).status == "active"


def test_a_rollback_keeps_what_was_done_since(book, steps):
    book.author(steps)
    book.revise(steps=(*steps, PlanStep("More", step_id="d")))
    book.update_step("a", status="done")

    plan = book.rollback("plan.v1", reason="too much")
    assert [step.step_id for step in plan.steps] == ["a", "b", "c"]
    assert plan.steps[0].done
    assert book.last_change.reason == "too much"


def test_a_rollback_revives_an_abandoned_plan(book, steps):
    book.author(steps)
    book.abandon("no access")
    plan = book.rollback("plan.v1")

    assert (plan.status, plan.version, plan.reason) == ("active", "plan.v2", "")
    assert [step.status for step in plan.steps] == ["pending", "pending", "pending"]


def test_an_abandoned_plan_has_no_open_steps_and_says_why(book, steps):
    book.author(steps)
    book.update_step("a", status="done")
    plan = book.abandon("no access")

    assert [step.status for step in plan.steps] == ["done", "cancelled", "cancelled"]
    assert (plan.status, plan.reason) == ("abandoned", "no access")
    assert book.active is None
    with pytest.raises(ValueError, match="the plan is abandoned; make a new one"):
        book.update_step("b", status="done")


def test_after_a_plan_was_abandoned_the_next_one_has_its_own_id(book, steps):
    first = book.author(steps)
    book.abandon("no access")
    second = book.author(steps)

    assert second.version == "plan.v1"
    assert second.plan_id != first.plan_id


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda book: book.update_step("x", status="done"), "no step 'x'; its steps are a, b, c"),
        (lambda book: book.update_step("b", status="done"), "'b' depends on open steps: a"),
        (lambda book: book.rollback("plan.v9"), "no version 'plan.v9'; versions are plan.v1"),
        (lambda book: book.complete(), "open steps: a, b, c"),
        (lambda book: book.abandon(" "), "say why"),
        (lambda book: book.reflect("x", step_id="z"), "no step 'z'"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_and_changes_nothing(book, steps, change, words):
    plan = book.author(steps)

    with pytest.raises(ValueError, match=words):
        change(book)
    assert book.current == plan


def test_without_a_plan_there_is_nothing_to_change(book):
    with pytest.raises(ValueError, match="there is no plan yet"):
        book.revise(objective="x")


def test_a_plan_without_exit_criteria_is_completed_with_its_last_step(book):
    book.author([PlanStep("x", step_id="a")])

    assert book.update_step("a", status="done").status == "completed"


def test_a_plan_with_exit_criteria_is_completed_by_a_reflection_that_meets_them(book):
    book.author([PlanStep("x", step_id="a")], exit_criteria=["green"])

    assert book.update_step("a", status="done").status == "active"
    assert book.reflect("it is red", met=False).expected == "green"
    assert book.current.status == "active"
    book.reflect("it is green", met=True)
    assert book.current.status == "completed"


def test_each_run_of_a_session_has_plans_of_its_own(session, book, steps):
    from trimtab import Prompt

    other = PlanBook.of(session.open_run(Prompt("agent", "sub", config=None), "sub"))
    book.author(steps)
    other.author([PlanStep("y")])
    book.update_step("a", status="done")

    assert [step.title for step in other.current.steps] == ["y"]
    assert len(book.history) == len(other.history) == 1
    assert current_plan(session, other.run_id) == other.current


def test_a_plan_of_the_whole_session_counts_for_each_run(session, book):
    session.dispatch(Plan([PlanStep("x", step_id="a")], exit_criteria=["x"]))

    assert book.update_step("a", status="done").steps[0].done
    assert book.revise(objective="y").version == "plan.v1"


def test_diff_names_what_was_added_removed_changed_and_moved(book, steps):
    book.author(steps, exit_criteria=["x"])
    book.update_step("a", status="done", outcome="3 rows")
    book.revise(steps=[steps[1], steps[0], PlanStep("New", step_id="n")], exit_criteria=["x", "y"])
    found = book.diff("plan.v1", "plan.v2")

    assert found.text.splitlines() == [
        '~ exit_criteria: "x" -> "x, y"',
        "- c: Report",
        "+ n: New",
        "~ order of the steps",
    ]
    assert not diff(book.current, book.current)


def test_a_session_with_plans_is_saved_and_read_back(session, book, steps):
    book.author(steps)
    book.reflect("x", step_id="a", met=True)
    restored = Session.restore(session.snapshot())

    assert PlanBook(restored, book.run_id).history == book.history
    assert restored[PlanUpdated].all() == session[PlanUpdated].all()


def test_a_plan_is_shown_in_bounded_lines_without_control_characters(book):
    book.author(
        [PlanStep("a\x1b[31m\nb", step_id="s", tools=["t" * 500]), *[PlanStep("x")] * 100],
        objective="o" * 2_000,
        exit_criteria=["c" * 2_000],
    )
    text = plan_text(book.current)

    assert "and 51 more steps" in text
    assert max(map(len, text.splitlines())) <= 400
    assert "\x1b" not in text


def of_step(**fields):
    first = PlanStep("First", step_id="s")
    return Plan([first, PlanStep(**{"title": "t", **fields})])


@pytest.mark.parametrize(
    ("made", "longest"),
    [
        (lambda text: Plan([PlanStep("t")], reason=text), 200),
        (lambda text: Plan([PlanStep("t")], objective=text), 200),
        (lambda text: Plan([PlanStep("t")], exit_criteria=[text]), 300),
        (lambda text: of_step(step_id=text), 64),
        (lambda text: of_step(status=text), 20),
        (lambda text: of_step(title=text), 200),
        (lambda text: of_step(tools=[PlannedTool(text)]), 80),
        (lambda text: Plan([PlanStep("t", "done", text), PlanStep("u", depends_on=[text])]), 64),
        (lambda text: of_step(outcome=text), 160),
    ],
)
def test_each_part_of_a_plan_is_shown_as_far_as_a_line_has_room_for_it(made, longest):
    def times(length):
        return plan_text(made("x" * length)).count("x" * length)

    assert times(longest)
    assert times(longest + 1) == 0


@pytest.mark.parametrize(("many", "left"), [(50, 0), (51, 1)])
def test_fifty_steps_and_twenty_criteria_are_shown(many, left):
    text = plan_text(Plan([PlanStep("t")] * many, exit_criteria=["c"] * (many - 30)))

    assert text.count("] t") == many - left
    assert ("and 1 more steps" in text) is bool(left)
    assert text.count("- c") == 20


ids = st.sampled_from("abcdef")
many_steps = st.lists(ids, min_size=1, max_size=6, unique=True).flatmap(
    lambda names: st.tuples(
        *(
            st.builds(
                PlanStep,
                st.sampled_from(["one", "two"]),
                st.sampled_from(["pending", "in_progress", "done"]),
                st.just(name),
                depends_on=st.lists(st.sampled_from(names[:index]), max_size=2, unique=True)
                if index
                else st.just(()),
            )
            for index, name in enumerate(names)
        )
    )
)


@pytest.mark.slow
@given(st.lists(many_steps, min_size=1, max_size=5), st.data())
def test_every_version_can_be_gone_back_to(plans, data):
    from trimtab import Prompt

    book = PlanBook.of(Session().open_run(Prompt("agent", "main", config=None)))
    for steps in plans:
        book.author(steps)
        if book.active is None:
            break
    versions = [plan.version for plan in book.history]
    wanted = data.draw(st.sampled_from(versions))
    before = book.version(wanted)
    if book.active is None:
        with pytest.raises(ValueError, match="the plan is completed"):
            book.rollback(wanted)
        return
    after = book.rollback(wanted)

    assert [(s.step_id, s.title, s.depends_on) for s in after.steps] == [
        (s.step_id, s.title, s.depends_on) for s in before.steps
    ]
    assert len(book.history) == len(versions) + 1
    assert len({plan.version for plan in book.history}) == len(versions) + 1


@pytest.mark.slow
@given(many_steps, many_steps)
def test_a_diff_is_empty_where_and_only_where_plans_are_equal(one, other):
    before, after = Plan(one), Plan(other)

    assert bool(diff(before, after)) == (before != after)
