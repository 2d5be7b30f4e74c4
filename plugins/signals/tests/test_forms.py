"""What the answer of a failed call asks for is read from its form, in any language."""

import json
from pathlib import Path

import pytest

from trimtab_signals import advice, asked_by

CALL = (
    "book(day='12.06.2025',zone='north',rpm=18000,number='5520',file='a',"
    "text='Dear all, the lift is out of order until Friday')"
)


def said(answer, given=CALL, *, failed=True, helper=""):
    asked = asked_by(answer, given=given, failed=failed)
    return advice(asked, "book", helper) if asked else None


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        # a number beside the one that was given is a bound
        ("18000 rpm sono troppi per il rotore R-6 (15000 rpm)", "with rpm=15000"),
        ("回転数 18000 は上限 15000 を超えています", "with rpm=15000"),
        ('{"rpm": 18000, "grenze": 15000}', "with rpm=15000"),
        ('{"код": 422, "rpm": {"дано": 18000, "от": 500, "до": 15000}}', "with rpm=15000"),
        ("18 000 tr/min, maximum 15 000", "with rpm=15000"),
        # a number that counts the letters of a text
        ("문구가 너무 깁니다. 최대 40자 (입력 47자)", "with a text of at most 40 characters"),
        ('{"length": 47, "n": 40}', "with a text of at most 40 characters"),
        # what may be given instead
        ('{"virhe": "vyöhyke", "zone": ["N1", "S1"]}', "with zone='N1' or 'S1'"),
        ('{"error": "bad zone", "sallitut": ["N1", "S1"]}', "with zone='N1' or 'S1'"),
        ("Virheellinen zone 'north': käytä 'N1' tai 'S1'", "with zone='N1' or 'S1'"),
        ("north tuntematon (N1, S1, W1)", "with zone='N1', 'S1' or 'W1'"),
        # the keys of an object that tells what each costs or means
        (
            '{"lỗi": "zone không hợp lệ", "cho_phep": {"N1": "92đ", "S1": "48đ"}}',
            "zone='N1' or 'S1'",
        ),
        ("{'fel': 'zone ogiltig', 'giltiga': {'N_1': 49, 'S_1': 12}}", "zone='N_1' or 'S_1'"),
        ('{"virhe": "zone", "zones": {"inner": "1-3", "outer": "4-6"}}', "zone='inner' or 'outer'"),
        # a field that the call lacks
        ('{"error": "required", "field": "currency"}', "Add currency"),
        ('{"missing": ["currency"]}', "Add currency"),
    ],
)
def test_the_argument_that_is_wanted_follows_from_the_form_of_a_refusal(answer, call):
    assert call in (said(answer) or "")


@pytest.mark.parametrize(
    "answer",
    [
        "Order 5520 not found (code 404)",
        '{"status": "rejected", "field": "zone", "value": "north"}',
        "HTTP 500",
        '{"error": "zone north is closed", "request": {"id": "7f31", "time": "10:30"}}',
        "zone north is closed until 2025-06-13",
        "3 of 18000 pumps run, 12 wait, 40 stand",
        '{"message": "number is not a customer number", "request": "7f31"}',
        '{"done": false, "reason": "holiday", "until": "2026-01-04"}',
    ],
)
def test_what_only_looks_like_a_bound_or_a_choice_names_no_argument(answer):
    assert " with " not in (said(answer) or "")


@pytest.mark.parametrize(
    ("given", "answer", "call"),
    [
        ("book(code='Damrak 14, 1012 LG Amsterdam')", "zoals 3511 AB.", "with code='1012 LG'"),
        ("book(von='9',start='7',end='3')", "start > end", "with start='3', end='7'"),
    ],
)
def test_a_part_of_what_was_given_is_named(given, answer, call):
    assert call in (said(answer, given) or "")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('{"fel": "upptagen", "retry_in_ms": 4500}', "for 5 seconds"),
        ('{"prêt_dans_s": 90}', "for 90 seconds"),
        ('{"virhe": 1, "odota_min": 3}', "for 180 seconds (3 minutes)"),
        ("[11:20:04] tabel vergrendeld (einde: 11:45)", "for 1496 seconds (25 minutes)"),
    ],
)
def test_the_time_to_wait_follows_from_fields_and_times_of_day(answer, words):
    assert words in said(answer, helper="pause")


def test_a_tool_that_counts_minutes_is_told_minutes():
    assert "wait_minutes for 2 minutes" in said('{"retry_after_s": 90}', helper="wait_minutes")


@pytest.mark.parametrize(
    "answer",
    [
        '{"erreur": "plusieurs", "clients": [{"id": 1, "nom": "A"}, {"id": 2, "nom": "B"}]}',
        "Potwierdzenie właściciela wymagane: potwierdź",
        "Bestätigung fehlt",
        "需要客户确认",
    ],
)
def test_a_decision_is_asked_for_where_only_a_person_can_choose(answer):
    assert "call ask" in said(answer, helper="ask")


@pytest.mark.parametrize(
    ("given", "answer", "call"),
    [
        ("book(page='1')", "rader: a, b\nSida 1 av 4", "with page='2'"),
        ("book(page=1)", 'rows\n<https://x/y?page=2&n=5>; rel="next"', "with page=2"),
        ("book(offset=0)", "0–49 av 163", "with offset=50"),
        ("book(from=1)", "строки 1–120 из 304", "with from=121"),
    ],
)
def test_the_next_part_follows_from_an_argument_that_says_where(given, answer, call):
    assert call in (said(answer, given, failed=False) or "")


def test_the_last_part_has_none():
    assert said("Sida 4 av 4", "book(page=4)", failed=False) is None
    assert said('{"seite": 4, "seiten": 4}', "book(page=4)", failed=False) is None


@pytest.mark.parametrize(
    "hostile",
    ["1 " * 40_000, '"' * 50_000, "(" * 50_000, '{"a": [' * 20_000, "1-" * 40_000, "a=" * 40_000],
)
def test_hostile_answers_take_no_longer_than_their_length_asks_for(hostile, seconds):
    for failed in (True, False):
        assert seconds(lambda failed=failed: asked_by(hostile, given=CALL, failed=failed)) < 0.5


@pytest.mark.parametrize(
    "answer",
    [
        "拒绝:2号炉温 23℃,低于下料温度 100℃",
        "Ofen 2 hat 23 ℃, nötig wären 100 ℃",
        "four 2 : il manque 23 € au compte",
        "22:41:07 START 2 NACK door open",
        "[06:12:45] oven 2: no answer",
        "Ошибка 12. Печь 2 не найдена.",
        "Virhe 14: uunia 2 ei ole.",
    ],
)
def test_times_units_and_codes_are_no_bounds_of_what_was_given(answer):
    found = asked_by(answer, given="start(oven='2',batch='T-9')", failed=True)
    assert found is None or found.change is None or "oven=" not in found.change.call


@pytest.mark.parametrize("answer", ['{"rpm": 18000, "of": 15000}', '{"zone": ["N1", "S1"]}'])
def test_of_a_call_that_succeeded_numbers_and_lists_are_data(answer):
    assert said(answer, failed=False) is None


@pytest.mark.parametrize(
    ("given", "answer", "text"),
    [
        ("book(qty=30,article='A')", '{"path":"qty","multiple_of":12}', "with qty=24"),
        ("book(a='x')", "Zasób zablokowany do 14:05", "says to come back"),
        ("book(a='x')", "prêt dans 3 minutes", "wait 180 seconds"),
        ("book(hut='Ida')", "Ida: kaksi avainta, B-7 ja B-12", "decision of your user"),
        ("book(hut='Ida')", "Ida: avain B-7 on C-12", ""),
        ("book(a='2026-06-01',b='2026-09-30')", "max. 14 dagen", "with b='2026-06-14'"),
        ("book(a='2026-06-01',b='2026-09-30')", "nessun rapporto di meno di 14 giorni", ""),
        ("book(colour='red')", "no colour here; did you mean 'color'?", "with color='red' instead"),
        ("edit(old='a',new='')", "Timeout waiting for: prepare", ""),
        ("book(a='x')", "obligatoriskt fält saknas: mare", "Add mare to the arguments"),
        ("book(a='x')", "Hata: eksik alan: 'renk'", "Add renk to the arguments"),
        ("book(a='x')", "Fel: stängt", ""),
        (
            "book(born='4 July 1988')",
            "поле born, ожидается ДД.\u041c\u041c.ГГГГ",
            "born='04.07.1988'",
        ),
        ("book(born='4 July 1988')", "born: εεεε-μμ-ηη", "born='1988-07-04'"),
        ("book(born='4 July 1988')", "born: MM/DD/YYYY", "born='07/04/1988'"),
        ("book(a='x')", "Yritä uudelleen 2 minuutin kuluttua", "wait 120 seconds"),
        (
            "book(phone='03')",
            '{"errors": {"phone": ["formato E.164, es. +43"]}}',
            "other arguments",
        ),
        ("book(a='x')", "Request timed out, 30 seconds", ""),
        ("book(a='x')", "3 errors in 20 s", ""),
        # the only number of the call, and the only bound
        ("book(beds=7)", "Tối đa 5 giường mỗi phòng.", "with beds=5"),
        ("book(metres=7,tent='T2')", "Maks. 5 m", "with metres=5"),
        ("book(beds=7)", "Maks. 5 kg", ""),
        ("book(level='0.2')", '{"fejl":"uden for område","min":0.5,"max":20}', "level='0.5'"),
        ("book(oven='2',heat=320)", "<f><min>40</min><max>280</max></f>", "with heat=280"),
        ("book(beds=7)", "connect refused 10.0.0.5:5432", ""),
        ("book(beds=7)", "Fel 4: rummet är stängt", ""),
        ("book(beds=7,lamp='left')", "ERR 5 lamp 1..512, got 'left'", ""),
        ("book(rows=7000)", 'HTTP/1.1 400\n\n{"loc":["q","rows"],"msg":"max 500"}', "rows=500"),
        ("book(litres=2)", "Mindestmenge 5 Liter", "with litres=5"),
        ("book(way='10km')", "way: closed", ""),
        ("book(tongue='portuguese',n='1')", '{"valid":["pt-PT","pt-BR"]}', "tongue='pt-PT'"),
        ("book(a='x')", "กรุณาระบุ end_date", "Add end_date"),
        ("book(a='x')", "Missing weight.", "Add weight"),
        ("book(a='x')", "SyntaxError: invalid character '\u2013' (U+2013)", ""),
        ("book(a='x')", '{"статус":"очередь","осталось_сек":50}', "wait 50 seconds"),
        ("book(a='x')", "Printing in progress (page 3 of 8)", "come back"),
        ("book(nr='AT1234567')", "A szám pontosan 7 számjegy", "with nr='1234567'"),
        ("book(a='2026-03-01',b='2026-03-20')", '{"опис":"не більше 5 днів"}', "b='2026-03-05'"),
        ("book(a='2026-03-01',b='2026-03-04')", '{"опис":"не більше 5 днів"}', ""),
        ("book(nm='595 nm',p='E')", "'595 nm': use one of 405, 450, 595", "with nm='595'"),
        ("book(city='Tromso')", "Ingen «Tromso». Mente du «Tromsø»?", "with city='Tromsø'"),
        ("book(city='Tromso')", "Ingen treff på «Tromso».", ""),
        ("book(show='S')", "Lipsește parametrul «seat» (valori: A, B, C).", "Add seat"),
        # what may be given instead: elements, lines, bars, braces, the one argument in words
        ("book(rank='top')", "rank ∈ {R1, R2, R3}", "with rank='R1', 'R2' or 'R3'"),
        ("book(note='4',in='Suomi')", "対応言語: de, en, fr", "with in='de', 'en' or 'fr'"),
        # the same in other marks
        ("book(sum='12,50')", '{"campo":"sum","atteso":"12.50","dato":"12,50"}', "sum='12.50'"),
        ("book(plate='k ab 123')", "bitte ohne Leerzeichen, z. B. KAB123", "plate='KAB123'"),
        ("book(shot='screen')", "Screen failed", ""),
        # a field that the call lacks
        ("book(a='x')", '{"detail":[{"loc":["body","salary"],"msg":"Field required"}]}', "salary"),
        ("book(a='x')", "book: carrier not set", "Add carrier"),
        ("book(a='x')", '{"ошибка":"не указано поле","поле":"weight"}', "Add weight"),
        ("book(a='x')", '{"durum":"reddedildi","hata":"eksik taraf"}', ""),
        # time
        ("book(a='x')", '{"stato":"in coda","secondi_rimanenti":45}', "wait 45 seconds"),
        ("book(a='x')", '{"status":503,"retryAfter":"PT90S"}', "wait 90 seconds"),
        ("book(a='x')", "系统繁忙\uff0c请2分钟后再试。", "wait 120 seconds"),
        ("book(a='x')", "EBUSY: resource", "come back"),
        ("book(a='x')", "Prøv igen senere", "come back"),
        ("book(a='x')", "set 'sales' is stale since 2026-04-30 10:00", ""),
        ("book(when='May')", "when: ISO 8601 (2026-01-31T18:30)", "in the form 2026-01-31T18:30"),
        # a decision
        ("book(to='Anna')", '["Anna Bauer (sales)","Anna Costa (law)"]', "decision of your user"),
        ("book(a='x')", "Toestemming ontbreekt", "decision of your user"),
    ],
)
def test_short_refusals_in_more_forms(given, answer, text):
    found = said(answer, given)
    assert text in (found or "") and bool(found) is bool(text)


@pytest.mark.parametrize(
    ("given", "answer", "call"),
    [
        ("book(page=2)", '{"rows": ["a"], "has_more": true}', "with page=3"),
        ("book(start=1)", '{"範囲": "1-50", "総件数": 73}', "with start=51"),
        ("book(start=51)", '{"範囲": "51-73", "総件数": 73}', None),
        ("book(year=1851)", '<list year="1851"><e id="e3"/><continue after="e3"/>', "after='e3'"),
        ("book(folder='in')", '{"rows":["a"],"nextPageToken":"Q2Zx"}', "with pageToken='Q2Zx'"),
        ("book(page=1)", "Sivu 1/7: Aalto, Aho", "with page=2"),
        ("book(start=1)", "1..40 → 41 (z 95)", "with start=41"),
        ("book(path='a')", "Lines 1-200 of 612\nUse offset=201 to go on.", "with offset='201'"),
        ("book(garden='G')", '{"next":{"href":"/plants?garden=G&page=2"}}', "with page='2'"),
        ("book(path='a')", "(Shown: a part. Use offset=101 to continue.)", "with offset='101'"),
    ],
)
def test_the_next_part_follows_from_counts(given, answer, call):
    found = said(answer, given, failed=False)
    assert call in found if call else found is None


ANSWERS = Path(__file__).with_name("answers.jsonl").read_text(encoding="utf-8").splitlines()
"""Answers in thirty languages and in the forms of common frameworks and commands, each with the
way out that was written beside it before any reader saw it."""


@pytest.mark.slow
@pytest.mark.parametrize("row", [json.loads(line) for line in ANSWERS])
def test_answers_of_many_forms_and_languages_ask_for_what_they_ask_for(row):
    asked = asked_by(row["answer"], given=row["call"], failed=row["failed"])

    assert (asked.way.value if asked else None) == row["way"]
    if asked:
        assert asked.seconds == row.get("seconds")
        assert (asked.change.call if asked.change else None) == row.get("change")
