"""Mailboxes on Amazon SQS."""

from trimtab_sqs._mailbox import SqsMailbox

__all__ = ["SqsMailbox"]
