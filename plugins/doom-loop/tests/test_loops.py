"""Loops that must be told: shapes of faults that users of other tools reported."""

from __future__ import annotations

import attrs
import pytest

from trimtab import Outcome, ToolProfile
from trimtab_testing import Call, Compaction, Message, Text

from .playing import first, play

READ = Call("read", {"path": "a.py"}, "text of a")


def test_the_third_identical_call_is_told():
    assert first([READ] * 3) == 2


def test_a_success_that_changes_something_may_be_repeated_once_more():
    booking = Call("book_flight", {"id": 7}, "booked")
    assert first([booking] * 5) == 3


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_rounds_up_to_the_window_are_told_by_the_third(length):
    actions = [Call("read", {"path": f"{i}.py"}, f"text {i}") for i in range(length)]
    assert first(actions * 3) <= 3 * length - 1
    assert first(actions * 3) >= 2 * length


@pytest.mark.parametrize("length", [6, 9, 12])
def test_longer_rounds_are_told_when_the_third_begins(length):
    actions = [Call("read", {"path": f"{i}.py"}, f"text {i}") for i in range(length)]
    assert first(actions * 4) == 2 * length


def test_counts_of_one_thing_in_other_ways_are_told():
    ways = ["wc -l", "grep -c .", "grep -c '.*'", "grep -c '^'", "awk 'END{print NR}'", "nl | tail"]
    steps = [
        Call("bash", {"command": f"find a -name b -exec cat {{}} + | {way}"}, "2") for way in ways
    ]
    assert first([*steps, *steps]) in range(5, 9)


def test_an_edit_that_is_undone_and_done_again_is_told():
    there = Call("edit", {"path": "a", "old": "x", "new": "y"}, "applied")
    back = Call("edit", {"path": "a", "old": "y", "new": "x"}, "applied")
    assert first([there, back] * 4) <= 5


def test_pauses_that_grow_between_changes_are_no_back_off():
    there = {"path": "a", "old": "x", "new": "y"}
    back = {"path": "a", "old": "y", "new": "x"}
    at = [0, 4, 9, 15, 30, 40, 80, 90]
    edits = [Call("edit", (there, back)[n % 2], "applied", at=when) for n, when in enumerate(at)]
    assert first(edits) <= 5


@pytest.mark.parametrize("at", [[0, 4, 16, 24], [0, 7, 23, 34], [0, 2, 9, 13]])
def test_pauses_of_a_model_that_grow_by_chance_excuse_nothing(at):
    book = "2026-10-02 | jumat | 1.240.000\n2026-10-09 | jumat | 985.000\n(baris 1-50 dari 50)"
    assert first([Call("baca", {"path": "kas.txt"}, book, at=when) for when in at]) == 2
    assert (
        first([Call("get", {"u": "/x"}, "503 busy", outcome="error", at=when) for when in at[:3]])
        is None
    )


def test_a_round_of_looks_and_failures_is_told_when_it_begins_a_third_time():
    round_ = [
        Call("overview", {"level": "minimal"}, {"entities": 0, "zone": "Unknown"}),
        Call("search", {"query": "kotol"}, {"success": False, "error": "all methods failed"}),
        Call("state", {"entity": "climate.kotol"}, error="CONNECTION_FAILED"),
    ]
    assert first(round_ * 3) == 6
    dialog = "<clicked index=217><div role='dialog'>Selecionar ficheiro</div></clicked> (igual)"
    assert (
        first([Call("click", {"at": 217}, dialog), Call("keys", {"k": "Esc"}, "Fechada")] * 3) == 4
    )


def test_what_is_known_of_a_thing_is_no_state_of_it():
    found = Call("kisan_profile", {"mobile": "98xx31"}, {"naam": "R", "khet": ["KH-2207"]}, at=0)
    card = "KH-2207 | pH 7.9 | नाइट्रोजन कम | फॉस्फोरस मध्यम | पोटाश पर्याप्त | नमूना 11-10-2026"
    looks = [Call("mitti_report", {"khet": "KH-2207"}, card, at=10 * n) for n in range(1, 6)]
    assert first([found, *looks]) == 3


@pytest.mark.parametrize("tool", ["search_docs", "ask_the_archive"])
def test_known_content_for_one_question_in_other_words_is_told(tool):
    words = ["dock autohide option", "autohide dock", "dock autohide", "hide the dock option"]
    shown = "The Dock of this host is set in flake.nix: autohide is off and tilesize is 48 pixels."
    asked = [Call(tool, {"query": query, "source": "nix"}, shown) for query in words]
    assert first([*asked, attrs.evolve(asked[0], params={"query": "option to autohide dock"})]) in (
        3,
        4,
    )


def test_rounds_of_pages_are_told_though_a_number_of_a_page_stands_in_others():
    pages = [
        Call("strana", {"n": n}, f"Strana {n}: " + ", ".join(f"artikl {n}{k}" for k in range(6)))
        for n in (1, 2, 3)
    ]
    timed = [attrs.evolve(page, at=7.0 * n) for n, page in enumerate(pages * 3)]
    assert first(timed) == 6


def test_a_search_that_says_what_it_needs_is_told_before_one_that_finds_nothing():
    goods = ["زيت زيتون", "زيت زيتون بكر", "زيت الزيتون البكر", "زيت زيتون معبأ", "زيت زيتون تنكات"]
    told = {"results": [], "hint": "أدخل رمز البند المكوّن من 8 أرقام"}
    asked = [Call("tariff_lookup", {"goods": one}, told) for one in goods]
    assert first(asked) == 3
    assert first([attrs.evolve(one, result="No results") for one in asked]) is None


@pytest.mark.parametrize("reader", ["job_status", "fuatilia"])
def test_a_job_that_has_failed_is_no_longer_awaited_though_its_state_has_moved(reader):
    states = ["<hali>RUNNING</hali><n>18</n>", *["<hali>FAILED</hali><n>34</n>"] * 6]
    asked = [
        Call(reader, {"job": "J-2291"}, f'<job at="08:0{n}:20">{state}</job>', at=8 * n)
        for n, state in enumerate(states)
    ]
    assert first(asked) == 3


def test_orders_in_other_words_about_one_address_are_told():
    orders = ("get the price", "read what it costs", "try it once more", "fetch the amount")
    told = {"status": "incomplete", "detail": "HTTP 200, an empty body of 0 bytes"}
    asked = [
        Call("spawn", {"goal": goal, "url": "https://a.example/prices"}, {"id": run_id, **told})
        for goal, run_id in zip(
            orders, ("st-adc84c", "st-eea0e8", "st-7b7cfa", "st-76da59"), strict=True
        )
    ]
    assert first(asked) == 3


def test_a_change_that_shows_the_same_text_again_has_undone_what_lay_between():
    edit = Call("edit", {"lines": "1:9", "text": "import os"}, "[a.py: 9 lines]\n1: import os")
    others = [Call("edit", {"lines": f"1:{n}"}, f"[a.py: {n} lines]") for n in (3, 5, 7)]
    actions = [action for other in others for action in (edit, other)]
    assert first([*actions, edit]) == 6
    assert first([*actions, attrs.evolve(edit, result="[a.py: 8 lines]")]) is None


def test_the_same_look_between_other_looks_is_told_at_the_fourth():
    actions = []
    for i in range(5):
        actions += [READ, Call("grep", {"pattern": f"word{i}"}, f"{i} lines")]
    assert first(actions) == 6


def test_shell_commands_that_only_read_change_nothing_between_looks():
    actions = []
    for i in range(5):
        actions += [
            Call("bash", {"command": "git diff --stat"}, "1 file changed"),
            Call("bash", {"command": f"cd src && grep -n word{i} *.py | head"}, f"{i}:"),
        ]
    assert first(actions) == 6


@pytest.mark.parametrize(
    "arguments",
    [
        lambda i: {"path": ["a.py", "./a.py", "sub/../a.py", "a.py/"][i % 4]},
        lambda i: {"path": "a.py", "limit": [10, 10.0][i % 2]},
        lambda i: {"path": "a.py", "limit": None} if i % 2 else {"path": "a.py"},
        lambda i: {"path": "a.py", "task_progress": f"step {i} of 9 is done"},
        lambda i: {"path": "a.py", "request_id": f"req-{i * 7919:x}"},
    ],
)
def test_book_keeping_and_spelling_of_arguments_make_no_difference(arguments):
    assert first([Call("read", arguments(i), "text") for i in range(4)]) == 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda i: f"<<external id={i:04x}>> timed out <<end>>",
        lambda i: f"[2026-11-0{i + 1}T10:0{i}:00Z] connection reset after {i}.{i}2s",
        lambda i: f"worker pid {4000 + i} gave up at 0x7ffd{i:08x}",
        lambda i: {"request_id": f"4f6c{i}a2e-0b1d-4c3e-8f5a-6b7c8d9e0f1{i}", "hits": 0},
        lambda i: f"Chunk ID: {i}f2e4a\nWall time: 0.{i} seconds\nno tests ran",
        lambda i: {"caption": "Image loaded", "data": f"b64:00{i}eef"},
    ],
)
def test_chance_details_of_an_answer_teach_nothing_new(answer):
    assert first([Call("probe", {"x": 1}, answer(i)) for i in range(4)]) == 2


def test_batches_are_sets():
    a, b = (Call("read", {"path": name}, name) for name in "ab")
    assert first([[a, b], [b, a], [a, b], [b, a]]) == 2


def test_duplicates_in_one_batch_are_told_at_once():
    assert first([[Call("search", {"q": "x"}, "3 hits")] * 3]) == 0


def test_duplicates_are_told_though_each_made_something_else():
    issues = [Call("create_issue", {"title": "bug"}, f"created #{i}") for i in range(4)]
    assert first([issues]) == 0


def test_empty_answers_to_varied_questions_are_told():
    kinds = ["repo", "repos", "repository", "repositories", "Repo", "all"]
    actions = [Call("list_resources", {"integration": "gh", "type": kind}, []) for kind in kinds]
    assert first(actions) <= 5


def test_one_answer_to_a_counter_in_the_arguments_is_told():
    actions = [
        Call("run_code", {"code": f"fetch('https://ex.test/p?n={i}')"}, "Access blocked. Try later")
        for i in range(8)
    ]
    assert first(actions) == 3


def test_one_error_for_varied_arguments_is_told_at_the_fourth():
    actions = [
        Call("shell", {"cmd": "ls", "dir": f"pkg/{name}"}, "ls: not in workspace", outcome="error")
        for name in "abcdefg"
    ]
    assert first(actions) == 3


def test_an_error_that_repeats_the_arguments_is_one_error():
    actions = [
        Call("bash", {"command": f"{word} is done, thank you"}, outcome="error", result=answer)
        for word in ("All", "Everything", "It", "This")
        for answer in [f"/bin/bash: line 1: {word}: command not found"]
    ]
    assert first(actions) == 3


def test_a_change_that_is_rejected_again_and_again_is_told_whatever_lies_between():
    actions = []
    for i in range(4):
        actions += [
            Call(
                "edit_file", {"path": "a", "old": "gone", "new": "x"}, "not found", outcome="error"
            ),
            Call("write_file", {"path": f"note{i}"}, f"wrote {i} bytes"),
        ]
    assert first(actions) == 4


def test_a_change_that_is_rejected_again_and_again_is_told_though_the_user_speaks():
    actions = []
    for i in range(6):
        booking = {"flight": "HAT030", "seats": 1, "note": f"attempt number {i}"}
        actions += [
            Call("book_flight", booking, "Error: not available", outcome="error"),
            Message(f"please try {i}"),
        ]
    assert first(actions) == 8


def test_a_loop_goes_on_through_a_compaction():
    assert first([READ, READ, Compaction(), READ]) == 3


def test_polls_without_change_have_a_ceiling_in_calls():
    poll = Call("job_status", {"id": "j1"}, "running", poll=True)
    assert first([poll] * 30) == 19


def test_polls_without_change_have_a_ceiling_in_time():
    actions = [
        Call("job_status", {"id": "j1"}, "running", poll=True, at=120.0 * i) for i in range(12)
    ]
    assert first(actions) == 8


def test_waiting_commands_have_a_ceiling_too():
    assert first([Call("bash", {"command": "sleep 10; cat log"}, "")] * 30) == 19


def test_a_denied_call_that_is_asked_for_again_and_again_is_told():
    actions = [Call("bash", {"command": "rm -rf /"}, "denied", outcome=Outcome.DENIED)] * 3
    assert first(actions) == 2


def test_a_tool_for_thinking_may_loop_too():
    assert first([Call("think", {"thought": "what now?"}, "")] * 3) == 2


def test_the_statuses_of_a_plan_stand_for_the_plan():
    plans = [
        {"plan": [{"step": f"look at the {word} module", "status": "in_progress"}]}
        for word in ("parser", "parsing", "lexer", "parse", "parser!")
    ]
    assert first([Call("update_plan", plan, "Plan updated") for plan in plans]) <= 4


def test_a_profile_says_which_fields_are_book_keeping():
    profile = ToolProfile(names="probe", ignored_params=("trace",))
    actions = [Call("probe", {"x": 1, "trace": f"t{i}"}, "same") for i in range(3)]
    assert play(actions, profiles=[profile]).spoke == [2]


def test_the_same_sentence_in_every_response_is_told():
    actions = []
    for i in range(6):
        actions += [Text("I am still working on the task, please wait."), Call("noop", {"i": i}, i)]
    assert first(actions) is not None


@pytest.mark.parametrize(
    "passage",
    [
        "Let me think about the word. ",
        "I will now review the loader and check that every option has a default before the next. ",
        (
            "First I read the report, then I compare the tables, and where they differ I note the "
            "row, its number and the two values; when all rows are done I write down the sum, and "
            "then I begin with the next pair of tables, as the report asks me to do. "
        ),
    ],
)
def test_chanting_is_told(passage):
    assert first([Text(passage * 12)]) == 0
    assert first([Text(reasoning="Well. " + passage * 12 + "So that is it.")]) == 0
    honest = " ".join(f"Sentence number {i} tells something of its own." for i in range(40))
    assert first([Text(honest + passage * 24)]) == 0
    assert first([Text(honest)]) is None


def test_a_batch_of_changes_that_get_through_ends_the_count_of_rejections():
    rejected = Call("edit", {"path": "a.py", "old": "x = 1"}, "no match for old", outcome="error")
    batch = [Call("edit", {"path": "a.py", "old": f"x = {n}"}, f"edited {n}") for n in (1, 2, 3)]
    assert first([rejected, batch, rejected]) is None


def test_one_command_in_ever_other_dress_that_says_nothing_is_told():
    dresses = ("{}", "{} -q", "{} 2>&1", 'cmd /c "{}"', "{} > out.log; type out.log", "{} | more")
    actions = [Call("bash", {"command": dress.format("mvn compile")}, "") for dress in dresses * 2]
    assert first(actions) == 7


def test_one_question_with_the_same_hits_in_another_order_is_told():
    hits = [f"https://site{i}.example/page about the thing number {i}" for i in range(4)]
    actions = [
        Call("web_search", {"query": "the thing"}, "\n".join(hits[i % 4 :] + hits[: i % 4]))
        for i in range(6)
    ]
    assert first(actions) == 3


def test_pages_of_one_file_that_were_read_before_are_told_wherever_they_begin():
    def page(offset):
        lines = "\n".join(f"{n}: rule {n} of the file" for n in range(offset, offset + 40))
        return Call("read", {"path": "RULES.md", "offset": offset, "limit": 40}, lines)

    offsets = [0, 40, 80, 120, 160, 200, 110, 90, 70, 30, 10, 130]
    played = play([page(offset) for offset in offsets])
    (told,) = played.delivered
    assert told.turn == 11
    assert "6 calls of read brought the same content" in told.injection.content


def test_waiting_is_in_vain_where_it_always_fails_with_one_complaint():
    check = Call(
        "bash", {"command": "sleep 30; gh pr checks 3"}, "no checks", outcome=Outcome.ERROR
    )
    assert first([check] * 14) == 9


def test_a_rejected_change_that_is_made_again_at_once_is_told_whatever_it_asks_for():
    update = Call("update_item", {"id": 4}, "429: retry after 10s", outcome=Outcome.ERROR)
    assert first([update] * 3) == 2


@pytest.mark.parametrize("tool", ["think", "TodoWrite", "update_plan"])
def test_thoughts_and_plans_in_between_hide_no_loop(tool):
    def aside(number):
        return Call(tool, {"text": f"part {number}"}, "noted")

    assert first([READ, aside(1), READ, aside(2), READ]) == 4
    assert first([[READ, aside(number)] for number in range(4)]) == 2


def test_a_loop_behind_thoughts_outlives_a_restart():
    def aside(number):
        return Call("think", {"text": f"part {number}"}, "noted")

    player = play([READ, aside(1), READ, aside(2)])
    player.restart()
    assert player.play([READ]).first == 4
    thinks = play([READ, aside(1), aside(1)])
    thinks.restart()
    assert thinks.play([aside(1)]).first == 3


def test_thoughts_after_each_deed_shorten_no_window():
    rounds = [Call("read", {"path": f"{name}.txt"}, f"text of {name}") for name in "abcdefghij"]
    with_thoughts = [
        call
        for number, deed in enumerate(rounds * 3)
        for call in (deed, Call("think", {"text": f"part {number}"}, "noted"))
    ]
    assert first(with_thoughts) == 2 * first(rounds * 3)


def test_a_state_that_moved_by_itself_gets_more_patience_than_one_that_never_did():
    def job(state):
        return Call("get_job", {"id": "7"}, state)

    assert first([job("phase two")] * 12) == 2
    assert first([job("phase one"), *[job("phase two")] * 12]) == 6
    elsewhere = [Call("get_job", {"id": "8"}, state) for state in ("phase one", "phase two")]
    assert first([*elsewhere, *[job("phase two")] * 12]) is not None


def test_one_message_sent_after_each_look_that_says_wait():
    look = Call("bus_read", {"topic": "review"}, "coder: waiting for the reviewer")
    post = Call("bus_post", {"topic": "review", "text": "Ready, please go on."}, "posted")
    assert first([look, post] * 10) == 11


def test_a_place_that_stays_the_same_whatever_the_distance():
    said = "Position: 112, 64, -31. Path was stopped before it could be completed!"
    moves = [Call("moveAway", {"distance": n}, said) for n in (4, 4, 5, 4, 5, 4, 5, 4)]
    assert first(moves) is not None
    assert first([Call("moveAway", {"distance": n}, "Moved.") for n in range(12)]) is None


def test_guesses_that_are_refused_in_words_which_repeat_the_guess():
    names = ["a", "a_2026", "Berichte\\a", "export\\a", "alt\\a", "a-final", "neu_a", "x\\a"]
    calls = [
        Call(
            "exec",
            {"command": f"Get-Content 'D:\\Daten\\{name}.txt'"},
            f'Der Pfad "D:\\Daten\\{name}.txt" kann nicht gefunden werden.',
        )
        for name in names
    ]
    assert first(calls) is not None


def test_one_confirmation_for_each_file_is_work_in_any_language():
    names = ["tui-renderer", "tui-editor", "tui-input", "tui-list", "tui-text", "tui-box", "tui"]
    calls = [Call("bash", {"command": f"fix {n}.ts"}, f"{n}.ts korrigiert") for n in names]
    assert first(calls * 1) is None


def test_moves_on_a_screen_whose_picture_stays_the_same():
    picture = Call("screenshot", {}, "Page: Billing - Invoices, unchanged")
    moves = [
        Call("click", {"x": 300 + n % 5, "y": 212 - n % 3, "from": "screenshot"}, "Clicked.")
        for n in range(10)
    ]
    assert first([item for move in moves for item in (move, picture)]) is not None


def test_one_message_in_other_words_is_told_before_it_is_sent_a_fifth_time():
    texts = [
        "Hi Khalil, thanks for the intro! I would love to hear about your project.",
        "Thanks for the intro, Khalil! I would love to hear about the project.",
        "Hi Khalil, thank you for the intro, I would love to hear about your project.",
    ]
    sent = [Call("send_message", {"to": "@k", "text": text}, '{"ok": true}') for text in texts * 3]
    assert first(sent) == 3


@pytest.mark.parametrize(
    "answer",
    [
        "创建组件实例出错",
        "La creación no se pudo completar",
        "Erstellen fehlgeschlagen",
        "작성 실패",
    ],
)
def test_a_write_that_fails_alike_for_ever_other_arguments_is_told(answer):
    done = [Call("create_item", {"x": 40 * i, "y": 20 * i}, "ok") for i in range(8)]
    tries = [Call("create_item", {"x": 40 * i, "y": 20 * i}, answer) for i in range(8)]

    assert first(tries) is not None
    assert first(done) is None


SPELLINGS = ("won", "Won", "WON", "closed_won", "ClosedWon", "closed-won", "win", "is_won", "won!")
ANSWERS = (
    "Keine Berechtigung.",
    "Недостаточно прав.",
    "Saved.",
    "权限不足",
    "Belirtilen alan yok.",
)


@pytest.mark.parametrize("answer", ANSWERS)
def test_one_value_in_ever_other_spellings_is_told_whatever_the_answer_says(answer):
    stages = [Call("update_deal", {"id": 17, "stage": stage}, answer) for stage in SPELLINGS]
    is_denied = answer in ("Keine Berechtigung.", "权限不足", "Belirtilen alan yok.")

    assert first(stages) == (3 if is_denied else 7)


@pytest.mark.parametrize("answer", ANSWERS)
def test_one_question_with_ever_other_words_around_it_is_told(answer):
    around = (
        "{}",
        "{} please",
        "Sorry: {}",
        "{} I need it",
        "Again: {}",
        "{} thanks",
        "So, {}",
        "Hm, {}",
    )
    asked = [Call("ask_user", {"q": form.format("which file is it?")}, answer) for form in around]

    assert first(asked) is not None


@pytest.mark.parametrize(
    "verdict", ["rejected: wrong number of fingers", "手指数量不正确 请重新生成"]
)
def test_what_is_made_anew_and_judged_the_same_is_told(verdict):
    wishes = ("five fingers", "right hands", "correct hands", "natural fingers", "proper hands",
              "good hands", "fine hands", "real fingers")  # fmt: skip
    run = []
    for number, wish in enumerate(wishes):
        path = f"out/img_{number * 37:04x}.png"
        run += [
            Call("generate_image", {"prompt": f"two children, {wish}"}, {"path": path}),
            Call("inspect_image", {"path": path}, verdict),
        ]

    assert first(run) is not None
    assert first(run) <= 15


def test_an_agent_that_answers_itself_is_told():
    run = []
    for number in range(8):
        letter = {"from": "me@own.example", "subject": "Re: " * number + "hello", "body": "noted"}
        reply = {
            "to": "me@own.example",
            "subject": "Re: " * (number + 1) + "hello",
            "body": "noted",
        }
        run += [Call("check_inbox", {}, letter), Call("send_email", reply, {"status": "sent"})]

    assert first(run, in_doubt=False) == 10


def test_taps_beside_the_button_are_told_on_a_screen_in_any_script():
    screens = (
        "首页 | 外卖 美食 酒店民宿 电影演出 | 搜索框 我的",
        "Start | Essen | Hotels | Kino | Suche",
    )
    for screen in screens:
        told = {"success": True, "app": "shop", "screen": screen}
        taps = [Call("do", {"action": "Tap", "at": [183 + n, 246 - n]}, told) for n in range(6)]

        assert (
            first([Call("do", {"action": "Launch", "app": "shop"}, told), *taps], in_doubt=False)
            == 4
        )


def test_swipes_at_the_end_of_a_list_are_told_though_the_list_has_moved_before():
    shown = [f"order {n} of a lamp, order {n + 1} of a cup" for n in (1, 3, 5)]
    swipes = [Call("Swipe", {"from": 820, "to": 260}, {"visible": one}) for one in shown]

    assert first([*swipes, *[swipes[-1]] * 5]) == 4


@pytest.mark.parametrize("field", ["content", "text", "data", "body"])
def test_windows_of_one_short_file_are_told_whatever_field_it_comes_in(field):
    lines = [f"{n}|Rule {n} of the house is {'abcdefghijklmnop'[n] * 4}." for n in range(1, 15)]
    run = []
    for start, limit in ((1, 500), (1, 100), (3, 60), (1, 200), (2, 50), (1, 14), (4, 90)):
        window = {field: "\n".join(lines[start - 1 :]), "total": 14}
        run.append(Call("read_file", {"path": "S.md", "offset": start, "limit": limit}, window))

    assert first(run) == 4


@pytest.mark.parametrize("flag", [{"found": False}, {"success": True}, {"replied": False}])
def test_a_flag_beside_fields_that_tick_is_the_same_answer(flag):
    calls = [
        Call(
            "lookup", {"mail": "a@b.example"}, {**flag, "request_id": f"{n * 7919:012x}", "seq": n}
        )
        for n in range(1, 6)
    ]
    assert first(calls) == 2


ARTICLE = {"title": "Festival", "content": "Music on July 12, free entry."}


@pytest.mark.parametrize(
    ("tool", "made", "turn"),
    [
        ("wordpress_publish", '{{"success": true, "url": "https://a.example/?p={}"}}', 3),
        ("create_ticket", "Ticket #{} created.", 2),
        ("opublikuj", "zapisano pod numerem {}", 6),
        ("发布", "已发布 编号 {}", 6),
    ],
)
def test_one_deed_again_is_told_though_each_makes_a_thing_with_a_name_of_its_own(tool, made, turn):
    assert first([Call(tool, ARTICLE, made.format(2210 + 3 * n)) for n in range(9)]) == turn


@pytest.mark.parametrize(
    ("make", "made", "send", "key"),
    [
        ("create_offer", '{{"status": "created", "number": "Q-{}"}}', "send_pdf", "pdf"),
        ("angebot_erstellen", "Angebot A{} liegt vor", "verschicken", "anhang"),
        ("下单", "订单 D{} 已创建", "通知客户", "单号"),
    ],
)
@pytest.mark.parametrize("several", [1, 2, 3])
def test_deeds_that_take_up_what_the_one_before_has_made_are_told(make, made, send, key, several):
    actions = []
    for n in range(40, 45):
        name = next(word for word in (f"Q-{n}", f"A{n}", f"D{n}") if word in made.format(n))
        actions += [
            Call(make, ARTICLE, made.format(n)),
            *[Call(send, {key: name, "to": f"x{i}"}, f"m{n}{i} ok") for i in range(several)],
        ]
    # When the third round is whole, or begun anew.
    assert first(actions) in (3 * (1 + several) - 1, 3 * (1 + several))


@pytest.mark.parametrize("look", ["get_errors", "read_file", "run_tests"])
def test_changes_that_undo_each_other_are_told_when_nothing_was_new_since(look):
    add = Call("edit", {"path": "a", "code": "x = 0"}, "edited: +x, -y")
    use = Call("edit", {"path": "a", "code": "y = x"}, "edited: +y, -x")
    without = Call(look, {"path": "a"}, "line 31: no x in scope here")
    unused = Call(look, {"path": "a"}, "line 31: x is never used here")
    assert first([add, unused, use, without] * 4) == 8
    assert first([add, unused, use, Call(look, {"path": "a"}, "no problems")]) is None


def test_a_number_of_things_is_kept_by_calls_that_differ():
    things = [Call("make_rule", {"text": f"when {w} then ring"}, f"ok {w}") for w in "abc"]
    assert first([Message("Make three rules: a, b and c."), *things * 3]) == 7
    assert first([Message("Make four rules."), *[things[0]] * 5]) == 5


@pytest.mark.parametrize(
    ("tool", "name", "page"),
    [
        ("click", "E{}", "Tour | People: 2 | box Rules not ticked | button Send [E{}]"),
        ("鼠标", "x{}", "表单 未勾选 提交 [x{}]"),
        ("click", "b{0}, b{0}0", "Tour | box Rules not ticked | form [b{0}0] | Send [b{0}]"),
    ],
)
def test_a_button_is_known_again_under_the_name_that_each_page_gives_it(tool, name, page):
    run = [Call(tool, {"ref": name.format(n)}, page.format(n + 13)) for n in range(17, 150, 13)]

    assert first(run) == (3 if "not" in page else 4)  # what is lacking is said


def with_readings(actions):
    """Put a reading of another thing after the second action, and after every third from there."""
    taken = []
    for number, action in enumerate(actions, 1):
        taken.append(action)
        if number % 3 == 2:
            text = f"entry {number * 7919:x} of the book, and {number * 104729:x} beside it"
            taken.append(Call("read_book", {"page": number}, text))
    return taken


@pytest.mark.parametrize(
    "action",
    [
        Call("wait", {"seconds": 5}, "waited", poll=True),
        Call("search", {"q": "a b"}, "nothing to see here"),
        Call("click", {"ref": "e12"}, "menu Home Shop, 4 links, no form"),
    ],
)
def test_a_reading_of_something_else_hides_no_loop(action):
    played = play(with_readings([action] * 30))

    assert played.first is not None
    assert "in a row" not in played.texts[0]


def test_one_answer_to_other_questions_is_told_though_another_tool_reads_in_between():
    asked = [Call("search", {"q": f"refund {word}"}, "no passage") for word in "abcdefghijkl"]
    assert first(with_readings(asked)) is not None


@pytest.mark.parametrize(
    "told", ["read {}x", "({} times shown)", "Aufruf {}", "{} 回目", "attempt {}"]
)
def test_a_number_that_counts_the_calls_is_no_news_beside_what_stays(told):
    page = "\n".join(f"row {n}: the price of part {n} is unchanged" for n in range(4))
    reads = [Call("read_file", {"path": "a"}, f"{page}\n{told.format(n)}") for n in range(1, 9)]
    assert first(reads) in (2, 3)


def test_searches_in_other_words_that_bring_one_result_are_told_with_what_follows_each():
    asked = ["مدة ضمان مضخة P40", "ضمان P40 كم سنة", "شروط ضمان مضخة P40", "فترة كفالة مضخة P40"]
    found = "دليل الغسالة صفحة 3: وصّل الخرطوم، دليل الغسالة صفحة 9: نظّف المصفاة كل شهر"
    steps = [
        step
        for query in [*asked, "كفالة المضخات P40"]
        for step in (
            Call("retrieve", {"query": query}, found),
            Call("grade", {"question": query}, {"relevant": "no"}),
            Call("rewrite", {"question": query}, "تم"),
        )
    ]
    assert first(steps) in range(9, 13)


DOCUMENTS = {
    "brief-17": "The list is wanted by March, with delivery times and a guarantee for each.",
    "notes-03": "Call of 3 February: two suppliers were named, prices are not yet agreed.",
    "mail-88": "Bitte schicken Sie die Liste als Tabelle, spätestens am Freitag, an den Einkauf.",
}


def reading(rounds):
    """Return calls that read three documents in turn, each time for another reason."""
    reasons = (
        "understand the goal",
        "double-check it",
        "get the whole context",
        "verify once more",
    )
    return [
        Call("get_document", {"id": name, "why": f"{reasons[turn]} of {name}"}, text)
        for turn in range(rounds)
        for name, text in DOCUMENTS.items()
    ]


def test_documents_that_are_read_a_fourth_time_for_other_reasons_are_told():
    assert first(reading(4), in_doubt=False) == 11


def test_documents_that_are_read_a_second_time_are_not_told():
    assert first(reading(2)) is None


def test_a_new_document_in_between_makes_the_others_worth_reading_again():
    new = Call("get_document", {"id": "offer-4", "why": "compare"}, f"An offer: {'12 € ' * 20}")
    assert first([*reading(2), new, *reading(1)]) is None


def test_a_letter_that_is_sent_a_third_time_is_told_whatever_number_it_gets():
    letter = {"to": "klant@voorbeeld.nl", "body": "Beste mevrouw, hierbij de afspraak van dinsdag."}
    sent = [Call("send_mail", letter, {"status": "ok", "message_id": f"m-{n}"}) for n in range(5)]
    assert first(sent) == 2


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("check_shelf", "Central: 3 copies, none on the shelf."),
        ("machine-state", "M3 STOP  alarm=2041  block=N340"),
        ("get_order", {"id": "A-7", "paid": False}),
    ],
)
def test_a_look_that_is_repeated_as_fast_as_a_model_answers_is_no_wait(tool, answer):
    looks = [Call(tool, {"book": "B-3041"}, answer, at=4 * number) for number in range(5)]
    assert first(looks) == 2


@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("steps", [[37], [3, 41, 5, 9, 2, 4, 8]])
def test_rounds_beside_which_only_the_number_of_the_picture_grows_are_told(length, steps):
    presses, frame = [], 4100
    for i in range(4 * length):
        frame += steps[i % len(steps)]
        answer = {"frame": frame, "screen": f"menu: entry {'abcde'[i % length]} at 12,7"}
        presses.append(Call("press", {"button": "ABCDE"[i % length]}, answer))
    assert first(presses) == 2 * length
    moving = [attrs.evolve(p, result=p.result | {"gold": i}) for i, p in enumerate(presses)]
    assert first([*moving, *moving[:1]]) is None  # something beside the clock moves


def test_what_is_kept_again_between_other_words_is_told():
    notes = ["She eats no meat."] * 2 + ["Her diet is without meat."] + ["She eats no meat."] * 3
    keeps = [
        Call("add_memory", {"memory": note}, f"Memory added (id: b07e1b{i}2)")
        for i, note in enumerate(notes)
    ]
    assert first(keeps, in_doubt=False) == 4


@pytest.mark.parametrize("name", ["_meta", "call_id", "callId", "requestId", "toolUseId"])
def test_the_book_keeping_of_a_harness_makes_no_call_another(name):
    clicks = [
        Call("read", {"ref": "b", name: f"{i}8a73b{i}7f{i}"}, {"moved": False}) for i in range(3)
    ]
    assert first(clicks) == 2


@pytest.mark.parametrize("turn", [2.0, 5.0, 9.0, 16.0])
@pytest.mark.parametrize(("longer", "told"), [(1.0, True), (1.2, True), (1.8, False)])
@pytest.mark.parametrize("before", [2, 6])
def test_looks_at_the_pace_of_the_run_are_no_waiting_however_slow_it_is(turn, longer, told, before):
    reads = range(1, before + 1)
    work = [Call("read", {"path": f"{n}.py"}, f"text of {n}", at=turn * n) for n in reads]
    looks = [
        Call("check_printer", {"id": "p1"}, '{"ready": false}', at=turn * (before + longer * n))
        for n in range(1, 8)
    ]
    assert (first([*work, *looks]) is not None) is told


@pytest.mark.parametrize("turn", [5.0, 9.0, 16.0])
def test_what_a_look_showed_by_its_number_was_not_begun_there(turn):
    """A slow model that books the same full room each turn does not wait for it."""
    card = Call("karta_osoby", {"karta": "3390"}, "3390 Oksana B., bez przydziału", at=turn)
    booked = Call("przydziel_lozko", {"karta": "3390", "pokoj": "12"}, "Pokój 12: 4/4 zajęte.")
    assert first([card, *(attrs.evolve(booked, at=turn * n) for n in range(2, 7))]) == 3


IN_OTHER_WORDS = [
    [
        "Hoi! Heb je donderdag tijd voor een korte kennismaking?",
        "Hallo! Zou je donderdag kunnen voor een korte kennismaking?",
        "Hoi, komt donderdag je uit voor een kennismaking?",
        "Hallo, heb je donderdag even tijd om kennis te maken?",
        "Hoi! Kun je donderdag voor een kennismaking?",
    ],
    [
        "Czy mogę prosić o kopię faktury za maj?",
        "Proszę o przesłanie kopii faktury za maj.",
        "Poproszę kopię majowej faktury.",
        "Czy mogłaby pani przesłać kopię faktury za maj?",
        "Uprzejmie proszę o kopię faktury za maj.",
    ],
    [
        "请确认明天的会议时间。",
        "明天的会议时间可以确认吗?",
        "麻烦确认一下明天会议的时间。",
        "能否确认明天的会议?",
        "请再确认一次会议时间。",
    ],
    [
        "هل يمكنك إرسال الفاتورة اليوم؟",
        "من فضلك أرسل الفاتورة اليوم.",
        "أحتاج الفاتورة اليوم، هل يمكن إرسالها؟",
        "هل ترسل لي الفاتورة من فضلك؟",
        "أرجو إرسال الفاتورة اليوم.",
    ],
]


@pytest.mark.parametrize("texts", IN_OTHER_WORDS)
@pytest.mark.parametrize("tool", ["send_message", "contact_human", "delegate"])
def test_one_message_in_other_words_is_told_in_any_language(texts, tool):
    def said(i):
        return {"queued": True, "ts": f"20:50:1{i}Z"} if tool == "send_message" else "sent"

    sent = [Call(tool, {"to": "@k", "text": text}, said(i)) for i, text in enumerate(texts)]
    assert first([*sent, *sent]) in range(3, 9)


@pytest.mark.parametrize("texts", IN_OTHER_WORDS)
def test_questions_whose_answers_bring_something_are_none_of_it(texts):
    found = ["Anna Berg signs it", "Room seven, second floor", "Lunch is at noon", "Ask Tom", "Yes"]
    asked = [
        Call("ask", {"question": text}, f"{answer}: {i}482")
        for i, (text, answer) in enumerate(zip(texts, found, strict=True))
    ]
    assert first(asked) is None


@pytest.mark.parametrize(
    "frame",
    ["Please review the part {}", "Bitte prüfe das Modul {}", "请检查模块{}", "راجع الوحدة {}"],
)
def test_orders_that_go_through_a_list_are_none_of_it(frame):
    parts = ["net", "böden", "库存", "الدفع", "parser", "linux", "queue", "mail"]
    orders = [Call("delegate", {"task": frame.format(part)}, "nothing found") for part in parts]
    assert first(orders) is None


PAGES = [
    "Folder: This computer, not maximised; Local disk C at the left, Data D at the right",
    "Ordner: Dieser Rechner, nicht maximiert; Datenträger C links, Daten D rechts daneben",
    "Проводник: Этот компьютер, не развёрнут; Локальный диск C слева, Данные D справа",
]


@pytest.mark.parametrize("page", PAGES)
def test_clicks_beside_one_thing_are_told_where_a_look_shows_the_same_after_each(page):
    actions = []
    for n, (x, y) in enumerate([(733, 489), (735, 491), (731, 488), (734, 490), (736, 487)]):
        click = Call("click", {"loc": [x, y], "button": "left"}, f"Clicked at ({x},{y}).")
        actions.append([click, Call("page_state", {"vision": False}, page), page + f" {n}"])
    assert first([call for click, look, _ in actions for call in (click, look)]) == 7
    moving = [(click, attrs.evolve(look, result=other)) for click, look, other in actions]
    assert first([call for pair in moving for call in pair], in_doubt=False) is None


@pytest.mark.parametrize("ids", [["634cb5", "fc7893", "3b19bd"], ["a1b2c3d", "0ff1ce9", "77e0b75"]])
def test_a_program_that_names_each_of_its_runs_does_the_same_in_each(ids):
    runs = [
        Call("exec", {"command": "python3 jobs/invoices.py"}, f"run={name} done: 0, new: none")
        for name in ids
    ]
    assert first(runs) == 2


def test_a_text_that_grows_with_each_call_is_being_written():
    words = "The keeper of the light counts ships at night and writes their names down".split()
    drafts = [" ".join(words[: 5 + 2 * n]) for n in range(5)]
    writes = [Call("put_note", {"name": "tale", "content": draft}, "ok") for draft in drafts]
    assert first(writes) is None


REVIEWS = (
    "Reviewers generally liked the engine but criticised the noisy cabin.",
    "The noisy cabin was criticised, while the engine was generally liked by reviewers.",
    "Generally, the engine is liked; reviewers criticise how noisy the cabin is.",
    "Reviewers like its engine generally. Cabin noise draws criticism.",
    "Criticism concerns the noisy cabin; the engine is generally liked among reviewers.",
    "What reviewers criticise is cabin noise, the engine they generally like.",
    "The engine is what reviewers generally like, the noisy cabin what they criticise.",
    "Noisy cabin criticised, engine generally liked: so say the reviewers.",
)


@pytest.mark.parametrize("tool", ["web_search", "ask_assistant"])
def test_one_question_is_told_when_eight_answers_say_the_same_in_other_words(tool):
    def asked(answers):
        return [Call(tool, {"q": "What do reviewers say?"}, answer) for answer in answers]

    assert first(asked(REVIEWS)) == 7
    assert first(asked(REVIEWS[:7])) is None
    for news in (
        "Mileage: 4100.",
        "Brakes squeak badly, steering feels vague, tyres wear quickly.",
    ):
        assert first(asked([*REVIEWS[:7], f"{REVIEWS[7]} {news}"])) is None
    assert (
        first([*asked(REVIEWS[:4]), Call("edit", {"path": "a"}, "ok"), *asked(REVIEWS[4:])]) is None
    )


def test_deeds_whose_answers_differ_in_what_they_made_are_told_apart_from_lists():
    def rounds(names, deed, look):
        return [call for n, name in enumerate(names) for call in (deed(n, name), look(n, name))]

    formulas = ["=A7/B7", "=A7/(B7)", "=(A7)/B7", "=A7/$B7", "=A7/B$7", "=(A7/B7)", "=A7/B7"]
    broken = rounds(
        formulas,
        lambda n, text: Call("update_cell", {"cell": "F7", "formula": text}, {"版": 812 + n}),
        lambda n, _: Call("get_cell", {"cell": "F7"}, {"F7": "#DIV/0!", "版": 812 + n}),
    )
    assert first(broken) == 9

    tests = rounds(
        formulas,
        lambda n, text: Call("editar", {"archivo": "f7.py", "poner": text}, {"rev": 40 + n}),
        lambda n, _: Call("probar", {"archivo": "f7.py"}, {"aprobadas": 3 + n, "rev": 40 + n}),
    )
    assert first(tests) is None


def test_what_is_pressed_under_a_new_name_each_time_is_told_and_a_queue_is_not():
    pressed, queue = [], []
    for n, name in enumerate([41, 44, 41, 42, 41, 44]):
        page = {"nodes": [{"node": name, "text": "Zapłać"}, {"node": name + 1, "text": "Anuluj"}]}
        pressed += [Call("ui_dump", {}, page), Call("ui_tap", {"node": name}, f"tapped {name}")]
        ticket = {"numer": f"R{300 + n}", "rodzaj": "Drukowanie etykiety na zwykłym papierze"}
        queue += [Call("zlecenie", {}, ticket), Call("drukuj", {"numer": f"R{300 + n}"}, "gotowe")]
    assert first(pressed, in_doubt=False) == 11
    assert first(queue) is None


def test_deeds_that_undo_each_other_are_told_though_each_succeeds():
    def deed(tool, n):
        return Call(tool, {"post": "p-91"}, {"ok": True, "id": f"{7919 * n:x}", "total": n % 2})

    assert first([deed(("curtir", "descurtir")[n % 2], n) for n in range(9)]) == 4


def test_deeds_by_several_tools_that_leave_all_as_it_was_are_told_the_fifth_time():
    shown = {"ok": True, "switch": "the valve of the boiler is still closed", "next_step": "locked"}
    tries = [
        Call("click", {"at": "#valve"}, shown),
        Call("press_key", {"key": "Enter"}, shown),
        Call("click", {"x": 20, "y": 31}, shown),
        Call("set_value", {"of": "#valve", "to": "open"}, shown),
        Call("click", {"at": "label"}, shown),
    ]
    assert first(tries) == 4
    assert first([attrs.evolve(one, result="done") for one in tries]) is None
    assert first([attrs.evolve(one, tool="click") for one in tries]) is None


def test_a_file_that_an_edit_has_changed_does_not_change_by_itself():
    def read(text):
        return Call("read_file", {"path": "a.py"}, text)

    edit = Call("edit_file", {"path": "a.py", "old": "x = 1", "new": "x = 2"}, "applied")
    assert first([read("x = 1"), edit, *[read("x = 2")] * 4]) == 4


def test_an_agent_that_answers_its_own_messages_is_told():
    text = "Dziękujemy za wiadomość. Odpiszemy jutro."
    actions = []
    for n in range(5):
        mail = {"new": 1, "mail": {"id": 301 + n, "subject": "Re: " * n + "Karnety", "text": text}}
        actions += [Call("odbierz", {}, mail), Call("wyslij", {"text": text}, "250 OK")]
    assert first(actions) in (7, 9)


def test_a_refusal_between_new_readings_is_told():
    refused = Call("открыть", {"зона": 4}, "СБОЙ 17: клапан 4 закрыт вручную на щите")
    looks = [Call("влажность", {"зона": 10 + n}, {"доля": 30.5 + n}) for n in range(5)]
    assert first([one for pair in zip([refused] * 5, looks, strict=True) for one in pair]) == 6


def test_short_notes_on_new_readings_are_no_loop():
    note = Call("заметка", {"text": "ok"}, "принято")
    looks = [Call("влажность", {"зона": 10 + n}, {"доля": 30.5 + n}) for n in range(5)]
    assert first([one for pair in zip(looks, [note] * 5, strict=True) for one in pair]) is None


def test_a_date_is_no_number_of_things_that_failures_make():
    asked = Message("Put a car on the Friday 14 June morning sailing.")
    refused = Call("book_sailing", {"code": "X"}, "REJECTED 17: no sailing X", outcome="error")
    assert play([asked, *[refused] * 3]).texts[0].startswith("Turn 3: You made the call")


def test_the_first_call_of_a_run_shows_how_long_a_turn_takes():
    look = Call("lift_status", {"lift": "A"}, "A: STÅR sedan 10.42. Status stoppad.")
    looks = [attrs.evolve(look, at=5.0 * n + 5.0) for n in range(4)]
    assert first(looks) == 2
