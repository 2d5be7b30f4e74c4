"""The command ``trimtab trace``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from itertools import chain, islice
from pathlib import Path
from typing import Any

from trimtab.inspection import others_to_stderr, say, writing
from trimtab.text import plural, sanitize
from trimtab_trace._codec import as_json
from trimtab_trace._envelope import TraceError, TraceEvent
from trimtab_trace._page import summary
from trimtab_trace._store import Trace, open_trace

_WIDTH = 100
_MOST_DAMAGES = 20
_LONGEST_NUMBER = 18
FORMATS = ("atif", "cloudevents", "inspect", "otel")


def trace(parser: argparse.ArgumentParser) -> None:
    """Show, check, compare, replay and export recorded traces."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    show = _command(commands, "show", "list the events", run_show)
    show.add_argument("--type", action="append", metavar="NAME", help="only events of this type")
    show.add_argument("--json", action="store_true", help="whole events, one per line")
    page = _command(commands, "open", "write it as an HTML page with a search", run_open)
    page.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the page; FILE.html in this folder"
    )
    page.add_argument("--browser", action="store_true", help="open the page in the browser")
    at = _command(commands, "at", "show the session as it was after an event", run_at)
    at.add_argument("seq", metavar="SEQ", type=_seq, help="the number of the event, from 0")
    at.add_argument("--json", action="store_true", help="the whole session, as a snapshot")
    what = "compare two traces, times and identifiers aside"
    diff = commands.add_parser("diff", help=what, description=what)
    diff.add_argument("first", metavar="A", type=Path)
    diff.add_argument("second", metavar="B", type=Path)
    diff.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write a page with both side by side"
    )
    diff.set_defaults(run=run_diff)
    _command(commands, "verify", "check every event; status 1 where one is damaged", run_verify)
    again = _command(
        commands, "replay", "ask the providers again; status 1 at a difference", run_replay
    )
    again.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="take the providers of the prompts from this file, not from the trace",
    )
    export = _command(commands, "export", "write the trace in another format", run_export)
    export.add_argument("--to", choices=FORMATS, required=True, help="the format")
    export.add_argument("-o", "--output", metavar="FILE", type=Path, help="the file, not stdout")
    export.add_argument(
        "--endpoint", metavar="URL", help="otel: send it to this collector (OTLP over HTTP)"
    )
    export.add_argument(
        "--content", action="store_true", help="otel: also arguments, results and texts"
    )


def _command(
    commands: Any, name: str, what: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=what, description=what)
    parser.add_argument("file", metavar="FILE", type=Path, help="a trace, JSON lines or SQLite")
    parser.add_argument("--name", metavar="NAME", help="of the trace in a database with several")
    parser.set_defaults(run=run)
    return parser


def _seq(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not the number of an event: 0 or more, as `trimtab trace show` lists"
        )
    return int(text)


def _complain(path: Path, text: str) -> None:
    sys.stderr.write(f"trimtab: {sanitize(str(path))}: {sanitize(text, 1_000)}\n")


def _opened(path: Path, name: str | None = None) -> Trace:
    """Return a trace that holds events."""
    found = open_trace(path, name)
    if next(iter(found), None) is None:
        raise TraceError(f"{sanitize(str(path))} holds no whole event: there is nothing to read")
    return found


def run_show(options: argparse.Namespace) -> int:
    """List the events; 1 where there is none, none of a type, or some are damaged."""
    found = open_trace(options.file, options.name, strict=False)
    start: float | None = None
    types: set[str] = set()
    for event in found:
        start = event.timestamp.timestamp() if start is None else start
        types.add(event.event_type)
        if options.type and event.event_type not in options.type:
            continue
        say(json.dumps(as_json(event)) if options.json else _line(event, start))
    _complain_of_damages(found)
    if start is None:
        _complain(found.path, "it holds no whole event; is it a trace?")
        return 1
    status = _unmatched(found.path, options.type or (), types)
    return status or int(bool(found.damages))


def run_open(options: argparse.Namespace) -> int:
    """Write the trace as a page; 1 where it holds no event, or some are damaged."""
    from trimtab_trace._page import write_page

    found = open_trace(options.file, options.name, strict=False)
    path: Path = options.output or Path(
        f"{options.name or options.file.stem}.html".replace("/", "_")
    )
    name = options.file.name
    with writing(path) as file:
        written = write_page(file, found, title=options.name or name, name=name)
    _complain_of_damages(found)
    say(f"{sanitize(str(path))}: {plural(written, 'event')}")
    if options.browser:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return int(bool(found.damages) or not written)


def _unmatched(path: Path, wanted: Iterable[str], held: set[str]) -> int:
    """Name the wanted types of which there is no event; 1 if one is unknown."""
    from trimtab.inspection import did_you_mean, quoted_list
    from trimtab_trace._types import EVENT_TYPES

    status = 0
    for name in wanted:
        if name not in held:
            hint = did_you_mean(name, held)
            text = f"no event is of type {sanitize(name, 80)!r}.{hint} It holds {quoted_list(held)}"
            _complain(path, text)
            status = status or int(EVENT_TYPES.named(name) is None)
    return status


def _line(event: TraceEvent, start: float) -> str:
    seconds = event.timestamp.timestamp() - start
    actor = "" if event.actor == "main" else f"[{sanitize(event.actor, 20)}] "
    name = sanitize(event.event_type, 24)
    return f"{event.seq:>6}  {seconds:>+10.3f}s  {name:<20}  {actor}{summary(event)}"


def _complain_of_damages(found: Trace) -> None:
    for damage in found.damages[:_MOST_DAMAGES]:
        _complain(found.path, sanitize(str(damage), 300))
    more = len(found.damages) - _MOST_DAMAGES
    if more > 0:
        _complain(found.path, f"and {more:,} more damaged places")


def run_at(options: argparse.Namespace) -> int:
    from trimtab_trace._session import session_at

    session = session_at(_opened(options.file, options.name), options.seq)
    if options.json:
        say(session.snapshot())
        return 0
    for run_id, state in session.runs().items():
        ended = "ended" if state.closed else "open"
        say(f"run {sanitize(run_id, 80)} of {sanitize(state.prompt_name, 80)}: {ended}")
        turns, calls = plural(state.turns, "turn"), plural(state.calls, "call")
        say(f"  {turns}, {calls}, {len(state.running):,} running")
        say(f"  {state.usage.total_tokens:,} tokens, {state.active_seconds:,.3f} s")
        if state.last_call is not None:
            call = state.last_call
            say(f"  last call: {sanitize(call.tool, 40)} {call.outcome.value}")
    return 0


def run_diff(options: argparse.Namespace) -> int:
    if options.output is not None:
        return _compare_on_a_page(options)
    from trimtab_trace._page import first_difference

    found = first_difference(_opened(options.first), _opened(options.second))
    if found is None:
        say("the traces hold the same events")
        return 0
    for name, event in (("A", found[0]), ("B", found[1])):
        text = "ends here" if event is None else json.dumps(as_json(event), sort_keys=True)
        say(f"{name}: {sanitize(text, 2000)}")
    return 1


def _compare_on_a_page(options: argparse.Namespace) -> int:
    from trimtab_trace._page import write_difference

    first, second = _opened(options.first), _opened(options.second)
    title = f"{options.first.name} and {options.second.name}"
    with writing(options.output) as file:
        differing = write_difference(file, first, second, title=title)
    say(f"{sanitize(str(options.output))}: {plural(differing, 'row')} of both differ")
    return int(differing > 0)


def run_verify(options: argparse.Namespace) -> int:
    from trimtab_trace._writer import verify

    report = verify(open_trace(options.file, options.name, strict=False))
    for line in report.lines():
        say(sanitize(line, 300))
    if not report.events:
        _complain(report.path, "it holds no whole event; is it a trace?")
    return 0 if report.intact and report.events else 1


def run_replay(options: argparse.Namespace) -> int:
    from trimtab_trace._replay import replay

    with others_to_stderr():
        prompts = _configured(options) if options.config else None
        done = replay(_opened(options.file, options.name), prompts=prompts)
    if done.unknown:
        say(f"left out: {plural(done.unknown, 'event')} of unknown types")
    if done.difference is not None:
        say(f"differs after {plural(done.decisions, 'equal decision')}")
        say(sanitize(str(done.difference), 4000))
        return 1
    say(f"identical: {plural(done.decisions, 'decision')} in {plural(done.events, 'event')}")
    return 0


def _configured(options: argparse.Namespace) -> dict[str, Any]:
    from trimtab import load_configuration
    from trimtab_trace._settings import named_prompt

    configuration = load_configuration(options.config)
    return {name: named_prompt(name, configuration) for name in configuration.prompts}


def run_export(options: argparse.Namespace) -> int:
    if options.endpoint is not None:
        return _send(options)
    if options.to == "inspect":
        return _write_inspect_log(options)
    lines = iter(_exported(options))
    first = [*islice(lines, 1)]  # a trace that can't be exported leaves no file
    lines = chain(first, lines)
    if options.output is None:
        for line in lines:
            say(line)
        return 0
    with writing(options.output) as file:
        file.writelines(f"{line}\n" for line in lines)
    return 0


def _send(options: argparse.Namespace) -> int:
    if options.to != "otel" or options.output is not None:
        raise TraceError("--endpoint goes with --to otel, and without --output")
    from trimtab_trace._export._otlp import send

    found = _opened(options.file, options.name)
    sent = send(found, options.endpoint, content=options.content)
    say(f"{plural(sent, 'span')} sent to {sanitize(options.endpoint)}")
    return 0


def _write_inspect_log(options: argparse.Namespace) -> int:
    from trimtab_trace._export._inspect import write_inspect_log

    if options.output is None:
        raise TraceError("--to inspect writes a file: name it with --output FILE.eval")
    written = write_inspect_log(_opened(options.file, options.name), options.output)
    say(f"{sanitize(str(options.output))}: {plural(written, 'sample')}")
    return 0


def _exported(options: argparse.Namespace) -> Iterable[str]:
    found = _opened(options.file, options.name)
    if options.to == "atif":
        from trimtab_trace._export._atif import atif_lines

        return atif_lines(found)
    if options.to == "cloudevents":
        from trimtab_trace._export import cloudevents

        return (json.dumps(event) for event in cloudevents(found))
    from trimtab_trace._export._otlp import otlp_lines

    return otlp_lines(found, content=options.content)
