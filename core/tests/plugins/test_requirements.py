"""Requirements of packages and of the configuration, read by `packaging`."""

from __future__ import annotations

import time

import pytest

from trimtab._plugins.registry import admits, parse_requirement


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
def test_hostile_requirements_are_refused_at_once(size):
    began = time.perf_counter()

    assert parse_requirement("trimtab" + " " * size + "((") is None
    assert time.perf_counter() - began < 1
