"""``trimtab replay``: selection, output, exit statuses, processes."""

from __future__ import annotations

import gc
import io
import json
import multiprocessing
import threading

import pytest

from trimtab import Session
from trimtab.inspection import refresh
from trimtab_replay import _file
from trimtab_replay._results import Decision, Note, Replayed
from trimtab_replay._timeline import Screen, cells, fit, show, wrap

from .conftest import call
from .telling import DATA

LINE_KEYS = ["format", "id", "path", "reader", "calls", "turns", "decisions", "notes"]
DECISION_KEYS = [
    *("provider", "kind", "point", "turn", "call", "key", "category"),
    *("severity", "confidence", "level", "reason", "text"),
]
LOOP = {"id": "loop", "calls": [call(turn=0), call(turn=1), call(turn=2)]}
QUIET = {"id": "quiet", "calls": [call(turn=0)]}
PLAN = {"event": "stop", "plan": [{"t": "test", "s": "pending"}]}


def lines(printed):
    return [json.loads(line) for line in printed.splitlines()]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_a_provider_prints_is_no_part_of_the_json(run, write_cases, tmp_path, jobs):
    site = tmp_path / "site"
    (site / "chatty.py").write_text(
        "from trimtab import NOT_RELEVANT\n"
        "print('hello from import')\n"
        "class Chatty:\n"
        "    name = category = 'chatty'\n"
        "    def classify(self, *, context): print('hello again'); return NOT_RELEVANT\n"
        "    def provide(self, *, context): ...\n"
    )
    info = site / "chatty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chatty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trimtab.guidance]\nchatty = chatty:Chatty\n")
    refresh()
    paths = [write_cases(LOOP, name=f"{n}.jsonl") for n in range(2)]

    status, printed, said = run(*("replay", *paths, "--enable", "chatty", "--json", "--jobs", jobs))

    assert status == 0
    assert [line["id"] for line in lines(printed)] == ["loop", "loop"]
    assert jobs == "2" or "hello from import\nhello again" in said


def test_json_has_the_documented_keys_in_their_order(run, write_cases):
    status, printed, said = run("replay", write_cases(LOOP), "--enable", "repeats", "--json")
    (line,) = lines(printed)

    assert (status, said, list(line)) == (0, "", LINE_KEYS)
    assert list(line["decisions"][0]) == DECISION_KEYS
    assert line["decisions"] == [
        {
            "provider": "repeats",
            "kind": "guidance",
            "point": "pre_tool_selection",
            "turn": 2,
            "call": 2,
            "key": "again",
            "category": "repeats",
            "severity": None,
            "confidence": 1.0,
            "level": 1,
            "reason": "3 times over",
            "text": "Step 3 again.",
        }
    ]


def test_every_kind_of_decision_is_told_with_nulls_where_nothing_applies(run, write_cases):
    path = write_cases({"id": "x", "calls": [call(turn=0), PLAN]})
    _, printed, _ = run("replay", path, "--enable", "watch", "--enable", "planned", "--json")
    feedback, completion = lines(printed)[0]["decisions"]

    assert (feedback["kind"], feedback["severity"], feedback["call"]) == ("feedback", "caution", 0)
    assert (completion["kind"], completion["call"], completion["text"]) == (
        *("completion", 1),
        "1 steps are open",
    )
    assert {feedback["point"], feedback["level"], completion["key"], completion["severity"]} == {
        None
    }


def test_the_timeline_says_turn_call_who_why_and_the_text(run, write_cases):
    status, printed, _ = run("replay", write_cases(LOOP, QUIET), "--enable", "repeats")

    assert status == 0
    for told in ("turn 2, call 2  ls", "repeats", "3 times over", "| Step 3 again.", "quiet"):
        assert told in printed
    assert "\x1b" not in printed


def test_the_summary_lists_silent_providers_too(run, write_cases):
    _, printed, _ = run("replay", write_cases(LOOP), "--enable", "repeats", "--enable", "planned")
    rows = {row.split()[0]: row.split()[1:] for row in printed.splitlines()[-3:]}

    assert rows["repeats"][:4] == ["1", "1", "2", "33.33"]
    assert rows["planned"][:3] == ["0", "0", "–"]


def test_an_option_is_set_as_a_toml_value(run, write_cases):
    path = write_cases(LOOP)
    _, printed, _ = run("replay", path, "--enable", "repeats", "--set", "repeats.times=2", "--json")

    assert [decision["call"] for decision in lines(printed)[0]["decisions"]] == [1]


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000, "three"])
def test_a_value_that_toml_lacks_is_named(run, write_cases, value):
    status, printed, error = run(
        "replay", write_cases(LOOP), "--enable", "repeats", "--set", f"repeats.times={value}"
    )

    assert (status, printed) == (2, "")
    assert error.startswith(f"trimtab: '{value[:3]}")
    assert "is not a TOML value" in error
    assert len(error) < 400


def test_a_setting_and_a_trigger_are_set_alike(run, write_cases):
    arguments = ["--enable", "watch", "--set", "watch.every_n_calls=2", "--json"]
    _, printed, _ = run("replay", write_cases(LOOP), *arguments)

    assert [decision["call"] for decision in lines(printed)[0]["decisions"]] == [1]


def test_a_configured_prompt_is_asked(run, write_cases, tmp_path):
    config = tmp_path / "trimtab.toml"
    config.write_text(
        '[prompts."a/b"]\nguidance = [{ use = "repeats", options = { times = 2 } }]\n'
    )
    _, printed, _ = run(
        "replay", write_cases(LOOP), "--config", config, "--prompt", "a/b", "--json"
    )

    assert lines(printed)[0]["decisions"][0]["call"] == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--all"),
        (["--enable", "repeat"], "Did you mean 'repeats'"),
        (["--all", "--enable", "repeats"], "choose one"),
        (["--enable", "repeats", "--set", "repeats.times"], "NAME.OPTION=VALUE"),
        (["--enable", "repeats", "--set", "repeats.times=many"], "quote text"),
        (["--enable", "repeats", "--set", "repeats.tims=2"], "times"),
        (["--enable", "repeats", "--set", "repeats.holdout=2"], "holdout"),
        (["--enable", "repeats", "--set", "watch.x=2"], "not selected"),
        (["--enable", "repeats", "--reader", "word"], "no reader 'word'"),
        (["--all", "--set", "acme:repeats.tims=2"], "no option 'tims'"),
    ],
)
def test_what_can_t_be_asked_is_refused_with_the_remedy(run, write_cases, arguments, told):
    status, printed, said = run("replay", write_cases(LOOP), "--json", *arguments)

    assert (status, printed) == (2, "")
    assert told in said


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--deadline", "soon"),
        ("--deadline", "nan"),
        ("--since", "yesterday"),
        ("--since", "99999999999d"),
        ("--limit", "0"),
        ("--jobs", "two"),
    ],
)
def test_a_value_that_is_none_is_named(run, write_cases, capsys, option, value):
    with pytest.raises(SystemExit):
        run("replay", write_cases(LOOP), "--all", option, value)

    assert f"{option}: '{value}' is not a " in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_file_in_another_encoding_is_told_so(run, tmp_path, write_cases, encoding):
    text = write_cases(LOOP).read_text(encoding="utf-8")
    (tmp_path / "run.jsonl").write_text(text, encoding=encoding)
    status, _, said = run("replay", tmp_path / "run.jsonl", "--all", "--json")

    assert status == 1
    assert "run.jsonl: it is in UTF-16 or UTF-32; save it as UTF-8" in said


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_file_is_called_empty(run, tmp_path, text):
    (tmp_path / "run.jsonl").write_text(text)
    status, _, said = run("replay", tmp_path / "run.jsonl", "--all", "--json")

    assert status == 1
    assert "it is empty" in said


def test_a_case_s_configuration_goes_to_the_provider_that_it_concerns(run, write_cases):
    case = {**LOOP, "concerns": "Repeats", "config": {"times": 2}}
    _, printed, _ = run("replay", write_cases(case), "--enable", "repeats", "--json")

    assert lines(printed)[0]["decisions"][0]["call"] == 1


def test_all_asks_everyone_and_goes_on_without_those_that_fail(run, write_cases, tmp_path):
    info = tmp_path / "site" / "trimtab_ruin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trimtab-ruin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trimtab.guidance]\nruin = no_such_module:Ruin\n")
    refresh()
    status, printed, _ = run("replay", write_cases(LOOP), "--all", "--json")
    line = lines(printed)[0]

    assert status == 1  # one of them, `broken`, raises
    assert "repeats" in {decision["provider"] for decision in line["decisions"]}
    assert "ruin" in {note["provider"] for note in line["notes"] if note["event"] == "skipped"}


@pytest.mark.parametrize("way", sorted({_file._way_to_start(), "spawn"}))
def test_any_number_of_jobs_prints_the_same(run, write_cases, tmp_path, monkeypatch, way):
    if way == "fork" and _file._way_to_start() != way:
        pytest.skip("another test left a thread behind")
    monkeypatch.setattr(_file, "_way_to_start", lambda: way)
    for number in range(4):
        write_cases({**LOOP, "id": f"n{number}"}, QUIET, name=f"{number}.jsonl")
    arguments = ["replay", tmp_path, "--enable", "points", "--enable", "broken", "--json"]
    alone, several = run(*arguments), run(*arguments, "--jobs", 3)

    assert len(lines(alone[1])) == 8
    assert alone == several


def test_a_process_with_threads_is_not_forked():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    way = _file._way_to_start()
    done.set()
    thread.join()

    assert way == "spawn"


def test_a_process_in_which_a_provider_started_a_thread_is_not_forked(
    run, write_cases, tmp_path, monkeypatch
):
    done, ways = threading.Event(), []
    prepare, get_context = _file._prepare, multiprocessing.get_context

    def import_a_client(job):
        prepare(job)
        threading.Thread(target=done.wait).start()

    def context(way):
        ways.append(way)
        return get_context(way)

    monkeypatch.setattr(_file, "_prepare", import_a_client)
    monkeypatch.setattr(multiprocessing, "get_context", context)
    for number in range(2):
        write_cases(LOOP, name=f"{number}.jsonl")
    run("replay", tmp_path, "--enable", "points", "--jobs", 2)
    done.set()

    assert ways == ["spawn"]


def test_sessions_of_runs_that_ended_are_freed_between_two_collections(run, write_cases):
    many = {"calls": [call(turn=turn, result=f"{turn}") for turn in range(40)]}
    path = write_cases(*({**many, "id": str(number)} for number in range(60)))
    before, most = gc.get_threshold(), []
    listen = _file._free_session

    def count():
        listen()
        most.append(sum(isinstance(each, Session) for each in gc.get_objects()))

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_file, "_free_session", count)
            run("replay", path, "--enable", "repeats", "--json", "--jobs", 1)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)

    assert len(most) == 60
    assert max(most) < 20


def test_a_limit_may_be_any_number(run, write_cases):
    arguments = ("--enable", "repeats", "--json", "--limit", 10**30)

    assert len(lines(run("replay", write_cases(LOOP), *arguments)[1])) == 1


def test_the_summary_counts_runs_not_notes(run, write_cases):
    _, printed, _ = run("replay", write_cases(LOOP, {**LOOP, "id": "x"}), "--enable", "broken")

    assert "fault in 2 runs: broken" in printed


def test_a_limit_ends_the_reading(run, write_cases):
    _, printed, _ = run(
        *("replay", write_cases(LOOP, QUIET), "--enable", "repeats", "--json", "--limit", 1)
    )

    assert [line["id"] for line in lines(printed)] == ["loop"]


@pytest.mark.parametrize(("since", "runs"), [("1999-12-31", 1), ("2000-01-02", 0), ("3d", 0)])
def test_older_runs_and_those_without_a_time_are_left_out(run, write_cases, since, runs):
    timed = {"id": "timed", "calls": [{"event": "user_message", "text": "go", "t": 5}]}
    status, printed, said = run(
        *("replay", write_cases(timed, QUIET), "--enable", "repeats", "--json", "--since", since)
    )

    assert (status, len(lines(printed))) == (0, runs)
    assert f"runs left out, older than asked for or without a time: {2 - runs}" in said


def test_a_torn_line_is_named_and_the_rest_is_read(run, write_cases):
    path = write_cases(QUIET)
    path.write_text(path.read_text() + '{"id": "torn", "calls": [')
    status, printed, said = run("replay", path, "--enable", "repeats", "--json")

    assert (status, len(lines(printed))) == (1, 1)
    assert f"{path}:2: " in said


def test_a_file_that_is_no_transcript_fails_by_name_and_is_counted_in_a_folder(run, tmp_path):
    notes = tmp_path / "runs" / "notes.md"
    notes.parent.mkdir()
    notes.write_text("# Notes\n")
    named = run("replay", notes, "--enable", "repeats", "--json")
    walked = run("replay", notes.parent, "--enable", "repeats", "--json")

    assert (named[0], walked[0]) == (1, 1)
    assert "no reader knows this format" in named[2]
    assert "other files, no transcripts: 1" in walked[2]


def test_a_transcript_of_claude_code_is_replayed(run):
    status, printed, _ = run("replay", DATA / "claude-code.jsonl", "--enable", "points", "--json")

    assert (status, {line["reader"] for line in lines(printed)}) == (0, {"claude-code"})
    assert sum(line["calls"] for line in lines(printed)) == 7


HOSTILE = "\x1b[31mred\x07 \u202eback \ud800 <b>"


def hostile():
    decision = Decision(
        provider=HOSTILE, kind="guidance", turn=0, call=0, reason=HOSTILE, text=HOSTILE * 30
    )
    note = Note(event="fault", provider=HOSTILE, kind="guidance", turn=0, call=0, message=HOSTILE)
    return Replayed(
        id=HOSTILE,
        path="p",
        reader="r",
        calls=1,
        turns=1,
        decisions=(decision,),
        notes=(note,),
    )


def test_a_terminal_is_sent_nothing_that_it_would_obey():
    stream = io.StringIO()
    show(hostile(), Screen(stream, 80, colours=False))

    assert all(c.isprintable() or c == "\n" for c in stream.getvalue())


@pytest.mark.parametrize("width", [40, 57, 120])
def test_no_line_is_wider_than_the_terminal(width):
    stream = io.StringIO()
    show(hostile(), Screen(stream, width, colours=False))

    assert max(map(cells, stream.getvalue().splitlines())) <= width


def test_colours_are_for_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    coloured = Screen.of(Terminal()).colours
    monkeypatch.setenv("NO_COLOR", "1")

    assert (coloured, Screen.of(Terminal()).colours, Screen.of(io.StringIO()).colours) == (
        *(True, False),
        False,
    )


def test_wide_characters_take_two_columns():
    assert (cells("ab"), cells("日本"), cells("e\u0301")) == (2, 4, 1)
    assert fit("日本日本", 5) == "日本…"
    assert list(wrap("日本 日本 ab", 5)) == ["日本", "日本", "ab"]


POLICY = """
from trimtab_test_speakers import Repeats


class Twin(Repeats):
    pass


class Policy(Repeats):
    is_policy = True

    def __init__(self):
        super().__init__(name="plan-first")
"""


@pytest.mark.parametrize("command", ["replay", "report"])
def test_twins_and_policies_are_left_out_and_named(run, write_cases, tmp_path, command):
    info = tmp_path / "site" / "acme_more-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-more\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[trimtab.guidance]\nrepeats = acme_more:Twin\nplan-first = acme_more:Policy\n"
    )
    (tmp_path / "site" / "acme_more.py").write_text(POLICY)
    refresh()
    out = ["-o", tmp_path / "page.html"] if command == "report" else []
    asked = ["--all"] if command == "replay" else []
    status, printed, said = run(command, write_cases(LOOP), *asked, *out)
    assert status == 1  # two of the providers of these tests fail
    assert "plan-first is a policy, not asked unless named: --enable plan-first" in said
    assert "'acme-more:repeats', 'trimtab-test-speakers:repeats'" in said
    assert "Step 3 again" not in printed
    _, printed, _ = run("replay", write_cases(LOOP), "--enable", "acme-more:repeats")
    assert "Step 3 again" in printed
