"""The tests of a host, as a class that its package's tests inherit."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from trimtab._testing.host_kit.kit import HostKit


class HostConformance:
    """The tests of a host: one for each scenario that its claims allow.

    Attributes:
        kit: the host's.
    """

    # Warnings of a runtime's client are no fault of its host.
    pytestmark: ClassVar[list[Any]] = [pytest.mark.filterwarnings("default")]

    kit: ClassVar[HostKit]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test of each scenario.

        Args:
            metafunc: the test method that pytest asks about.
        """
        if "scenario" in metafunc.fixturenames:
            metafunc.parametrize("scenario", self.kit.scenarios)

    def test_the_host_holds_to_its_claims(self, scenario: str) -> None:
        """Play a scenario.

        Args:
            scenario: its name.
        """
        self.kit.check(scenario)
