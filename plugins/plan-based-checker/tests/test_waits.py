"""Ends of a turn that are right though the plan is open."""

from __future__ import annotations

import pytest

from trimtab import Plan, PlanStep, Prompt, Session
from trimtab.events import CompletionStatus


def status_of(text, *, user="", calls=(), notice="", steps=("build",)):
    """Return the verdict after `calls` and a closing `text`, with a step open."""
    session = Session()
    run = session.open_run(Prompt("a", "b", [], completion_checkers=["plan-based-checker"]))
    if user:
        run.user_message(user)
    for number, (tool, params, answer) in enumerate(calls):
        run.model_responded()
        run.tool_started(tool, params, str(number))
        run.tool_finished(str(number), answer)
    if notice:
        run.user_message(notice, notification=True)
    run.model_responded(text=text)
    session.dispatch(Plan([PlanStep("spec", "done"), *(PlanStep(one, "pending") for one in steps)]))
    return str(run.check_completion().status)


@pytest.mark.parametrize(
    "text",
    [
        "Shall I go on with the build?",
        "Which one do you want, A or B?",
        "Could you confirm the target branch?\n\nI have prepared everything else.",
        "Two options:\n\n1. Keep it\n2. Drop it\n\nLet me know which you prefer.",
        "Please review the plan above and approve it before I implement it.",
        "I need you to run `gh auth login` first; I can't open the pull request without it.",
        "I cannot continue without the API token.",
        "Soll ich den alten Index löschen?",
        "¿Uso Postgres o SQLite?",
        "请确认后我再继续。",
    ],
)
def test_an_agent_that_asks_its_user_may_stop(text):
    assert status_of(text) == CompletionStatus.UNVERIFIED


@pytest.mark.parametrize(
    "text",
    [
        "All done.",
        "The research is complete.",
        "I have implemented the main parts of it. The tests pass.",
        "Why was it slow? It read the file twice.\nNow it reads it once.",
        'I updated the FAQ ("How do I reset?") and the index.',
        "Next I will write the tests.",
        "Ready for your review.",
        "Waiting for your go-ahead.",
        "Shall I go on?",
        "Soll ich weitermachen?",
        "¿Quieres que siga?",
        "Bitte prüfe den Entwurf und gib mir Bescheid.",
        "Step one is done. Let me know if you have any questions!",
        "第一步完成。如有任何问题请随时告诉我。",
        "全部完成。",
        "The server is running on port 3000.",
    ],
)
def test_an_agent_that_reports_is_sent_back(text):
    assert status_of(text) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "user",
    [
        "Write the spec and stop there, I want to review it first.",
        "Only update progress.md, nothing else. We continue tomorrow.",
        "Draft it; let me approve it, then implement.",
        "Don't implement anything before you have my word.",
        "Mach heute nur den Entwurf, morgen machen wir weiter.",
        "Faça só o rascunho. Continuamos amanhã com o resto.",
    ],
)
def test_a_user_may_order_a_stop_on_the_way(user):
    assert status_of("The spec is in spec.md.", user=user) == CompletionStatus.UNVERIFIED


def test_steps_behind_the_last_number_that_the_user_named_may_wait():
    open_steps = ("chapter 4", "chapter 5")
    asked = status_of("Chapter 3 is done.", user="Translate chapters 1 to 3", steps=open_steps)
    further = status_of("Chapter 3 is done.", user="Translate chapters 1 to 5", steps=open_steps)

    assert (asked, further) == (CompletionStatus.UNVERIFIED, CompletionStatus.INCOMPLETE)


def test_a_later_order_takes_the_place_of_the_first():
    assert status_of("It is built.", user="Now build it.") == CompletionStatus.INCOMPLETE


AGENT = (
    "Agent",
    {"prompt": "x", "run_in_background": True},
    "Async agent launched.\nagentId: a81f",
)
SHELL = ("Bash", {"command": "make", "run_in_background": True}, "Running in background, ID: b1")


def test_work_in_the_background_is_waited_for_until_it_reports():
    assert status_of("The agent is at work.", calls=[AGENT]) == CompletionStatus.UNVERIFIED
    done = (
        "<task-notification><task-id>a81f</task-id><status>completed</status></task-notification>"
    )
    assert status_of("It is back.", calls=[AGENT], notice=done) == CompletionStatus.INCOMPLETE


def test_a_shell_in_the_background_counts_where_the_agent_says_that_it_waits():
    assert status_of("The build runs; I wait for it.", calls=[SHELL]) == CompletionStatus.UNVERIFIED
    assert status_of("The feature is finished.", calls=[SHELL]) == CompletionStatus.INCOMPLETE


@pytest.mark.parametrize(
    "call",
    [
        ("question", {"question": "Delete the old bucket?"}, "(waiting for the user)"),
        ("ask_user", {"text": "A or B?"}, ""),
        ("AskUserQuestion", {"questions": [{"options": [{"label": "A"}, {"label": "B"}]}]}, ""),
        ("ask_followup_question", {"question": "A or B?"}, "asked"),
        ("request_user_input", {"prompt": "A or B?"}, "{}"),
        ("human_input", {"text": "A or B?"}, "ok"),
        ("ask_human", {"text": "A or B?"}, "Frage gestellt"),
        ("clarify", {"text": "A or B?"}, "sent"),
        ("prompt_user", {"text": "A or B?"}, "shown"),
        ("post", {"channel": "ops"}, "sent, awaiting approval"),
    ],
)
def test_a_question_put_by_a_tool_is_open_until_something_else_is_done(call):
    read = ("read", {"path": "a"}, "text")
    assert status_of("", calls=[call]) == CompletionStatus.UNVERIFIED
    assert status_of("It is done.", calls=[call, read]) == CompletionStatus.INCOMPLETE


def test_a_question_that_the_result_answers_is_no_longer_open():
    options = [{"label": "OAuth"}, {"label": "Key"}]
    asked = ("AskUserQuestion", {"questions": [{"options": options}]}, 'They chose "OAuth".')
    echoed = ("AskUserQuestion", {"questions": [{"options": options}]}, "Shown: OAuth, Key")
    assert status_of("OAuth it is.", calls=[asked]) == CompletionStatus.INCOMPLETE
    assert status_of("", calls=[echoed]) == CompletionStatus.UNVERIFIED


def test_what_was_delegated_and_came_back_with_its_answer_is_not_under_way():
    begun = ("delegate", {"to": "writer"}, "delegated, task id: t4")
    back = ("delegate", {"to": "writer"}, "writer: three names, the shortest one is best")
    assert status_of("The writer is at it.", calls=[begun]) == CompletionStatus.UNVERIFIED
    assert status_of("I am closing the task.", calls=[back]) == CompletionStatus.INCOMPLETE
