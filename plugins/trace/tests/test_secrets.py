"""Secrets stay out of what is written: known forms, names, headers, JSON in texts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trimtab_trace import redactor
from trimtab_trace._secrets import _PRIVATE_KEY, NAMES, WORDS, Redaction, _digested

TAIL = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
HEX = "0123456789abcdef0123456789abcdef"
KNOWN = [
    f"sk-ant-api03-{TAIL}", f"sk_live_{TAIL}", f"sk-proj-{TAIL}", f"key-{HEX}",
    f"ghp_{TAIL}", f"github_pat_{TAIL}", f"glpat-{TAIL}", f"gldt-{TAIL}",
    f"xoxb-123456789012-{TAIL}", f"xapp-1-{TAIL}", f"hooks.slack.com/services/T0/B0/{TAIL}",
    "AKIAIOSFODNN7EXAMPLE", f"eyJhbGciOiJIUzI1NiJ9.{TAIL}.{TAIL}",
    f"AIzaSy{TAIL[:33]}", f"ya29.{TAIL}", f"GOCSPX-{TAIL}",
    f"hf_{TAIL}", f"npm_{TAIL}", f"pypi-AgEI{TAIL}", f"rubygems_{HEX}", f"dckr_pat_{TAIL}",
    f"gsk_{TAIL}", f"xai-{TAIL}", f"pplx-{TAIL}", f"nvapi-{TAIL}", f"r8_{TAIL}", f"tvly-{TAIL}",
    f"SG.{TAIL[:22]}.{TAIL}", f"{HEX}-us12", f"SK{HEX}", f"dop_v1_{HEX}{HEX}", f"shpat_{HEX}",
    f"sq0atp-{TAIL[:22]}", f"whsec_{TAIL}", f"lin_api_{TAIL}", f"figd_{TAIL}", f"PMAK-{HEX}",
    f"dapi{HEX}", f"hvs.{TAIL}", f"dp.pt.{TAIL}", f"AGE-SECRET-KEY-1{TAIL.upper()}",
    f"123456789:AA{TAIL[:33]}", f"sntrys_{TAIL}", f"glsa_{TAIL}", f"secret_{TAIL}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{TAIL}\n{TAIL}",
]  # fmt: skip
SECRET = "hunter2-hunter2"
FOLLOWING = [
    f"postgres://user:{SECRET}@db.example/app",
    f"https://user:{SECRET}@example.org/x.git",
    f"redis://:{SECRET}@localhost:6379",
    f"Authorization: Bearer {SECRET}",
    f"Authorization: Basic {TAIL}==",
    f'-H "authorization: basic {TAIL}"',
    f"Cookie: session={SECRET}; theme=dark",
    f'{{"auths": {{"x": {{"auth": "{TAIL}"}}}}}}',
    f"machine example.org login ada password {SECRET}",
    f"//registry.npmjs.org/:_authToken={SECRET}",
    f"AccountName=a;AccountKey={TAIL}==;EndpointSuffix=x",
    f"export API_KEY='{SECRET}'",
    f'{{"password": "{SECRET}"}}',
    json.dumps(json.dumps({"token": SECRET})),
]
HARMLESS = [
    "Basic understanding of authentication is needed.",
    "The token is missing; see https://example.org:8080/path and user@example.org.",
    "def test_password_is_checked(): assert secret is not None",
    "skeleton-based-rendering and key-value stores, github_actions, npm_config",
    "max_tokens: 4096, password: (not shown)",
    "git@github.com:acme/tool.git at 3f2504e04f8964b2 in ./hf_cache/models",
]


@pytest.mark.parametrize("secret", KNOWN)
@pytest.mark.parametrize("around", ["{}", "export KEY={}", '"{}",', "see\n({})."])
def test_each_known_form_is_taken_out(secret: str, around: str) -> None:
    told = Redaction()(around.format(secret))
    assert "[redacted" in told
    for part in (TAIL[:20], HEX, "IOSFODNN7"):
        assert part not in told
        assert part.upper() not in told


@pytest.mark.parametrize("text", FOLLOWING)
def test_what_follows_a_name_is_taken_out(text: str) -> None:
    told = Redaction()(text)
    assert "[redacted" in told
    assert SECRET not in told
    assert TAIL[:20] not in told


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert Redaction()(text) == text


def test_two_secrets_stay_different_and_one_stays_the_same() -> None:
    one, two = Redaction()(f"hf_{TAIL}"), Redaction()(f"hf_{TAIL[::-1]}")
    assert one != two
    assert one == Redaction()(f"hf_{TAIL}")


ENTRIES = ["*token*", "*password*", "api_key", "acme-"]
PLACES: list[Any] = [
    {"api_key": "short"},
    {"headers": {"X-Token": "abc"}},
    {"headers": [{"name": "x-token", "value": "abc"}]},
    {"headers": [["X-Token", "abc"], ["Accept", "text"]]},
    {"cmd": "curl -H 'x-token: abc' https://example.org"},
    {"body": '{"db_password": "abc", "n": 1}'},
    {"body": json.dumps(json.dumps({"db_password": "abc"}))},
    {"text": "my key is acme-abc"},
    {"output": "DB_PASSWORD=abc\nOTHER=1"},
    {"env": [{"key": "MY_TOKEN", "value": "abc"}]},
]


@pytest.mark.parametrize("payload", PLACES, ids=repr)
def test_own_entries_are_names_and_beginnings_wherever_they_stand(payload: Any) -> None:
    told = json.dumps(redactor(ENTRIES)(payload))
    assert "abc" not in told
    assert "short" not in told
    assert "redacted" in told


def test_a_well_known_name_hides_its_value_and_nothing_else() -> None:
    told = redactor()({"password": SECRET, "tokens": 12, "token": 7, "secret": "short", "a": 1})
    assert SECRET not in json.dumps(told)
    assert {**told, "password": ""} == {
        "password": "",
        "tokens": 12,
        "token": 7,
        "secret": "short",
        "a": 1,
    }


FRAGMENTS = st.sampled_from(
    [*KNOWN, *FOLLOWING, *(part for part, _ in (*WORDS, *NAMES)), TAIL, " ", "\n", '"', "=", ": "]
)


@settings(max_examples=200)
@given(st.lists(FRAGMENTS | st.text(max_size=5), max_size=8).map("".join))
def test_looking_for_parts_first_changes_no_redaction(text: str) -> None:
    forms = [form for _, form in WORDS] + [_PRIVATE_KEY] + [form for _, form in NAMES]
    everything = re.compile("|".join(dict.fromkeys(forms)))
    assert Redaction()(text) == everything.sub(_digested, text)


@pytest.mark.slow
@pytest.mark.parametrize("pump", [*(part for part, _ in (*WORDS, *NAMES)), *KNOWN, *FOLLOWING])
def test_the_time_is_linear_in_the_text(pump: str, seconds: Any) -> None:
    redaction = Redaction(ENTRIES)

    def redact(count: int) -> None:
        redaction(pump * count)
        redaction((pump + "A") * count + "!")

    short, long = max(seconds(lambda: redact(200)), 1e-3), seconds(lambda: redact(2_000))
    assert long < 60 * short
