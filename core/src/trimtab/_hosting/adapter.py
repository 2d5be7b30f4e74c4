"""What every adapter offers: a prompt brought to its end on some agent runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

import attrs

if TYPE_CHECKING:
    from trimtab._prompt.template import Prompt
    from trimtab._run.session import Session
    from trimtab._types.heartbeat import Heartbeat
    from trimtab._types.limits import Budget, Deadline


Output = TypeVar("Output")


@attrs.frozen
class PromptResponse(Generic[Output]):
    """How a prompt ended.

    Args:
        text: the final text, None if there was none.
        output: the structured output, None if the prompt asks for none.
        stop_reason: why the model's last response ended, in the service's words, e.g. ``"stop"``
            or ``"length"``; None if unknown.
        truncated: whether the service cut that response off or filtered it, so that `text` may
            lack its end.
    """

    text: str | None = None
    output: Output | None = None
    stop_reason: str | None = None
    truncated: bool = False


@runtime_checkable
class Adapter(Protocol):
    """Runs prompts on one agent runtime."""

    def evaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """Run the prompt to its end.

        Args:
            prompt: with all its parameters bound.
            session: where everything is recorded.
            deadline: when to stop; None for no limit.
            budget: tokens, money and time that may be used; None for no limit.
            heartbeat: beaten while work goes on, or None.

        Raises:
            PromptEvaluationError: there is no valid end, e.g. structured output with open work.
        """
        ...

    async def aevaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session,
        deadline: Deadline | None = None,
        budget: Budget | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> PromptResponse[Output]:
        """As `evaluate`, without blocking the event loop."""
        ...
