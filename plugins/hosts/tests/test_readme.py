"""The examples of the README build the agents that they show."""

from __future__ import annotations

import linecache
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("trimtab_doom_loop")
pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]
README = Path(__file__).parents[1] / "README.md"
EXAMPLES = dict(re.findall(r"```py\n# (\w+)_agent\.py\n(.*?)```", README.read_text(), re.DOTALL))
PACKAGES = {
    "agent_framework": "agent_framework_openai",
    "autogen": "autogen_ext",
}


@pytest.mark.parametrize("framework", EXAMPLES)
def test_an_example_builds_its_agent(monkeypatch: pytest.MonkeyPatch, framework: str) -> None:
    package = PACKAGES.get(framework, framework)
    if find_spec(package) is None:
        pytest.skip(f"needs {package}")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    code = EXAMPLES[framework]
    # smolagents reads the source of a tool.
    linecache.cache["example.py"] = (len(code), None, code.splitlines(True), "example.py")
    made: dict[str, object] = {"__name__": "example"}

    exec(compile(code, "example.py", "exec"), made)

    assert "agent" in made
