"""Equal meaning, equal fingerprint; and pairs that must stay different."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trimtab import ToolProfile
from trimtab_signals import canonical, error_signature, fingerprint, normalise_text

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=6), values, max_size=5)


def permuted(value, random):
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {key: permuted(value[key], random) for key in keys}
    if isinstance(value, list):
        return [permuted(item, random) for item in value]
    return value


def as_floats(value):
    if isinstance(value, dict):
        return {key: as_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_floats(item) for item in value]
    return float(value) if type(value) is int else value


@given(objects, st.randoms(use_true_random=False))
def test_the_order_of_keys_makes_no_difference(params, random):
    assert fingerprint(permuted(params, random)) == fingerprint(params)


@given(objects)
def test_whole_floats_are_integers(params):
    assert fingerprint(as_floats(params)) == fingerprint(params)


@given(objects, st.lists(st.text(min_size=7, max_size=9), max_size=3))
def test_null_is_absent(params, names):
    assert fingerprint({**params, **dict.fromkeys(names)}) == fingerprint(params)


@given(objects, st.text(), st.text())
def test_book_keeping_fields_make_no_difference(params, one, other):
    left = fingerprint({**params, "x": 1, "request_id": one})
    assert left == fingerprint({**params, "x": 1, "request_id": other})


@given(values, values)
def test_what_differs_in_canonical_text_differs_in_meaning(one, other):
    if canonical(one) == canonical(other):
        assert as_floats(without_nulls(one)) == as_floats(without_nulls(other))


def without_nulls(value):
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return path_free(value)


def path_free(value):
    return canonical(value) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("./a/b", "a/b"),
        ("a//b/", "a/b"),
        ("a/x/../b", "a/b"),
        ("/a/./b", "/a/b"),
    ],
)
def test_paths_are_tidied(one, other):
    assert fingerprint({"path": one}) == fingerprint({"path": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a.py"}, {"path": "b.py"}),
        ({"path": "/a"}, {"path": "a"}),
        ({"offset": 0}, {"offset": 50}),
        ({"offset": 1}, {"offset": True}),
        ({"n": 1}, {"n": "1"}),
        ({"n": 1}, {"n": 1.5}),
        ({"items": [1, 2]}, {"items": [2, 1]}),
        ({"items": []}, {"items": [None]}),
        ({"items": []}, {"items": {}}),
        ({"url": "http://x//y"}, {"url": "http://x/y"}),
        ({"text": "see a//b now"}, {"text": "see a/b now"}),
        ({"id": "a1b2c3d4e5f6"}, {"id": "f6e5d4c3b2a1"}),
        ({"at": "2026-11-27"}, {"at": "2026-11-28"}),
        ({"a": "1,b=2"}, {"a": "1", "b": 2}),
    ],
)
def test_arguments_that_must_stay_different(one, other):
    assert fingerprint(one) != fingerprint(other)


def test_fingerprints_are_the_same_in_every_process():
    assert fingerprint({"b": [1, None], "a": "ü\ud800"}) == "83b1bfcba830b6a4"


def test_large_and_deep_arguments_are_taken_too():
    deep: object = "x"
    for _ in range(200):
        deep = {"k": [deep]}
    assert fingerprint(deep) == fingerprint(deep)
    assert fingerprint(list(range(5000))) != fingerprint(list(range(5001)))


def test_keys_of_any_kind_and_values_of_any_type_are_taken():
    assert fingerprint({1: "a", "b": 2}) == fingerprint({"b": 2, 1: "a"})
    assert fingerprint({"x": {1, 2}}) != fingerprint({"x": {1, 3}})
    assert fingerprint({"x": object}) == fingerprint({"x": object})


def test_a_profile_names_book_keeping_and_progress():
    shell = ToolProfile(names="sh", ignored_params=("description",))
    one = fingerprint({"command": "ls", "description": "list"}, shell)
    assert one == fingerprint({"command": "ls", "description": "look"}, shell)
    plan = ToolProfile(names="plan", progress=("status",))
    steps = [{"step": "read", "status": "done"}, {"step": "write", "status": "pending"}]
    reworded = [{**step, "step": f"to {step['step']}"} for step in steps]
    moved = [{**step, "status": "done"} for step in steps]
    assert fingerprint({"plan": steps}, plan) == fingerprint({"plan": reworded}, plan)
    assert fingerprint({"plan": steps}, plan) != fingerprint({"plan": moved}, plan)


EQUAL = [
    ("done at 2026-11-27T10:00:00Z", "done at 2026-11-28T11:30:05.123+02:00"),
    ("[10:00:01] ready", "[10:00:59] ready"),
    ("epoch 1764244800", "epoch 1764249999"),
    ("took 0.31s", "took 12.7s"),
    ("finished in 1m 5s", "finished in 2m 59s"),
    ("after 12 seconds", "after 3 seconds"),
    ("object at 0x7f3a2b10", "object at 0x55d1c0de"),
    ("<Project at 124585969825728 (3)>", "<Project at 130688060315584 (3)>"),
    (
        "request 4f6c1a2e-0b1d-4c3e-8f5a-6b7c8d9e0f10",
        "request 00000000-1111-2222-3333-444444444444",
    ),
    ("commit 9fceb02d", "commit a1b2c3d4"),
    ("pid 4711 died", "pid 815 died"),
    ("session id: 12", "session id: 13"),
    ('{"request_id": "r-1", "hits": 2}', '{"request_id": "r-2", "hits": 2}'),
    ("nonce=00ab", "nonce=00cd"),
    ('{"hits": 2, "took_ms": 12}', '{"hits": 2, "took_ms": 31}'),
    ("duration: 4, state: up", "duration: 5, state: up"),
    ("Chunk ID: 1a2b3c", "Chunk ID: 4d5e6f"),
    ("\x1b[31mred\x1b[0m", "red"),
    ("a  b\n\nc", "a b c"),
    ("wrote /tmp/tmpab12cd/x", "wrote /tmp/tmpef34gh/x"),
    ("data:image/png;base64,AAAA", "data:image/png;base64,BBBB="),
]
DIFFERENT = [
    ("progress 5%", "progress 18%"),
    ("3 failed, 4 passed", "2 failed, 5 passed"),
    ("rows 0-49", "rows 50-99"),
    ("page 1 of 9", "page 2 of 9"),
    ("12 hits", "13 hits"),
    ("stopped at 120000", "stopped at 130000"),
    ("line 1\nline 2", "line 1\nline 2\nline 3"),
    ("a.py:10: x", "a.py:11: x"),
    ("version 1.2.3", "version 1.2.4"),
    ("error E0308", "error E0309"),
    ("deadbeef", "cafebabe"),
    ("exit code 1", "exit code 2"),
    ("balance 1200", "balance 1300"),
    ("No such file: a", "No such file: b"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_chance_details_are_dropped(one, other):
    assert normalise_text(one) == normalise_text(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_may_be_progress_stays(one, other):
    assert normalise_text(one) != normalise_text(other)


@given(st.text())
def test_normalising_is_bounded_and_takes_any_text(text):
    assert len(normalise_text(text * 50)) <= 2 * 3_100


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("SyntaxError (cell line 40)", {}), ("SyntaxError (cell line 41)", {})),
        (("a.rs:3:9: expected ;", {}), ("a.rs:8:1: expected ;", {})),
        (("element 3 not found", {"i": 3}), ("element 4 not found", {"i": 4})),
        (("File x.py not found", {"path": "x.py"}), ("File y.py not found", {"path": "y.py"})),
        (
            ("sh: line 1: Sure: command not found", {"command": "Sure, done"}),
            ("sh: line 1: I: command not found", {"command": "I am done"}),
        ),
        (
            ("Traceback (most recent call last):\n  x\nKeyError: 'n'", {}),
            ("Traceback (most recent call last):\n  y\n  z\nKeyError: 'n'", {}),
        ),
        (("building\nerror: no rule\nbye", {}), ("building more\nerror: no rule\nbye", {})),
    ],
)
def test_one_failure_has_one_signature(one, other):
    assert error_signature(*one) == error_signature(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fail: cause 1", "fail: cause 2"),
        ("HTTP 404", "HTTP 500"),
        ("3 tests failed", "2 tests failed"),
        ("undeclared a", "undeclared b"),
        ("permission denied", "no such file"),
    ],
)
def test_other_failures_have_other_signatures(one, other):
    assert error_signature(one) != error_signature(other)


def test_names_in_a_long_text_are_its_subject():
    code = "foo = 1\nbar = 2\n" * 40
    assert error_signature("name foo is unknown", {"code": code}) != error_signature(
        "name bar is unknown", {"code": code}
    )


@pytest.mark.parametrize("bits", [4095, 4096, 4097, 100_000])
def test_integers_of_any_length_have_a_text_of_their_own(bits):
    assert canonical(1 << bits) != canonical((1 << bits) + 1)
    assert canonical({"n": 1 << bits}) == canonical({"n": 1 << bits})


@pytest.mark.parametrize("path", ["src/..", "src/.", "a/b"])
def test_a_path_in_a_list_is_tidied_as_one_in_a_mapping(path):
    assert canonical({"path": path}) == f"{{path={canonical(path)}}}"
    assert canonical([path]) == f"[{canonical(path)}]"
