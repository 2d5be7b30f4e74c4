"""What an answer asks for is read before another tool is named."""

import pytest

from trimtab_signals import WayOut, advice, asked_by
from trimtab_signals._parts import counts_choices, unit_of


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
        ("Ambiguous column name 'region'", None),
        ("tabla 'a' bloqueada por la copia en curso (fin previsto: 11:45)", WayOut.LATER),
        ("Raum belegt bis 14:30", WayOut.LATER),
        ("tarjeta bloqueada por el banco", None),
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
        ("§ 6\n[Zeilen 1–120 von 304]", WayOut.PAGE),
        ("(rows 1-50 / 163)", WayOut.PAGE),
        ('{"page": 1, "pages": 3, "members": []}', WayOut.PAGE),
        ('{"page": 3, "total_pages": 3}', None),
        ("[Zeilen 200–304 von 304]", None),
        ("open (9-17 Uhr)", None),
        ("第3页 共3页", None),
        ("the range is 9 h, at most 6 h a query", WayOut.ARGUMENTS),
        ("erlaubt sind 0, 7, 19", WayOut.ARGUMENTS),
        ("문구가 너무 깁니다. 최대 80자 (입력 169자)", WayOut.ARGUMENTS),
        ("Texte trop long, au maximum 80 signes", WayOut.ARGUMENTS),
        ("El texto admite un máximo de 80 letras", WayOut.ARGUMENTS),
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


@pytest.mark.parametrize(
    "answer", ["serve il codice inviato per SMS", "Bitte die TAN angeben", "需要短信 OTP 验证码"]
)
def test_a_code_that_only_a_person_has_is_asked_for_in_any_language(answer):
    assert asked_by(answer, given="sign(code='',document='D')").way == WayOut.ASK
    assert asked_by(answer, given="sign(document='D')") is None


def test_without_a_time_the_tool_that_waits_is_named_all_the_same():
    asked = asked_by("the archive is being built, please come back in a while")

    assert advice(asked, "get", "pause") == (
        "The answer says to come back: call pause, then call get again."
    )


def test_the_time_to_wait_is_said():
    asked = asked_by('{"code": 429, "retry_after": 30}')

    assert asked.seconds == 30
    assert advice(asked, "upload") == (
        "The answer says when: wait 30 seconds, then call upload again."
    )


def test_minutes_are_waited_for_in_seconds_and_with_the_tool_that_waits():
    asked = asked_by("busy, ready in about 4 minutes")

    assert advice(asked, "bake", "pause") == (
        "Call pause for 4 minutes (240 seconds), then call bake again."
    )


def test_a_decision_is_asked_for_with_the_tool_that_asks():
    asked = asked_by("ambiguous: ask the customer")

    assert advice(asked, "book", "ask_customer").endswith("your user: call ask_customer.")
    assert advice(asked, "book").endswith("your user: ask.")


def test_of_a_part_no_more_is_quoted_than_where_it_goes_on():
    asked = asked_by('{"rows": [1, 2, 3], "has_more": true, "next_offset": 10}')

    assert advice(asked, "rows") == 'Call rows with offset=10: "next_offset\': 10".'


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


CALL = "book(day='12.06.2025',size='XL',start='2:30 pm',count=7,code='48')"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        # a date or a time in the form that is wanted, if its parts can be told apart
        ("day: expected YYYY-MM-DD", "Call book with day='2025-06-12'."),
        ("day im Format JJJJ-MM-TT", None),  # words that no reader knows, and one line
        ("day must be in the format JJJJ-MM-TT", "Call book with day='2025-06-12'."),
        ("start must be HH:MM", "Call book with start='14:30'."),
        # else the form itself, and no example: it would be copied
        ("code must match AA-0000, e.g. WQ-0031", "Call book with code in the form AA-0000."),
        # a number within its bounds
        ("count must be between 1 and 3", "Call book with count=3."),
        ("count must be at most 5", "Call book with count=5."),
        ("count <= 5", "Call book with count=5."),
        ("the range must be at most 6 h", "Call book with at most 6 h."),
        # one of the values, all of them in the order of the answer
        ("size must be one of S, M (medium) or L", "Call book with size='S', 'M' or 'L'."),
        ('{"field": "size", "allowed": ["S", "M"]}', "Call book with size='S' or 'M'."),
        ("Taille 'XL' inconnue : S, M, L", "Call book with size='S', 'M' or 'L'."),
        ("尺码“XL”无效\uff1aS、M、L", "Call book with size='S', 'M' or 'L'."),
        ("size 'XL': did you mean 'X2'?", "Call book with size='X2'."),
        # a field that lacks
        ("missing required field 'plz'", "Add plz to the arguments, then call book."),
        ("plz_code is required", "Add plz_code to the arguments, then call book."),
        (
            "Angabe fehlt: 'plz' (fünf Ziffern).",
            "Add plz ('fünf Ziffern') to the arguments, then call book.",
        ),
        # what to ask for, in the answer's words
        ("413: ask for a shorter period.", "Call book with a shorter period."),
    ],
)
def test_the_argument_that_an_answer_wants_is_named_where_it_follows(answer, said):
    asked = asked_by(answer, given=CALL)

    assert (advice(asked, "book") if asked else None) == said


@pytest.mark.parametrize(
    "answer",
    [
        "start must not be after code",
        "day must not be before to_day",
        "size must be a number",
        "a field is missing, see the help",
        "code must be 06/12/2025",
        "must be one of the values that the manual names, such as those of chapter four",
    ],
)
def test_where_no_argument_follows_the_answer_is_quoted(answer):
    asked = asked_by(answer, given=CALL)

    assert advice(asked, "book").startswith("Call book again with other arguments, as its answer")


@pytest.mark.parametrize(
    ("answer", "given", "said"),
    [
        (
            "from must not be after to",
            "from='2025-12-31',to='2025-01-01'",
            ("2025-01-01", "2025-12-31"),
        ),
        ('{"errors": {"from": ["lies after \'to\'"]}}', "from='7',to='3'", ("3", "7")),
    ],
)
def test_two_arguments_that_an_answer_compares_are_named_the_other_way_round(answer, given, said):
    asked = asked_by(answer, given=f"list({given})")

    assert advice(asked, "list") == f"Call list with from='{said[0]}', to='{said[1]}'."


@pytest.mark.parametrize(
    "answer",
    [
        '{"errors": {"size": ["è troppo grande"]}}',
        "Ongeldige maat. Verwacht: drie cijfers, bijvoorbeeld 351",
        "Ungültig. Erwartet: drei Ziffern",
    ],
)
def test_what_is_expected_is_quoted_in_any_language(answer):
    assert advice(asked_by(answer, given=CALL), "book").startswith(
        "Call book again with other arguments, as its answer says: "
    )


@pytest.mark.parametrize(
    ("day", "written"),
    [
        ("2025/06/12", "2025-06-12"),
        ("13/06/2025", "2025-06-13"),
        ("06/13/2025", "2025-06-13"),
        ("12 June 2025", "2025-06-12"),
        ("Jun 12, 2025", "2025-06-12"),
        ("12 giugno 2025", "2025-06-12"),
        ("1er août 2025", "2025-08-01"),
        ("3 de dezembro de 2025", "2025-12-03"),
        ("2025年6月12日", "2025-06-12"),
        ("2025년 6월 12일", "2025-06-12"),
        ("12 listopada 2025", None),  # November in one language, October in another
        ("6/7/2025", None),
        ("next week", None),
        ("31.31.2025", None),
    ],
)
def test_a_date_whose_parts_can_not_be_told_apart_is_not_written_anew(day, written):
    asked = asked_by("day must be YYYY-MM-DD", given=f"book(day='{day}')")
    said = f"day='{written}'" if written else "day in the form YYYY-MM-DD"

    assert advice(asked, "book") == f"Call book with {said}."


@pytest.mark.parametrize(
    "answer",
    [
        "Created: XL, lint, tests",
        "Created task 'XL': run fmt, XL, lint",
        '{results=[{url="https://b"},{url="https://c/XL/9"}, {u: 48, "XL", 3}]}',
    ],
)
def test_what_an_answer_repeats_of_a_call_is_no_choice(answer):
    assert asked_by(answer.replace("'XL'", "'lint'"), given=CALL) is None


def test_of_a_command_line_no_argument_is_named():
    said = "error: unknown subcommand: 'status'"

    assert (
        asked_by(said, command=True, given="Bash(command='git maintenance status')").change is None
    )


def test_the_value_that_is_like_the_given_one_is_named_first():
    asked = asked_by('{"allowed": ["INC-01", "INC-02", "INC-03"]}', given="heat(unit='rack 3')")

    assert advice(asked, "heat") == "Call heat with unit='INC-03', 'INC-01' or 'INC-02'."


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ('{"rows": [1], "next_offset": 10}', "rows(offset='0')"),
        ('{"rows": [1], "next": "10"}', "rows(customer='a',offset='')"),
    ],
)
def test_the_argument_of_the_next_part_is_named(answer, call):
    said = advice(asked_by(answer, given=call), "rows")

    assert said.startswith("Call rows with offset='10': ")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("read(first=1,count=120)", "Call read with first=121: "),
        ("read(from='1',count='120')", "Call read with from='121': "),
        ("read(file='a')", "Call read for what follows line 120: "),
        ("read(first=1,part=1)", "Call read for what follows line 120: "),
    ],
)
def test_a_stretch_is_gone_on_with_where_it_ended(call, said):
    assert advice(asked_by("§ 6\n[Zeilen 1–120 von 304]", given=call), "read").startswith(said)


def test_what_an_answer_offers_is_shown_as_a_quote_would_show_it():
    asked = asked_by("size must be one of S, \u202eM", given="book(size='XL')")

    assert "\u202e" not in advice(asked, "book")


@pytest.mark.parametrize(
    "unit", ["retry", "must be ", "next_page: ", "wait 1 ", "expected ", "x?", "one of a, "]
)
def test_reading_a_long_answer_takes_linear_time(unit, seconds):
    text, given = unit * (1_000_000 // len(unit)), f"f({unit * 10}='{unit * 100}')"

    assert seconds(lambda: asked_by(text, given=given)) < 0.5


@pytest.mark.parametrize(
    ("given", "concerns"),
    [
        ("issue(plate='GX-482-B',address='Lindelaan 9')", False),
        ("issue(plate='GX-482-B',address='Lindelaan 9',number=3)", True),
        ("issue(plates=['GX-482-B','KL-11'])", True),
    ],
)
def test_a_bound_is_one_of_the_arguments_only_if_they_count_something(given, concerns):
    answer = '{"status":"geweigerd","reden":"MAX_PER_ADRES","maximum":2}'
    asked = asked_by(answer, given=given, failed=True)
    assert (asked is not None and asked.way == WayOut.ARGUMENTS) is concerns


def test_a_longest_time_is_a_bound():
    given = "read_series(from='2027-02-01T00:00:00Z',to='2027-02-03T00:00:00Z')"
    for answer in ("{'fehler':'bereich','max':'PT6H'}", "range refused, max P1D"):
        asked = asked_by(answer, given=given, failed=True)
        assert asked is not None
        assert asked.way == WayOut.ARGUMENTS


@pytest.mark.parametrize(
    ("answer", "given", "wanted"),
    [
        ("hive 7: asleep, no weight now (battery 11 %)", "read(hive=7)", None),
        ("cue 14: not run, the memory is empty (0 cues)", "run(cue=14)", None),
        ("95 % is too much, at most 80 %", "dry(humidity=95)", "with humidity=80"),
        ("humidity: at most 80 %", "dry(humidity=95)", "with humidity=80"),
    ],
)
def test_a_share_of_something_else_and_a_count_of_nothing_are_no_bounds(answer, given, wanted):
    asked = asked_by(answer, given=given, failed=True)

    assert (asked and asked.change and asked.change.call) == wanted


@pytest.mark.parametrize(
    "answer",
    [
        "Nog geen meting: kolk 2 wordt gevuld. Over 6 minuten klaar.",
        "Kammer 2 wird gefüllt, fertig in 6 Minuten",
    ],
)
def test_a_span_of_time_is_no_bound_of_a_smaller_number(answer):
    asked = asked_by(answer, given="get_level(chamber=2)", failed=True)

    assert asked is not None and asked.way == WayOut.LATER and asked.seconds == 360


def test_a_sentence_in_an_object_is_quoted_alone():
    answer = '{"status": 422, "error": "the plate should be one of those on record \\"A\\""}'
    asked = asked_by(answer, given="park(plate='X')", failed=True)

    assert asked is not None
    assert asked.said == 'the plate should be one of those on record "A"'


@pytest.mark.parametrize(
    ("answer", "chooses"),
    [
        ("2 khách trùng tên: KH-118 (Honda Wave, quận 3); KH-342 (Yamaha Sirius)", True),
        ("3 matches: C12, C14 and C15", True),
        ("2 of C12, C14 and C15", False),
        ("12 rows: C12, C14", False),
        ("1 match: C12", False),
    ],
)
def test_a_few_things_that_are_counted_are_a_choice(answer, chooses):
    assert counts_choices(answer) is chooses


def test_an_upper_bound_in_seconds_is_one_of_a_larger_number():
    asked = asked_by("timeout 60: at most 30 seconds", given="run(timeout=60)", failed=True)

    assert asked is not None and asked.change is not None
    assert asked.change.call == "with timeout=30"


@pytest.mark.parametrize("sample", ["20260131", "19991231"])
def test_a_date_takes_the_digits_of_a_sample(sample):
    answer = f"错误:日期“2026-05-03”无效,例如 {sample}。"
    asked = asked_by(answer, given="count(date='2026-05-03')", failed=True)

    assert asked is not None and asked.change is not None
    assert asked.change.call == "with date='20260503'"


def test_a_bound_of_characters_is_one_of_a_text_that_is_longer():
    answer = "text refused: max 40"
    assert asked_by(answer, given="note(text='short')", failed=True) is None
    asked = asked_by(answer, given=f"note(text='{'long ' * 10}')", failed=True)
    assert asked is not None and asked.way == WayOut.ARGUMENTS


@pytest.mark.parametrize(
    ("told", "unit"),
    [
        ("zachekaty Чекає задану кількість хвилин.", "minutes"),
        ("varakozas Vár a megadott számú percig.", "minutes"),
        ("sleep Wait for so many seconds.", "seconds"),
        ("wait_s másodpercet vár", "seconds"),
        ("attendre Attend en minutes ou en secondes.", ""),
        ("pause", ""),
    ],
)
def test_a_tool_that_waits_says_in_what_it_counts(told, unit):
    assert unit_of(told) == unit


BUSY = {
    "en": "Busy. Try again in 5 minutes.",
    "de": "Ausgelastet. Bitte in 5 Minuten erneut versuchen.",
    "pl": "Zajęte. Spróbuj ponownie za 5 minut.",
    "ja": "混雑しています。5分後に再試行してください。",
    "ar": "مشغول. حاول مرة أخرى بعد 5 دقائق.",
    "he": "עסוק. נסה שוב בעוד 5 דקות.",
}


@pytest.mark.parametrize("answer", BUSY.values(), ids=BUSY.keys())
def test_a_span_of_time_is_no_bound_of_another_number(answer):
    """Twelve guests are not too many if a kitchen is busy for five minutes."""
    asked = asked_by(answer, given="book(date='04.12.2026',guests=12)", failed=True)

    assert asked is not None
    assert (asked.way, asked.seconds) == (WayOut.LATER, 300)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("De oven is bezet, probeer het later.", WayOut.LATER),
        ("ओवन व्यस्त है, बाद में प्रयास करें।", WayOut.LATER),
        ("Gæsten skal først bekræfte bookingen.", WayOut.ASK),
        ("Гість спершу має підтвердити бронювання.", WayOut.ASK),
        ("يجب على الضيف تأكيد الحجز أولا.", WayOut.ASK),
        ("ผู้เข้าพักต้องยืนยันการจองก่อน", WayOut.ASK),
    ],
)
def test_to_come_back_and_to_confirm_are_known_in_more_languages(answer, told):
    asked = asked_by(answer, given="book(day='4',room='b')", failed=True)

    assert asked is not None
    assert asked.way is told


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ("phone alan\u0131 eksik.", "phone"),
        ("Hiányzik a phone mező.", "phone"),
        ("Lipsește câmpul phone.", "phone"),
        ("Fältet phone saknas.", "phone"),
        ("Datum als 2026-12-04 angeben.", "with date='2026-12-04'"),
        ("اكتب التاريخ بالشكل 2026-12-04.", "with date='2026-12-04'"),
    ],
)
def test_a_field_and_another_form_of_a_date_are_found(answer, call):
    asked = asked_by(answer, given="book(date='04.12.2026',guests=12)", failed=True)

    assert asked is not None
    assert asked.change is not None
    assert asked.change.call == call
