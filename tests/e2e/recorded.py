"""Live runs under a recorder, and the check that their traces replay identically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from trimtab import (
    Deadline,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    Prompt,
    enable,
)
from trimtab_trace import JsonlTrace, Replayed, open_trace, replay, verify


@attrs.define
class Recorded:
    """Where live runs are recorded, one file a run, and the prompts that guided them.

    Args:
        folder: of the traces.
    """

    folder: Path
    prompts: dict[str, Prompt[Any]] = attrs.field(factory=dict)

    def prompt(self, base: Prompt[Any]) -> Prompt[Any]:
        """Return `base` with a recorder and with built-in providers that have much to decide.

        Guidance is decided and withheld, so that what a test expects to be said stays as it is;
        feedback tells the time that is left after each call.
        """
        template = base.template
        withheld = [
            GuidanceProviderConfig(enable(name), mode="shadow")
            for name in ("doom-loop", "diagnostic-signal", "parallel-tool-reminder")
        ]
        left = FeedbackProviderConfig(
            enable("deadline-feedback", steady=True), FeedbackTrigger(every_n_calls=1)
        )
        recorded = attrs.evolve(
            template,
            guidance_providers=(*template.guidance_providers, *withheld),
            feedback_providers=(*template.feedback_providers, left),
            recorders=(JsonlTrace(str(self.folder)),),
        )
        made = Prompt(recorded, config=None)
        self.prompts[made.name] = made
        return made

    def check(self) -> list[Replayed]:
        """Return the replays of all traces: each is intact, and its decisions are the same."""
        files = sorted(self.folder.glob("*.jsonl"))
        assert files, "no run was recorded"
        return [self._check(path) for path in files]

    def _check(self, path: Path) -> Replayed:
        assert verify(open_trace(path, strict=False)).intact, path.name
        done = replay(open_trace(path), prompts=self.prompts)
        assert done.difference is None, f"{path.name}: {done.difference}"
        assert not done.unknown, path.name
        return done


def nearly_over() -> Deadline:
    """Return a deadline in whole seconds of which 100 are left, so that providers warn of it."""
    return Deadline(600, started=Deadline(1).started - 500)
