"""Arguments of the wrong type: refused where they are given, and by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from trimtab import (
    SYSTEM_CLOCK,
    Budget,
    ClassificationResult,
    CompletionCheckerConfig,
    CompositeChecker,
    Deadline,
    DecisionPoint,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceInjection,
    GuidanceProviderConfig,
    Heartbeat,
    Host,
    MarkdownSection,
    Observation,
    Plan,
    PlannedTool,
    PlanStep,
    Prompt,
    PromptTemplate,
    ProviderRef,
    Resources,
    RootedFilesystem,
    Session,
    TaskCompletionResult,
    Tool,
    ToolCall,
    ToolExecutor,
    ToolProfile,
    ToolResult,
    TrimtabError,
    Usage,
    check_completion,
    collect_feedback,
    collect_guidance,
    find_configuration,
    format_guidance,
    keep_last,
    load_configuration,
    number,
    whole_number,
)
from trimtab_testing import Checker


class Rude:
    """A value whose own methods raise."""

    def __repr__(self) -> str:
        raise OSError("no")

    __str__ = __repr__


def deep() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(3_000):
        made = {"a": made}
    return made


ODD = (
    *(None, True, -1, 1.5, float("nan"), float("inf"), 10**5_000, "", "x", b"x", int, len),
    *([], ["x"], [5], (), {}, {"x": 1}, {1, 2}, object(), Rude(), deep()),
    datetime(2020, 1, 1),  # noqa: DTZ001 - without a zone
)


@attrs.frozen
class Params:
    path: str


def look(params: Params, *, context: object) -> ToolResult[None]:
    return ToolResult(success=True)


def prompt() -> Prompt[Any]:
    return Prompt("agent", "main", config=None)


def right() -> list[tuple[Any, dict[str, Any]]]:
    """Return what is called, with arguments that are right."""
    session = Session()
    run = session.open_run(prompt())
    context = run.guidance_context(DecisionPoint.PRE_RESPONSE)
    asked = {"prompt": prompt(), "session": session}
    return [
        (Budget, {"max_turns": 3, "max_calls": 3, "max_cost": 1.0, "max_total_tokens": 5}),
        (ClassificationResult, {"relevant": True, "confidence": 0.5, "episode": "e"}),
        (CompletionCheckerConfig, {"timeout": 3}),
        (CompositeChecker, {"checkers": [Checker()], "all_must_pass": True}),
        (Deadline, {"total": 5, "clock": SYSTEM_CLOCK}),
        (Deadline.at, {"when": datetime.now(UTC), "clock": SYSTEM_CLOCK}),
        (FeedbackProviderConfig, {"trigger": FeedbackTrigger(every_n_calls=3)}),
        (FeedbackTrigger, {"every_n_calls": 3, "every_n_seconds": 3, "on_file_created": "x"}),
        (GuidanceInjection, {"key": "k", "content": "c", "priority": 1, "category": "c"}),
        (GuidanceProviderConfig, {"max_per_turn": 1, "min_confidence": 0.5, "refuse": False}),
        (GuidanceProviderConfig, {"mode": "live", "holdout": 0.0, "stop_after": 2}),
        (Heartbeat, {"clock": SYSTEM_CLOCK}),
        (Host, {"name": "x", "delivery": {}, "tools": (), "feedback": None, "control_flow": ()}),
        (Host, {"parallel_calls": True, "tool_profiles": (), "tool_descriptions": {}}),
        (MarkdownSection, {"key": "k", "title": "t", "template": "x", "tools": ()}),
        (Observation, {"category": "c", "description": "d", "evidence": None}),
        (Plan, {"steps": (), "exit_criteria": ()}),
        (PlanStep, {"tools": (), "depends_on": ()}),
        (PlannedTool, {"params": {}}),
        (PromptTemplate, {"ns": "a", "key": "b", "sections": (), "tools": ()}),
        (PromptTemplate, {"guidance_providers": (), "feedback_providers": ()}),
        (ProviderRef, {"name": "x", "options": {}, "optional": False}),
        (Resources, {"bound": {}}),
        (RootedFilesystem, {"root": "."}),
        (Session, {"clock": SYSTEM_CLOCK, "keep": 3}),
        (session.open_run, {"prompt": prompt(), "deadline": None, "host": Host(), "run_id": "r"}),
        (Session.restore, {"types": (), "reducers": {}}),
        (TaskCompletionResult.incomplete, {"feedback": "f", "progress": None}),
        (Tool, {"name": "n", "description": "d", "params": Params, "handler": look}),
        (ToolCall, {"tool": "t", "call_id": "c"}),
        (ToolExecutor, {"run": run, "tools": ()}),
        (ToolProfile, {"names": "x", "read_only": True, "writes": None, "polling": False}),
        (ToolProfile, {"command_params": (), "progress": (), "result_noise": None}),
        (Usage, {"input_tokens": 1, "output_tokens": 1, "cost": 1.0, "cached_tokens": 0}),
        (check_completion, asked),
        (collect_feedback, {**asked, "deadline": None}),
        (collect_guidance, {"context": context, "decision_point": DecisionPoint.PRE_RESPONSE}),
        (find_configuration, {"start": ".", "environment": {}}),
        (format_guidance, {"injections": ()}),
        (keep_last, {"n": 3}),
        (load_configuration, {"path": "x"}),
        (number, {"minimum": 1, "maximum": 5, "above": False, "optional": False}),
        (whole_number, {"minimum": 1, "optional": False}),
    ]


NEEDED = {
    CompletionCheckerConfig: {"provider": "x"},
    FeedbackProviderConfig: {"provider": "x"},
    GuidanceInjection: {"key": "k", "content": "c"},
    GuidanceProviderConfig: {"provider": "x"},
    MarkdownSection: {"key": "k", "title": "t", "template": "x"},
    PlanStep: {"title": "t"},
    PlannedTool: {"name": "n"},
    PromptTemplate: {"ns": "a", "key": "b"},
    Session.restore: {"text": Session().snapshot()},
    ToolProfile: {"names": "x"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("called", "arguments"), right())
def test_a_wrong_argument_is_refused_by_its_name(called: Any, arguments: dict[str, Any]) -> None:
    needed = {**NEEDED.get(called, {}), **arguments}
    for name in arguments:
        for value in ODD:
            try:
                called(**{**needed, name: value})
            except (TypeError, ValueError, TrimtabError) as error:
                words = str(error)
            else:
                continue
            names = (name, name.replace("_", " "), name.removesuffix("s"), "tool 'n'", "file")
            said = any(one in words for one in names)
            assert said, f"{called.__qualname__}({name}={type(value).__name__}): {words[:200]}"
