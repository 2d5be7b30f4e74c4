"""Reports found in public, with verdicts fixed before the first run, and variations of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab import DecisionPoint, ManualClock, Outcome, Prompt, Session

DATA = Path(__file__).parent.parent / "data" / "reports-3.jsonl"
REPORTS = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
LOOPS = ("DoomLoopDetector", "DiagnosticSignalProvider")
PROVIDERS = ("doom-loop", "diagnostic-signal")


def spoke(items, providers=PROVIDERS, pause=5.0):
    """Return the numbers of the items after which one of the providers spoke."""
    clock = ManualClock()
    prompt = Prompt("tests", "found", [], guidance_providers=list(providers))
    run = Session(clock=clock).open_run(prompt)
    heard = []
    for number, item in enumerate(items):
        if item.get("event") == "user_message":
            run.user_message(item["text"])
        elif item.get("event") == "assistant_text":
            run.model_responded(text=item["text"])
        elif "tool" in item:
            run.model_responded()
            run.tool_started(item["tool"], item["args"], str(number))
            clock.advance(max(0.0, item.get("t", 0.0) - run.active_seconds))
            outcome = Outcome.ERROR if item.get("error") else Outcome.OK
            run.tool_finished(str(number), item["result"], outcome=outcome, poll=item.get("poll"))
            if "t" not in item:
                clock.advance(pause)
            heard += [number] if run.guide(DecisionPoint.PRE_TOOL_SELECTION) else []
    return heard


@pytest.mark.parametrize(
    "report",
    [pytest.param(report, id=report["id"]) for report in REPORTS if report["concerns"] in LOOPS],
)
def test_report(report):
    heard = spoke(report["calls"])
    if report["expected"] == "fire":
        assert heard
        assert report["at"] is None or heard[0] <= report["at"]
    else:
        assert heard == []


def call(tool, args, result, *, error=False):
    return {"tool": tool, "args": args, "result": result, "error": error}


WORDS = "alpha beta gamma delta eps zeta eta theta iota kappa".split()
PODS = "NAME READY STATUS RESTARTS AGE\napi-7d9 0/1 Pending 0 {}m{}s"


def checks_and_edits(answers):
    for number, answer in enumerate(answers):
        yield call("bash", {"command": "make check"}, answer, error=True)
        yield call("edit", {"path": "a.c", "old": str(number), "new": "x"}, "ok")


QUIET = {
    "inserts": [call("sql", {"q": f"insert {w}"}, "INSERT 0 1") for w in WORDS],
    "inserts that count": [call("sql", {"q": f"insert {w}"}, {"rowCount": 1}) for w in WORDS],
    "heads": [call("bash", {"command": f"curl -sI {w}.example"}, "HTTP/2 200") for w in WORDS],
    "pages": [call("fetch", {"page": n}, f"Title {n}\nitem {3 * n}") for n in range(12)],
    "short wait": [
        call("bash", {"command": "kubectl get pods"}, PODS.format(n, n)) for n in range(9)
    ],
    "measurements": [call("bash", {"command": "./bench"}, f"p50={900 - n}us") for n in range(6)],
    "compile errors": checks_and_edits(
        f"{w}.c:3:1: error: unknown type name '{w.title()}'\nmake: *** [all] Error 1" for w in WORDS
    ),
    "conflicts": checks_and_edits(
        f"CONFLICT (content): Merge conflict in {w}.c\nhint: Resolve all conflicts" for w in WORDS
    ),
    "fewer failures": checks_and_edits(
        "\n".join(f"FAILED t.py::test_{k}" for k in range(n)) + f"\n{n} failed"
        for n in range(9, 0, -1)
    ),
    "issues": [
        call("create_issue", {"title": f"Fix the bug in {w}"}, {"id": n})
        for n, w in enumerate(WORDS)
    ],
    "inserts with a remark": [
        call("sql", {"q": f"insert {w}"}, "1 row affected, value not normalised") for w in WORDS[:6]
    ],
    "looks that find little, then more": [
        call(
            "bash",
            {"command": f"grep -n '{w}' src/module_{n}.py"},
            f"<rc>0</rc> {'-' * 60}\n{text}",
        )
        for n, (w, text) in enumerate(zip(WORDS, ["", "", "", "", "", "x = 1"], strict=False))
    ],
    "a survey": [
        call(
            "click", {"index": 9 * n + 2}, "Clicked. Current page: https://a.example/form (Survey)"
        )
        for n in range(14)
    ],
    "switches whose answers name them": [
        call("switch", {"room": w}, {"kind": "done", "ok": [{"name": w, "type": "area"}], "no": []})
        for w in WORDS
    ],
    "parts read one a second": [call("next", {}, f"Kapitel {n}") for n in range(12)],
    "a state that names its request": [
        call("get_editor", {}, {"ready": False, "requestId": f"q{n * 17}"}) for n in range(9)
    ],
    "a state that is so": [call("radio", {"id": 4}, {"muted": True}) for _ in range(9)],
    "a value that moves by itself": [
        call("job_info", {"id": 7}, f"готово: {done} из 9") for done in (2, 2, 3, 3, 3, 3, 5, 5, 5)
    ],
    "answers that lie around": [
        call("read", {"path": f"{w}.md"}, f"{w} says {n}") for n, w in enumerate(WORDS)
    ],
    "searches without a hit": [
        call("bash", {"command": f"grep -rn {w} src"}, "", error=True) for w in WORDS[:5]
    ],
    "ordered runs": [
        {"event": "user_message", "text": "Run it ten times."},
        *[call("bash", {"command": "pytest -q"}, "1 passed in 0.4s") for _ in range(10)],
    ],
}


@pytest.mark.parametrize("name", QUIET)
def test_work_is_left_alone(name):
    assert spoke(QUIET[name]) == []


TOLD = {
    "old pages in any order": (
        [
            call("open_page", {"name": WORDS[n]}, f"the page on {WORDS[n]}")
            for n in (0, 1, 2, 3, 0, 1, 2, 3, 0, 2, 1, 3, 2, 0, 3, 1)
        ],
        13,
    ),
    "one refusal": (
        [call("query", {"sql": f"select {w}"}, "Error 401: the token has expired") for w in WORDS],
        3,
    ),
    "one file in several wordings": (
        [
            call(agent, {"task": f"{word} notes-2026.mp3"}, text)
            for word in WORDS[:6]
            for agent, text in (
                ("listener", "Page 1 of 1. Duration 0:35. The transcript of it can be had nowhere"),
                ("helper", f"You may well {word} it on another device"),
            )
        ],
        6,
    ),
    "a note in the place of an answer": (
        [
            call("browse", {"q": "news"}, text)
            for text in (
                "Oslo wins at home\nBergen loses to Molde",
                *["Nothing more: it was asked before, look above."] * 8,
            )
        ],
        4,
    ),
    "a step that is refused": (
        [call("press", {"key": "up"}, {"place": "cellar", "x": 18, "moved": False})] * 8,
        4,
    ),
    "a tool that is not there": (
        [call("rate", {"name": w}, "Error: tool rate not found. There is: count") for w in WORDS],
        4,
    ),
    "the time again and again": (
        [call("now", {}, f"2026-05-01T10:4{n // 2}:{31 * n % 60:02}+00:00") for n in range(9)],
        5,
    ),
    "one order placed again": (
        [
            call("place", {"item": "tea"}, {"success": True, "orderId": f"A{n * 13}"})
            for n in range(9)
        ],
        5,
    ),
    "slow reads": ([call("read", {"path": "a"}, "text")] * 8, 3),
    "relaunches": (
        [
            call("exec", {"command": "npm run dev"}, f"still running (session {w}-cloud, pid {n})")
            for n, w in enumerate(WORDS)
        ],
        4,
    ),
    "long wait": (
        [call("bash", {"command": "kubectl get pods"}, PODS.format(n, n % 60)) for n in range(30)],
        20,
    ),
    "one click": ([call("click", {"index": 7}, "Clicked element 7")] * 16, 12),
    "scores": (
        [
            call(
                "search",
                {"q": w},
                {"hits": [{"url": "https://a.example/x", "score": 0.91 - n / 99}]},
            )
            for n, w in enumerate(WORDS)
        ],
        9,
    ),
    "paraphrases": (
        [
            call("save_memory", {"memory": text}, "Saved memory.")
            for text in (
                "User asked about methods of task planning",
                "The user wants to know methods of task planning",
                "User asked which methods of task planning exist",
                "The user asked about task planning methods",
                "User wants task planning methods",
                "The user asked for methods of task planning",
                "User asked about the methods of task planning",
                "User wants to know about task planning methods",
                "The user asked about methods for task planning",
            )
        ],
        8,
    ),
    "more than ordered": (
        [
            {"event": "user_message", "text": "Run it five times."},
            *[call("bash", {"command": "pytest -q"}, "1 passed in 0.4s") for _ in range(9)],
        ],
        6,
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_going_in_circles_is_told(name):
    items, due = TOLD[name]
    heard = spoke(items, pause=31.0)
    assert heard
    assert heard[0] <= due


def test_one_trouble_has_one_voice():
    failing = [call("get", {"id": 1}, "404: no such row", error=True)] * 4
    prompt = Prompt("tests", "voice", [], guidance_providers=list(PROVIDERS))
    run = Session().open_run(prompt)
    said = []
    for number, item in enumerate(failing):
        run.model_responded()
        run.tool_started(item["tool"], item["args"], str(number))
        run.tool_finished(str(number), item["result"], outcome=Outcome.ERROR)
        said.append(len(run.guide(DecisionPoint.PRE_TOOL_SELECTION).injections))
    assert said == [0, 0, 1, 0]


def test_a_step_taken_as_told_is_no_new_trouble():
    items = [call("start", {"n": 0}, "port is taken", error=True)]
    items += [call("finish", {}, "refused: nothing runs", error=True)] * 3
    items += [call("health", {}, "connection refused by peer", error=True)]
    assert spoke(items) == [3]
