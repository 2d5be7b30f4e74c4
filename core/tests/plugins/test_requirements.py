"""Requirements of packages and of the configuration, read by `packaging`."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trimtab._plugins import admits, parse_requirement, plainly_admits


@pytest.mark.parametrize(
    ("text", "name", "admitted", "refused"),
    [
        ("trimtab", "trimtab", "0.0", None),
        ("Trim_Tab >=0.1, <0.2", "Trim_Tab", "0.1.5", "0.2"),
        ("trimtab (>=1)", "trimtab", "1", "0.9"),
        ("trimtab[fast,x]>=1", "trimtab", "1", "0.9"),
        ("trimtab~=1.4", "trimtab", "1.9", "2.0"),
        ("trimtab>=1", "trimtab", "1.1rc1", "1rc1"),
    ],
)
def test_a_requirement_admits_the_versions_that_it_names(text, name, admitted, refused):
    requirement = parse_requirement(text)

    assert requirement is not None
    assert requirement.name == name
    assert admits(requirement, admitted)
    assert refused is None or not admits(requirement, refused)


@pytest.mark.parametrize("text", ["", ">=1", "trimtab>=", "trimtab>=1,,", "a b", "trimtab((1"])
def test_what_is_no_requirement_is_none(text):
    assert parse_requirement(text) is None


@pytest.mark.parametrize("version", ["", "one", "1.x", "1..2"])
def test_a_malformed_version_will_not_do(version):
    requirement = parse_requirement("acme>=1")

    assert requirement is not None
    assert not admits(requirement, version)


@pytest.mark.parametrize("size", [300, 10_000, 1_000_000])
def test_hostile_requirements_are_refused_at_once(size, seconds):
    text = "trimtab" + " " * size + "(("

    assert parse_requirement(text) is None
    assert seconds(lambda: parse_requirement(text)) < 1


numbers = st.sampled_from(["0", "1", "2", "10", "01", "0.1", "1.0", "1.0.0", "1.0.1", "1.2", "2.0"])
versions = numbers | st.sampled_from(
    ["1rc1", "1.0.post1", "1.0+local", "1!1", "1.", "", " 1", "v1"]
)
signs = st.sampled_from([">=", "<=", "==", ">", "<", "!=", "~=", "===", "=>", ""])
clauses = st.builds(
    "{}{}{}{}".format, signs, st.sampled_from(["", " "]), versions, st.sampled_from(["", ".*"])
)
endings = st.sampled_from(["", "", "", "; extra == 'x'", ",", " ", "\n"])
texts = st.builds(
    lambda name, found, end: name + ",".join(found) + end,
    st.sampled_from(["acme", "acme ", "a-b.c_d ", "acme-", "acme[x]", "", "acme ("]),
    st.lists(clauses, max_size=3),
    endings,
)


@given(texts, versions)
def test_what_is_plainly_admitted_is_admitted(text, version):
    requirement = parse_requirement(text)
    admitted = bool(requirement and not requirement.marker and admits(requirement, version))

    assert admitted or not plainly_admits(text, version)


@given(
    st.lists(st.tuples(st.sampled_from([">=", "<=", "==", ">", "<"]), numbers), min_size=1), numbers
)
def test_nothing_plain_is_left_to_the_library(parts, version):
    text = "acme" + ",".join(sign + number for sign, number in parts)
    requirement = parse_requirement(text)

    assert requirement is not None
    assert plainly_admits(text, version) == admits(requirement, version)


@pytest.mark.waits
def test_a_usual_requirement_is_understood_without_the_library(python):
    code = (
        "import sys; from trimtab._plugins import plainly_admits;"
        "assert plainly_admits('trimtab<0.2,>=0.1', '0.1.7');"
        "print([name for name in sys.modules if name.startswith('packaging')])"
    )

    assert python("-c", code).stdout == "[]\n"
