"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("google.adk")

from trimtab_adk._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestADK(HostConformance):
    kit = KIT
