"""Failures that no flag tells, known by what several calls were told."""

from __future__ import annotations

import pytest

from trimtab import Outcome
from trimtab_signals import Calls, comes_back_as_told
from trimtab_testing import Call, Player

SAME = {
    "de": "Zugriff verweigert: das Konto ist gesperrt",
    "pl": "błąd: usługa chwilowo wyłączona przez dostawcę",
    "fr": "échec: le quota du compte est dépassé",
    "ru": "ошибка: сервер закрыл соединение",
    "zh": "错误 服务器关闭了连接 请稍后再说",
    "hi": "403: इस खाते से नहीं हो सकता",
    "ar": "HTTP 402: الرصيد غير كاف لهذا الطلب",
    "sw": "-32000: muunganisho umefungwa na seva",
}


def in_vain(*calls: Call) -> list[bool]:
    """Return which calls count as made in vain."""
    player = Player().play(calls)
    return [call.alike > 0 for call in player.run.trajectory.follow(Calls).recent(64)]


def deploys(answer: str, count: int = 4) -> list[Call]:
    return [Call("deploy", {"service": name}, answer) for name in ("api", "web", "mail", "jobs")][
        :count
    ]


@pytest.mark.parametrize("answer", SAME.values(), ids=SAME.keys())
def test_what_three_calls_were_told_in_vain_is_a_failure(answer: str) -> None:
    assert in_vain(*deploys(answer)) == [False, False, True, True]


@pytest.mark.parametrize("answer", ["hakuna nafasi kwenye diski", "laufwerk zzz ist nicht bereit"])
def test_three_tools_that_are_told_the_same_need_no_word_that_is_known(answer: str) -> None:
    calls = [Call(tool, {"n": 1}, answer) for tool in ("migrate", "seed", "restore")]

    assert in_vain(*calls) == [False, False, True]


@pytest.mark.parametrize(
    "answers",
    [
        ("فشل: 401 (units) من الخادم", "فشل: 401 (roads) من الخادم", "فشل: 401 (crew) من الخادم"),
        (
            "pg_restore: error: no space left on device",
            "tar: a.txt: write: no space left on device",
            "OSError: [Errno 28] no space left on device: '/tmp/x'",
        ),
        (
            "Lỗi mạng: không phân giải được tên máy lims.noibo.vn",
            "Lỗi mạng: không phân giải được tên máy duocdien.noibo.vn",
            "Lỗi mạng: không phân giải được tên máy hplc2.noibo.vn",
        ),
        (
            "IOError: [Errno 28] 장치에 남은 공간이 없음",
            "쓰기 오류 '/var/x': 장치에 남은 공간이 없음",
            "트랜잭션 - 장치에 남은 공간이 없음",
        ),
        (
            "接続拒否: db:5432 (09:12:01)",
            "接続拒否: db:5432 (09:12:04)",
            "接続拒否: db:5432 (09:13:09)",
        ),
        ("Алдаа: Connection closed",) * 3,
        ('{"kod": 402, "komunikat": "licencja wygasła"}',) * 3,
    ],
)
def test_one_reason_that_three_tools_give_is_a_failure_whatever_they_name(answers: tuple) -> None:
    calls = [
        Call(tool, {"n": 1}, said)
        for tool, said in zip(("load", "units", "crew"), answers, strict=True)
    ]

    assert in_vain(*calls) == [False, False, True]


@pytest.mark.parametrize(
    "answers",
    [
        ('{"durum": "tamam", "mesaj": "kaydedildi"}',) * 3,
        ("a.py:1: error: x is not defined", "b.py:2: error: y has no attribute z", "a.py: ok"),
        ("src/main.py: warning: W1", "src/main.py: unused import", "src/main.py: line too long"),
    ],
)
def test_what_three_tools_say_of_one_thing_is_no_failure(answers: tuple) -> None:
    calls = [
        Call(tool, {"n": 1}, said)
        for tool, said in zip(("load", "units", "crew"), answers, strict=True)
    ]

    assert not any(in_vain(*calls))


def test_the_name_in_an_answer_may_be_another_each_time() -> None:
    names = ("alpha", "beta", "gamma")
    calls = [
        Call("deploy", {"s": name}, f"{name}: Zugriff verweigert, bitte melden") for name in names
    ]
    tools = [Call(name, {}, f"Tool {name} não existe, erro") for name in names]

    assert in_vain(*calls)[-1] and in_vain(*tools)[-1]


@pytest.mark.parametrize(
    "calls",
    [
        # A confirmation, in any language, and a value.
        deploys("Gespeichert und veröffentlicht."),
        deploys("The file has been updated successfully."),
        deploys("imehifadhiwa vizuri kabisa"),
        deploys("42"),
        # What a reader finds, or not; content in fields; what is not finished.
        [Call("read_logs", {"n": n}, "ERROR failed to connect to db") for n in range(5)],
        [Call("search", {"q": n}, "aucun résultat, introuvable") for n in ("a", "b", "c", "d")],
        [Call("get_issue", {"n": n}, {"title": "Error: failed to open"}) for n in range(5)],
        [Call("deploy", {"n": n}, "still running, no error so far") for n in range(5)],
        [Call("lire", {"n": n}, f"ERROR failed to connect ({n}) to db") for n in range(5)],
        # One call made again has not been tried in another way.
        [Call("deploy", {"n": 1}, SAME["de"])] * 5,
        # Something came through.
        [
            *deploys(SAME["de"], 2),
            Call("deploy", {"n": 1}, "v4 is live now"),
            *deploys(SAME["de"], 2),
        ],
    ],
)
def test_what_goes_well_or_stands_in_content_is_none(calls: list[Call]) -> None:
    assert not any(in_vain(*calls))


def test_a_run_that_is_resumed_remembers_what_was_told() -> None:
    player = Player().play(deploys(SAME["hi"], 2))
    calls = player.run.trajectory.follow(Calls)
    again = Calls()
    again.load_state(calls.state())

    assert again._edges == calls._edges != {}


@pytest.mark.parametrize("said", ["Tool {} नहीं मिला", "{}: Dienst antwortet nicht", "no {} here"])
def test_a_failure_that_names_its_tool_is_that_of_another_tool(said: str) -> None:
    tools = ("browse", "open_url", "web_browse")
    calls = [Call(tool, {}, said.format(tool), outcome=Outcome.ERROR) for tool in tools]
    records = Player().play(calls).run.trajectory.follow(Calls).recent(3)

    assert len({record.signature for record in records}) == 1


@pytest.mark.parametrize("said", ["Feld fehlt", "eksik alan", "필드가 없습니다", "bidang wajib"])
def test_a_code_of_failure_beside_a_message_of_any_language_is_a_failure(said: str) -> None:
    answers = [{"code": "invalid_input", "message": said}, {"code": "created", "message": said}]
    calls = [Call("save", {}, answer) for answer in answers]
    records = Player().play(calls).run.trajectory.follow(Calls).recent(2)

    assert [record.failed for record in records] == [True, False]


def test_an_error_whose_fields_are_named_in_any_language_is_one_failure() -> None:
    gates = ("old pier", "old_pier")
    answers = [{"error": {"codigo": "V-4", "texto": f"Válvula «{gate}»"}} for gate in gates]
    calls = [
        Call("open", {"gate": gate}, answer) for gate, answer in zip(gates, answers, strict=True)
    ]
    one, other = Player().play(calls).run.trajectory.follow(Calls).recent(2)

    assert one.failed and one.signature == other.signature != ""


@pytest.mark.parametrize(
    ("said", "returns"),
    [
        ("BUILD FAILED in 41s", False),
        ("1 failed, 2 passed in 41.32s", False),
        ("Tests run in 41 s", False),
        ("The report will be finished in 41 s", True),
        ("busy, ready in 41s", True),
    ],
)
def test_a_time_that_something_took_is_no_time_to_come_back_at(said: str, returns: bool) -> None:
    assert comes_back_as_told(said, (0.0, 0.0), (44.0, 44.0)) is returns


@pytest.mark.parametrize(
    "answer", ["0 αποτελέσματα", "Treffer: 0", "0 найдено", "0件の結果です", "0 rows"]
)
def test_a_count_of_nothing_is_no_failure_of_several_searches(answer: str) -> None:
    calls = [Call(tool, {"q": "x"}, answer) for tool in ("arxeio", "fotos", "efimerides")]

    assert in_vain(*calls) == [False] * 3
