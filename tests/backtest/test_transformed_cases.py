"""A verdict does not depend on how a harness shows answers, nor on names, nor on asides."""

from __future__ import annotations

import pytest
from transformations import TRANSFORMATIONS
from transformed_cases import KNOWN, NOT_HELD, broken, cases, changed

PART = 24


# One test for each way: all of them take longer together than a test may, and longer with each set.
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TRANSFORMATIONS.keys() - NOT_HELD))
def test_a_part_of_the_changed_cases_keeps_its_verdicts(name):
    given = list(changed([name], PART))

    assert given
    assert broken(given) <= KNOWN


def test_known_exceptions_are_changed_cases():
    known = {case["id"] for case in cases()}

    assert {name.rpartition("~")[0] for name in KNOWN} <= known
    assert {name.rpartition("~")[2] for name in KNOWN} <= TRANSFORMATIONS.keys() - NOT_HELD


@pytest.mark.parametrize("name", sorted(TRANSFORMATIONS))
def test_each_transformation_changes_cases_and_leaves_what_is_expected(name):
    before = {case["id"]: case["expected"] for case in cases()}
    given = list(changed([name], 12))

    assert given
    assert all(before[case["id"].removesuffix(f"~{name}")] == case["expected"] for case in given)
