"""``pytest --trimtab NAME``: conformance tests of an installed provider, without a test file."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.inspection import did_you_mean, discover, matching, quoted_list

pytest.register_assert_rewrite("trimtab_testing._conformance", "trimtab_testing._host_kit")


def pytest_addoption(parser: Any) -> None:
    parser.getgroup("trimtab").addoption(
        "--trimtab",
        action="append",
        default=[],
        metavar="NAME",
        help="test that an installed provider of trimtab holds to its contract",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect this module instead of the project's own tests, unless paths are given as well."""
    names = config.getoption("--trimtab") or []
    for name in names:
        _add_tests(name)
    if names:
        asked = config.args_source is config.ArgsSource.ARGS
        config.args[:] = [*(config.args if asked else ()), __file__]


def _add_tests(name: str) -> None:
    """Make a test class of this module for each kind that offers the name."""
    from trimtab_testing._conformance import SUITES

    entries = discover().entries
    found = [entry for entry in matching(name, entries) if entry.group in SUITES]
    if not found:
        known = sorted({entry.name for entry in entries if entry.group in SUITES})
        raise pytest.UsageError(
            f"no provider {name!r} is installed.{did_you_mean(name, known)} "
            f"Installed: {quoted_list(known)}. `trimtab plugins doctor` says what is damaged."
        )
    for entry in found:
        title = f"Test{entry.group.title()}{entry.name.title().replace('-', '')}"
        globals()[title] = type(title, (SUITES[entry.group],), {"name": entry.full_name})
