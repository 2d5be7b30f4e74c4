"""Stages: what each does, what goes in and out, its limits, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from trimtab import Adapter, PlannedTool, PlanStep, PromptTemplate, Tool
from trimtab_planning._criteria import Guardrails, as_guardrails
from trimtab_planning._strategies import Strategy

Check: TypeAlias = Callable[[Any], str | None]
"""Takes an output; returns what is wrong with it, None if it may pass."""


@attrs.frozen
class Retry:
    """Try the stage again, with the error in its prompt.

    Args:
        times: most retries each time that the stage is entered.
    """

    times: int = attrs.field(default=1, validator=attrs.validators.ge(1))


@attrs.frozen
class Fallback:
    """Go on with another stage, with the same input.

    Args:
        stage: its name.
    """

    stage: str


@attrs.frozen
class Rewind:
    """Go back to an earlier stage, with the input that it had and the error in its prompt.

    Args:
        stage: its name.
        times: most rewinds from this stage in one run.
    """

    stage: str
    times: int = attrs.field(default=1, validator=attrs.validators.ge(1))


@attrs.frozen
class Terminate:
    """End the run.

    Args:
        reason: why, in words; the error where empty.
    """

    reason: str = ""


INPUT = "input"
Transition: TypeAlias = Retry | Fallback | Rewind | Terminate
DEFAULT: tuple[Transition, ...] = (Retry(1), Terminate())


@attrs.frozen
class StageDefinition:
    """One stage.

    Args:
        name: unique among the stages.
        guardrails: `Guardrails`, or rules in words.
        handoff: what it hands to the next stage, in words.
        instructions: an instruction block, or a `PromptTemplate` whose sections, tools and
            providers hold.
        input_type: attrs class or dataclass of its input; anything where None.
        output_type: attrs class or dataclass of its output; text where None.
        tools: tools of its own, beside those of the runner.
        checks: functions that take the output and return what is wrong with it.
        feed: makes the input out of the outputs so far, by stage; the output of the stage
            before where None.
        choose: takes the output and returns the next stage, ``None`` for the next in order.
        on_failure: what to do, in this order, each until it is used up; it ends the run
            where nothing is left.
        spare: entered only by a fallback, a rewind or `choose`, never in order.
        reports: whether the agent gets the tool `stage_report`, with which it says that the
            stage can't succeed.
        adapter: runs this stage; the runner's where None.

    Raises:
        ValueError: the name is empty.
    """

    name: str = attrs.field(validator=attrs.validators.min_len(1))
    guardrails: Guardrails = attrs.field(factory=Guardrails, converter=as_guardrails)
    handoff: str = ""
    instructions: str | PromptTemplate[Any] = ""
    input_type: type[Any] | None = attrs.field(default=None, kw_only=True)
    output_type: type[Any] | None = attrs.field(default=None, kw_only=True)
    tools: tuple[Tool[Any, Any], ...] = attrs.field(default=(), converter=tuple, kw_only=True)
    checks: tuple[Check, ...] = attrs.field(default=(), converter=tuple, kw_only=True)
    feed: Callable[[Mapping[str, Any]], Any] | None = attrs.field(default=None, kw_only=True)
    choose: Callable[[Any], str | None] | None = attrs.field(default=None, kw_only=True)
    on_failure: tuple[Transition, ...] = attrs.field(default=DEFAULT, converter=tuple, kw_only=True)
    spare: bool = attrs.field(default=False, kw_only=True)
    reports: bool = attrs.field(default=False, kw_only=True)
    adapter: Adapter | None = attrs.field(default=None, kw_only=True)

    @property
    def output(self) -> type[Any] | None:
        """The type of its output, the template's where it has one."""
        if self.output_type is None and isinstance(self.instructions, PromptTemplate):
            return self.instructions.output
        return self.output_type

    def step(self, before: str) -> PlanStep:
        """Return the step of the plan that stands for this stage.

        Args:
            before: the stage that it depends on, empty for none.
        """
        return PlanStep(
            self.name,
            step_id=self.name,
            objective=self.instructions[:2_000] if isinstance(self.instructions, str) else "",
            tools=[PlannedTool(name) for name in self.guardrails.tools or ()],
            depends_on=(before,) if before else (),
            expected=self.handoff,
        )


def check_stages(stages: Iterable[StageDefinition]) -> dict[str, StageDefinition]:
    """Return stages by name.

    Raises:
        ValueError: there is none, two share a name, or a transition names no stage, or a later
            one to rewind to.
    """
    known: dict[str, StageDefinition] = {}
    for stage in stages:
        if stage.name in known:
            raise ValueError(f"two stages are called {stage.name!r}; rename one")
        known[stage.name] = stage
    if all(stage.spare for stage in known.values()):
        raise ValueError("there are no stages to begin with")
    if INPUT in known:
        raise ValueError(f"no stage can be called {INPUT!r}: `feed` finds the run's input there")
    order = list(known)
    for stage in known.values():
        for transition in stage.on_failure:
            _check_transition(stage, transition, order)
    return known


def _check_transition(stage: StageDefinition, transition: Transition, order: list[str]) -> None:
    if not isinstance(transition, Fallback | Rewind):
        return
    kind = type(transition).__name__
    if transition.stage not in order:
        raise ValueError(
            f"stage {stage.name!r}: {kind} names {transition.stage!r}; stages are {order}"
        )
    if isinstance(transition, Rewind) and order.index(transition.stage) > order.index(stage.name):
        raise ValueError(f"stage {stage.name!r} can't rewind to {transition.stage!r}: it is later")


def stage_table(stages: Iterable[StageDefinition]) -> str:
    """Return the stages as a Markdown table: stage, guardrails, handoff."""
    rows = (
        f"| {_cell(stage.name)} | {_cell(' '.join(stage.guardrails.lines()))} |"
        f" {_cell(stage.handoff)} |"
        for stage in stages
    )
    return "\n".join(("| Stage | Guardrails | Handoff |", "| --- | --- | --- |", *rows))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def multi_stage(
    stages: Iterable[StageDefinition], *, exit_signal: str = "", guardrails: Any = None
) -> Strategy:
    """Return the strategy whose section shows the sequence of stages; `StageRunner` runs them.

    Args:
        stages: in their order.
        exit_signal: when the run is done.
        guardrails: limits over all stages.

    Raises:
        ValueError: the stages are wrong, see `check_stages`.
    """
    stages = tuple(check_stages(stages).values())
    return Strategy(
        "multi-stage",
        "Multi-stage Policy",
        rules=(
            f"Stage sequence: {' -> '.join(stage.name for stage in stages)}",
            "Do the work of your stage only, and keep to its guardrails.",
        ),
        termination=(exit_signal or f"Stage {stages[-1].name} has produced its output.",),
        guardrails=as_guardrails(guardrails),
        detail=stage_table(stages),
    )
