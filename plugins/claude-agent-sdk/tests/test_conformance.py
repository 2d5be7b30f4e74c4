"""The host holds to what it claims: scripted conversations with the real program."""

import pytest

pytest.importorskip("claude_agent_sdk")

from trimtab_claude_agent_sdk._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestClaudeAgentSDK(HostConformance):
    kit = KIT
