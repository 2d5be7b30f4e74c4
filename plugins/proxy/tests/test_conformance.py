"""The proxy holds to what it claims: scripted conversations of a loop of the real OpenAI client."""

import pytest

pytest.importorskip("openai")

from trimtab_proxy._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestProxy(HostConformance):
    kit = KIT
