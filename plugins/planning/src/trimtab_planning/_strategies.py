"""Planning strategies: a section with rules, its tools, and the provider that checks it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from trimtab import (
    Event,
    GuidanceProviderConfig,
    MarkdownSection,
    Plan,
    Prompt,
    PromptTemplate,
    Tool,
    enable,
)
from trimtab_planning._criteria import (
    ExitCriterion,
    Guardrails,
    PlanCriteria,
    as_criteria,
    as_guardrails,
)
from trimtab_planning._current import SHOWN_PER_RUN, trace_words
from trimtab_planning._guard import guarded
from trimtab_planning._plans import plan_text
from trimtab_planning._tools import plan_tools

KEY = "planning"
TEMPLATE = """\
${rules}

${start}### Guardrails

${guardrails}

### Done when

${termination}
"""


@attrs.frozen
class PlanningParams:
    """What a planning section shows; made by `Strategy.params`.

    The section is rendered once, so it makes no claim about where the plan stands now: the
    provider `current-plan` shows that.

    Args:
        rules: how the agent works with the plan.
        start: the plan that the agent begins with, under a heading; empty without one.
        guardrails: the limits.
        termination: when the agent is done.
    """

    rules: str
    start: str
    guardrails: str
    termination: str


@attrs.frozen
class Strategy:
    """One way to plan: instructions for the agent, its tools, and the provider that checks it.

    Args:
        name: of the strategy.
        title: of the section.
        rules: how the agent works with the plan.
        termination: when it is done.
        guardrails: limits that the section shows.
        tools: tools that keep the plan.
        guidance, recorders: providers of prompts made by `prompt`.
        template: of the section, with placeholders for the fields of `PlanningParams`.
        detail: Markdown that follows the rules.
        traced: whether the plan at the start is shown with its id and the last event.
        criteria: exit criteria; prompts check those that have a function before the agent stops.
    """

    name: str
    title: str
    rules: tuple[str, ...]
    termination: tuple[str, ...]
    guardrails: Guardrails = attrs.field(factory=Guardrails)
    tools: tuple[Tool[Any, Any], ...] = ()
    guidance: tuple[Any, ...] = ()
    recorders: tuple[Any, ...] = ("plan-watch",)
    template: str = TEMPLATE
    detail: str = ""
    traced: bool = False
    criteria: tuple[ExitCriterion, ...] = ()

    def section(self, key: str = KEY) -> MarkdownSection[PlanningParams]:
        """Return the section; bind its `params`.

        Args:
            key: of the section.
        """
        return MarkdownSection[PlanningParams](
            key=key, title=self.title, template=self.template, tools=self.tools
        )

    def params(self, plan: Plan | None = None, last_event: Event | None = None) -> PlanningParams:
        """Return what the section shows.

        Args:
            plan: the plan that the agent begins with, e.g. that of an earlier run; None before
                the first.
            last_event: the event recorded last before, for `event_trace`.
        """
        return PlanningParams(
            rules="\n\n".join(filter(None, (_listed(self.rules), self.detail))),
            start=self._start(plan, last_event),
            guardrails=_listed(self.guardrails.lines()) or "None.",
            termination=_listed(self.termination),
        )

    def _start(self, plan: Plan | None, last_event: Event | None) -> str:
        if plan is None:
            return ""
        traced = f"{trace_words(plan, last_event)}\n\n" if self.traced else ""
        return f"### Plan at the start\n\n{traced}{plan_text(plan)}\n\n"

    def prompt(
        self,
        ns: str,
        key: str,
        sections: Iterable[MarkdownSection[Any]] = (),
        *,
        plan: Plan | None = None,
        tools: Iterable[Tool[Any, Any]] = (),
        strict: bool = False,
        config: Any = "auto",
        **declared: Any,
    ) -> Prompt[Any]:
        """Return a prompt with the planning section last, its parameters bound.

        Args:
            ns, key: as for `Prompt`.
            sections: what the agent is to do.
            plan: the plan that the agent begins with, e.g. that of an earlier run. It is shown;
                the agent's own record of the new run begins with what it writes.
            tools: the agent's tools; those that the guardrails forbid are left out.
            strict: the tools refuse calls that leave the plan, see `guarded`.
            config: as for `Prompt`.
            declared: further arguments of `PromptTemplate`.

        It raises what `Prompt` raises.
        """
        allowed = self.guardrails.allowed(tools)
        if strict:
            known = guarded((*self.tools, *allowed))
            allowed = known[len(self.tools) :]
        template: PromptTemplate[Any] = PromptTemplate(
            ns,
            key,
            (*sections, self.section()),
            tools=allowed,
            guidance_providers=(*self.guidance, *declared.pop("guidance_providers", ())),
            recorders=(*self.recorders, *declared.pop("recorders", ())),
            completion_checkers=(*self._checkers(), *declared.pop("completion_checkers", ())),
            **declared,
        )
        return Prompt(template, config=config).bind(self.params(plan))

    def _checkers(self) -> tuple[PlanCriteria, ...]:
        checked = [item for item in self.criteria if item.check is not None]
        return (PlanCriteria(checked),) if checked else ()


def react(*, guardrails: Any = None, done_when: Any = "") -> Strategy:
    """ReAct with a plan: the plan is a surface to coordinate on, and may change at any time.

    Args:
        guardrails: `Guardrails`, or rules in words.
        done_when: exit criteria to begin with: a text, an `ExitCriterion` with a function that
            checks it, or several.
    """
    criteria = as_criteria(done_when)
    return Strategy(
        "react",
        "Plan",
        rules=(
            (
                "Write the plan with plan_set before a task of three steps or more. A question, or"
                " work of one or two calls, needs no plan."
            ),
            (
                "Refer to a step of the plan when you call a tool. Mark it with plan_update_step"
                " when you begin it, one at a time, and at once when it is done."
            ),
            "Change course with plan_set when what you see demands it, and say why.",
        ),
        termination=(
            *(item.text for item in criteria),
            "The exit criteria of the plan are met, or you have abandoned it and said why.",
        ),
        guardrails=as_guardrails(guardrails),
        tools=plan_tools(criteria),
        criteria=criteria,
        guidance=_following(),
    )


def plan_act_reflect(
    *,
    guardrails: Any = None,
    done_when: Any = "",
    free_tools: Iterable[str] = (),
    refuse: bool = False,
) -> Strategy:
    """Plan, Act, Reflect: a typed plan first, steps in order, reflection on each outcome.

    Args:
        guardrails: `Guardrails`, or rules in words.
        done_when: exit criteria to begin with: a text, an `ExitCriterion` with a function that
            checks it, or several.
        free_tools: names and namespaces of tools that need no plan.
        refuse: may refuse a call where the host can only speak so.
    """
    criteria = as_criteria(done_when)
    provider = enable("plan-act-reflect", free_tools=list(free_tools), plan_tools=True)
    return Strategy(
        "plan-act-reflect",
        "Plan, Act, Reflect",
        rules=(
            (
                "Plan: before any other tool, call plan_set with ordered steps, the tools each step"
                " uses, and exit criteria. A question that needs no tool needs no plan."
            ),
            (
                "Act: mark a step in_progress with plan_update_step, use only its tools, then mark"
                " it done with its outcome."
            ),
            (
                "Reflect: after each step, and when there is new evidence, call plan_reflect with"
                " what you observed; change the plan with plan_set where it no longer fits, or"
                " go back to an earlier version with plan_revise."
            ),
        ),
        termination=(
            *(item.text for item in criteria),
            (
                "Every step is done and plan_reflect without step_id says that the exit criteria"
                " are met, or the plan is abandoned with its reason."
            ),
        ),
        guardrails=as_guardrails(guardrails),
        tools=plan_tools(criteria),
        criteria=criteria,
        guidance=(GuidanceProviderConfig(provider, refuse=refuse), *_following()),
    )


def event_trace(base: Strategy | None = None) -> Strategy:
    """Show the plan's id and the last event, so that an agent can go on from a trace.

    Both stand at the end of each request, by the provider `current-plan`.

    Args:
        base: the strategy that is traced; ReAct with a plan where None.
    """
    base = base or react()
    return attrs.evolve(
        base,
        name=f"{base.name}+event-trace",
        title="Typed Event Trace",
        traced=True,
        rules=(
            *base.rules,
            "What was recorded is never changed: correct a mistake with a new call.",
            "Go on after the last event; do not repeat steps that are done.",
        ),
        guidance=(
            *(item for item in base.guidance if item not in _following()),
            *_following(trace=True, repeat_after=1),
        ),
    )


def _following(**options: Any) -> tuple[Any, ...]:
    """Return what shows the plan at the end of requests, and what notices that it is left."""
    shown = enable("current-plan", **options)
    return (GuidanceProviderConfig(shown, max_per_run=SHOWN_PER_RUN), enable("plan-drift"))


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
