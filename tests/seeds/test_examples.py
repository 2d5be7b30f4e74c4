"""The specifications' examples run, with only their imports changed.

Left out are restatements of types, code of the other project that they quote, and rooms that
are not built yet (leases, loops, event bus).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import trimtab

PROVIDERS = {
    "trimtab_consultation_prompt": "ConsultationPromptProvider",
    "trimtab_deadline_feedback": "DeadlineFeedback",
    "trimtab_diagnostic_signal": "DiagnosticSignalProvider",
    "trimtab_doom_loop": "DoomLoopDetector",
    "trimtab_parallel_tool_reminder": "ParallelToolReminder",
    "trimtab_plan_based_checker": "PlanBasedChecker",
}
RUNNABLE = {
    "000-decision-time-guidance.md": (1, 2, 3, 4, 5, 7),
    "001-feedback-providers.md": (0, 1, 2, 3),
    "003-guardrails.md": (1, 2, 4, 5, 6, 7, 10, 11),
}
_FOREIGN = re.compile(r"^from weakincentives[^\n(]*(\([^)]*\)|[^\n]*)$", re.MULTILINE)
_ELLIPSES = {"sections=(...)": "sections=()", "    ...,\n": "    ns='agent', key='main',\n"}


def names() -> dict[str, Any]:
    public = {name: getattr(trimtab, name) for name in trimtab.__all__}
    for module, provider in PROVIDERS.items():
        public[provider] = getattr(pytest.importorskip(module), provider)
    return {**public, "dataclass": dataclass}


def blocks(page: Path) -> list[str]:
    found = re.findall(r"```python[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [_without_ellipses(_FOREIGN.sub("", block)) for block in found]


def _without_ellipses(code: str) -> str:
    for written, meant in _ELLIPSES.items():
        code = code.replace(written, meant)
    return code


@pytest.mark.parametrize("page", RUNNABLE)
def test_examples_of_a_specification_run(corpus: Path, page: str) -> None:
    namespace = names()
    codes = blocks(corpus / "seeds" / page)
    for index in RUNNABLE[page]:
        exec(compile(codes[index], f"{page}[{index}]", "exec"), namespace)

    assert import_module("trimtab").Prompt is namespace["Prompt"]
