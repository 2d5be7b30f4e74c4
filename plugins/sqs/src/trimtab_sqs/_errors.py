"""What the errors of SQS mean for a lease: gone for good, at its limit, or nothing learnt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from trimtab_worker import Capped, Extension, Lost, MailboxError, Unknown

LONGEST_LEASE = 43_200.0

GONE = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "InvalidAddress",
        "InvalidSecurity",
        "MessageNotInflight",
        "NonExistentQueue",
        "QueueDeletedRecently",
        "QueueDoesNotExist",
        "ReceiptHandleIsInvalid",
        "UnsupportedOperation",
    }
)
"""Codes, without their prefix ``AWS.SimpleQueueService.``: a retry can't help."""

TEXTS: Mapping[str, Extension] = {
    "beyond the limit": Capped(LONGEST_LEASE),
    "does not exist or is not available": Lost("the message is gone, or its lease has expired"),
    "receipt handle has expired": Lost("the receipt handle has expired"),
}
"""What ``InvalidParameterValue`` says, in small letters, and what it means."""


@contextmanager
def errors(where: str) -> Iterator[None]:
    """Turn errors of the client into `MailboxError`, with the queue's name."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise MailboxError(f"SQS queue {where}: {error}") from error


def outcome_of(error: Exception) -> Extension:
    """Return what an error of a call that extends a lease means."""
    if not isinstance(error, ClientError):
        return Unknown(f"{type(error).__name__}: {error}")
    details: Mapping[str, Any] = error.response.get("Error", {})
    return outcome_for(str(details.get("Code", "")), str(details.get("Message", "")))


def outcome_for(code: str, message: str) -> Extension:
    """As `outcome_of`, for the code and the message, as entries of a batch carry them."""
    short = code.rpartition(".")[2]
    lowered = message.lower()
    for text, meaning in TEXTS.items():
        if text in lowered:
            return meaning
    if short in GONE:
        return Lost(f"{short}: {message}" if message else short)
    return Unknown(f"{short or 'error'}: {message}")
