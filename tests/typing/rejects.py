"""Code of users that must not type-check.

Each wrong line carries an ignore, and both checkers report an ignore that nothing needs: if one of
these lines ever type-checked, the environment `types` would be red.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

import attrs

from trimtab import (
    ClassificationResult,
    Feedback,
    FeedbackContext,
    FeedbackProvider,
    FeedbackTrigger,
    GuidanceContext,
    GuidanceInjection,
    GuidanceProvider,
    GuidanceProviderConfig,
    Prompt,
    PromptTemplate,
    Session,
    TaskCompletionChecker,
    TaskCompletionResult,
    ToolInvoked,
)


@attrs.frozen
class Nameless:
    """Guidance without a category."""

    name: str = "nameless"

    def classify(self, *, context: GuidanceContext) -> ClassificationResult:
        return ClassificationResult(relevant=True)

    def provide(self, *, context: GuidanceContext) -> GuidanceInjection:
        return GuidanceInjection("nameless", "text")


@attrs.frozen
class Talker:
    """Feedback that returns plain text."""

    name: str = "talker"

    def should_run(self, *, context: FeedbackContext) -> bool:
        return True

    def provide(self, *, context: FeedbackContext) -> str:
        return "text"


class Boolean:
    """A checker that returns no verdict."""

    def check(self, context: object) -> bool:
        return True


guidance: GuidanceProvider = Nameless()  # type: ignore[assignment]
feedback: FeedbackProvider = Talker()  # type: ignore[assignment]
checker: TaskCompletionChecker = Boolean()  # type: ignore[assignment]

FeedbackTrigger(every_n_calls="5")  # type: ignore[arg-type]
GuidanceInjection(key="k", content=1)  # type: ignore[arg-type]
Feedback(summary="s", severity="fatal")  # type: ignore[arg-type]
GuidanceProviderConfig(provider="p", mode="loud")  # type: ignore[arg-type]
PromptTemplate("ns", "key", feedback_delivery="some")  # type: ignore[arg-type]
PromptTemplate("ns", "key", guidance_providers="doom-loop")  # type: ignore[arg-type]
Prompt("ns", "key", guidance_providers="doom-loop")  # type: ignore[call-overload]
TaskCompletionResult.incomplete()  # type: ignore[call-arg]


def use(session: Session, injection: GuidanceInjection) -> int:
    """Take things for what they aren't, and change what is frozen."""
    injection.content = "other"  # type: ignore[misc]
    session[Feedback].latest().render()  # type: ignore[union-attr]
    return session[ToolInvoked].all()  # type: ignore[return-value]
