"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("google.adk")

from trimtab.testing import HostConformance
from trimtab_adk._conformance import KIT

pytestmark = pytest.mark.e2e


class TestADK(HostConformance):
    kit = KIT
