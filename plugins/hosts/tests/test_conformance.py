"""Each host holds to what it claims: scripted conversations on the real framework."""

from importlib import import_module
from importlib.util import find_spec

import attrs
import pytest

from trimtab_hosts._conformance import (
    AGENT_FRAMEWORK_KIT,
    AUTOGEN_KIT,
    CREWAI_KIT,
    DSPY_KIT,
    HAYSTACK_KIT,
    LLAMA_INDEX_KIT,
    SMOLAGENTS_KIT,
    _play_crewai_on_a_loop,
    _play_dspy_on_a_loop,
)
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


def needs(package: str) -> pytest.MarkDecorator:
    top = find_spec(package.partition(".")[0])
    found = top is not None and find_spec(package) is not None
    return pytest.mark.skipif(not found, reason=f"needs {package}")


@pytest.fixture(autouse=True, scope="class")
def imported(request: pytest.FixtureRequest) -> None:
    """Import the framework, which takes many seconds, before a scenario's time begins."""
    name = request.cls.kit.name.replace("-", "_")
    import_module(f"trimtab_hosts.{name}")


@needs("agent_framework_openai")
class TestAgentFramework(HostConformance):
    kit = AGENT_FRAMEWORK_KIT


@needs("autogen_ext")
class TestAutoGen(HostConformance):
    kit = AUTOGEN_KIT


@needs("crewai")
class TestCrewAI(HostConformance):
    kit = CREWAI_KIT


@needs("crewai")
class TestCrewAIOnALoop(HostConformance):
    kit = attrs.evolve(CREWAI_KIT, play=_play_crewai_on_a_loop)


@needs("dspy")
class TestDSPy(HostConformance):
    kit = DSPY_KIT


@needs("dspy")
class TestDSPyOnALoop(HostConformance):
    kit = attrs.evolve(DSPY_KIT, play=_play_dspy_on_a_loop)


@needs("haystack")
class TestHaystack(HostConformance):
    kit = HAYSTACK_KIT


@needs("llama_index.llms.openai_like")
class TestLlamaIndex(HostConformance):
    kit = LLAMA_INDEX_KIT


@needs("smolagents")
class TestSmolagents(HostConformance):
    kit = SMOLAGENTS_KIT
