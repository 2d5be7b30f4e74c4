"""Code of users that must type-check, with mypy --strict and with pyright."""

from __future__ import annotations

from typing import assert_type

import attrs

from trimtab import (
    ClassificationResult,
    CompositeChecker,
    Deadline,
    Feedback,
    FeedbackContext,
    FeedbackProvider,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceContext,
    GuidanceInjection,
    GuidanceProvider,
    GuidanceProviderConfig,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Proposal,
    RenderedPrompt,
    Session,
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    ToolInvoked,
    enable,
    hookimpl,
)
from trimtab.hosting import Drivers


@attrs.frozen
class Answer:
    """A structured output."""

    text: str


@attrs.frozen
class Question:
    """A parameter of a section."""

    topic: str


@attrs.frozen
class Breather:
    """Guidance in the form of the protocol."""

    after: int = 100
    name: str = "breather"
    category: str = "pace"

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        return ClassificationResult(relevant=context.tool_call_count >= self.after)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        return GuidanceInjection("breather", "Sum up what you know.", category=self.category)


@attrs.frozen
class Counter:
    """Feedback in the form of the protocol."""

    name: str = "counter"

    def should_run(self, *, context: FeedbackContext) -> bool:
        return context.tool_call_count > 0

    def provide(self, *, context: FeedbackContext) -> Feedback | None:
        return Feedback(summary=f"{context.tool_call_count} calls.", severity="caution")


class Signed:
    """A checker that may wait."""

    async def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        if context.tentative_output is None:
            return TaskCompletionResult.unverified("there is no output")
        return TaskCompletionResult.ok()


class Marked:
    """Guidance by hooks."""

    name = "marked"

    @hookimpl
    def guide_pre_tool_selection(self, context: GuidanceContext) -> Proposal | None:
        last = context.last_call
        if last is None or last.outcome == "ok":
            return None
        return Proposal(GuidanceInjection("marked", "Read the error."), ClassificationResult(True))


guidance: GuidanceProvider = Breather()
feedback: FeedbackProvider = Counter()
checker: TaskCompletionChecker = Signed()

template = PromptTemplate[Answer](
    ns="agent",
    key="main",
    sections=[MarkdownSection[Question](title="Task", key="task", template="About ${topic}.")],
    guidance_providers=[
        "doom-loop",
        enable("doom-loop", window_size=5),
        GuidanceProviderConfig(provider=Breather(after=10), max_per_turn=1),
        Marked(),
    ],
    feedback_providers=[
        FeedbackProviderConfig(provider=Counter(), trigger=FeedbackTrigger(every_n_calls=5)),
        FeedbackProviderConfig(provider="deadline-feedback"),
    ],
    completion_checkers=[CompositeChecker(checkers=(Signed(),), all_must_pass=False)],
)


def use(session: Session, deadline: Deadline) -> str:
    """Open a run as a host does."""
    prompt = Prompt(template)
    assert_type(prompt, Prompt[Answer])
    assert_type(prompt.bind(Question("rudders")).render(), RenderedPrompt[Answer])
    assert_type(session[ToolInvoked].all(), tuple[ToolInvoked, ...])
    assert_type(session[Feedback].latest(), Feedback | None)
    run = session.open_run(prompt, deadline=deadline)
    assert_type(run.feedback(), str | None)
    return run.render().text


def host(session: Session) -> int:
    """Drive an agent of one's own."""
    drivers = Drivers(
        Prompt(template), session, timeout=2.0, strict=True, deadline=600.0, budget=None, idle=60.0
    )
    return drivers.of("ada").run.state.calls
