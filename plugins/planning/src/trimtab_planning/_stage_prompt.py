"""The prompt of one attempt of a stage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import attrs

from trimtab import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Tool,
    ToolContext,
    ToolResult,
)
from trimtab.hosting import to_json
from trimtab.text import shorten
from trimtab_planning._guardrails import Guardrails
from trimtab_planning._stages import StageDefinition

LONGEST_ERROR = 2_000
REPORT = "stage_report"


@attrs.frozen
class ReportParams:
    """Parameters of `stage_report`."""

    problem: Annotated[str, "Why this stage can't succeed."]
    rewind_to: Annotated[str, "The earlier stage that must be done again; empty for none."] = ""


@attrs.define
class Report:
    """What the agent reported in one attempt; None if nothing."""

    params: ReportParams | None = None

    def tool(self) -> Tool[Any, Any]:
        """Return the tool with which the agent reports."""
        return Tool(
            REPORT,
            "Say that this stage can't succeed, and which earlier stage must be done again."
            " Only for problems that you can't solve here.",
            ReportParams,
            self._take,
        )

    def _take(self, params: ReportParams, /, *, context: ToolContext) -> ToolResult[Any]:
        del context
        self.params = params
        return ToolResult.ok(message="Recorded. End this stage now with a short answer.")


def stage_prompt(
    stage: StageDefinition,
    order: Sequence[str],
    *,
    ns: str,
    key: str,
    given: Any,
    error: str,
    tools: Iterable[Tool[Any, Any]],
    guardrails: Guardrails,
    report: Report,
    recorders: Iterable[Any],
    config: Any,
) -> Prompt[Any]:
    """Return the prompt of one attempt.

    Args:
        stage: what is to be done.
        order: names of all stages.
        ns, key: of the runner.
        given: the input.
        error: why the attempt before failed, or the stage that led back here.
        tools: the runner's tools.
        guardrails: the runner's.
        report: where the agent reports.
        recorders: the runner's.
        config: as for `Prompt`.
    """
    allowed = [*stage.guardrails.allowed(guardrails.allowed((*tools, *stage.tools)))]
    allowed += [report.tool()] if stage.reports else []
    sections = list(_sections(stage, order, given, error, guardrails))
    if not isinstance(stage.instructions, PromptTemplate):
        return Prompt(
            PromptTemplate(
                ns,
                f"{key}/{stage.name}",
                [_static("instructions", stage.name, stage.instructions or stage.name), *sections],
                tools=allowed,
                recorders=tuple(recorders),
                output_type=stage.output,
            ),
            config=config,
        )
    template = stage.instructions
    made = attrs.evolve(
        template,
        sections=(*template.sections, *sections),
        tools=(*stage.guardrails.allowed(guardrails.allowed(template.tools)), *allowed),
        recorders=(*template.recorders, *recorders),
        output_type=stage.output,
    )
    takes = any(section.params_type is type(given) for section in template.sections)
    return Prompt(made, config=config).bind(*([given] if takes else []))


def _sections(
    stage: StageDefinition,
    order: Sequence[str],
    given: Any,
    error: str,
    guardrails: Guardrails,
) -> Iterable[MarkdownSection[Any]]:
    lines = [f"Stage {stage.name!r} of: {' -> '.join(order)}"]
    lines += [f"- {line}" for line in (*guardrails.lines(), *stage.guardrails.lines())]
    lines += [f"Hand over: {stage.handoff}"] if stage.handoff else []
    yield _static("stage", "Stage", "\n".join(lines))
    if given is not None:
        yield _static("stage-input", "Input", as_text(given))
    if error:
        text = f"Do it differently. What went wrong: {shorten(error, LONGEST_ERROR)}"
        yield _static("stage-error", "Previous attempt", text)


def _static(key: str, title: str, text: str) -> MarkdownSection[Any]:
    return MarkdownSection(key=key, title=title, template=text.replace("$", "$$"))


def as_text(value: Any) -> str:
    """Return an input or output as the agent reads it: text as it is, else JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(to_json(value), ensure_ascii=False, indent=2, default=str)
