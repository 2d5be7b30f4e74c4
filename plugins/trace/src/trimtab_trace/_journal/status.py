"""``trimtab status``: what was said in the sessions of this machine, whatever their host."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from datetime import datetime
from time import sleep  # a pause, not a time that is told

from trimtab import SYSTEM_CLOCK, TrimtabError
from trimtab.inspection import say, say_json, state_home
from trimtab.text import plural, sanitize
from trimtab_trace._journal import SUFFIX, file_stem, journal_folder
from trimtab_trace._journal.sessions import JournalSession, Nudge, Tail, sessions_in
from trimtab_trace._supervision import SetAside

_PAUSE = 0.3
_LONGEST_INPUT = 1_000_000
_LONGEST_LINE = 160
_NARROWEST = 40
_LONGEST = 2_000


def status(parser: argparse.ArgumentParser) -> None:
    """Show what was said, held back or only recorded in the sessions of this machine."""
    parser.description = (
        "What providers said in the last session of this machine, whatever its host and folder: "
        "a line for each nudge, with what became of it."
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="all sessions that are kept")
    which.add_argument("--last", type=_number, metavar="N", help="the last N sessions")
    which.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    which.add_argument(
        "--line",
        action="store_true",
        help="the newest words in one line, for the status line of Claude Code, whose session is "
        "read from standard input",
    )
    parser.add_argument("--long", action="store_true", help="whole texts, on several lines")
    parser.add_argument("--json", action="store_true", help="write JSON; a line each with --follow")
    parser.add_argument(
        "--bring-back",
        metavar="NAME",
        help="let a provider take part again that was set aside because it held its host up",
    )
    parser.set_defaults(run=run_status)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 on")
    return int(text[:9])


def run_status(options: argparse.Namespace) -> int:
    """Show the sessions."""
    if options.bring_back is not None:
        if not SetAside(state_home()).bring_back(options.bring_back):
            raise TrimtabError(f"{options.bring_back} is not set aside")
        say(f"{options.bring_back} takes part again in sessions that begin from now on")
        return 0
    if options.follow:
        return _follow(options)
    if options.line:
        return _line()
    folder = journal_folder()
    found = sessions_in(folder, newest=None if options.all else options.last or 1)
    now, aside = SYSTEM_CLOCK.now(), SetAside(state_home()).read()
    if options.json:
        say_json({"sessions": [one.as_dict(now) for one in found], "set_aside": aside})
        return 0
    for name, about in aside.items():
        reason = sanitize(about.get("reason", ""), 100)
        say(f"set aside: {sanitize(name, 80)} {reason}")
        say(f"  to use it again: trimtab status --bring-back {sanitize(name, 80)}")
    if not found:
        say(f"no session is recorded in {folder}")
    screen = _Screen(long=options.long, now=now)
    for session in found:
        screen.head(session)
        screen.nudges(session.nudges)
        if not session.nudges:
            say("  nothing was said")
    return 0


def _line() -> int:
    """Write the newest words of the session that standard input names; an empty line for none."""
    try:
        given = json.loads(sys.stdin.buffer.read(_LONGEST_INPUT))
        name = str(given["session_id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TrimtabError(
            "trimtab status --line reads JSON with a session_id, as Claude Code gives it to the "
            "command of its statusLine"
        ) from None
    session = JournalSession(journal_folder() / f"{file_stem(f'claude-code-{name}')}{SUFFIX}")
    session.read_on()
    said = [nudge for nudge in session.nudges if nudge.state in {"delivered", "in shadow"}]
    if said:
        newest = said[-1]
        words = f"{sanitize(newest.provider, 24)} {what_became(newest)}: {newest.words}"
        say(f"trimtab {newest.at.astimezone():%H:%M}: {sanitize(words, _LONGEST_LINE)}")
    return 0


def _follow(options: argparse.Namespace) -> int:
    tail = Tail(journal_folder())
    began = SYSTEM_CLOCK.now()
    tail.poll()
    screen = _Screen(long=options.long, now=began)
    last = next(iter(tail.ordered()), None)
    if last is not None and not options.json:
        screen.head(last)
        screen.nudges(last.nudges)
    shown = last
    while True:
        sys.stdout.flush()
        sleep(_PAUSE)
        for session, came in tail.poll():
            if options.json:
                for nudge in came:
                    say(json.dumps({**session.about(), **nudge.as_dict()}))
            elif came:
                if session is not shown:
                    screen.head(session)
                    shown = session
                screen.nudges(came)


class _Screen:
    """Writes sessions as wide as the terminal is; 80 columns where there is none."""

    def __init__(self, *, long: bool, now: datetime) -> None:
        self._long = long
        self._now = now
        self._width = max(_NARROWEST, shutil.get_terminal_size().columns)
        self._is_first = True

    def head(self, session: JournalSession) -> None:
        if not self._is_first:
            say()
        self._is_first = False
        program = f" ({session.program})" if session.program else ""
        say(self._cut(f"{session.host or 'unknown host'}{program}  {session.name}"))
        if session.title:
            say(self._cut(f"  “{sanitize(session.title, 200)}”"))
        began = f"{session.started.astimezone():%Y-%m-%d %H:%M}" if session.started else "?"
        state = "running" if session.is_running(self._now) else "ended"
        say(self._cut(f"  {began}, {plural(session.ended_calls, 'call')}, {state}"))
        model = model_line(session)
        if model:
            say(self._cut(f"  {model}"))

    def nudges(self, nudges: list[Nudge]) -> None:
        for nudge in nudges:
            for line in self._lines(nudge):
                say(line)

    def _lines(self, nudge: Nudge) -> Iterator[str]:
        agent = f"[{sanitize(nudge.agent, 16)}] " if nudge.agent else ""
        head = f"  {nudge.at.astimezone():%H:%M:%S}  {agent}{sanitize(nudge.provider, 24)} "
        head += what_became(nudge)
        if not self._long:
            yield self._cut(f"{head}: {sanitize(nudge.words, 600)}" if nudge.words else head)
            return
        yield self._cut(head)
        about = f"because: {nudge.reason}" if nudge.reason and nudge.words else ""
        for text in filter(None, (nudge.words, about)):
            indent = " " * 12
            yield from textwrap.wrap(
                sanitize(text, _LONGEST),
                self._width,
                initial_indent=indent,
                subsequent_indent=indent,
            )

    def _cut(self, text: str) -> str:
        return sanitize(text, self._width)


def model_line(session: JournalSession) -> str:
    """Return in one line which model answered, and what that took; empty if nothing is known."""
    use, parts = session.use, []
    if session.model:
        service = f" ({sanitize(session.provider, 40)})" if session.provider else ""
        parts.append(f"{sanitize(session.model, 60)}{service}")
    if use.responses:
        parts.append(plural(use.responses, "response"))
    if use.input_tokens or use.output_tokens:
        parts.append(f"{use.input_tokens:,} tokens in, {use.output_tokens:,} out")
    if use.responses and use.seconds:
        parts.append(f"{use.seconds / use.responses:.1f} s each")
    return ", ".join(parts)


def what_became(nudge: Nudge) -> str:
    """Return in words what became of a decision, and why where it was not said."""
    if nudge.state in {"delivered", "in shadow"}:
        return "said" if nudge.state == "delivered" else "in shadow"
    return f"{nudge.state} ({sanitize(nudge.reason, 200)})" if nudge.reason else nudge.state
