"""``trimtab proxy``: runs a program behind the proxy, or the proxy alone."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from threading import Event, Thread
from typing import Any

from trimtab import TrimtabError

_USAGE = "trimtab proxy [OPTION…] -- PROGRAM [ARG…]\n       trimtab proxy [OPTION…] --serve"


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
    """Run the command; return the program's exit status.

    Raises:
        TrimtabError: the configuration, an upstream or the program can't be used.
    """
    command = [word for index, word in enumerate(options.command) if index or word != "--"]
    if bool(command) == options.serve:
        raise ProxyUsage(f"name a program behind --, or give --serve:\n       {_USAGE}")
    server = _server(options, PurePath(command[0]).stem if command else "")
    if options.serve:
        return _serve(server, options)
    return _run_program(server, command, options)


class ProxyUsage(TrimtabError):
    """The command line is wrong."""


def _server(options: argparse.Namespace, program: str = "") -> Any:
    from trimtab_proxy._guide_link import GuideLink
    from trimtab_proxy._server import ProxyServer
    from trimtab_proxy._upstreams import Upstream, read_upstreams

    if options.token is not None and not _is_token(options.token):
        raise ProxyUsage("--token must be 16 to 128 letters, digits, - or _")
    named = _named(options.upstream)
    upstreams = {"": Upstream(named[""])} if "" in named else read_upstreams(named, os.environ)
    link = GuideLink(
        options.config, options.guidance, program=program, journal=not options.no_journal
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


def _run_program(server: Any, command: Sequence[str], options: argparse.Namespace) -> int:
    from trimtab_proxy import _interrupts as interrupts
    from trimtab_proxy._launching import launch
    from trimtab_proxy._running import run as run_program
    from trimtab_proxy._summary import summary
    from trimtab_proxy._upstreams import VARIABLES

    if any("=" not in text for text in options.upstream):
        raise ProxyUsage("with a program, name the upstream: --upstream anthropic=URL")
    upstreams = _named(options.upstream)
    given = {VARIABLES[name][0]: url for name, url in upstreams.items() if name in VARIABLES}
    start = launch(command, {**os.environ, **given}, server.base_url)
    with interrupts.kept_out():
        server.start()
        Thread(target=_settle, args=(server,), name="trimtab-settle", daemon=True).start()
    try:
        status = run_program(start)
    finally:
        server.close()
    if not options.quiet:
        sys.stderr.writelines(f"trimtab: {note}\n" for note in server.guidance.notes)
        sys.stderr.write(f"trimtab: {summary(server.guidance.counts())}\n")
    return status


def _serve(server: Any, options: argparse.Namespace) -> int:
    import signal

    from trimtab_proxy._summary import summary

    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        _settle(server)
        stopped.wait()
    if not options.quiet:
        sys.stderr.writelines(f"trimtab: {note}\n" for note in server.guidance.notes)
        sys.stderr.write(f"trimtab: {summary(server.guidance.counts())}\n")
    return 0


def _settle(server: Any) -> None:
    """Once all is imported, see that memory of ended conversations is freed."""
    from trimtab_proxy._collecting import collect_often

    with suppress(TrimtabError):  # one that did not start has nothing to free
        server.wait_until_ready()
        collect_often()


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return port


def _is_token(text: str) -> bool:
    plain = text.isascii() and all(letter.isalnum() or letter in "-_" for letter in text)
    return plain and 16 <= len(text) <= 128
