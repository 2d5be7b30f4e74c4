"""Mailboxes by URL: the scheme names an entry point of the group ``trimtab.mailboxes``."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from trimtab.inspection import discover, load, select
from trimtab_worker._errors import MailboxError


def open_mailbox(url: str, body: Any = None) -> Any:
    """Open the mailbox that `url` names, e.g. ``sqlite:///queue.db``.

    An engine that is not installed raises trimtab's `UnknownProvider`.

    Args:
        url: its scheme is the name of an installed engine: ``sqlite``, ``redis``, ``sqs``,
            ``postgresql``, or another package's.
        body: attrs class that bodies are of, or several; None: plain JSON values.

    Raises:
        MailboxError: this is not a URL, or the engine refuses it.
    """
    scheme, colon, _ = url.partition(":")
    if not colon or not scheme:
        raise MailboxError(f"{url!r} is not a URL of a mailbox: write e.g. sqlite:///queue.db")
    factory = load(select("mailboxes", scheme, discover()))
    return factory(url, body)


def split_queue(url: str, default: str = "agents") -> tuple[str, str]:
    """Return a server's URL without its parameter ``queue``, and that parameter.

    Args:
        url: e.g. ``redis://localhost:6379/0?queue=agents``.
        default: the queue if the URL names none.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    queue = options.pop("queue", default)
    return urlunsplit(parts._replace(query=urlencode(options))), queue
