"""What an agent reads when its plan and its calls part."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab import PlanStep
from trimtab.text import plural, quote, shorten
from trimtab_planning._drift_state import Drift, DriftKind
from trimtab_planning._names import PLAN_UPDATE_STEP, bare_name, planning_tool
from trimtab_planning._texts import LONGEST, firmer, step_words


def drift_text(found: Drift, tools: frozenset[str] | None, *, own: bool, level: int) -> str:
    """Return what to do; the second time it is firmer.

    Args:
        found: what was noticed.
        tools: the agent's tools, None if unknown; no other tool is named.
        own: whether the plan is kept with the plan tools.
        level: 1, 2 or 3.
    """
    by = _by(tools, own=own)
    return firmer(shorten(_TEXTS[found.kind](found, by), LONGEST), level)


def _by(tools: Iterable[str] | None, *, own: bool) -> str:
    """Return ``" with TodoWrite"``: the tool that changes a step; empty if none is known."""
    known = sorted(tools or ())
    wanted = (PLAN_UPDATE_STEP,) if own else ("taskupdate",)
    update = next((tool for tool in known if bare_name(tool) in wanted), None)
    tool = update or planning_tool(known)
    return f" with {tool}" if tool else ""


def _ticked(found: Drift, by: str) -> str:
    if found.tools:
        used = quote(", ".join(found.tools[:4]), 90)[1:-1]
        if found.sharing:
            return (
                f"You marked {step_words(found.steps[0])} done with no call since the last change"
                f" of the plan, and {used} had {plural(found.calls, 'call')} for {found.sharing}"
                f" such steps. Do it now, or set it to pending{by}; if an earlier call did it, say"
                " so in its outcome."
            )
        return (
            f"You marked {step_words(found.steps[0])} done, and called none of its tools since it"
            f" was planned: {used}. Do it now, or set it to pending{by}; if it was not needed,"
            " mark it skipped and say why."
        )
    return (
        f"You marked {plural(len(found.steps), 'step')} done with no call in between:"
        f" {_several(found.steps)}. Set what you have not done back to pending{by}, and do it."
    )


def _narrowed(found: Drift, by: str) -> str:
    return (
        f"Open steps are gone from your plan, and all that is left is done:"
        f" {_several(found.steps)}. Put back{by} what is still needed and do it; otherwise tell"
        " the user what you left out and why."
    )


def _rewritten(found: Drift, by: str) -> str:  # noqa: ARG001  one form for all
    return (
        f"You have written {found.turns} new plans without finishing a step. Keep this one and"
        f" do {step_words(found.steps[0])} now."
    )


def _at_once(found: Drift, by: str) -> str:
    return (
        f"All {len(found.steps)} open steps are marked in progress: {_several(found.steps)}."
        f" Leave in progress what you work on now, and set the others to pending{by}."
    )


def _stale(found: Drift, by: str) -> str:
    current, later = found.steps
    return (
        f"Your last calls look like {step_words(later)}, and your plan has been at"
        f" {step_words(current)} for {plural(found.turns, 'turn')}. Mark{by} what is done and what"
        " you work on now, or finish the step that the plan is at."
    )


def _off_plan(found: Drift, by: str) -> str:
    called = quote(", ".join(found.tools[:4]), 90)[1:-1]
    return (
        f"Your last {found.calls} calls ({called}) serve no open step of your plan. Go on with"
        f" {step_words(found.steps[0])}, or change the plan{by} so that it says what you do."
    )


def _several(steps: Iterable[PlanStep]) -> str:
    known = tuple(steps)
    words = "; ".join(quote(step.title, 70) for step in known[:3])
    return words + (f"; and {len(known) - 3} more" if len(known) > 3 else "")


_TEXTS = {
    DriftKind.TICKED: _ticked,
    DriftKind.NARROWED: _narrowed,
    DriftKind.REWRITTEN: _rewritten,
    DriftKind.AT_ONCE: _at_once,
    DriftKind.STALE: _stale,
    DriftKind.OFF_PLAN: _off_plan,
}
