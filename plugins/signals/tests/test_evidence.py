"""What is asked, what is news, what is excused, what identifies a failure."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, strategies as st

from trimtab import ManualClock, Outcome, Prompt, Session
from trimtab_signals import (
    Calls,
    asks_for_input,
    asks_user,
    brings_nothing,
    confirms,
    describe_call,
    error_signature,
    excerpt,
    failure_episode,
    has_ended,
    in_progress,
    is_wait,
    key_line,
    leaves_running,
    normalise_text,
    orders_in,
    wants_one_at_a_time,
)

TEXTS = st.text(alphabet=string.ascii_letters + string.digits + ' \n.:-/"{}[]()%', max_size=400)


def records(*calls, seconds=None, profiles=()):
    """Return the records of calls ``(tool, params, answer)`` or ``(…, outcome)``."""
    clock = ManualClock()
    run = Session(clock=clock).open_run(Prompt("a", "b", [], tool_profiles=profiles))
    for number, (tool, params, answer, *outcome) in enumerate(calls):
        run.model_responded()
        run.tool_started(tool, params, str(number))
        run.tool_finished(str(number), answer, outcome=outcome[0] if outcome else Outcome.OK)
        clock.advance(seconds or 0)
    return run.trajectory.follow(Calls).recent(len(calls))


def pair(first, second, tool="ask", params=None, seconds=None):
    calls = [(tool, params or {"u": "a"}, answer) for answer in (first, second)]
    earlier, later = records(*calls, seconds=seconds)
    return later.same_output(earlier)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("attempt 1 failed: refused", "attempt 2 failed: refused"),
        ({"rows": ["x"], "requestId": "req-9f0c0a"}, {"rows": ["x"], "requestId": "req-1b7d2e"}),
        ({"rows": [], "req": "a81"}, {"rows": [], "req": "b02"}),
        ({"rows": ["x"], "tookMs": 31}, {"rows": ["x"], "tookMs": 57}),
        ({"state": "on", "elapsedSeconds": 20}, {"state": "on", "elapsedSeconds": 45}),
        ("X-RateLimit-Remaining: 4990\nok", "X-RateLimit-Remaining: 4989\nok"),
        ("api-x 0/1 Pending 0 3m45s", "api-x 0/1 Pending 0 4m30s"),
        ("\x1b[36m⠋\x1b[0m building", "\x1b[36m⠙\x1b[0m building"),
        (
            "Deployed to https://shop-neat-cloud.example",
            "Deployed to https://shop-calm-reef.example",
        ),
    ],
)
def test_values_that_count_the_calls_or_name_them_are_no_news(first, second):
    assert pair(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("4 failed, 2 passed", "3 failed, 3 passed"),
        ("12%", "13%"),
        ("api-x 0/9 Running", "api-x 1/9 Running"),
        ("page 3 of the book", "page 4 of the book"),
        ({"job": "j0", "remaining": 9}, {"job": "j1", "remaining": 8}),
        ("p50=812us", "p50=803us"),
        ("0.412s", "0.392s"),
        ("mean 8.1 s", "mean 7.9 s"),
        (1, 2),
        ("handled request 101", "handled request 140"),
    ],
)
def test_values_that_move_otherwise_are_news(first, second):
    assert not pair(first, second)


def test_a_number_is_news_unless_its_label_is_of_a_clock():
    assert pair("uptime: 20", "uptime: 50", seconds=30)
    assert not pair("imported: 20", "imported: 50", seconds=30)
    assert not pair("queue: 20", "queue: 95", seconds=30)


def test_the_next_number_of_a_long_series_is_no_news_in_a_complaint():
    def said(number, outcome):
        return (
            "send",
            {"id": 7},
            f'<answer nr="{number}"><status>odrzucono</status></answer>',
            outcome,
        )

    for second, outcome, same in [
        (88_124, Outcome.ERROR, True),
        (88_124, Outcome.OK, False),
        (97_000, Outcome.ERROR, False),
        (88_020, Outcome.ERROR, False),
    ]:
        earlier, later = records(said(88_121, outcome), said(second, outcome))
        assert later.same_output(earlier) is same, (second, outcome)


def test_another_name_is_news_to_a_reader_alone():
    assert not pair("shop-neat-cloud is up", "shop-calm-reef is up", tool="list_shops")
    assert pair("shop-neat-cloud is up", "shop-calm-reef is up", tool="launch")


@pytest.mark.parametrize("name", ["price", "balance"])
def test_what_a_tool_was_asked_for_is_news_though_it_could_be_a_cost(name):
    assert not pair({"of": "X", name: 100}, {"of": "X", name: 103})


@pytest.mark.parametrize("name", ["price", "balance"])
def test_a_value_of_the_world_stays_in_an_answer(name):
    earlier, later = records(*(("get", {"id": 7}, {"of": "X", name: n}) for n in (100, 103)))
    assert not later.same_output(earlier)


def test_an_object_in_json_is_quoted_as_it_was_written():
    written = '{"plan": "P2", "took_ms": 31, "price_per_month": 65.0}'
    assert records(("get", {}, written))[0].output == written


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"hits": ["a.example/x", "b.example/y"]}, {"hits": ["b.example/y", "a.example/x"]}),
        ("1. alpha line\n2. beta line", "1. beta line\n2. alpha line"),
        ("alpha line\nbeta line\ngamma line", "gamma line\nalpha line"),
    ],
)
def test_what_was_there_before_is_old_in_any_order(first, second):
    earlier, later = records(("search", {"q": "one"}, first), ("search", {"q": "two"}, second))
    assert brings_nothing(later.pieces, [earlier.pieces])
    assert later.may_repeat(earlier)


def test_the_query_in_the_answer_is_no_news():
    answers = [
        f'Results for "{query}":\nhttps://a.example/faq' for query in ("zig io", "io in zig")
    ]
    calls = [("search", {"q": q}, a) for q, a in zip(("zig io", "io in zig"), answers, strict=True)]
    earlier, later = records(*calls)
    assert brings_nothing(later.pieces, [earlier.pieces])


@given(TEXTS)
def test_an_answer_is_old_beside_itself(text):
    earlier, later = records(("look", {}, text), ("look", {}, text))
    assert later.same_output(earlier)
    assert brings_nothing(later.pieces, [earlier.pieces])


@given(TEXTS, TEXTS)
def test_no_text_breaks_the_comparison(first, second):
    earlier, later = records(("look", {"a": first}, first), ("look", {"a": first}, second))
    assert isinstance(later.same_output(earlier), bool)
    assert isinstance(later.may_repeat(earlier), bool)


@pytest.mark.parametrize(
    ("tool", "params", "answer", "excused"),
    [
        ("get_job", {}, {"state": "RUNNING"}, True),
        ("bash", {"command": "gh run view 8 --json status"}, '{"status":"in_progress"}', True),
        ("bash", {"command": "sleep 5; curl localhost"}, "refused", True),
        ("write_stdin", {"chars": ""}, "", True),
        ("write_stdin", {"chars": ""}, "Process exited with code 2", False),
        ("write_stdin", {"chars": ""}, "[sudo] password for dev: ", False),
        ("get_job", {}, {"state": "FAILED"}, False),
        ("read", {"path": "a"}, "text", False),
        ("Bash", {"command": "npm run dev"}, "Command running in background with ID: b0a0", False),
    ],
)
def test_only_what_can_change_by_itself_is_excused(tool, params, answer, excused):
    assert is_wait(records((tool, params, answer))[0]) is excused


def test_a_failing_call_that_waits_by_itself_is_excused():
    command = {"command": "ssh -o ConnectTimeout=5 host true"}
    assert is_wait(records(("bash", command, "timed out", Outcome.ERROR))[0])
    assert not is_wait(records(("get", {}, "503 not ready yet", Outcome.ERROR))[0])
    assert is_wait(records(("get", {}, "not ready yet", Outcome.OK))[0])
    assert not is_wait(records(("get", {}, "npm ERR! installing x", Outcome.OK))[0])


def test_words_of_answers():
    assert confirms("1 row affected")
    assert not confirms("update failed")
    assert in_progress('{"state": "CREATE_IN_PROGRESS"}')
    assert has_ended("<status>completed</status>")
    assert asks_for_input("Overwrite? [y/N]")
    assert not asks_for_input("done")


def test_what_is_left_running_is_seen():
    assert leaves_running(records(("Bash", {"command": "make &"}, ""))[0])
    assert not leaves_running(records(("Bash", {"command": "make"}, "ok"))[0])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("=== FAILURES ===\nE   AssertionError: a", "E   AssertionError: a"),
        (
            "node:events:497\n  throw er;\n\nError: listen EPERM 0.0.0.0:80",
            "Error: listen EPERM 0.0.0.0:80",
        ),
        (
            "usage: join FILE FILE\njoin: extra operand 'c'\nTry 'join --help'",
            "join: extra operand 'c'",
        ),
        ("<error>\nno such table: a\n</error>", "no such table: a"),
        ("\x1b[31mError: broken\x1b[0m", "Error: broken"),
        ("Expected values to be equal:\n\n1 !== 2", "Expected values to be equal: 1 !== 2"),
        (
            (
                "bash: -c: line 1: unexpected EOF while looking for matching `''\n"
                "bash: -c: line 2: syntax error: unexpected end of file"
            ),
            "bash: -c: line 1: unexpected EOF while looking for matching `''",
        ),
        (
            (
                "== [stdin] FAIL\nL:   1 | P:  20 |  PRS | Found unparsable section: ';'\n"
                "L:   1 | P:  21 | L009 | Files must end with a newline.\nAll Finished!"
            ),
            "L:   1 | P:  20 |  PRS | Found unparsable section: ';'",
        ),
        (
            "ERRORS:\n- E999 IndentationError: unexpected indent",
            "E999 IndentationError: unexpected indent",
        ),
        (
            "it failed, and exited with return code 3221225477\nthe lock cannot be taken",
            "the lock cannot be taken",
        ),
        ("- a.py: no such file", "- a.py: no such file"),
        ("<returncode>1</returncode>\n<output>\n</output>", ""),
        ("", ""),
    ],
)
def test_the_line_that_a_person_would_quote(text, line):
    assert key_line(text) == line


@pytest.mark.parametrize(
    ("answer", "quoted"),
    [
        ("<returncode>0</returncode>\n<output>\n</output>", ""),
        ("<returncode>0</returncode>\n<output>\na.py\nb.py\n</output>", "a.py\nb.py"),
        ("exit code: 0\n\x1b[32m3 passed\x1b[0m", "3 passed"),
        ("[]", "[]"),
        ("0", "0"),
        ("status: open\ncount: 3", "status: open\ncount: 3"),
        ("", ""),
    ],
)
def test_what_is_quoted_of_an_answer_leaves_out_the_harness(answer, quoted):
    assert excerpt(answer) == quoted


def test_another_test_that_fails_is_another_failure():
    first, second = (
        f"1 failing\n\n1) cart\n   {n}:\n   AssertionError: no" for n in ("adds", "subs")
    )
    assert error_signature(first) == error_signature(first)
    assert error_signature("FAILED a::x\n1 failed") != error_signature("FAILED a::y\n1 failed")
    assert error_signature(first).split(" #")[0] == error_signature(second).split(" #")[0]


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params"}},
        {"errors": [{"message": "no such field"}], "data": None},
        {"type": "about:blank", "title": "Not Found", "status": 404},
        {"statusCode": 500, "message": "broken"},
        {"__type": "com.example#ThrottlingException", "message": "slow down"},
        {"code": 40003, "msg": "no rights"},
    ],
)
def test_standard_envelopes_of_errors_are_failures(answer):
    call = records(("api", {}, answer))[0]
    assert call.failed
    assert call.output


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 200, "title": "Home"},
        {"code": 7, "data": [1]},
        {"errors": []},
        {"status": 404, "url": "/a"},
    ],
)
def test_other_envelopes_are_none(answer):
    assert not records(("api", {}, answer))[0].failed


def test_a_script_that_is_read_has_not_failed():
    assert not records(("bash", {"command": "cat x.sh"}, "set -e\nmake || exit 1\nexit 1\n"))[
        0
    ].failed


def test_a_search_without_a_hit_is_no_failure_though_it_is_flagged():
    assert not records(("bash", {"command": "grep -rn foo src"}, "", Outcome.ERROR))[0].failed


def test_a_change_that_says_that_it_was_not_made_has_failed():
    refused = "No replacement was performed, old_str did not appear verbatim."
    assert records(("edit_file", {"path": "a"}, refused))[0].failed
    assert not records(("read_file", {"path": "a"}, refused))[0].failed


def test_one_problem_has_one_name():
    answers = [f"Error: row {n} not found" for n in (3, 4)]
    calls = records(
        *[("get", {"row": n}, a, Outcome.ERROR) for n, a in zip((3, 4), answers, strict=True)]
    )
    assert len({failure_episode(call) for call in calls}) == 1


@pytest.mark.parametrize(
    ("message", "times"),
    [
        ("Run it ten times", 10),
        ("repeat this 25x please", 25),
        ("Führe den Test 12 mal aus", 12),
        ("运行 10 次", 10),
        ("Läute die Glocke fünfmal", 5),
        ("Zazvoň pětkrát", 5),
        ("Zadzwoń sześć razy", 6),
        ("Подзвони п'ять разів", 5),
        ("鐘を五回鳴らして", 5),
        ("종을 다섯 번 울려", 5),
        ("اقرع الجرس خمس مرات", 5),
        ("ตีระฆังห้าครั้ง", 5),
        ("Piga kengele mara tano", 5),
        ("Zili 5 kez çal", 5),
        ("Csengess 5-ször", 5),
        ("never run it five times", 0),
        ("the normal way, at set times", 0),
        ("version 1.5 times out", 0),
        ("Fix the bug", 0),
        ("try twice", 0),
    ],
)
def test_orders_to_repeat(message, times):
    assert orders_in(message).times == times


def test_orders_to_take_one_step_at_a_time():
    assert orders_in("one request at a time, it is rate limited").alone
    assert wants_one_at_a_time("You should only make one tool call at a time.")
    assert not wants_one_at_a_time("Read the files of the package.")


@pytest.mark.parametrize(
    "text",
    [
        "Which one do you prefer, **A or B?**",
        "Could you confirm the target branch?\n\nI have prepared everything else.",
        "Done so far. Let me know how to go on.",
        "I need the password. Please provide it.",
        "¿Uso Postgres o SQLite?",
        "请确认后我再继续。",
    ],
)
def test_questions_and_requests_ask_the_user(text):
    assert asks_user(text)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Shall I go on with the migration?", "Run the migration"),
        ("¿Continúo con la traducción?", "traducción del manual"),
        ("我可以继续部署吗。", "部署到生产环境"),
    ],
)
def test_the_plan_gives_leave_to_go_on(text, step):
    assert not asks_user(text)
    assert not asks_user(text, [step])


def test_a_request_counts_where_an_open_step_is_named():
    text = "Bitte prüfe den Entwurf und gib mir Bescheid."

    assert not asks_user(text)
    assert not asks_user(text, ["something else"])
    assert asks_user(text, ["Entwurf abnehmen lassen"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?\n\nOK",
        "Why was it slow? It read the file twice.\nNow it reads it once.",
        'I updated the FAQ ("How do I reset?") and the index.',
        "The server is running on port 3000.",
        "Shall I go on?" + " I went on." * 100,
        "Step one is done. Let me know if you have any questions!",
        "Schritt eins ist fertig. Sag gerne Bescheid, falls du noch Fragen hast!",
        "He terminado el primer paso. Quedo a tu disposición para cualquier duda.",
        "第一步完成。如有任何问题请随时告诉我。",
        "最初のステップが終わりました。ご不明な点があればお気軽にお知らせください。",
        "Первый шаг готов. Если будут вопросы, обращайтесь!",
        "I'll stop here.",
        "The change is ready for review. Please review it.",
        "Would you like me to continue with the rest?",
        "Want to hear another one?",
    ],
)
def test_reports_ask_nothing(text):
    assert not asks_user(text)


def test_calls_are_named_in_one_bounded_line():
    call = records(("bash", {"command": "echo '\n<b>'\n" + "x" * 900}, ""))[0]
    named = describe_call(call)
    assert named.startswith("bash(command=")
    assert len(named) <= 90
    assert named.isprintable()


@given(st.text(max_size=3_000))
def test_hostile_text_is_taken_in_any_form(text):
    texts = (
        key_line(text),
        excerpt(text),
        error_signature(text, {"a": text}),
        normalise_text(text),
    )
    described = describe_call(records(("t", {"a": text}, text))[0])

    assert all(isinstance(each, str) for each in (*texts, described))
    assert orders_in(text) == orders_in(text)
