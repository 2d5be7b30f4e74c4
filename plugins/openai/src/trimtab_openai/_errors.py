"""What the loop raises besides what the client raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trimtab import PromptEvaluationError, TrimtabError


class ClientMismatch(TrimtabError):
    """A synchronous client was given where an asynchronous one is needed, or the reverse."""


class ModelFailed(PromptEvaluationError):
    """The service answered, and what it answered is a failure or no answer at all."""


class LoopStopped(PromptEvaluationError):
    """The loop ended before the agent did.

    Args:
        text: why.
        messages: the conversation so far, to read or to go on with.
    """

    def __init__(self, text: str, messages: Iterable[Any] = ()) -> None:
        super().__init__(text)
        self.messages = list(messages)


class TurnLimitReached(LoopStopped):
    """The model has answered `max_turns` times without coming to an end."""


class Exhausted(LoopStopped):
    """The deadline has passed or the budget is used up."""


class UnmeasuredBudget(UserWarning):
    """A limit of the budget can't hold, because the service reports no usage or no price."""
