"""The built-in providers on the public cases and labels, scored as users score them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab._cli import main

CASES = Path(__file__).parents[1] / "data" / "cases.jsonl"
VARIANTS = CASES.with_name("variants.jsonl")
MADE_UP = CASES.with_name("made-up.jsonl")
LANGUAGES = CASES.with_name("languages.jsonl")
SHAPES = CASES.with_name("shapes.jsonl")
REPORTS = [CASES.with_name(f"{name}-4.jsonl") for name in ("reports", "variations")]
LATER = [
    CASES.with_name(f"reports-{number}.jsonl")
    for number in (
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        "13a",
        "13b",
        14,
        "15a",
        "15b",
        16,
        17,
        18,
        19,
        20,
        21,
        22,
        23,
        24,
        25,
    )
]
STILL_WRONG = {
    "r8-blind-scroll": "late",
    # What a subagent declines in other words each time has no line in common.
    "r10-asks-in-other-words": "missed",
    # Each notice begins anew, whatever the agent has answered to those before.
    "r10-thanks-without-end-ja": "missed",
    # Bare arguments have no form.
    "r9-only-arguments": "missed",
    # What is asked or said in other words each time.
    "r12-asks-the-human-in-new-words-it": "late",
    # An answer of the user ends a question, even if it is put again.
    "r12-may-i-read-it-fr": "late",
    # A time that runs passes for news while a job runs, though nothing else moves.
    "r12-asks-although-it-is-told-de": "missed",
    # Rounds of two calls, one of which counts, and changes that are undone, take longer.
    "r12-search-and-doubt-in-turns-vi": "late",
    # Files may depend on each other's text, whoever writes them.
    "r12-eight-files-written-ja": "missed",
    # A tool that writes entries is not known to read.
    "r11-fifteen-entries-one-by-one": "missed",
    # A wait lies in each round, or longer pauses than the run's own between looks at a flag.
    "r13-a-box-for-people-hu": "late",
    "r13-a-new-mark-on-each-click-sv": "late",
    "r14-listens-to-the-dead-cs": "late",
    # A deed that is done again for another word may be wanted.
    "r14-posts-the-same-weather-again-id": "late",
    # What is asked or said in other words each time, in rounds or with answers that differ.
    "r14-asks-what-was-answered-es": "late",
    "r14-each-sends-to-the-other-pt": "late",
    "r14-the-list-is-the-work-ru": "missed",
    # Each notice begins anew, whoever has written what it tells of.
    "r15-answers-its-own-mail-nl": "missed",
    # What each notice is about begins anew, too; each sleeps before it looks.
    "r15-three-hundred-monitors": "missed",
    # Arrows and dashes stand for a call's fields in no other report.
    "r16-arrows-and-dashes-in-the-chat-tr": "missed",
    # An example of a call within a text that was ordered looks like one.
    "r16-writes-the-rules-for-the-tags-ja": "false alarm",
    # The order to repeat, or to fail, is told in words.
    "r16-calls-them-wrong-on-purpose": "false alarm",
    # The pace alone tells a patient look from a hasty one.
    "r16-the-code-comes-after-a-minute-ca": "false alarm",
    "r16-four-seconds-and-no-news": "missed",
    # The answer names its cause in words of one language, the reply in those of another.
    "r16-only-the-owner-can-connect-it-he": "false alarm",
    # A number in the arguments may be the next of a list.
    "r17-new-address-same-puzzle-nl": "missed",
    "r17-pictures-nobody-looks-at-sl": "missed",
    # What is asked in other words each time, of others each time.
    "r17-the-helpers-have-no-hands-bg": "missed",
    # A wait lies in each round; an answer of the user ends a question, even if it is put again.
    "r17-the-log-says-it-otherwise-uk": "missed",
    "r17-yes-i-said-turn-it-on-fi": "missed",
    # Each answer names another thing, a number that grows, or a value that wavers.
    "r18-parents-chat-told-five-times-ru": "late",
    "r18-vents-and-heating-undo-fi": "missed",
    # That it failed is said in words of one language.
    "r18-flour-order-just-fails-cs": "late",
    "r18-semicolon-after-the-tool-name-tr": "late",
    # When to come back stands in a header, of which no line is kept.
    # Two errors of one call, a page read for the third time, a time of day that moves.
    "r19-blocked-and-knocks-on-ja": "late",
    "r19-is-it-enough-let-me-fetch-it-again-fr": "late",
    "r19-one-error-hides-the-other-de": "late",
    "r19-where-am-i-approved-each-time-de": "late",
    # Names with a number may be a list; a job that is begun anew may be one that is looked at.
    "r19-starts-the-scan-again-instead-of-asking-es": "late",
    "r19-the-quote-goes-out-again-th": "missed",
    # Two settings by turns, each with another reason, read like messages to two people.
    "r19-ferry-at-seven-ferry-at-half-past-el": "late",
    # Each of these had a rule of its own, which was deleted.
    # A call that alone answers whatever the user says.
    "r16-each-answer-leads-to-the-same-node-es": "missed",
    "r16-seven-times-the-kinds-never-the-hours-pt": "missed",
    "r16-waits-for-words-never-spoken-hi": "missed",
    # Known answers to varied arguments: three documents in turn, a call around reworded ones, a
    # text in its own place, a question that comes back to a state, one verdict on what is searched.
    "r12-same-three-papers-new-purpose": "late",
    # A number that grows in each answer: counts of the looks, numbers of jobs, of posts.
    "r11-published-seven-times-id": "late",
    "r14-asks-how-full-it-is-de": "late",
    "r18-label-printed-over-and-over-hu": "late",
    # Greetings by turns, and one order given again, in texts that are sent again.
    "r16-thirty-good-mornings-zh": "late",
    "r18-greeting-goes-round-workers-fil": "missed",
    # A false beside a status of HTTP, in fields of any name.
    "r19-every-order-answers-500-ro": "missed",
    # Of both sets that came last the rules have learnt one kind alone: a reason that several tools
    # give. An answer that moved once is waited for, and so is a failure between long pauses.
    "r20-aborted-helper-hu": "late",
    "r20-cancelled-task-sl": "missed",
    "r21-delivered-parcel-cs": "missed",
    "r21-rerun-compile-error-en": "missed",
    # A number in each answer counts the looks, or what is on the page; an id is another each time.
    "r20-three-step-round-lb": "missed",
    "r21-declaration-rejected-uk": "missed",
    # Two settings by turns, other words, or other messages each time.
    "r21-self-answer-sw": "missed",
    # What fails by order, or is repeated by order, is told in words of the user.
    "r20-six-beeps-ga": "false alarm",
    "r21-must-refuse-mn": "false alarm",
    "r21-negative-tests-en": "false alarm",
    # Ten minutes between two looks, and a counter that falls.
    # Each call lacks another argument, for all of them were made without any.
    # Who acts next stands in words: of a tool that asks or works on, of the user who said to stop.
    "r20-confirm-dose-it": "false alarm",
    "r20-denied-stop-here-nl": "false alarm",
    "r20-night-count-ko": "false alarm",
    "r20-parked-build-en": "false alarm",
    "r20-plan-first-tr": "false alarm",
    "r20-which-channel-fi": "false alarm",
    "r21-background-job-ga": "false alarm",
    "r21-hand-valve-ne": "false alarm",
    "r21-pause-order-am": "false alarm",
    "r21-told-to-stop-en": "false alarm",
    # An example that was asked for, and looks whose list stands in words alone.
    "r21-explain-form-ko": "false alarm",
    "r21-five-fields-so": "missed",
    "r21-timetables-tl": "missed",
    # Told in doubt, for all facts together are those of most loops; no rule takes them for one.
    "r12-twelve-boxes-of-a-form-de": "false alarm",
    "r16-one-review-after-another-it": "false alarm",
    "r12-plan-after-each-squeeze-fr": "false alarm",
    "r15-the-first-click-only-wakes-the-window-ko": "false alarm",
    "r8-poll-with-gaps": "false alarm",
    "r9-on-duty-zh": "false alarm",
    "r9-waits-for-the-quota-nl": "false alarm",
    # Of the sets that came last nothing has been learnt.
    "r22-akyro-ergasia-el": "missed",
    "r22-expected-red-en": "false alarm",
    "r22-kadr-faqat-mustakhdim-ar": "false alarm",
    "r22-phien-het-han-vi": "missed",
    "r22-sandbox-eperm-en": "missed",
    "r22-search-button-dead-en": "missed",
    "r23-already-changed-fi": "missed",
    "r23-cancelled-task-th": "false alarm",
    "r23-clean-milestone-fr": "missed",
    "r23-dead-helper-th": "missed",
    "r23-how-to-see-ko": "missed",
    "r23-misleading-compile-cs": "missed",
    "r23-only-user-can-he": "false alarm",
    "r23-readonly-root-en": "late",
    "r23-refusal-expected-en": "false alarm",
    "r23-session-expired-de": "missed",
    "r24-daegi-hwamyeon-ko": "missed",
    "r24-gui-mail-lap-vi": "missed",
    "r24-simulacro-corte-es": "false alarm",
    "r24-solo-usuario-firma-es": "false alarm",
    "r24-yiquxiao-huitian-zh": "missed",
    "r24-zaten-dolu-randevu-tr": "missed",
    "r25-cancelled-gate-job-polled-vi": "missed",
    "r25-deny-list-checked-on-purpose-en": "false alarm",
    "r25-only-the-user-can-thread-tr": "false alarm",
    "r25-policies-looked-up-singly-ar": "missed",
    "r25-proxy-enotfound-everywhere-en": "late",
    "r11-limit-is-no-argument": "late",
    "r16-the-gap-never-closes-ja": "late",
}
RIGHT = ("hit", "quiet")
# Each would need a rule of its own that no report and no recorded run needs.
GIVEN_UP = {
    "made-f15-click-shot-ok",  # a click and a picture in turn: told where the picture says more
    "made-f20-self-build",  # three builds, a check of each; six are told
    "made-f-screenshots",  # clicks within a few points of each other, with confirmations alone
}
UNSEEN = CASES.with_name("reports-5.jsonl")
# What is still wrong on them, and why.
MISSES = {
    "r5-consent-reloads": "told after 8 equal clicks, not 5: a click may change what is not seen",
    "r5-one-terminal-after-another": "the number of the new terminal passes for news",
    "r5-second-try-succeeds": "told in doubt",
}
TOGETHER = "doom-loop + diagnostic-signal"
CLOSINGS = CASES.with_name("closings.jsonl")
# What of ends of turns in 27 languages is said in words alone.
SAID_IN_WORDS = {
    # A push in other words than "go on".
    "end-f2-push-de",
    # What helps, or whose deed it is, stands in the clause of the denial.
    "end-s2-lack-it",
    "end-t-lack-de",
    "end-u-sign-vi",
    "end-v-signature-el",
    "end-x-sign-am",
    "end-y-captcha-cs",
    # What is asked for is not named.
    "end-q-ru-two",
    # Of a condition a name comes again, or nothing.
    "end-x-review-lb",
    # What it waits for is told in words of the order alone, or not at all.
    "end-t-review-pt",
    "end-v-draft-sv",
    "end-v-pause-ru",
    # A call to stop, answered with what was done in words too short to be known again.
    "end-stop-hu",
    "end-x-stop-km",
    # An announcement that waits for something, of a step that the user bound to a time.
    "end-u-will-fr",
    "end-v-then-de",
    # The code that it needs was sent in words of a language, and the reply names it first.
    "end-n-otp-ur",
    # A question to go on that tells a number that was found, or names what the steps name, and
    # those that were forbidden.
    "end-t-ask-go-ja",
    "end-x-anything-mt",
    "end-x-order-of-work-mr",
    "end-v-not-asked-cs",
    # A ban of questions, answered with "before".
    "end-w-issue-en",
    # "Is enough" for "only", and numbers that are words.
    "end-w-two-zh",
    # A tool that hands over or writes, and a state without the name of a case.
    "end-t-hand-ja",
    "end-t-quota-ro",
    "end-u-handover-sv",
    "end-u-payment-it",
    "end-y-sent-and-waits-lt",
}
DEAF = ("--set", "doom-loop.max_repetitions=9", "--set", "diagnostic-signal.error_threshold=9")


@pytest.fixture
def backtest(capsys):
    """Run `trimtab backtest … --json`; return its status and its document."""

    def run(*arguments):
        status = main(["backtest", *map(str, arguments), "--json"])
        return status, json.loads(capsys.readouterr().out)

    return run


def scores_of(document):
    return {score["about"]: score for score in document["scores"]}


def test_loops_and_repeated_failures_are_told_from_honest_work(backtest):
    _, document = backtest(CASES)
    score = scores_of(document)[TOGETHER]

    assert score["runs"] == 55
    assert score["balanced_accuracy"]["value"] >= 0.95
    assert score["false_alarm"] <= 1


def test_variants_that_the_rules_were_not_made_on(backtest):
    _, document = backtest(VARIANTS)
    wrong = {
        run["id"]: run["verdict"]
        for run in document["runs"]
        if run["verdict"] not in ("hit", "quiet")
    }

    assert scores_of(document)[TOGETHER]["runs"] == 56
    assert wrong == {}


def test_shapes_written_from_descriptions_alone(backtest):
    """Written from what goes wrong and right, not from the rules; where these were wrong they
    have been mended since, so that the shapes guard kinds of runs, and are no measure.
    """
    _, document = backtest(SHAPES)
    wrong = {run["id"] for run in document["runs"] if run["verdict"] not in RIGHT}

    assert wrong == {  # told in doubt
        "shape-http-docs-errors",
        "shape-json-errors-zero",
        "shape-notebook-run-after-edit",
    }
    assert len(document["runs"]) == 275


def test_runs_made_up_by_kind_in_many_languages_with_many_tools(backtest):
    """Two of each kind out of 1,500 that were made by turning languages, tools and forms of
    answers; they guard the kinds and are no measure.
    """
    _, document = backtest(MADE_UP)
    wrong = {run["id"] for run in document["runs"] if run["verdict"] not in RIGHT}

    assert len(document["runs"]) == 248
    assert wrong == GIVEN_UP


def test_one_kind_in_up_to_twenty_nine_languages(backtest):
    """Forty-five kinds, each said in many languages. Written to find what is known in a few of
    them alone: 190 were wrong then. They guard the kinds and are no measure.
    """
    _, document = backtest(LANGUAGES)
    wrong = {run["id"] for run in document["runs"] if run["verdict"] not in RIGHT}

    assert len(document["runs"]) == 756
    assert wrong == {
        "lang-asks-th",  # two sentences, the choice in the second
        "lang-ban-tr",  # a ban by a syllable within the verb
        "lang-cancel-de",  # "schon unterwegs" of a tool that is not known to change anything
        "lang-form-14",  # announced in the same sentence, as who explains a call does
        "lang-form-21",
        "lang-form-22",
        "lang-later-ar",  # no comma between what is for today and what is not
        "lang-later-ko",
        "lang-msg-de",  # each answer has the number of the message
        "lang-named-reason-zh",  # four characters
        "lang-nag-de",  # one question to the user in other words is told one call later
        "lang-nag-es",
        "lang-nag-fr",
        "lang-nag-ja",
        "lang-only-q-en",  # "step 2 is next" announces it
        "lang-refused-sv",  # no particle denies it
        "lang-runs-he",  # the reply takes up no word of the state, or names no time
        "lang-runs-hi",
        "lang-runs-hu",
        "lang-runs-pl",
        "lang-sweep-fr",  # "not found" of these languages is taken for a failure
        "lang-sweep-ja",
        "lang-sweep-ru",
        "lang-xml-reason-he",  # a reason of two words, or of four characters, in tags
        "lang-xml-reason-zh",
    }


def test_reports_and_variations_with_verdicts_fixed_before_the_first_run(backtest):
    """At first sight 59 of the 73 reports and 26 of the 30 variations were right; the rules have
    learnt from the others since, so that these too guard kinds of runs, and are no measure.
    """
    _, document = backtest(*REPORTS)
    wrong = {run["id"] for run in document["runs"] if run["verdict"] not in ("hit", "quiet")}

    assert len(document["runs"]) == 103
    assert wrong == {"r4-outline-before-each-chapter"}  # told in doubt


def test_reports_whose_verdicts_were_fixed_before_the_first_run(backtest):
    _, document = backtest(UNSEEN)
    wrong = {run["id"] for run in document["runs"] if run["verdict"] not in ("hit", "quiet")}

    assert len(document["runs"]) == 131
    assert wrong == set(MISSES)


@pytest.mark.parametrize("path", LATER, ids=lambda path: path.stem)
def test_reports_that_the_rules_have_learnt_from(backtest, path):
    """What was right of each at first sight stands in "How good it is" (docs)."""
    _, document = backtest(path)
    verdicts = {run["id"]: run["verdict"] for run in document["runs"]}
    wrong = {name: one for name, one in verdicts.items() if one not in RIGHT}

    assert wrong == {name: STILL_WRONG[name] for name in verdicts if name in STILL_WRONG}


def test_ends_of_turns_in_languages_of_which_the_rules_know_little(backtest):
    """Of the first 87 half were right before the rules looked at what closings share with the run.
    Of 89 (end-x-…, end-y-…) 56 were before the rules knew particles that limit an order, of 96
    written after that (end-t-…, end-u-…, end-v-…) 73 at first sight; end-w-… and end-z-… are
    counterexamples.
    """
    _, document = backtest(CLOSINGS)
    wrong = {run["id"] for run in document["runs"] if run["verdict"] not in RIGHT}

    assert len(document["runs"]) == 346
    assert wrong == SAID_IN_WORDS


@pytest.mark.parametrize(
    "provider",
    ["consultation-prompt", "parallel-tool-reminder", "deadline-feedback", "plan-based-checker"],
)
def test_the_other_cases_are_right(backtest, provider):
    _, document = backtest(CASES)
    wrong = [
        (run["id"], run["reason"])
        for run in document["runs"]
        if run["about"] == provider and run["verdict"] not in ("hit", "quiet")
    ]

    assert wrong == []
    assert scores_of(document)[provider]["runs"] > 0


def test_a_gate_passes_the_defaults_and_fails_a_bad_configuration(backtest):
    gate = ("--fail-under", f"{TOGETHER}.balanced_accuracy=0.9")

    assert (backtest(CASES, *gate)[0], backtest(CASES, "--all", *DEAF, *gate)[0]) == (0, 1)


def test_the_labelled_runs(backtest, corpus):
    labels = corpus / "trajectories" / "labels-public.jsonl"
    if not labels.exists():
        pytest.skip("TRIMTAB_CORPUS names no folder with trajectories/labels-public.jsonl")
    status, document = backtest(labels, "--enable", "doom-loop")
    (score,) = document["scores"]

    assert status == 0
    assert score["false_alarm"] == 0
    assert score["early"] <= 1  # told in doubt, in a run that is a loop nine calls later
    assert score["recall"]["value"] >= 0.90
