"""What hosts ask a run, as recorders are told; the session keeps none of it."""

from __future__ import annotations

from typing import Any

import attrs

from trimtab._events import DecisionPoint, Delivery, Event, ToolCall


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Question(Event):
    """A host asked the run something.

    Args:
        deadline: seconds allowed and seconds used, or None without a deadline.
    """

    deadline: tuple[float, float] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class GuidanceAsked(Question):
    """A host asked for guidance.

    Args:
        decision_point: where.
        pending: calls about to run.
        delivery: how the text is placed this time; as the host declares if None.
        replayed: the decision was made before, by a run that is no longer known.
    """

    decision_point: DecisionPoint
    pending: tuple[ToolCall, ...] = ()
    delivery: Delivery | None = None
    replayed: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class FeedbackAsked(Question):
    """A host asked for feedback.

    Args:
        replayed: as for `GuidanceAsked`.
    """

    replayed: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CompletionAsked(Question):
    """A host asked whether the agent may stop.

    Args:
        output, stop_reason, background_work, awaiting_user, api_error, final: as for
            `Run.check_completion`.
        extra: names of the client's own checkers.
    """

    output: Any = None
    stop_reason: str | None = None
    background_work: bool = False
    awaiting_user: bool = False
    api_error: str | None = None
    final: bool = False
    extra: tuple[str, ...] = ()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PromptRendered(Event):
    """The prompt was rendered; recorders see it, the session does not keep it.

    Args:
        text: what the model reads.
    """

    text: str
