"""Small providers for tests, and a site in which they are installed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from trimtab import (
    ClassificationResult,
    CompletionCheckerConfig,
    DecisionPoint,
    Feedback,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceInjection,
    GuidanceProviderConfig,
    Plan,
    TaskCompletionResult,
)
from trimtab.trajectory import BaseProjection
from trimtab_replay._driver import replay
from trimtab_replay._recording import Item, RecordedItem, Recording
from trimtab_replay._results import Replayed
from trimtab_replay._selection import Prompts, Selection
from trimtab_signals import Calls


@attrs.define
class Points:
    """Speaks whenever it is asked, and says where it was asked and after how many calls."""

    asked: int = 0
    name: str = "points"
    category: str = "points"

    def classify(self, *, context: Any) -> ClassificationResult:
        self.asked += 1
        return ClassificationResult(True, reason="asked", episode=f"time-{self.asked}")

    def provide(self, *, context: Any) -> GuidanceInjection:
        pending = ",".join(call.tool for call in context.pending_tool_calls)
        text = f"{self.asked}: {context.tool_call_count} calls, pending {pending or 'none'}"
        return GuidanceInjection(key="point", content=text, category=self.category)


@attrs.define
class Repeats:
    """Speaks when the last step was taken `times` times running."""

    times: int = 3
    name: str = "repeats"
    category: str = "repeats"
    decision_points: tuple[DecisionPoint, ...] = (DecisionPoint.PRE_TOOL_SELECTION,)

    def classify(self, *, context: Any) -> ClassificationResult:
        repeats = context.trajectory.follow(Calls).repeats
        return ClassificationResult(repeats >= self.times, reason=f"{repeats} times over")

    def provide(self, *, context: Any) -> GuidanceInjection:
        return GuidanceInjection(
            key="again", content=f"Step {context.trajectory.follow(Calls).repeats} again."
        )


@attrs.define
class Watch:
    """Feedback after every call: seconds since the run was opened, and seconds left."""

    name: str = "watch"
    default_trigger: FeedbackTrigger = FeedbackTrigger(every_n_calls=1)

    def should_run(self, *, context: Any) -> bool:
        return True

    def provide(self, *, context: Any) -> Feedback:
        left = context.deadline.remaining().total_seconds() if context.deadline else None
        return Feedback(summary=f"{context.active_seconds:g} s, left {left}", severity="caution")


@attrs.define
class Planned:
    """Sends the agent back while its plan has open steps."""

    name: str = "planned"

    def check(self, context: Any) -> TaskCompletionResult:
        plan = context.session[Plan].latest()
        if plan is None or not plan.open_steps:
            return TaskCompletionResult.ok()
        return TaskCompletionResult.incomplete(f"{len(plan.open_steps)} steps are open")


@attrs.define
class Broken:
    """Raises whenever it is asked."""

    name: str = "broken"
    category: str = "broken"

    def classify(self, *, context: Any) -> ClassificationResult:
        raise RuntimeError("no luck")

    def provide(self, *, context: Any) -> GuidanceInjection:
        raise RuntimeError("no luck")


class Ruin(BaseProjection):
    """State that breaks with the first turn."""

    def turn_closed(self, turn: Any) -> None:
        raise ValueError("projection broke")


@attrs.define
class Fallen:
    """Follows the run by a projection that raises."""

    name: str = "fallen"
    category: str = "fallen"

    def classify(self, *, context: Any) -> ClassificationResult:
        if context.trajectory.projection(self.name) is None:
            context.trajectory.attach(self.name, Ruin())
            context.trajectory.projection(self.name)
        return ClassificationResult(False)

    def provide(self, *, context: Any) -> GuidanceInjection:
        raise AssertionError


def unlimited(provider: object) -> GuidanceProviderConfig:
    """Settings that let a provider speak as often as it wants."""
    return GuidanceProviderConfig(provider, max_per_turn=99, max_per_run=999, cooldown_turns=0)


def asking(*providers: object) -> Selection:
    """A selection of objects, by what they can do."""
    feedback = tuple(FeedbackProviderConfig(p) for p in providers if hasattr(p, "should_run"))
    checks = tuple(CompletionCheckerConfig(p) for p in providers if hasattr(p, "check"))
    guidance = tuple(unlimited(p) for p in providers if hasattr(p, "classify"))
    return Selection(guidance=guidance, feedback=feedback, completion=checks)


def replayed(
    items: Iterable[RecordedItem | Item],
    *providers: object,
    deadline: float | None = None,
    **facts: Any,
) -> Replayed:
    """Replay items, numbered by their calls unless they are entries."""
    fields = {"id": "run", "path": "run.jsonl", "reader": "by-hand", **facts}
    recording = Recording(entries=list(numbered(items)), **fields)
    return replay(recording, Prompts(asking(*providers)), deadline=deadline, keep_calls=True)


def numbered(items: Iterable[RecordedItem | Item]) -> Iterable[RecordedItem]:
    call = -1
    for item in items:
        if isinstance(item, RecordedItem):
            yield item
            continue
        call += type(item).__name__ == "ToolInvoked"
        yield RecordedItem(item, call)


ENTRIES = """\
[trimtab.guidance]
points = {module}:Points
repeats = {module}:Repeats
broken = {module}:Broken
fallen = {module}:Fallen

[trimtab.feedback]
watch = {module}:Watch

[trimtab.completion]
planned = {module}:Planned
"""


def install(site: Path, module: str = "trimtab_test_speakers") -> None:
    """Install these providers into `site`, a folder on the path."""
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\nRequires-Dist: trimtab>=0.1\n"
    (info / "METADATA").write_text(metadata)
    (info / "entry_points.txt").write_text(ENTRIES.format(module=module))
    source = Path(__file__).read_text()
    (site / f"{module}.py").write_text(source)
