"""``trimtab mailbox``: send, count, and look after dead letters."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import attrs

from trimtab.inspection import say, say_json
from trimtab.text import plural, sanitize
from trimtab_worker import DeadLetter, MailboxError, StoredMessage, open_mailbox
from trimtab_worker._sqlite import path_of

LONGEST_INPUT = 100_000_000
"""Characters of one body on standard input."""


def register(parser: argparse.ArgumentParser) -> None:
    """Send to a mailbox, or show and repair what is in it."""
    parser.description = "Send messages to a mailbox, count them, look after its dead letters."
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, what, add_arguments in (
        ("send", "put one message into the mailbox", _send),
        ("stats", "count the messages", _stats),
        (
            "peek",
            "show messages without receiving them, with the ends of leases",
            _peek,
        ),
        ("purge", "delete all messages that are not leased", _purge),
        ("dead", "list, requeue or drop dead letters", _dead),
    ):
        add_arguments(commands.add_parser(name, help=what, description=what))


def _send(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="e.g. sqlite:///queue.db")
    parser.add_argument("body", metavar="JSON", help="the body; - reads it from standard input")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--reply-to", metavar="ADDRESS", help="where the worker sends its answer")
    parser.add_argument("--once", metavar="KEY", help="unless one was sent under KEY in 7 days")
    parser.set_defaults(run=run_send)


def _stats(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run_stats)


def _peek(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--limit", type=int, default=20, help="how many at most (default 20)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run_peek)


def _purge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--yes", action="store_true", help="delete; without it they are counted")
    parser.set_defaults(run=run_purge)


def _dead(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")
    parser.add_argument("action", nargs="?", choices=("list", "requeue", "drop"), default="list")
    parser.add_argument("ids", nargs="*", metavar="ID", help="dead letters; all without one")
    parser.add_argument("--limit", type=int, default=100, help="of a list (default 100)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run_dead)


def run_send(options: argparse.Namespace) -> int:
    """Send one message; print its id, or nothing where it was sent before."""
    body = _parsed(options.body)
    how = {"delay": options.delay, "reply_to": options.reply_to}
    with _lasting(options.url) as mailbox:
        if options.once is None:
            sent = mailbox.send(body, **how)
        else:
            sent = mailbox.send_once(body, options.once, **how)
    if sent is not None:
        say(sent)
    return 0


def _parsed(text: str) -> Any:
    if text == "-":
        text = sys.stdin.read(LONGEST_INPUT + 1)
        if len(text) > LONGEST_INPUT:
            raise MailboxError(
                f"the body on standard input has more than {LONGEST_INPUT:,} characters; send a "
                "reference to the data, or use Mailbox.send"
            )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MailboxError(f"the body is not JSON: {error}; write a text as '\"…\"'") from error


def _lasting(url: str) -> Any:
    """Open a mailbox that goes on when this command has ended.

    Raises:
        MailboxError: it is one in memory.
    """
    if url.startswith("memory:"):
        raise MailboxError(
            f"{url} ends with this command and its messages: name a mailbox that lasts, such as "
            "sqlite:///queue.db"
        )
    return open_mailbox(url)


def _existing(url: str) -> Any:
    """Open a mailbox that is there already: a mistyped path must not create one.

    Raises:
        MailboxError: there is none.
    """
    if url.startswith("sqlite:") and not Path(path_of(url)).exists():
        raise MailboxError(f"{path_of(url)}: there is no mailbox; sending creates it")
    return _lasting(url)


def run_stats(options: argparse.Namespace) -> int:
    """Print the counts."""
    with _existing(options.url) as mailbox:
        stats = mailbox.stats()
    counts = attrs.asdict(stats)
    oldest = counts.pop("oldest")
    if options.json:
        say_json({**counts, "oldest_seconds": oldest})
        return 0
    for name, count in counts.items():
        say(f"{name.replace('_', ' '):10}{'unknown' if count is None else count}")
    if oldest is not None:
        say(f"{'oldest':10}waits for {oldest:.0f} s")
    return 0


def run_peek(options: argparse.Namespace) -> int:
    """Print messages without receiving them."""
    with _existing(options.url) as mailbox:
        found: list[StoredMessage] = list(mailbox.peek(options.limit))
    if options.json:
        messages = [{**_as_json(one), "until_seconds": one.until} for one in found]
        say_json({"messages": messages})
        return 0
    for one in found:
        until = f" for {one.until:.0f} s" if one.until else ""
        times = plural(one.deliveries, "time")
        say(f"{one.id}  {one.state}{until}, delivered {times}\n    {_shown(one.body)}")
    if not found:
        say("no messages")
    return 0


def run_purge(options: argparse.Namespace) -> int:
    """Delete what is not leased; without ``--yes`` say how many messages that would be."""
    with _existing(options.url) as mailbox:
        if not options.yes:
            stats = mailbox.stats()
            count = plural(stats.waiting + stats.delayed, "message")
            say(f"{count} would be deleted; give --yes to delete")
            return 1
        say(f"{mailbox.purge()} deleted")
    return 0


def run_dead(options: argparse.Namespace) -> int:
    """List dead letters, send them again, or delete them; 1 where an id is unknown."""
    ids = options.ids or None
    with _existing(options.url) as mailbox:
        if options.action == "list":
            _list(mailbox.dead_letters(options.limit), options)
            return 0
        act = mailbox.requeue if options.action == "requeue" else mailbox.drop
        done = act(ids)
    say(f"{done} {'sent again' if options.action == 'requeue' else 'dropped'}")
    return 0 if ids is None or done == len(set(ids)) else 1


def _list(letters: list[DeadLetter], options: argparse.Namespace) -> None:
    shown = [one for one in letters if not options.ids or one.id in options.ids]
    if options.json:
        say_json({"dead_letters": [_as_json(one) for one in shown]})
        return
    for one in shown:
        times = plural(one.deliveries, "time")
        say(f"{one.id}  delivered {times}  {sanitize(one.reason)}\n    {_shown(one.body)}")
    if not shown:
        say("no dead letters")


def _shown(body: bytes) -> str:
    return sanitize(body.decode(errors="replace"), 200)


def _as_json(found: DeadLetter | StoredMessage) -> dict[str, Any]:
    facts = attrs.asdict(found, filter=lambda field, _: field.name != "until")
    return {**facts, "body": found.body.decode(errors="replace")}
