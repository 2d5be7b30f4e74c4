"""The example of the README builds the agent that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("strands.middleware")
pytest.importorskip("trimtab_doom_loop")
pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]
README = Path(__file__).parents[1] / "README.md"


def test_the_example_builds_its_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"GOOGLE_API_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    (code,) = re.findall(r"```py\n# agent\.py\n(.*?)```", README.read_text(), re.DOTALL)
    made: dict[str, object] = {}

    exec(compile(code, "agent.py", "exec"), made)

    assert {"agent", "guided"} <= made.keys()
