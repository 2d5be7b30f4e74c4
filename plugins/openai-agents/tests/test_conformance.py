"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("agents")

from trimtab_openai_agents._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestOpenAIAgents(HostConformance):
    kit = KIT
