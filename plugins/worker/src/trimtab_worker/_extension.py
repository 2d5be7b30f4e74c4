"""One call that extends leases: whatever the engine does, it has one outcome for each."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

from trimtab_worker._records import (
    Capped,
    Extension,
    Granted,
    Lost,
    ReceiptHandleExpiredError,
    Unknown,
)

LOG = logging.getLogger("trimtab_worker")


def extend(asked: Sequence[tuple[Any, float]]) -> Sequence[Extension]:
    """Extend messages of one mailbox; raises nothing.

    Args:
        asked: messages of ours, or objects with `extend_visibility`, each with seconds.
    """
    if len(asked) == 1:
        return [extend_one(*asked[0])]
    try:
        outcomes = list(asked[0][0].mailbox.extend_many(asked))
    except BaseException as error:  # noqa: BLE001 - an engine's client is not ours
        return [_failed(error)] * len(asked)
    if len(outcomes) != len(asked):
        wrong = Unknown(f"extend_many returned {len(outcomes)} outcomes for {len(asked)} leases")
        return [wrong] * len(asked)
    return [_checked(outcome) for outcome in outcomes]


def extend_one(message: Any, seconds: float) -> Extension:
    """As `extend`, for one message.

    Args:
        message: its method `extend` returns an `Extension`; without one, `extend_visibility`
            returns when the lease is extended, and raises otherwise.
        seconds: from now.
    """
    try:
        if hasattr(message, "extend"):
            return _checked(message.extend(seconds))
        message.extend_visibility(seconds)
    except ReceiptHandleExpiredError as error:
        LOG.warning("the lease of message %s is lost: %s", _id_of(message), error)
        return Lost(str(error) or type(error).__name__)
    except BaseException as error:  # noqa: BLE001 - an engine's client is not ours
        LOG.warning("extending message %s failed: %s", _id_of(message), error)
        return _failed(error)
    return Granted(seconds)


def _checked(outcome: object) -> Extension:
    """Only an outcome is one: what an engine returns by mistake must not pass for a grant."""
    if isinstance(outcome, Lost | Unknown | Capped):
        return outcome
    if isinstance(outcome, Granted):
        seconds: object = outcome.seconds
        if isinstance(seconds, int | float) and math.isfinite(seconds):
            return outcome
    return Unknown(f"the mailbox returned {outcome!r:.100} for an extension, not an outcome")


def _id_of(message: Any) -> str:
    return str(getattr(message, "id", "?"))


def _failed(error: BaseException) -> Unknown:
    return Unknown(f"{type(error).__name__}: {error}")
