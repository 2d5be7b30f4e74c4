"""A trace as a page: complete, searchable, and harmless whatever stands in the trace."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trimtab.__main__ import main
from trimtab_trace import JsonlStore, JsonlTrace, TraceEvent, TraceWriter, open_trace
from trimtab_trace._page import aligned

from .making import START
from .running import drive, prompt


class Page(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def event(kind: str) -> TraceEvent:
    return TraceEvent(
        event_type=kind, payload={}, event_id=kind, run_id="run", timestamp=START, seq=0
    )


def opened(trace: Path, page: Path) -> Page:
    assert main(["trace", "open", str(trace), "-o", str(page)]) == 0
    return Page(page.read_text(encoding="utf-8"))


def test_every_event_stands_on_the_page_and_what_was_said_stands_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive(prompt(JsonlTrace(str(tmp_path))))
    trace = tmp_path / "run-1.jsonl"
    page = opened(trace, tmp_path / "page.html")
    events = list(open_trace(trace))
    classes = [told.get("class") or "" for tag, told in page.tags if tag == "details"]
    rows = [each for each in classes if each.startswith("event")]
    assert len(rows) == len(events)
    said = [event for event in events if event.event_type == "GuidanceDelivered"]
    assert rows.count("event said") >= len(said) > 0
    assert said[0].payload["injection"]["content"] in page.texts
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}: {len(events)} events\n"


def test_text_of_a_trace_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    writer = TraceWriter(JsonlStore(path))
    evil = (
        "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\ud800\x1b[31m"
    )
    writer.write(evil, {"content": evil, evil: [evil]}, run_id=evil, actor=evil)
    writer.write("GuidanceDelivered", {"injection": {"content": evil}})
    writer.write("GuidanceDelivered", {"injection": "x"})
    writer.close()
    page = opened(path, tmp_path / "page.html")
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "img" not in {tag for tag, _ in page.tags}
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    drive(prompt(JsonlTrace(str(tmp_path))))
    page = opened(tmp_path / "run-1.jsonl", tmp_path / "page.html")
    policy = next(told["content"] for _, told in page.tags if "http-equiv" in told)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not any({"src", "href", "style", "onclick"} & told.keys() for _, told in page.tags)


def test_a_page_that_can_not_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive(prompt(JsonlTrace(str(tmp_path))))
    page = tmp_path / "no" / "page.html"
    assert main(["trace", "open", str(tmp_path / "run-1.jsonl"), "-o", str(page)]) == 2
    assert "can't write" in capsys.readouterr().err


def test_two_traces_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, threshold in (("a", 3), ("b", 2)):
        drive(prompt(JsonlTrace(str(tmp_path / folder)), threshold=threshold))
    one, other = tmp_path / "a" / "run-1.jsonl", tmp_path / "b" / "run-1.jsonl"
    path = tmp_path / "page.html"

    assert main(["trace", "diff", str(one), str(other), "-o", str(path)]) == 1
    differing = int(capsys.readouterr().out.split(": ")[1].split()[0])
    page = Page(path.read_text(encoding="utf-8"))
    classes = [told.get("class") for _, told in page.tags]
    assert classes.count("pair") == differing > 0
    assert classes.count("pair same") > differing
    rows = sum(str(each).startswith("event") for each in classes)
    assert rows == len(list(open_trace(one))) + len(list(open_trace(other)))
    assert main(["trace", "diff", str(one), str(one), "-o", str(path)]) == 0


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_side_by_side_nothing_is_lost_and_only_equal_events_are_the_same(
    one: list[str], other: list[str]
) -> None:
    left, right = ([event(name) for name in names] for names in (one, other))
    rows = list(aligned(left, right))

    assert [a for a, _, _ in rows if a is not None] == left
    assert [b for _, b, _ in rows if b is not None] == right
    for a, b, same in rows:
        assert same == (a is not None and b is not None and a.event_type == b.event_type)
