"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("litellm")

from trimtab_litellm._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestLiteLLM(HostConformance):
    kit = KIT
