"""Honest work that must be left alone: shapes of false alarms that users reported."""

from __future__ import annotations

import attrs
import pytest

from trimtab import Outcome
from trimtab.events import CallOrigin
from trimtab_testing import Call, Compaction, Message, Text

from .playing import first

READ = Call("read", {"path": "a.py"}, "text of a")


def silent(actions, **options):
    return first(actions, **options) is None


def test_polls_are_left_alone():
    poll = Call("job_status", {"id": "j1"}, "running", poll=True)
    assert silent([poll] * 15)


def test_an_empty_command_waits_where_the_host_says_so():
    wait = Call("bash", {"cmd": ""}, "(still running)", poll=True)
    assert silent([Call("bash", {"cmd": "pip install big"}, "(still running)"), *[wait] * 8])


def test_long_pauses_between_equal_calls_are_waiting():
    actions = [Call("run", {"command": "curl job/9"}, "RUNNING", at=300.0 * i) for i in range(4)]
    assert silent(actions)


def test_a_growing_back_off_is_waiting():
    times = [0, 2, 6, 14, 30, 62]
    for tool in ("fetch", "send_report"):
        actions = [Call(tool, {"u": "/a"}, "503 busy", outcome="error", at=float(t)) for t in times]
        assert silent(actions)


def test_other_work_between_rejected_calls_is_no_back_off():
    tries = [Call("send_report", {"u": "/a"}, "day 9 is not open", outcome="error")] * 3
    looks = [Call("get_days", {"month": n}, f"none in {n}") for n in range(4)]
    actions = [tries[0], looks[0], tries[1], *looks[1:], tries[2]]
    timed = [attrs.evolve(one, at=3.0 * n) for n, one in enumerate(actions)]
    assert first(timed) == len(actions) - 1


def test_commands_that_sleep_are_waiting():
    assert silent([Call("bash", {"command": "sleep 30 && gh run view 7"}, "in progress")] * 8)


def test_a_wait_between_equal_looks_is_waiting():
    actions = [Call("sleep", {"s": 5}, ""), Call("get_status", {"id": 1}, "pending")] * 6
    assert silent(actions)


def test_looking_at_a_live_process_is_waiting():
    launch = Call("bash", {"command": "npm run dev > log &"}, "")
    look = Call("bash", {"command": "tail -n 5 log"}, "starting…")
    assert silent([launch, *[look] * 6])


@pytest.mark.parametrize(
    "answer",
    [
        lambda i: f"progress {7 * i}%",
        lambda i: f"{9 - i} failed, {i} passed",
        lambda i: f"rows {50 * i}-{50 * i + 49}",
        lambda i: "\n".join(f"line {n}" for n in range(i + 1)),
        lambda i: {"done": i, "of": 9},
    ],
)
def test_numbers_are_progress(answer):
    assert silent([Call("get_report", {"id": 1}, answer(i)) for i in range(8)])


def test_paging_is_progress():
    actions = [
        Call("list_items", {"q": "open", "offset": 50 * i}, f"rows {50 * i}-{50 * i + 49}")
        for i in range(8)
    ]
    assert silent(actions)


def test_four_equal_answers_may_be_a_batch():
    assert silent([Call("check_seat", {"row": i}, "taken") for i in range(4)])


@pytest.mark.parametrize("answer", ["ok", "true", "", None, {"success": True}, "Saved."])
def test_confirmations_of_a_batch_are_no_repeats(answer):
    assert silent([Call("mark_done", {"id": i}, answer) for i in range(12)])


def test_edits_of_one_file_that_are_confirmed_alike_are_work():
    answer = "The file /home/user/project/src/module/file.py has been updated successfully. " * 3
    actions = [
        Call("Edit", {"path": "f", "old": f"x{i}", "new": f"y{i}"}, answer) for i in range(12)
    ]
    assert silent(actions)


def test_thoughts_that_differ_are_no_repeats():
    thoughts = ["the key is missing", "so the loader skips it", "the default must be set first"]
    assert silent([Call("think", {"thought": thought}, "") for thought in thoughts])


def test_test_fix_test_is_work_until_the_fifth_change_has_moved_nothing():
    actions = []
    for i in range(8):
        actions += [
            Call("bash", {"cmd": "pytest -q"}, "2 failed"),
            Call("edit", {"path": "m.py", "old": f"{i}", "new": f"{i + 1}"}, f"applied {i}"),
        ]
    assert silent(actions[:8])
    assert first(actions) == 8


def test_changes_by_the_shell_count_as_changes():
    actions = []
    for i in range(8):
        actions += [
            Call("bash", {"command": "git status -s"}, " M a.py"),
            Call("bash", {"command": f"sed -i 's/x/{i}/' a.py"}, ""),
        ]
    assert silent(actions)


def test_a_file_restored_before_every_new_attempt_is_work():
    actions = []
    for i in range(6):
        actions += [
            Call("bash", {"command": "git checkout a.py"}, "Updated 1 path"),
            Call("bash", {"command": f"python fix{i}.py"}, f"fix {i}"),
        ]
    assert silent(actions)


def test_another_answer_begins_anew():
    actions = [Call("get_status", {"id": 1}, answer) for answer in ("a", "a", "b", "b", "a", "a")]
    assert silent(actions, in_doubt=False)


def test_the_users_word_begins_anew():
    assert silent([READ, READ, Message("go on")] * 4)


def test_so_many_things_as_the_user_names_are_no_repeats():
    flips = [Message("Do five front flips"), *[Call("FrontFlip", {}, "done")] * 7]
    looks = [Message("Read the five files"), *[Call("read_file", {"path": "a"}, "text")] * 7]

    assert first(flips) == 6
    assert first(looks) == 3


def test_a_notice_that_says_something_new_is_a_change():
    actions = []
    for i in range(5):
        actions += [READ, READ, Message(f"task {i} has finished", notification=True)]
    assert silent(actions)


def test_the_same_notice_again_is_no_change():
    assert first([READ, Message("reminder", notification=True)] * 5) is not None


def test_another_actors_call_is_a_change():
    theirs = Call("toggle", {"x": 1}, "done", caller=CallOrigin.USER)
    assert silent([READ, READ, theirs] * 4)


def test_the_harness_own_calls_do_not_count():
    nudge = Call("bash", {"cmd": "true"}, "", caller=CallOrigin.HARNESS)
    actions = []
    for i in range(6):
        actions += [nudge, Call("read", {"path": f"{i}"}, f"text {i}")]
    assert silent(actions)


def test_cancelled_siblings_do_not_count():
    cancelled = Call("read", {"path": "b"}, "cancelled", outcome=Outcome.INTERRUPTED)
    actions = [[Call("read", {"path": f"{i}"}, f"{i}"), *[cancelled] * 4] for i in range(5)]
    assert silent(actions)


def test_calls_that_lost_their_arguments_are_no_duplicates():
    assert silent([[Call("read", {}, f"body {name}") for name in "abcd"]])


def test_scrolling_is_work():
    actions = [
        Call("mcp__browser__scroll", {"d": "down"}, "ok"),
        Call("mcp__browser__screenshot", {}, "[image]"),
    ]
    assert silent(actions * 6)


def test_reading_again_after_a_compaction_is_honest():
    actions = [Call("read", {"path": f"{i}.py"}, f"text {i}") for i in range(10)]
    assert silent([*actions, Compaction(), *actions])


def test_a_few_rejections_with_a_fresh_look_between_are_work():
    actions = []
    for i in range(4):
        old = f"  return value_{i}"
        actions += [
            Call("edit", {"path": "a", "old": old, "new": "x"}, "no match", outcome="error"),
            Call("view", {"path": "a", "range": [i, i + 9]}, f"lines {i}"),
        ]
    assert silent(actions)


def test_different_responses_of_thought_are_thinking():
    texts = ["First decode it.", "It reads backwards.", "So it is the opposite."]
    assert silent([Text(reasoning=text) for text in texts])


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"- [ ] rename module number {i} and run its tests" for i in range(60)),
        "\n".join(f"{i}. update the file and run the tests" for i in range(60)),
        "| name | value |\n| --- | --- |\n" + "| entry | the same value |\n" * 60,
        "```python\n" + "    values.append(0)\n" * 80 + "```",
        "-" * 400 + "\n" + "=" * 400,
        "\n".join(f"+    assert result[{i}] == 0" for i in range(60)),
        "\n".join(["    result = process(result, level)"] * 60),
        "\n".join(["0.0, 1.0, 0.0, 1.0"] * 60),
        "\n".join(["register(handler);"] * 60),
        "We look at each file in turn. " + " ".join(f"File {i} is fine." for i in range(60)),
    ],
)
def test_lists_tables_and_code_are_no_chanting(text):
    assert silent([Text(text), Text(reasoning=text)])


def test_a_rejected_change_is_made_again_after_the_pause_that_it_asks_for():
    update = Call("update_item", {"id": 4}, "429: retry after 10s", outcome=Outcome.ERROR)
    pause = Call("bash", {"command": "sleep 10"}, "")
    assert silent([update, pause, update, pause, update, pause, update])


@pytest.mark.parametrize(
    "told",
    [
        "next look in: 15 s",
        "nächste Abfrage in 15 Sekunden",
        "następne pytanie za: 15 s",
        "15秒后再查",
    ],
)
def test_who_comes_back_when_the_answer_says_waits(told):
    states = [f"12 of 900 {told}"] * 6
    assert silent([Call("job", {"id": 7}, one, at=16.0 * n) for n, one in enumerate(states)])
    assert not silent([Call("job", {"id": 7}, one, at=3.0 * n) for n, one in enumerate(states)])


def test_people_who_share_a_mail_server_are_a_list():
    names = ("rezaei", "karimi", "nouri", "sadeghi", "moradi", "hosseini", "akbari", "jafari")
    letters = [
        Call(
            "ersal",
            {"be": f"{name}@{'kar' if n % 3 else 'manzel'}.example", "ghaleb": "anjoman"},
            {"vaziat": "ersal shod", "id": f"{n}b15db{n}"},
        )
        for n, name in enumerate(names)
    ]
    assert silent(letters)


@pytest.mark.parametrize("what", ["npm install {}", "git add {}", "docker rm {}", "mkdir -p {}"])
def test_one_program_with_ever_other_things_is_work(what):
    names = ["", "left", "right", "upper", "lower", "front", "back", "inner", "outer"]
    assert silent([Call("bash", {"command": what.format(name)}, "") for name in names])


SECRETS = (
    "AKIA", "ghp_", "xoxb-", "BEGIN RSA PRIVATE KEY", "sk_live_", "AIza", "password=", "eyJhbGci",
    "hooks.slack.com", "mongodb+srv://", "npm_",
)  # fmt: skip
SWEEPS = {
    "secrets": [Call("Grep", {"pattern": what}, "No matches found") for what in SECRETS],
    "secrets by shell": [Call("bash", {"command": f"rg -n '{what}' src"}, "") for what in SECRETS],
    "logs": [
        Call("bash", {"command": f"kubectl logs pod-{n} --since=1h | grep ERROR"}, "")
        for n in range(11)
    ],
    "named logs": [
        Call("bash", {"command": f"kubectl logs {name} --since=1h | grep ERROR"}, "")
        for name in "api billing cart docs events frontend gateway hooks images jobs".split()
    ],
    "machines": [
        Call("bash", {"command": f"ssh web{n} grep OOM /var/log/syslog"}, "", "error")
        for n in range(11)
    ],
    "quoted for machines": [
        Call("bash", {"command": f"ssh web{n} 'dmesg | grep OOM'"}, "Exit code 1", "error")
        for n in range(11)
    ],
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_search_for_different_things_that_finds_nothing_is_work(name):
    assert first(SWEEPS[name]) is None


def test_the_twelfth_thing_that_is_not_found_is_told():
    assert (
        first([*SWEEPS["secrets"], Call("Grep", {"pattern": "glpat-"}, "No matches found")]) == 11
    )


REWORDINGS = (
    "getUser", "get_user", "fetchUser", "user_get", "UserGetter", "loadUser", "findUser", "User",
)  # fmt: skip


@pytest.mark.parametrize("answer", ["No matches found", "Found 0 files"])
def test_one_search_in_other_words_that_finds_nothing_is_told(answer):
    assert first([Call("Grep", {"pattern": what}, answer) for what in REWORDINGS]) == 5


@pytest.mark.parametrize("answer", ['{"usable": false}', "j-7: wird gebaut", "j-7 仍在执行"])
def test_states_asked_for_in_turn_every_few_seconds(answer):
    begun = [Call("submit_job", {"n": n}, f"job j-{n}7", at=1.0 + n) for n in range(2)]
    polls = [
        Call("job_get", {"job": f"j-{n % 2}7"}, answer.replace("j-", f"j-{n % 2}"), at=5.0 * n)
        for n in range(1, 17)
    ]
    assert silent([*begun, *polls])
    hurried = [Call(c.tool, c.params, c.result, at=1.0 * n) for n, c in enumerate(polls, 3)]
    assert first([*begun, *hurried]) is not None


def test_numbers_that_belong_to_the_matter_are_no_order():
    asked = Message("Was ist 13 hoch 0.23 mal das Alter von Leo?")
    assert first([asked, *[Call("calculator", {"q": "Leo ** 0.23"}, "ungültige Syntax")] * 6])


def test_answers_of_one_form_whose_numbers_differ_are_news():
    calls = [
        Call(
            "web_search", {"query": f"question {n}"}, f"question {n}: by statistics, {n * 37 + 11}."
        )
        for n in range(12)
    ]
    assert silent(calls)


@pytest.mark.parametrize("verdict", ["accepted", "geprüft", "合格", "health check passed"])
def test_what_is_made_for_each_of_a_list_and_found_good_is_work(verdict):
    names = ("Anna Weber", "Jan Novak", "Li Wei", "Olga Petrova", "Kenji Sato", "Tom Baker",
             "Ines Costa", "Paul Roth", "Nina Klein", "Omar Aziz", "Lea Blanc",
             "Ivo Horak")  # fmt: skip
    run = []
    for number, name in enumerate(names):
        path = f"out/img_{number * 37:04x}.png"
        run += [
            Call("generate_image", {"prompt": f"portrait of {name}"}, {"path": path}),
            Call("inspect_image", {"path": path}, verdict),
        ]

    assert silent(run)


@pytest.mark.parametrize("too", [("too low", "too high"), ("zu klein", "zu groß"), ("小", "大")])
def test_a_range_that_is_halved_is_work(too):
    values = (500, 250, 375, 312, 343, 328, 335, 332)
    tries = [Call("try_value", {"x": x}, too[number % 2]) for number, x in enumerate(values)]

    assert silent(tries)


@pytest.mark.parametrize(
    "state", ["läuft noch", "处理中", "en cours", {"phase": "Hydrating"}, "0%"]
)
@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("check_build", {"id": 17}),
        ("auftrag_status", {"nr": 4}),
        ("bash", {"command": "./status.sh job-17"}),
    ],
)
def test_a_state_is_asked_for_with_pauses_whatever_it_is_called(state, tool, params):
    assert silent([Call(tool, params, state, at=100 + 8 * number) for number in range(8)])


def test_services_that_are_asked_in_turn_with_pauses_are_watched():
    asked = [
        Call(
            "check_health",
            {"service": ("api", "web", "db")[number % 3]},
            {"status": "healthy", "latency_ms": 20 + number * 7 % 13},
            at=60 * number,
        )
        for number in range(12)
    ]
    assert silent(asked)


def test_jobs_of_a_queue_that_end_alike_are_work():
    run = []
    for number in range(12):
        job = f"job-{number * 7919:05d}"
        run += [
            Call("pop_queue", {}, {"job": job, "kind": "resize"}),
            Call("run_job", {"job": job}, {"status": "done"}),
        ]
    assert silent(run)


@pytest.mark.parametrize("noted", ["", "ok", "Your thought has been recorded."])
def test_one_thought_after_the_other_is_work(noted):
    about = (
        "the parser",
        "its errors",
        "a cache",
        "old callers",
        "tests",
        "names",
        "speed",
        "docs",
    )
    thoughts = [f"Consider {what} in the light of {what[::-1]}" for what in about]
    assert silent([Call("think", {"thought": thought}, noted) for thought in thoughts])


@pytest.mark.parametrize(
    "done", ["The file was updated.", "Datei wurde geändert.", "已修改", "更新しました"]
)
def test_edits_before_each_build_that_passes_are_work_in_any_language(done):
    run = []
    for number in range(6):
        edit = {"path": "a.c", "old": f"{number}", "new": f"{number + 1}"}
        run += [
            Call("edit_file", edit, done),
            Call("bash", {"command": "make"}, "make: 'a' is up to date."),
        ]
    assert silent(run)


@pytest.mark.parametrize("answer", [{"state": "läuft"}, "status: 运行中", {"phase": "Hydrating"}])
def test_a_field_that_names_a_state_makes_a_poll_of_any_call_with_pauses(answer):
    asked = Call("bash", {"command": "curl -s api.test/job/9"}, answer)
    assert silent([Call(asked.tool, asked.params, answer, at=15 * number) for number in range(8)])


def test_checks_of_different_things_with_one_good_answer_are_work():
    hosts = ("alpha", "beacon", "cobalt", "delta", "ember", "falcon", "garnet", "harbor", "indigo",
             "jasper", "kettle", "lumen", "marble", "nickel")  # fmt: skip
    assert silent(
        [Call("check_ssl", {"host": host}, {"valid": True, "days": 90}) for host in hosts]
    )


def test_equal_requests_for_what_is_new_each_time_are_left_alone():
    queue = {"queue": "mails to customers of the shop"}
    people = ("anna", "bob", "carl", "dora", "emil", "fritz", "gerd", "hans")
    jobs = [f'{{"success": true, "job_id": {70 + n}, "to": "{p}"}}' for n, p in enumerate(people)]
    assert silent([Call("take_job", queue, job) for job in jobs])
    question = {"of": "BTC in EUR at Kraken today"}
    assert silent([Call("price", question, {"price": 70_000 + 37 * n}) for n in range(6)])


def test_a_note_after_each_reading_is_left_alone_though_notes_are_equal():
    note = {"text": "temperature is within its limits"}
    run = []
    for n in range(8):
        run += [Call("thermometer", {"room": "lab"}, f"{n}.{n * 7 % 10} °C, {n * 31 % 97} % humid")]
        run += [Call("add_note", note, f"note {n} saved")]
    assert silent(run)


def test_pages_that_name_the_next_one_are_left_alone():
    rows = [f"row {7 * n} of the table, row {7 * n + 3}, next: c{n + 1}" for n in range(9)]
    assert silent([Call("list", {"cursor": f"c{n}"}, row) for n, row in enumerate(rows)])
    etags = [
        Call("put", {"etag": f"v{n}", "row": "abcdefghi"[n]}, f"ok v{n + 1}") for n in range(9)
    ]
    assert silent(etags)


def test_a_list_of_names_that_get_one_unknown_answer_is_left_alone():
    names = ("anna", "bob", "carl", "dora", "emil", "fritz", "gerd", "hans", "ida", "jonas")
    for answer in ("Hier steht nichts zu diesem Namen.", "目录里查不到这个人"):
        for more in ({}, {"tabelle": "kunden"}):
            assert silent([Call("nachsehen", {**more, "name": name}, answer) for name in names])


@pytest.mark.parametrize(
    "word", ["läuft", "in Arbeit", "выполняется", "实行中", "실행 중", "kesken"]
)
def test_a_state_with_a_line_beside_it_is_watched_in_any_language(word):
    answer = {"task": "b3", "status": word, "output": "module 2 of 9"}
    assert silent([Call("view_task", {"id": "b3"}, answer, at=12.0 * n) for n in range(9)])


def test_a_note_on_each_new_reading_is_work_though_the_note_is_the_same():
    read = [Call("get_state", {"id": "s"}, f"{54 - n} degrees", at=900.0 * n) for n in range(9)]
    note = Call("add_note", {"text": "no change of plan"}, {"ok": True})
    assert silent([step for one in read for step in (one, note)])


@pytest.mark.parametrize("field", ["page {}", "chunk {}", "epoch {} of 90", "{}/90", "{} %"])
def test_a_number_that_grows_by_one_is_news_where_it_counts_the_work(field):
    reads = [Call("read_next", {"session": "s"}, field.format(n)) for n in range(1, 8)]
    assert silent(reads)


def test_looks_that_are_as_far_apart_as_the_limit_are_patience_for_six_of_them():
    run = {"status": "in_progress", "jobs": "eval: in_progress"}
    times = [0, 60, 180, 420, 900, 1800, 2700, 3600, 4500]
    assert silent([Call("run_status", {"id": 7}, run, at=float(t)) for t in times])
    hours = [900.0 * n for n in range(12)]
    assert not silent([Call("run_status", {"id": 7}, run, at=t) for t in hours])


def test_a_list_of_things_that_are_all_missing_is_gone_through():
    names = "birch cedar maple rowan aspen linden alder poplar".split()
    for answer, outcome in (("404 Not Found", "error"), ({"found": False}, "ok")):
        looks = [Call("get_user", {"id": name}, answer, outcome) for name in names]
        assert silent(looks[:6], in_doubt=False)


def test_a_log_that_grows_is_followed():
    def tail(number):
        lines = [f"12:0{number}:{n:02} request {number * 3 + n} served in 4 ms" for n in range(9)]
        return Call("bash", {"command": "tail -n 9 app.log"}, "\n".join(lines))

    assert silent([tail(number) for number in range(9)])


def test_a_search_that_uses_what_was_read_in_between_is_no_blind_one():
    steps = []
    for number, name in enumerate(["harbour", "meadow", "quarry", "orchard", "chapel"]):
        steps += [
            Call("find_file", {"name": f"{name}-{word}"}, "No matches found")
            for word in ("east", "west")[: 1 + number % 2]
        ]
        listing = f"folder {number}: {['meadow', 'quarry', 'orchard', 'chapel', 'mill'][number]}"
        steps.append(Call("list_folder", {"path": f"p{number}"}, f"{listing} and more of it here"))
    assert silent(steps)


@pytest.mark.parametrize("take", ["claim_job", "nimm_auftrag", "领取任务"])
def test_taking_one_after_the_other_from_a_queue_is_work(take):
    actions = []
    for n in range(8):
        done = {"job": f"J{n}", "note": "checked and put away"}
        actions += [Call(take, {}, f"J{n}"), Call("finish", done, f"J{n} done")]
    assert silent(actions)


def test_one_remark_on_each_new_reading_is_work():
    actions = []
    for n in range(8):
        note = {"text": "read the thermometer again"}
        actions += [
            Call("thermometer", {}, f"{20 + n}.{n} degrees"),
            Call("note", note, f"note {n}"),
        ]
    assert silent(actions)


@pytest.mark.parametrize("seconds", [3.0, 9.0])
def test_changes_between_which_the_looks_differ_are_work(seconds):
    actions = []
    for n in range(4):
        for code in ("x = 0", "y = x"):
            actions += [
                Call("edit", {"path": "a", "code": code}, f"edited: {code}"),
                Call("run_tests", {}, f"{n} passed, {9 - n} failed, first is {code}"),
            ]
    timed = [attrs.evolve(call, at=seconds * n) for n, call in enumerate(actions)]
    assert silent(timed[:12])


@pytest.mark.parametrize("notice", ["kontrola", "kontrola {}:15"])
@pytest.mark.parametrize(("pause", "left_alone"), [(1800.0, True), (20.0, False)])
def test_a_watch_that_a_timer_wakes_is_left_alone(notice, pause, left_alone):
    look = Call("run", {"command": "sh hladina.sh"}, "hladina 210 cm, prah 260 cm")
    actions = []
    for n in range(8):
        actions += [Message(notice.format(n), notification=True), attrs.evolve(look, at=pause * n)]
        actions += [Text("Hladina v normě, bez hlášení.")]
    assert silent(actions) is left_alone


def test_deeds_whose_answers_name_what_each_was_for_are_a_list():
    names = ["Chodba", "Pokoj 1", "Pokoj 2", "Pokoj 3", "Pokojík", "Chodbička", "Sklep"]
    actions = [
        Call(
            "TurnOn",
            {"name": name},
            {"kind": "answered", "data": {"lit": [{"name": name}]}, "x": []},
        )
        for name in names
    ]
    assert silent(actions)
    same = {"kind": "answered", "data": {"lit": [{"name": "Půda"}]}, "left_over": []}
    assert not silent([attrs.evolve(one, result=same) for one in actions] * 2)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("Schreib alle 30 Sekunden 'noch da' in den Kanal.", 31),
        ("30秒ごとに信号を送ってください。", 33),
        ("Co 2 godziny wysyłaj sygnał.", 7210),
    ],
)
def test_what_the_user_wants_at_intervals_is_no_loop(asked, seconds):
    posts = [
        Call("post", {"text": "still here"}, {"ok": True}, at=float(seconds * n)) for n in range(9)
    ]
    assert silent([Message(asked), *posts])
    assert not silent([Message("Post 'still here'."), *posts])


def test_nobody_repeats_a_call_each_minute_by_chance():
    posts = [Call("post", {"text": "still here"}, {"ok": True}, at=62.0 * n) for n in range(25)]
    assert first([Message("Post 'still here' every minute."), *posts]) == 21


def test_what_fails_at_intervals_is_told():
    posts = [Call("post", {"text": "x"}, "error: no such channel", at=61.0 * n) for n in range(5)]
    assert not silent([Message("Post it every minute."), *posts])


@pytest.mark.parametrize("asked", ["501, 502, 503, 504, 505 and 506", "501-506", "501 – 506"])
def test_a_list_of_the_user_is_gone_through(asked):
    lent = [Call("χρέωση", {"who": 77, "book": 501 + n}, "έγινε - 15/11") for n in range(6)]
    assert silent([Message(f"Lend Maria (77) the books {asked}"), *lent])
    assert not silent([Message(f"Lend Maria (77) the books {asked}"), *[lent[0]] * 4])


def test_a_number_that_moves_in_the_answer_is_news():
    steps = (0, 4, 17, 35, 58, 81)
    job = '{{"name": "operations/plan-r2", "metadata": {{"percentage": {}}}, "done": false}}'
    start = Call("vorgang_starten", {"plan": "plan-r2"}, job.format(0))
    look = Call("vorgang_abfragen", {"name": "operations/plan-r2"})
    looks = [
        attrs.evolve(look, result=job.format(step), at=10.0 * n) for n, step in enumerate(steps)
    ]
    assert silent([start, *looks])


@pytest.mark.parametrize("state", ["cancelled", "abgebrochen", "已取消", "في الانتظار"])
def test_a_state_that_is_asked_for_without_a_pause_is_told_in_any_language(state):
    """In other languages only a pause tells that an agent waits for what may still move."""
    order = Call("order", {"n": 1}, {"order": "A-1"}, at=6.0)
    looks = [
        Call("status", {"order": "A-1"}, {"order": "A-1", "status": state}, at=6.0 * n)
        for n in range(2, 7)
    ]
    assert first([order, *looks]) == 3


def test_a_reading_at_an_interval_that_only_a_clock_keeps_is_work():
    """Whoever looks every ten minutes was told to, in whatever words."""
    looks = [Call("level", {"river": "Elbe"}, {"cm": 214}, at=600.0 * n) for n in range(1, 9)]
    slow = [Call("note", {"text": n}, f"noted {n}", at=300.0 * n) for n in range(1, 4)]
    hurried = [Call("level", {"river": "Elbe"}, {"cm": 214}, at=300.0 * n) for n in range(4, 9)]

    assert silent(looks)
    assert first([*slow, *hurried]) is not None  # each turn of this run takes as long
