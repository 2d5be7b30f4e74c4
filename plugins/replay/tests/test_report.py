"""``trimtab report``: one file that holds all, fetches nothing and obeys no transcript."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trimtab_replay._report import embedded, visible

from .conftest import call

EVIL = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'
LOOP = {
    "id": EVIL,
    "calls": [call(tool=EVIL, result=f"{EVIL}\u202e\x07", turn=n) for n in range(12)],
}
QUIET = {"id": "quiet", "calls": [call(turn=0), call(turn=0)]}


@pytest.fixture
def page(run, write_cases, tmp_path):
    """A report of a loop and a quiet run, as text."""
    path = tmp_path / "report.html"
    status, printed, _ = run(
        *("report", write_cases(LOOP, QUIET), "--enable", "repeats", "-o", path),
        *("--title", f"Runs {EVIL}"),
    )
    assert (status, "2 runs" in printed) == (0, True)
    return path.read_text()


def data_of(page):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
    )


def test_it_holds_each_run_with_its_turns_and_nudges(page):
    data = data_of(page)
    loop, quiet = data["runs"]

    assert (data["calls"], loop["strip"], quiet["strip"]) == (14, "o" * 12, "p")
    assert [nudge["call"] for nudge in loop["nudges"]] == [2, 5, 8]
    assert quiet["nudges"] == []
    assert data["providers"][0] | {"tokens": 0} == {
        "name": "repeats",
        "runs": 1,
        "nudges": 3,
        "first": 2,
        "tokens": 0,
    }


def test_a_dash_writes_it_to_standard_output(run, write_cases, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ("report", write_cases(LOOP, QUIET), "--enable", "repeats", "--title", f"Runs {EVIL}")
    status, printed, _ = run(*given, "-o", "-")
    assert (status, printed.strip()) == (0, page.strip())
    assert not Path("-").exists()


def test_no_path_of_the_users_home_is_in_it(run, write_cases, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    facts = {"args": {"file": f"{tmp_path}/x.py"}, "result": f"in {tmp_path}"}
    cases = write_cases({"id": "a", "calls": [call(turn=n, **facts) for n in range(4)]})

    run("report", cases, "--enable", "repeats", "-o", tmp_path / "r.html")

    page = (tmp_path / "r.html").read_text()
    assert str(tmp_path) not in page
    assert "~/x.py" in page


def test_a_run_is_named_by_the_users_first_words(run, tmp_path):
    words = {"user": "Fix the build.", "assistant": "Done."}
    rows = [{"role": role, "content": text} for role, text in words.items()]
    (tmp_path / "chat.json").write_text(json.dumps({"messages": rows}))

    run("report", tmp_path / "chat.json", "--enable", "repeats", "-o", tmp_path / "r.html")

    assert data_of((tmp_path / "r.html").read_text())["runs"][0]["title"] == "Fix the build."


def test_what_did_not_reach_the_agent_is_told_once_with_its_number(page):
    assert data_of(page)["runs"][0]["notes"] == [["suppressed", "repeats", "cooling down", 3, 3]]


def test_calls_around_a_nudge_are_held_whole(page):
    held = [len(step) == 6 for step in data_of(page)["runs"][0]["steps"]]

    assert held == [True] * 12
    assert [len(step) for step in data_of(page)["runs"][1]["steps"]] == [5, 5]


def test_text_from_transcripts_is_never_markup(page):
    assert page.lower().count("<script") == page.lower().count("</script") == 2
    assert "<img" not in page
    assert data_of(page)["runs"][0]["id"] == EVIL
    assert data_of(page)["runs"][0]["steps"][0][5] == f"{EVIL}\\u202e\\x07"


TEXTS = {
    "back": ("text", "faint", "accent"),
    "card": ("text", "faint", "accent", "bad", *(f"p{n}" for n in range(8))),
    "mark": ("text", "faint", "bad"),
}


def test_all_text_has_the_contrast_of_wcag_aa(page):
    light, dark = re.findall(r":root \{(.*?)\}", page, re.DOTALL)[:2]
    for colours in (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in (light, dark)):
        for back, texts in TEXTS.items():
            for text in texts:
                assert contrast(colours[text], colours[back]) >= 4.5, (text, back)
        for n in range(8):
            quoted = mixed(colours[f"p{n}"], colours["card"], 0.09)  # as `blockquote` has it
            assert contrast(colours["text"], quoted) >= 4.5


def channels(colour):
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def mixed(colour, back, share):
    pairs = zip(channels(colour), channels(back), strict=True)
    return "#" + "".join(f"{round(share * one + (1 - share) * other):02x}" for one, other in pairs)


def contrast(one, other):
    """The ratio that WCAG 2 defines, 1 to 21."""

    def luminance(colour):
        parts = [value / 255 for value in channels(colour)]
        red, green, blue = [
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        ]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_it_fetches_nothing_and_runs_only_its_own_script(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]

    assert re.fullmatch(r"default-src 'none'; style-src '\S+'; script-src 'sha256-\S+'", policy)
    assert re.findall(r'(?:src|href)="?(?:https?:)?//', page) == []


def test_the_same_runs_give_the_same_file(page, run, write_cases, tmp_path):
    again = tmp_path / "again.html"
    arguments = ("--enable", "repeats", "-o", again, "--title", f"Runs {EVIL}", "--jobs", 2)
    run("report", write_cases(LOOP, QUIET), *arguments)

    assert again.read_text() == page


def test_what_was_not_read_is_in_it(run, write_cases, tmp_path):
    cases = write_cases(QUIET)
    cases.write_text(cases.read_text() + "{torn\n")
    path = tmp_path / "report.html"
    status, _, _ = run("report", cases, "--enable", "repeats", "-o", path)

    assert status == 1
    assert f"{cases}:2: " in data_of(path.read_text())["skipped"][0]


@given(st.text())
def test_any_text_can_be_embedded_and_read_back(text):
    told = embedded({"text": text})

    assert json.loads(told) == {"text": text}
    assert not set("<>&\u2028") & set(told)
    assert told.isascii()


@given(st.text())
def test_nothing_invisible_is_left(text):
    assert all(c.isprintable() or c in "\n\t" or ord(c) > 0x7F for c in visible(text))
    assert not set("\u202e\u2066\u200b\x1b") & set(visible(text))


def test_a_title_of_any_bytes_is_shown(run, write_cases, tmp_path):
    path, target = write_cases(LOOP), tmp_path / "r.html"
    title = "a\udcff</title><script>"
    status, _, _ = run("report", path, "--enable", "repeats", "-o", target, "--title", title)

    assert status == 0
    assert "<title>a\\udcff&lt;/title&gt;&lt;script&gt;</title>" in target.read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_named(run, write_cases):
    status, _, said = run("report", write_cases(LOOP), "--enable", "repeats", "-o", "/dev/full")

    assert (status, "can't write /dev/full: No space left" in said) == (2, True)


@pytest.mark.parametrize("target", ["none/r.html", "."])
def test_a_place_where_nothing_can_be_written_is_told_before_the_work(
    run, write_cases, tmp_path, target
):
    arguments = ("--enable", "repeats", "-o", tmp_path / target)
    status, _, said = run("report", write_cases(LOOP), *arguments)

    assert (status, "name a file in a folder that is there" in said) == (2, True)
