"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("strands")
pytest.importorskip("openai")

from trimtab.testing import HostConformance
from trimtab_strands._conformance import KIT

pytestmark = pytest.mark.e2e


class TestStrands(HostConformance):
    kit = KIT
