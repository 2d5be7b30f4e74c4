"""What a run shows of its plan: what changed, and what was done in between."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import attrs

from trimtab import Plan, PlanStep, ToolInvoked
from trimtab.events import CallOrigin
from trimtab.text import LazyPattern
from trimtab.trajectory import MessageRecord, TextRecord, Turn
from trimtab_planning._plan_calls import HostPlan, is_neutral
from trimtab_planning._plans import matched
from trimtab_signals import text_of

_WORKED = frozenset({"done", "completed", "complete"})
_ANSWER = 300  # Characters of a text that is work by itself: an explanation, a review.
_MOST_TOOLS = 200
RECENT = 8
_SHOWING = 4
"""Of the last eight calls, how many name what a later step names, none the current one."""
_LONGEST_CALL = 2_000
_WORD = LazyPattern(r"[^\W_]{4,40}")
REWRITES = 3


class DriftKind(StrEnum):
    """How an agent and its plan part."""

    TICKED = "ticked"
    NARROWED = "narrowed"
    REWRITTEN = "rewritten"
    AT_ONCE = "at-once"
    STALE = "stale"
    OFF_PLAN = "off-plan"


@attrs.frozen
class Drift:
    """One way in which an agent and its plan part.

    Args:
        kind: which.
        steps: the steps that show it.
        change: number of the change of the plan that it follows.
        tools: the tools that a step lists, or that were called.
        turns, calls: since the plan changed; `turns` of a rewritten plan are its versions.
        sharing: steps marked done that list the tools of a step ticked off; these had `calls`.
    """

    kind: DriftKind
    steps: tuple[PlanStep, ...]
    change: int
    tools: tuple[str, ...] = ()
    turns: int = 0
    calls: int = 0
    sharing: int = 0

    @property
    def episode(self) -> str:
        """Name of the episode; these two last over changes of the plan."""
        lasting = self.kind in (DriftKind.REWRITTEN, DriftKind.AT_ONCE)
        return f"plan-drift:{self.kind}" + ("" if lasting else f":{self.change}")


@attrs.frozen
class RecentCall:
    """A call as far as it tells which step it serves: its tool and the words that it holds."""

    tool: str
    words: frozenset[str]


@attrs.define(eq=False)
class PlanTrack(HostPlan):
    """Follows a plan and the work between its changes.

    Attributes:
        finding: what the last change shows, until it is mended.
    """

    finding: Drift | None = None
    _plan: Plan | None = None
    _changes: int = 0
    _rewrites: int = 0
    _turns: int = 0
    _turns_at_change: int = 0
    _work: int = 0
    _work_at_change: int = 0
    _seen: int = 0
    _opened: dict[str, int] = attrs.field(factory=dict)
    _used: dict[str, int] = attrs.field(factory=dict)
    _called: dict[str, int] = attrs.field(factory=dict)
    _recent: tuple[RecentCall, ...] = ()

    def call_ended(self, call: ToolInvoked) -> None:
        """Follow a call: a change of the host's plan, or work."""
        super().call_ended(call)
        if self.plan is not None:
            self.observe(self.plan)
        if call.caller is CallOrigin.MODEL and not is_neutral(call.tool):
            self._worked()
            words = _words(text_of(call.params)[:_LONGEST_CALL])
            self._recent = (*self._recent, RecentCall(call.tool, words))[-RECENT:]
            if call.tool in self._used or len(self._used) < _MOST_TOOLS:
                self._used[call.tool] = self._work
                self._called[call.tool] = self._called.get(call.tool, 0) + 1

    def turn_closed(self, turn: Turn) -> None:  # noqa: ARG002  protocol
        """Count it."""
        self._turns += 1

    def responded(self, text: TextRecord) -> None:
        """Count a long answer as work."""
        if len(text.text) > _ANSWER:
            self._worked()

    def user_spoke(self, message: MessageRecord) -> None:
        """Begin anew: what the user asks for may be another thing."""
        super().user_spoke(message)
        if not message.notification:
            self.finding, self._plan, self._rewrites = None, None, 0
            self._mark()

    def observe(self, plan: Plan) -> None:
        """Take the plan as it is now; note what a change of it shows."""
        # Calls of the turn in which a plan was made with the plan tools may follow it.
        since = self._seen if plan.plan_id else self._work
        self._seen = self._work
        if plan == self._plan:
            return
        old, self._plan = self._plan, plan
        self._changes += 1
        before = old.steps if old is not None and old.plan_id == plan.plan_id else ()
        self.finding = self._found(plan.steps, before, own=bool(plan.plan_id))
        self._mark()
        known = {step.step_id for step in plan.steps if not step.done}
        opened = {step_id: at for step_id, at in self._opened.items() if step_id in known}
        self._opened = {step_id: opened.get(step_id, since) for step_id in known}

    def moved_on(self, turns: int) -> Drift | None:
        """Return that the calls serve a later step than the plan says, or None.

        A long step is no drift. So it takes words as well as time: half of the last calls name
        what the title of a later step alone names, and none what the current one's names.
        """
        plan, waited = self._plan, self._turns - self._turns_at_change
        calls = self._work - self._work_at_change
        if plan is None or waited < turns or calls < max(turns, RECENT):
            return None
        started = [step for step in plan.open_steps if step.started]
        step = plan.current_step
        if step is None or len(started) > 1 or len(self._recent) < RECENT:
            return None
        later = self._served(plan, step)
        if later is None:
            return None
        return Drift(DriftKind.STALE, (step, later), self._changes, turns=waited, calls=calls)

    def _served(self, plan: Plan, current: PlanStep) -> PlanStep | None:
        """Return the open step that the last calls name, None if they name the current one."""
        titles = {step.step_id: _words(step.title) for step in plan.steps}
        if self._naming(titles[current.step_id]):
            return None
        for step in plan.open_steps:
            others = (words for step_id, words in titles.items() if step_id != step.step_id)
            own = titles[step.step_id].difference(*others)
            if step is not current and self._naming(own) >= _SHOWING:
                return step
        return None

    def _naming(self, words: frozenset[str]) -> int:
        return sum(not words.isdisjoint(call.words) for call in self._recent)

    def off_plan(self, calls: int) -> Drift | None:
        """Return that the last calls serve no open step, where each lists its tools, or None."""
        plan = self._plan
        if plan is None or plan.status != "active" or not plan.open_steps:
            return None
        if self._work - self._work_at_change < calls or len(self._recent) < calls:
            return None
        if not all(step.tools for step in plan.open_steps):
            return None
        recent = [call.tool for call in self._recent[-calls:]]
        if any(step.uses(tool) for tool in recent for step in plan.open_steps):
            return None
        tools = tuple(dict.fromkeys(recent))
        return Drift(DriftKind.OFF_PLAN, plan.open_steps[:1], self._changes, tools, calls=calls)

    def _found(
        self, steps: Sequence[PlanStep], before: Sequence[PlanStep], *, own: bool
    ) -> Drift | None:
        # Ids of the host's steps are numbers of places: another step may have them later.
        pairs = matched(steps, before, by_id=own)
        kept = [old for _, old in pairs if old is not None]
        lost = tuple(step for step in before if not step.done and step not in kept)
        finished = tuple(
            (new, old)
            for new, old in pairs
            if old is not None and not old.done and new.status.strip().lower() in _WORKED
        )
        self._count(rewritten=bool(before) and self._replaced(pairs, lost), done=bool(finished))
        return (
            self._ticked(finished)
            or self._outnumbered(steps, finished)
            or self._narrowed(steps, lost)
            or self._many_rewrites(steps)
            or self._at_once(steps)
        )

    def _ticked(self, finished: Sequence[tuple[PlanStep, PlanStep]]) -> Drift | None:
        """Return steps that were marked done without a call of theirs."""
        for new, old in finished:
            since = self._opened.get(old.step_id, self._work)
            used = [tool for tool, at in self._used.items() if at > since]
            if new.tools and not any(new.uses(tool) for tool in used):
                tools = tuple(tool.name for tool in new.tools)
                return Drift(DriftKind.TICKED, (new,), self._changes, tools)
        idle = tuple(
            new
            for new, old in finished
            if self._opened.get(old.step_id, self._work) == self._work and not new.tools
        )
        return Drift(DriftKind.TICKED, idle, self._changes) if len(idle) > 1 else None

    def _outnumbered(
        self, steps: Sequence[PlanStep], finished: Sequence[tuple[PlanStep, PlanStep]]
    ) -> Drift | None:
        """Return a step marked done at once, where its tools had fewer calls than steps.

        Steps that share a tool can't be told apart by it, but they can be counted; calls before the
        plan count too, since those of the turn that made it may belong to it.
        """
        if self._work != self._work_at_change:
            return None
        for new, _ in finished:
            calls = sum(many for tool, many in self._called.items() if new.tools and new.uses(tool))
            names = {tool.name for tool in new.tools}
            sharing = [
                step
                for step in steps
                if step.status.strip().lower() in _WORKED
                and not names.isdisjoint(tool.name for tool in step.tools)
            ]
            if calls < len(sharing):
                tools = tuple(tool.name for tool in new.tools)
                change = (self._changes, tools, 0, calls, len(sharing))
                return Drift(DriftKind.TICKED, (new,), *change)
        return None

    def _narrowed(self, steps: Sequence[PlanStep], lost: tuple[PlanStep, ...]) -> Drift | None:
        if not steps or not lost or not all(step.done for step in steps):
            return None
        return Drift(DriftKind.NARROWED, lost, self._changes)

    def _many_rewrites(self, steps: Sequence[PlanStep]) -> Drift | None:
        left = tuple(step for step in steps if not step.done)
        if self._rewrites < REWRITES or not left:
            return None
        return Drift(DriftKind.REWRITTEN, left[:1], self._changes, turns=self._rewrites)

    def _at_once(self, steps: Sequence[PlanStep]) -> Drift | None:
        left = tuple(step for step in steps if not step.done)
        if len(left) < 3 or not all(step.started for step in left):
            return None
        return Drift(DriftKind.AT_ONCE, left, self._changes)

    def _replaced(
        self, pairs: Sequence[tuple[PlanStep, PlanStep | None]], lost: Sequence[PlanStep]
    ) -> bool:
        """Whether open steps gave way to new ones; a plan that only grows is no new plan."""
        return bool(lost) and any(old is None for _, old in pairs)

    def _count(self, *, rewritten: bool, done: bool) -> None:
        if done:
            self._rewrites = 0
        elif rewritten:
            self._rewrites += 1

    def _worked(self) -> None:
        self._work += 1
        if self.finding is not None and self.finding.kind is not DriftKind.AT_ONCE:
            self.finding = None

    def _mark(self) -> None:
        self._turns_at_change, self._work_at_change = self._turns, self._work


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
