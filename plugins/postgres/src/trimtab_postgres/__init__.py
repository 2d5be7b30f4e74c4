"""Mailboxes in Postgres tables."""

from trimtab_postgres._mailbox import PostgresMailbox

__all__ = ["PostgresMailbox"]
