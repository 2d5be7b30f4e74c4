"""Versions and specifiers agree with `packaging`."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from trimtab._plugins.versions import parse_requirement, parse_version

NUMBERS = st.sampled_from(["0", "1", "2", "10"])
VERSIONS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "", "1!", "v"]),
        st.lists(NUMBERS, min_size=1, max_size=3).map(".".join),
        st.sampled_from(["", "", "a1", "rc0", ".b2", "-alpha", "preview3"]),
        st.sampled_from(["", "", ".post1", "-2", "rev"]),
        st.sampled_from(["", "", ".dev0", "dev3"]),
        st.sampled_from(["", "", "+abc", "+Ab-1"]),
    ),
)
RELEASES = st.lists(NUMBERS, min_size=1, max_size=3).map(".".join)


@pytest.mark.parametrize("operator", ["==", "!=", "<", ">", "<=", ">=", "~=", "==="])
@given(version=VERSIONS, bound=VERSIONS)
def test_a_clause_admits_what_packaging_admits(operator, version, bound):
    assert_agreement(f"{operator}{bound}", version)


@pytest.mark.parametrize("operator", ["==", "!=", "~=", "<", "==="])
@given(version=VERSIONS | RELEASES, bound=RELEASES | VERSIONS)
def test_prefixes_match_what_packaging_matches(operator, version, bound):
    assert_agreement(f"{operator}{bound}.*", version)


@given(version=RELEASES, bound=RELEASES)
def test_compatible_releases_are_those_of_packaging(version, bound):
    assert_agreement(f"~={bound}", version)


def assert_agreement(specifier: str, version: str) -> None:
    ours = parse_requirement(f"acme {specifier}")
    try:
        theirs = SpecifierSet(specifier, prereleases=True)
    except InvalidSpecifier:
        assert ours is None
        return

    assert ours.admits(version) == theirs.contains(version, prereleases=True)


@given(one=VERSIONS, other=VERSIONS)
def test_public_parts_sort_as_packaging_sorts_them(one, other):
    ours = parse_version(one).public < parse_version(other).public

    assert ours == (Version(Version(one).public) < Version(Version(other).public))


@pytest.mark.parametrize("text", ["", "one", "1.x", "1..2", "1.0+", "\u0967.0x", "1 2"])
def test_what_is_no_version_is_none(text):
    assert parse_version(text) is None
    assert not parse_requirement("acme>=1").admits(text)


@pytest.mark.parametrize(
    ("text", "name", "admitted", "refused"),
    [
        ("trimtab", "trimtab", "0.0", None),
        ("Trim_Tab >=0.1, <0.2", "trim-tab", "0.1.5", "0.2"),
        ("trimtab (>=1)", "trimtab", "1", "0.9"),
        ("trimtab[fast,x]>=1", "trimtab", "1", "0.9"),
        ("trimtab~=1.4", "trimtab", "1.9", "2.0"),
    ],
)
def test_requirements_are_read_as_installers_write_them(text, name, admitted, refused):
    requirement = parse_requirement(text)

    assert requirement.name == name
    assert requirement.admits(admitted)
    assert refused is None or not requirement.admits(refused)


@pytest.mark.parametrize(
    "text", ["", ">=1", "a b", "a>=", "a=1", "a>=1 <2", "a~=1", "a>1.*", "a[x"]
)
def test_what_is_no_requirement_is_none(text):
    assert parse_requirement(text) is None


def test_a_marker_is_kept_apart():
    requirement = parse_requirement('trimtab>=9; extra == "all"')

    assert (requirement.name, requirement.marker) == ("trimtab", 'extra == "all"')
