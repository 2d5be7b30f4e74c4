"""What a harness puts around an answer is no part of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from trimtab import Outcome
from trimtab_signals import Calls
from trimtab_signals._envelope import arguments_of, opened
from trimtab_signals._frame import without_frame
from trimtab_testing import Call, Player

SAID = "src/a.py: 3 matches\nsrc/b.py: 1 match"


@pytest.mark.parametrize(
    "framed",
    [
        "Exit code: 0\nWall time: 0.31 seconds\nOutput:\n{}",
        "Chunk ID: 4f2a\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n{}",
        "<returncode>0</returncode>\n<output>\n{}\n</output>",
        '<result name="grep" id="call_9">\n{}\n</result>',
        "Observation: {}",
        "OBSERVATION:\n{}\n",
        "[Step 3/60]\n{}",
        "{}\n\n(turn 3 of 80)",
        "{}\nENVIRONMENT REMINDER: You have 57 turns left to complete the task.",
        "{}\n[tokens used: 1931 | cost: $0.0123 | time: 1.2s]",
        "{}\nuser@build-7:~/project$ ",
        "{}\n(Open file: n/a)\n(Current directory: /repo)\nbash-$",
        "{}\n... (output truncated to 8000 characters)",
        "{}\n<system-reminder>\nThe list is stale.\n</system-reminder>",
        "Tool grep returned in 41 ms:\n{}",
        "Result of grep:\n```\n{}\n```",
        "> grep {{}}\n{}",
        "[2026-03-01 12:00:07] {}",
        "\n\n{}\r\n",
        "{}\n\nrequest_id=4f2a9c duration_ms=412",
        "{}\n\n<budget>used 1227 tokens, 179913 left</budget>",
        "trace=4f2a took=1.2s tokens=300\n{}",
        "  3%\r 47% [####      ] 9.1 kB/s\r100% [##########] 12.4 kB/s\n{}",
        "Downloading: 100%|██████████| 4/4\n{}",
        "fetch [=====>    ] 52%\n{}",
        '<tool_response id="4f">\n<status>ok</status>\n<body>\n{}\n</body>\n</tool_response>',
    ],
)
def test_the_frame_of_a_harness_is_taken_off(framed):
    text = framed.replace("{}", SAID, 1) if "{{" not in framed else framed.format(SAID)

    assert without_frame(text.replace("\r", ""), "grep") == SAID


@pytest.mark.parametrize("before", ["2026-03-01T12:00:0{}.07Z ", "[2026-03-01 12:00:0{}] INFO - "])
def test_a_time_on_each_line_is_a_frame_and_one_on_some_is_none(before):
    lines = [before.format(number) + line for number, line in enumerate(SAID.split("\n"))]
    assert without_frame("\n".join(lines)) == SAID
    some = "\n".join([*lines, "ended"])
    assert without_frame(some) == some.removeprefix(before.format(0))


@pytest.mark.parametrize(
    "answer",
    [
        "Step 3/60",
        "done 3 of 60",
        "[1, 2, 3]",
        "name: x\nversion: 2\noutput:\n  dir: y",
        "<html>\n<body>turn 3 of 80</body>\n</html>",
        "import re\n\nx = {\n  'a': 1,\n}",
        "FAILED tests/test_a.py::test_b\n3 failed, 2 passed in 0.12s",
        "Uploading\n40%",
    ],
)
def test_an_answer_without_a_frame_stays_whole(answer):
    assert without_frame(answer, "read") == answer


@pytest.mark.parametrize(
    ("envelope", "said"),
    [
        ({"stdout": SAID, "stderr": "", "exit_code": 0, "duration_ms": 12}, SAID),
        ({"success": True, "result": SAID, "requestId": "a1"}, SAID),
        ({"content": [{"type": "text", "text": SAID}], "isError": True}, SAID),
        ({"jsonrpc": "2.0", "id": 7, "result": {"output": f"[Step 3/60]\n{SAID}"}}, SAID),
        ({"stdout": "", "stderr": "", "exit_code": 1}, ""),
        ({"title": "a", "requestId": "b", "tookMs": 4}, {"title": "a"}),
        ({"id": 17, "title": "a"}, {"id": 17, "title": "a"}),
        ({"items": [], "requestId": "b", "tookMs": 4}, {"items": []}),
        ({"error": None, "time": "12:03"}, {"error": None, "time": "12:03"}),
        ({"status": "running", "output": "line"}, {"status": "running", "output": "line"}),
    ],
)
def test_an_envelope_is_opened_as_an_object_and_as_text(envelope, said):
    assert opened(envelope, "run", None)[0] == said
    assert opened(json.dumps(envelope), "run", None)[0] in (said, json.dumps(said))


def test_a_failure_inside_an_envelope_is_a_failure():
    inner = json.dumps({"success": False, "error": "target is required"})
    trajectory = Player().play([Call("send", {}, {"output": inner, "ok": True})]).trajectory

    (call,) = trajectory.follow(Calls).recent(1)
    assert call.failed
    assert call.output == "target is required"


def test_the_status_in_a_frame_counts_and_is_not_quoted():
    answer = "make: *** [all] Error 2\n[The command completed with exit code 2.]"
    trajectory = (
        Player().play([Call("bash", {"command": "make"}, f"Exit code: 2\n{answer}")]).trajectory
    )

    (call,) = trajectory.follow(Calls).recent(1)
    assert call.failed
    assert "exit code" not in call.output


def test_an_error_without_words_stays_without_words_in_a_frame():
    call = Call("bash", {"command": "grep x a"}, "[Step 1/60]\n", outcome=Outcome.ERROR)

    assert not Player().play([call]).trajectory.follow(Calls).recent(1)[0].failed


def test_arguments_are_found_in_json_text_and_below_one_field():
    assert arguments_of('{"path": "a"}') == {"path": "a"}
    assert arguments_of({"arguments": {"path": "a"}}) == {"path": "a"}
    assert arguments_of({"input": "text"}) == {"input": "text"}
    assert arguments_of("{no json") == "{no json"


@given(st.text(max_size=400))
def test_taking_a_frame_off_twice_takes_off_no_more_of_hostile_text(text):
    once = without_frame(text, "t")

    assert once in text
    assert len(without_frame(once, "t")) <= len(once)
