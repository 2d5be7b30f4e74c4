"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("strands")
pytest.importorskip("openai")

from trimtab_strands._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestStrands(HostConformance):
    kit = KIT
