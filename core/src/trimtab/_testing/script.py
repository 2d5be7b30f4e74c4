"""What happens in a made-up run, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from trimtab._events.run import CallOrigin, Outcome
from trimtab._types.options import number


def _instead_of_at(call: Call, _: object, seconds: float | None) -> None:
    if seconds is not None and call.at is not None:
        raise ValueError(f"a call takes `at` or `seconds`, not both: {call.at:g}, {seconds:g}")


@attrs.frozen
class Call:
    """A tool call with its end.

    Args:
        tool: the tool's name.
        params: its arguments.
        result: what it returns.
        outcome: how it ends; a plain string will do.
        error: the error's text; the result as text if None and the call failed.
        at: seconds on the player's clock when it ends; the clock stands still if None.
        seconds: how long it takes, in place of `at`; the calls of one response begin together. A
            call without it has no start and no duration, as on a host that tells only its end.
        poll: whether the host declares it a poll.
        caller: who asked for it.

    Raises:
        ValueError: both `at` and `seconds` are given, or `seconds` is below 0.
    """

    tool: str
    params: Any = attrs.field(factory=dict)
    result: Any = "ok"
    outcome: Outcome = attrs.field(default=Outcome.OK, converter=Outcome)
    error: str | None = None
    at: float | None = None
    poll: bool | None = None
    caller: CallOrigin = attrs.field(default=CallOrigin.MODEL, converter=CallOrigin)
    seconds: float | None = attrs.field(
        default=None, validator=[number(0, optional=True), _instead_of_at]
    )


@attrs.frozen
class Text:
    """A response of the model without calls.

    Args:
        text: what it says to the user.
        reasoning: its visible thinking.
    """

    text: str = ""
    reasoning: str = ""


@attrs.frozen
class Message:
    """A message of the user.

    Args:
        text: the message.
        notification: whether the harness sent it.
    """

    text: str
    notification: bool = False


@attrs.frozen
class Compaction:
    """The host shortens the history.

    Args:
        summary: what replaces it.
    """

    summary: str = ""


@attrs.frozen
class Wait:
    """Time passes.

    Args:
        seconds: how long.
    """

    seconds: float


Item = Call | Sequence[Call] | Text | Message | Compaction | Wait
"""One thing that happens; a list of calls is one response with all of them."""
