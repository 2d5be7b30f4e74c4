"""Errors of mailboxes, leases and loops."""

from __future__ import annotations

from trimtab import TrimtabError


class MailboxError(TrimtabError):
    """A mailbox can't do what was asked; the message names the mailbox and the cause."""


class MessageTooLarge(MailboxError):
    """A body is longer than the engine allows."""


class UndecodableMessage(MailboxError):
    """The bytes of a message are not what this mailbox holds."""


class ReceiptHandleExpiredError(MailboxError):
    """The lease of a message is no longer ours: it expired, or the message is gone."""


class WorkerError(TrimtabError):
    """A worker can't be started; the message names the factory."""


class CalibrationError(TrimtabError, ValueError):
    """Times of a loop contradict each other; the message has the numbers and what would work."""


class CalibrationWarning(UserWarning):
    """A time that decides whether leases last is not given."""
