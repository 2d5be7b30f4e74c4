"""The command ``trimtab proxy``, and the summary that it prints at the end."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from queue import SimpleQueue
from threading import Thread
from typing import Any

from trimtab import TrimtabError
from trimtab.inspection import did_you_mean
from trimtab.text import plural, sanitize
from trimtab_proxy._guide import Counts, Spoken

_SHOWN = 3
_LONGEST = 300


def summary(counts: Counts) -> str:
    """Return what passed and what was said, in one line, and the newest words below it."""
    said = sum(counts.spoken.values())
    by_provider = ", ".join(f"{name} {n}" for name, n in counts.spoken.most_common() if n)
    line = (
        f"{plural(counts.requests, 'request')}, {plural(counts.runs, 'run')}, "
        f"{plural(said, 'hint')}{f' ({by_provider})' if by_provider else ''}"
    )
    if counts.failures:
        kinds = ", ".join(f"{name} {n}" for name, n in counts.failures.most_common())
        line += f"; passed on without hints because of failures: {kinds}"
    words = [f"  {spoken_line(one)}" for one in counts.said[-_SHOWN:]]
    return "\n".join((line, *words))


def spoken_line(spoken: Spoken) -> str:
    """Return what was said once, in one line."""
    head = f"{spoken.at} {sanitize(spoken.provider, 60)}"
    return f"{head}: {sanitize(spoken.words, _LONGEST)}"


def nothing_passed(program: str, variables: Sequence[str]) -> str:
    """Return why no request of a program may have passed, and what to do."""
    return (
        f"{sanitize(program, 60)} asked no model, or does not read "
        f"{', '.join(variables)}. If it takes the address from another variable, name it: "
        "--set NAME=openai"
    )


_USAGE = "trimtab proxy [OPTION…] -- PROGRAM [ARG…]\n       trimtab proxy [OPTION…] --serve"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")
_WHERE = re.compile(r"[a-z][a-z0-9-]*(?:/[\w.~-]+)*")


def register(parser: argparse.ArgumentParser) -> None:
    """Run a program with its model requests guided on the way."""
    parser.usage = _USAGE
    parser.description = (
        "Run a program whose requests to its model pass through a proxy on this machine. It "
        "adds the words of trimtab's providers to single requests. No file is changed."
    )
    parser.add_argument("--config", type=Path, help="configuration file to use")
    parser.add_argument(
        "--guidance",
        action="append",
        default=[],
        metavar="NAME",
        help="enable a guidance provider, without a configuration file; may be repeated",
    )
    parser.add_argument(
        "--upstream",
        action="append",
        default=[],
        metavar="[NAME=]URL",
        help="where requests go on to; NAME is anthropic, openai, gemini, chatgpt or one of yours",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="variables",
        metavar="NAME=UPSTREAM",
        help="give the program the proxy's address in this variable too; may be repeated",
    )
    parser.add_argument("--serve", action="store_true", help="run no program, serve until stopped")
    parser.add_argument("--port", type=_port, default=0, help="port to listen on (any free one)")
    parser.add_argument("--token", help="secret in the path, 16 characters or more (a new one)")
    parser.add_argument(
        "--no-journal", action="store_true", help="record nothing for trimtab status"
    )
    parser.add_argument("--quiet", action="store_true", help="print no summary")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the program's exit status."""
    command = [word for index, word in enumerate(options.command) if index or word != "--"]
    if bool(command) == options.serve:
        raise ProxyUsage(f"name a program behind --, or give --serve:\n       {_USAGE}")
    further = _further(options.variables, _named(options.upstream))
    server = _server(options, PurePath(command[0]).stem if command else "")
    if options.serve:
        return _serve(server, options)
    return _run_program(server, command, options, further)


class ProxyUsage(TrimtabError):
    """The command line is wrong."""


def _server(options: argparse.Namespace, program: str = "") -> Any:
    from trimtab_proxy._guide_link import GuideLink
    from trimtab_proxy._launching import upstream_variables
    from trimtab_proxy._server import ProxyServer
    from trimtab_proxy._upstreams import Upstream, read_upstreams

    if options.token is not None and not _TOKEN.fullmatch(options.token):
        raise ProxyUsage("--token must be 16 to 128 letters, digits, - or _")
    named = _named(options.upstream)
    if "" in named:
        upstreams = {"": Upstream(named[""])}
    else:
        upstreams = read_upstreams(named, upstream_variables(program, os.environ))
    link = GuideLink(
        told=_tell,
        config=options.config,
        guidance=options.guidance,
        program=program,
        journal=not options.no_journal,
    )
    server = ProxyServer(link, upstreams, port=options.port, token=options.token)
    try:
        link.start()
    except BaseException:
        server.close()
        raise
    if not options.quiet:
        sys.stderr.writelines(f"trimtab: {note}\n" for note in link.notes)
    link.notes.clear()
    return server


def _tell(spoken: Any) -> None:
    """Tell the user at once what is said."""
    with suppress(OSError, ValueError):  # standard error may be closed
        sys.stderr.write(f"trimtab: {spoken_line(spoken)}\n")


def _further(given: Sequence[str], upstreams: Iterable[str]) -> Mapping[str, str]:
    """Return variables by name, and where they point."""
    from trimtab_proxy._upstreams import DEFAULTS

    known = sorted({*DEFAULTS, *filter(None, upstreams)})
    found = {}
    for text in given:
        name, _, where = text.partition("=")
        if not (_VARIABLE.fullmatch(name) and _WHERE.fullmatch(where)):
            raise ProxyUsage(
                f"--set {text!r:.80}: write NAME=UPSTREAM, e.g. MY_BASE_URL=openai or "
                "MY_BASE_URL=anthropic/v1"
            )
        upstream = where.partition("/")[0]
        if upstream not in known:
            raise ProxyUsage(
                f"--set {text!r:.80}: there is no upstream {upstream!r:.40}."
                f"{did_you_mean(upstream, known)} Known: {', '.join(known)}; --upstream adds one."
            )
        found[name] = where
    return found


def _named(given: Sequence[str]) -> Mapping[str, str]:
    """Return upstreams by name; a URL alone is the only one."""
    named = {}
    for text in given:
        name, equals, url = text.partition("=")
        if equals and "/" not in name:
            named[name] = url
        else:
            named[""] = text
    if "" in named and len(named) > 1:
        raise ProxyUsage("--upstream URL stands alone; with several, name each: NAME=URL")
    return named


def _run_program(
    server: Any, command: Sequence[str], options: argparse.Namespace, further: Mapping[str, str]
) -> int:
    from trimtab_proxy._frames import interrupts
    from trimtab_proxy._launching import cautions, launch, run as run_program
    from trimtab_proxy._upstreams import VARIABLES

    if any("=" not in text for text in options.upstream):
        raise ProxyUsage("with a program, name the upstream: --upstream anthropic=URL")
    upstreams = _named(options.upstream)
    given = {VARIABLES[name][0]: url for name, url in upstreams.items() if name in VARIABLES}
    program = PurePath(command[0]).stem
    start = launch(command, {**os.environ, **given}, server.base_url, further)
    found = cautions(program, os.environ, Path.cwd())
    if not options.quiet:
        sys.stderr.writelines(f"trimtab: {caution}\n" for caution in found)
    with interrupts(kept_out=True):
        server.start()
        Thread(target=_settle, args=(server,), name="trimtab-settle", daemon=True).start()
    try:
        status = run_program(start)
    finally:
        server.close()
    if not options.quiet:
        _report(server)
        if not server.passed:
            names = [*(name for names in VARIABLES.values() for name in names), *further]
            why = "as said above" if found else nothing_passed(program, names)
            sys.stderr.write(f"trimtab: no request passed: {why}\n")
    return status


def _serve(server: Any, options: argparse.Namespace) -> int:
    import signal

    stopped: SimpleQueue[None] = SimpleQueue()  # unlike an event, it holds no lock of Python's
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.put(None))
    with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        _settle(server)
        stopped.get()
    if not options.quiet:
        _report(server)
    return 0


def _report(server: Any) -> None:
    sys.stderr.writelines(f"trimtab: {note}\n" for note in server.guidance.notes)
    sys.stderr.write(f"trimtab: {summary(server.guidance.counts())}\n")


def _settle(server: Any) -> None:
    """Once all is imported, see that memory of ended conversations is freed."""
    from trimtab_proxy._frames import collect_often

    with suppress(TrimtabError):  # one that did not start has nothing to free
        server.wait_until_ready()
        collect_often()


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return port
