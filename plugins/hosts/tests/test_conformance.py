"""Each host holds to what it claims: scripted conversations on the real framework."""

from importlib import import_module
from importlib.util import find_spec

import attrs
import pytest

from trimtab.testing import HostConformance
from trimtab_hosts._conformance import (
    agent_framework,
    autogen,
    crewai,
    dspy,
    haystack,
    llama_index,
    smolagents,
)

pytestmark = pytest.mark.e2e


def needs(package: str) -> pytest.MarkDecorator:
    top = find_spec(package.partition(".")[0])
    found = top is not None and find_spec(package) is not None
    return pytest.mark.skipif(not found, reason=f"needs {package}")


@pytest.fixture(autouse=True, scope="class")
def imported(request: pytest.FixtureRequest) -> None:
    """Import the framework, which takes many seconds, before a scenario's time begins."""
    name = request.cls.kit.play.__module__.rpartition(".")[2]
    import_module(f"trimtab_hosts.{name}")


@needs("agent_framework_openai")
class TestAgentFramework(HostConformance):
    kit = agent_framework.KIT


@needs("autogen_ext")
class TestAutoGen(HostConformance):
    kit = autogen.KIT


@needs("crewai")
class TestCrewAI(HostConformance):
    kit = crewai.KIT


@needs("crewai")
class TestCrewAIOnALoop(HostConformance):
    kit = attrs.evolve(crewai.KIT, play=crewai.play_on_a_loop)


@needs("dspy")
class TestDSPy(HostConformance):
    kit = dspy.KIT


@needs("dspy")
class TestDSPyOnALoop(HostConformance):
    kit = attrs.evolve(dspy.KIT, play=dspy.play_on_a_loop)


@needs("haystack")
class TestHaystack(HostConformance):
    kit = haystack.KIT


@needs("llama_index.llms.openai_like")
class TestLlamaIndex(HostConformance):
    kit = llama_index.KIT


@needs("smolagents")
class TestSmolagents(HostConformance):
    kit = smolagents.KIT
