"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("litellm")

from trimtab.testing import HostConformance
from trimtab_litellm._conformance import KIT

pytestmark = pytest.mark.e2e


class TestLiteLLM(HostConformance):
    kit = KIT
