"""Simulated traffic: agents that loop, a provider that speaks or is held out, and its effect."""

from __future__ import annotations

import random
from typing import Any

import attrs

from trimtab import (
    ClassificationResult,
    DecisionPoint,
    GuidanceInjection,
    GuidanceProviderConfig,
    Prompt,
    Session,
    TaskCompletionResult,
    ToolCall,
)

LOOP = {"command": "make test"}


@attrs.frozen
class Nagging:
    """Speaks once the same call has been made three times."""

    name: str = "nagging"
    category: str = "loop"

    def classify(self, *, context: Any) -> ClassificationResult:
        return ClassificationResult(context.tool_call_count == 3, reason="3 times", episode="one")

    def provide(self, *, context: Any) -> GuidanceInjection:
        return GuidanceInjection(key="again", content=f"Stop after {context.tool_call_count}.")


@attrs.define
class Checker:
    """Says whether the simulated agent has finished its task."""

    is_done: bool = False
    name: str = "checker"

    def check(self, context: Any) -> TaskCompletionResult:
        return TaskCompletionResult.ok() if self.is_done else TaskCompletionResult.incomplete("no")


@attrs.frozen
class Traffic:
    """How likely a run makes progress after the moment, and is completed, by its arm."""

    nudged: float
    held_out: float
    nudged_done: float = 0.5
    held_out_done: float = 0.5
    holdout: float = 0.5

    def session(self, chance: random.Random) -> Session:
        """One recorded session of an agent that makes one call three times."""
        checker = Checker()
        config = GuidanceProviderConfig(Nagging(), holdout=self.holdout)
        prompt: Prompt[Any] = Prompt(
            "shop", "agent", guidance_providers=(config,), completion_checkers=(checker,)
        )
        session = Session()
        run = session.open_run(prompt, run_id=f"{chance.getrandbits(64):016x}")
        for number in range(3):
            self._call(run, f"a{number}", LOOP, "no rule")
        is_nudged = bool(run.guide(DecisionPoint.PRE_TOOL_SELECTION))
        moves = chance.random() < (self.nudged if is_nudged else self.held_out)
        for number in range(3):
            result = f"found {number}" if moves else "no rule"
            self._call(run, f"b{number}", {"command": "ls"} if moves else LOOP, result)
        checker.is_done = chance.random() < (self.nudged_done if is_nudged else self.held_out_done)
        run.check_completion()
        run.close()
        return session

    def _call(self, run: Any, call_id: str, params: dict[str, str], result: str) -> None:
        run.model_responded(tool_calls=(ToolCall("bash", params, call_id),))
        run.tool_finished(call_id, result)
