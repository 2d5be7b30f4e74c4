"""Ends of turns in ten languages of which the rules hold no verb; the sentences are made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab import Plan, PlanStep, Prompt, Session
from trimtab.events import CompletionStatus

CLOSINGS = [
    json.loads(line)
    for line in Path(__file__).with_name("closings.jsonl").read_text("utf-8").splitlines()
]
STILL_WRONG = {
    # Words too short to be known again in another form.
    "he-stop",
    # A negation that no list has, of what was forbidden.
    "fa-ban",
    # An answer that names what the next step is about reads like the announcement of it.
    "vi-question",
    # A question that shares syllables with a step.
    "th-anything",
}


def may_stop(closing):
    """Return whether the agent of a closing may stop; a plan of three steps has one done."""
    session = Session()
    run = session.open_run(Prompt("a", "b", [], completion_checkers=["plan-based-checker"]))
    first, *later = closing["steps"]
    run.user_message(closing.get("first") or closing["user"])
    run.model_responded()
    run.tool_started("read", {"path": "/etc/gateway/config.toml"}, "0")
    run.tool_finished("0", "port = 8080")
    session.dispatch(Plan([PlanStep(first, "done"), *(PlanStep(one, "pending") for one in later)]))
    if closing.get("first"):
        run.model_responded(text=f"{first}.")
        run.user_message(closing["user"])
    run.model_responded(text=closing["text"])
    return run.check_completion().status != CompletionStatus.INCOMPLETE


@pytest.mark.parametrize("closing", CLOSINGS, ids=lambda closing: closing["id"])
def test_what_a_step_or_the_user_needs_is_known_in_any_language(closing):
    wrong = may_stop(closing) != closing["may_stop"]

    assert wrong == (closing["id"] in STILL_WRONG)


STEPS = ["rename the fields", "adapt the readers", "write the docs"]


@pytest.mark.parametrize(
    ("user", "text", "may"),
    [
        ("Wacht even, ga nog niet verder. Waarom hernoemd?", "Twee lezers lezen leeg.", True),
        ("Warte, mach nicht weiter. Warum umbenannt?", "Weil zwei Leser leer lesen.", True),
        ("Moment, nichts mehr anfassen. Was ist rot?", "Zwei Tests sind rot.", True),
        ("Fix it, don't break anything.", "Two of them are empty.", False),
        ("Mach es fertig, aber nicht am Stück.", "Zwei sind leer.", False),
    ],
)
def test_a_call_for_attention_may_stand_before_a_ban_beside_a_question(user, text, may):
    closing = {"first": "rename, adapt, write", "user": user, "text": text, "steps": STEPS}

    assert may_stop(closing) is may
