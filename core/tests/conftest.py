"""Runs on a clock that the test moves."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from trimtab import ManualClock, Prompt, PromptTemplate, Run, Session
from trimtab_testing import Checker, Commentator, Speaker


@attrs.frozen
class Kit:
    """What engine tests are made of."""

    clock: ManualClock
    session: Session
    Speaker: type[Speaker] = Speaker
    Commentator: type[Commentator] = Commentator
    Checker: type[Checker] = Checker

    def run(self, key: str = "main", **providers: Any) -> Run:
        """Open a run of a prompt with these providers."""
        opening = {k: providers.pop(k) for k in _OPENING if k in providers}
        prompt = Prompt(PromptTemplate("agent", key, **providers), config=None)
        return self.session.open_run(prompt, **opening)

    def call(self, run: Run, tool: str = "read", params: Any = None, **end: Any) -> Any:
        """Let the run make one call in a turn of its own."""
        run.model_responded()
        run.tool_started(tool, params or {}, f"c{run.state.calls}")
        return run.tool_finished(f"c{run.state.calls}", end.pop("result", "done"), **end)


_OPENING = ("agent_id", "run_id", "host", "deadline", "budget", "timeout")


@pytest.fixture
def kit() -> Kit:
    """A fresh session on a clock that stands still."""
    clock = ManualClock()
    return Kit(clock, Session(clock=clock))
