"""The host holds to what it claims: scripted conversations on the real runtime."""

import pytest

pytest.importorskip("pydantic_ai")
pytest.importorskip("openai")

from trimtab_pydantic_ai._conformance import KIT
from trimtab_testing import HostConformance

pytestmark = pytest.mark.e2e


class TestPydanticAI(HostConformance):
    kit = KIT
