"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_openai")
pytest.importorskip("langchain_anthropic")
pytest.importorskip("langchain_google_genai")

from trimtab_langchain._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestLangChain(HostConformance):
    kit = KIT
