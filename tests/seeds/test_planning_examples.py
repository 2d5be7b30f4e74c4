"""The four examples of the planning specification, run as they stand but for their imports."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

PAGE = "004-planning-strategies.md"
IMPORTS = {
    "from weakincentives.prompt import": "from trimtab import",
    "from weakincentives.events import": "from trimtab_trace import",
}


@pytest.fixture
def example(corpus: Path, tmp_path: Path) -> Any:
    """Run one of the examples as a script of its own; return its names."""
    page = (corpus / "seeds" / PAGE).read_text(encoding="utf-8")
    codes = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(codes) == 4

    def run(index: int) -> dict[str, Any]:
        code = codes[index]
        for theirs, ours in IMPORTS.items():
            code = code.replace(theirs, ours)
        assert "weakincentives" not in code
        script = tmp_path / f"example_{index}.py"
        script.write_text(code, encoding="utf-8")
        return runpy.run_path(str(script))

    return run


def test_the_react_plan_is_rendered_with_its_parameters(example: Any) -> None:
    text = example(0)["rendered"].text

    assert text.startswith("## Plan\n")
    assert "1. Inspect CRM notes.\n2. Summarize entitlement findings." in text
    assert "Done when:\nWe have a definitive tier plus entitlement summary." in text


def test_the_plan_act_reflect_plan_is_rendered_with_steps_and_tools(example: Any) -> None:
    text = example(1)["rendered_par"].text

    assert text.startswith("## Plan → Act → Reflect Plan\n")
    assert "- **S1**: Fetch baseline metrics from analytics store." in text
    assert "- S2: warehouse.sql, notebook" in text


def test_the_stages_are_rendered_as_a_sequence_and_a_table(example: Any) -> None:
    text = example(2)["rendered_multi_stage"].text

    assert "Stage sequence: Goal framing → Decomposition → Tool routing → Synthesis" in text
    assert "| Synthesis | Do not invoke tools; rely on prior stage outputs only. |" in text


def test_the_event_bus_calls_its_subscriber(
    example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("trimtab_trace")
    namespace = example(3)
    printed = capsys.readouterr().out

    assert f"Plan ID: {namespace['plan_id']}" in namespace["rendered_event_log"].text
    assert printed.startswith("Captured event: {'event_type': 'PlanAuthored'")
    assert printed.count("Captured event") == 1
