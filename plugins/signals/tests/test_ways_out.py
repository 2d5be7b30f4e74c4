"""What an answer asks for is read before another tool is named."""

import time

import pytest

from trimtab_signals import WayOut, advice, asked_by


@pytest.mark.parametrize(
    ("answer", "way"),
    [
        ("day must be YYYY-MM-DD", WayOut.ARGUMENTS),
        ('{"error": "invalid", "allowed_values": ["red", "blue"]}', WayOut.ARGUMENTS),
        ("Fehler: Datum im Format YYYY-MM-DD angeben", WayOut.ARGUMENTS),
        ("missing required argument: 'path'", WayOut.ARGUMENTS),
        ("413: the period is too long. Ask for a shorter period.", WayOut.ARGUMENTS),
        ("Zeitraum: höchstens 31 Tage (tage <= 31)", WayOut.ARGUMENTS),
        ("priority should be one of: low, high", WayOut.ARGUMENTS),
        ("error: unknown switch; did you mean --all?", WayOut.ARGUMENTS),
        ('{"rows": [1, 2], "next_cursor": "abc"}', WayOut.PAGE),
        ("hosts a, b (page 1 of 3)", WayOut.PAGE),
        ("503 server busy, please try again", WayOut.LATER),
        ('{"code": 429, "retry_after": 30}', WayOut.LATER),
        ("Try again 60 seconds later", WayOut.LATER),
        ("the job is locked by pid 4, try again in 60 seconds", WayOut.LATER),
        ("two accounts match: only the user knows which is meant", WayOut.ASK),
        ("confirmation required", WayOut.ASK),
        ("Which of the two Annas?", WayOut.ASK),
        ("要付款给哪一位安娜\uff1f", WayOut.ASK),
        ("This was blocked by a rule of the branch", None),
        ("To be decided by the shop's owner; let the guest choose", WayOut.ASK),
        ("the account holder has to approve this", WayOut.ASK),
        ("Nicht möglich, bitte später erneut versuchen", WayOut.LATER),
        ("the oven is heating, ready in about 4 minutes", WayOut.LATER),
        ('{"items": [1], "next": "c_2"}', WayOut.PAGE),
        ('{"items": [1], "next": null}', None),
        ("Seite 1 von 4", WayOut.PAGE),
        ("第1页 共3页", WayOut.PAGE),
        ("第3页 共3页", None),
        ("the range is 9 h, at most 6 h a query", WayOut.ARGUMENTS),
        ("erlaubt sind 0, 7, 19", WayOut.ARGUMENTS),
        ("cat: x: No such file or directory", None),
        ("1 failed, 2 passed", None),
        ('{"rows": [], "next_cursor": null}', None),
        ("(page 3 of 3)", None),
        ("Showing lines 20-33 of 33 total lines.", None),
        ("500 a\n501 b […] 503 c", None),
        ("x = 1 […] (Showing lines 1-100 of 777.)", WayOut.PAGE),
        ('36: "pattern": "^a$"', None),
        ("", None),
    ],
)
def test_the_way_out_of_an_answer(answer, way):
    asked = asked_by(answer)

    assert (asked.way if asked else None) == way
    if asked:
        assert asked.said in answer
        assert len(advice(asked, "look")) <= 130


@pytest.mark.parametrize(
    "answer",
    [
        "Angabe fehlt: 'plz' (fünf Ziffern).",
        "Angabe fehlt: 'plz'",
        "缺少参数\uff1a\u201cplz\u201d",
        "Champ requis : «plz».",
    ],
)
def test_a_name_that_the_call_lacks_is_asked_for_in_any_language(answer):
    assert (
        asked_by(answer.replace("«", "\u00ab"), given="rate(stadt='Bonn')").way == WayOut.ARGUMENTS
    )
    assert asked_by(answer, given="rate(plz='53111')") is None
    assert asked_by(answer) is None


@pytest.mark.parametrize(
    ("printed", "way"),
    [
        ("grep: invalid option -- 'p'", WayOut.ARGUMENTS),
        ("find: missing argument to `-exec'", WayOut.ARGUMENTS),
        ("error: unrecognized arguments: --alll", WayOut.ARGUMENTS),
        ("usage: tool [-h] path", WayOut.ARGUMENTS),
        ("HTTP 503, please try again", WayOut.LATER),
        ("fatal: ambiguous argument 'a.md': unknown revision or path", None),
        ("ImportError: Couldn't import it. Are you sure it's installed?", None),
        ("AssertionError: Expected x[1] = nan, got 4.99", None),
        ("TypeError: f() missing 1 required positional argument: 'b'", None),
        ("NameError: name 'idx' is not defined. Did you mean: 'index'?", None),
        ("L009 | Files must end with a trailing newline.", None),
        ("a.ts(3,5): error: Expected 0-4 arguments, but got 5.", None),
    ],
)
def test_what_a_command_prints_is_mostly_about_files_and_code(printed, way):
    asked = asked_by(printed, command=True)

    assert (asked.way if asked else None) == way


def test_the_time_to_wait_is_said():
    asked = asked_by('{"code": 429, "retry_after": 30}')

    assert asked.seconds == 30
    assert advice(asked, "upload") == (
        "The answer says when: wait 30 seconds, then call upload again."
    )


def test_minutes_are_waited_for_in_seconds_and_with_the_tool_that_waits():
    asked = asked_by("busy, ready in about 4 minutes")

    assert advice(asked, "bake", "pause") == "Call pause for 240 seconds, then call bake again."


def test_a_decision_is_asked_for_with_the_tool_that_asks():
    asked = asked_by("ambiguous: ask the customer")

    assert advice(asked, "book", "ask_customer").endswith("your user: call ask_customer.")
    assert advice(asked, "book").endswith("your user: ask.")


def test_of_a_part_no_more_is_quoted_than_where_it_goes_on():
    asked = asked_by('{"rows": [1, 2, 3], "has_more": true, "next_offset": 10}')

    assert advice(asked, "rows") == 'Call rows for the next part: "next_offset\': 10".'


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ("Page 1 of 4: a, b", 'Call rows for page 2: "Page 1 of 4".'),
        ("第2页 共3页", 'Call rows for page 3: "第2页 共3页".'),
        ("a […] (Showing lines 1-100 of 777.)", "Call rows for what follows line 100: "),
    ],
)
def test_the_next_part_is_named_where_it_follows(answer, call):
    assert advice(asked_by(answer), "rows").startswith(call)


def test_what_is_asked_for_is_quoted_in_its_own_characters():
    asked = asked_by("Booking failed.\nday must be YYYY-MM-DD\nSee the help.")

    assert advice(asked, "book").endswith('as its answer says: "day must be YYYY-MM-DD".')


@pytest.mark.parametrize("unit", ["retry", "must be ", "next_page: ", "wait 1 ", "expected ", "x?"])
def test_reading_a_long_answer_takes_linear_time(unit):
    began = time.process_time()
    asked_by(unit * (1_000_000 // len(unit)))

    assert time.process_time() - began < 0.5
