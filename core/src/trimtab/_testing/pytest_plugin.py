"""``pytest --trimtab NAME``: conformance tests of an installed provider, without a test file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("trimtab._testing.conformance", "trimtab._testing.host_kit")
NAMES: list[str] = []


def pytest_addoption(parser: Any) -> None:
    parser.getgroup("trimtab").addoption(
        "--trimtab",
        action="append",
        default=[],
        metavar="NAME",
        help="test that an installed provider of trimtab holds to its contract",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect the suite instead of the project's own tests, unless paths are given as well."""
    NAMES[:] = config.getoption("--trimtab") or []
    if NAMES:
        suite = str(Path(__file__).with_name("suite.py"))
        asked = config.args_source is config.ArgsSource.ARGS
        config.args[:] = [*(config.args if asked else ()), suite]
