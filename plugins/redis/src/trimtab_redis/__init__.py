"""Mailboxes on Redis Streams."""

from trimtab_redis._mailbox import RedisMailbox

__all__ = ["RedisMailbox"]
