"""Each host holds to what it claims: scripted conversations on the real framework."""

from importlib.util import find_spec

import pytest

from trimtab.testing import HostConformance
from trimtab_hosts._conformance import agent_framework, haystack, smolagents

pytestmark = pytest.mark.e2e


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}")


@needs("agent_framework_openai")
class TestAgentFramework(HostConformance):
    kit = agent_framework.KIT


@needs("haystack")
class TestHaystack(HostConformance):
    kit = haystack.KIT


@needs("smolagents")
class TestSmolagents(HostConformance):
    kit = smolagents.KIT
