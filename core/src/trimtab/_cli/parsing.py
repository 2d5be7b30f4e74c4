"""The commands: trimtab's own, and those of installed packages (group ``trimtab.commands``).

A command of another package is a function ``register(parser) -> None`` that adds its arguments and
sets the default ``run``, a function from the parsed arguments to an exit status. It is imported
when that command is called, not for a listing.

Commands about one host, ``trimtab install HOST`` and its kin, are offered by the host's package as
commands named ``COMMAND-HOST`` (``install-acme``). Without a host, ``status`` is the command of
that name that a package offers; where none does, it is carried out for every host that offers it,
which takes ``--all`` and ``--json`` then.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from trimtab._plugins import PluginInfo, Registry
from trimtab._types.errors import ProviderInvalid, ProviderLoadError, TrimtabError
from trimtab._types.options import read_seconds
from trimtab._types.stdout import say
from trimtab._types.text import describe_error, did_you_mean, quoted_list, sanitize
from trimtab._version import __version__

Registrar = Callable[[argparse.ArgumentParser], None]
Main = Callable[[Sequence[str]], int]


OWN_COMMANDS = {
    "plugins": ("list installed plugins and their problems", "plugins:register"),
    "check": (
        "build all that a configuration names, and say what is wrong",
        "doctor:register_check",
    ),
    "explain": (
        "show which providers are active on a prompt, and why others are not",
        "explain:register",
    ),
    "completion": (
        "write code that completes commands and names in a shell",
        "parsing:register_completion",
    ),
}
"""What each does, and the function of a module here that adds its arguments."""

HOST_COMMANDS = {
    "install": "install hooks for a host",
    "uninstall": "remove installed hooks",
    "status": "show what was said in the last sessions",
    "doctor": "check the integration of a host",
}
_FOR_ALL = frozenset({"status"})
RESERVED_COMMANDS = frozenset({*OWN_COMMANDS, *HOST_COMMANDS, "help"}) - _FOR_ALL
"""Names of commands that a package can't offer, as they mean something of trimtab's own."""
_Below = argparse._SubParsersAction
_WRONG_CHOICE = re.compile(r"invalid choice: '(?P<word>[^']{1,60})' \(choose from (?P<known>.*)\)$")


class Parser(argparse.ArgumentParser):
    """Shows the help where a sub-command is missing, and names the nearest of wrong words."""

    _given: Sequence[str] = ()

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] - overloaded there
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        self._given = sys.argv[1:] if args is None else args
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit with 2; where only a command is missing, show the help."""
        below = [action for action in self._actions if isinstance(action, _Below)]
        if message.startswith("unrecognized arguments: "):
            # The top parser says so for all; the usage and the options are those of the command.
            reached = [one for action in below for one in action.choices.values() if one._given]
            if reached:
                reached[0].error(message)
            word = message.removeprefix("unrecognized arguments: ").split(" ")[0]
            if not word:
                super().error("unrecognized argument: ''")
            near = did_you_mean(word.partition("=")[0], self._option_string_actions)
            super().error(sanitize(message, 1_000) + (f".{near}" if near else ""))
        if any(message.endswith(f"are required: {action.metavar}") for action in below):
            if not self._given and message.endswith("COMMAND"):
                self.print_help()
                self.exit()
            unknown = next((word for word in self._given if word.startswith("-")), "")
            near = did_you_mean(unknown, self._option_string_actions)
            if unknown:
                super().error(f"unknown option {sanitize(unknown, 60)}.{near}")
            offered = quoted_list(one for action in below for one in action.choices)
            super().error(f"{message}, one of: {offered}")
        wrong = _WRONG_CHOICE.search(message)
        if wrong is None:
            super().error(sanitize(message, 1_000))
        known = [word.strip("'") for word in wrong["known"].split(", ")]
        super().error(sanitize(message, 1_000) + "." + did_you_mean(wrong["word"], known))


def parse(arguments: Sequence[str], main: Main) -> argparse.Namespace:
    """Parse a command line, importing what its command needs and no more.

    Args:
        arguments: those after the program's name; ``help COMMAND`` is ``COMMAND --help``.
        main: runs a command line, for commands that are carried out host by host.

    Raises:
        SystemExit: after help, version or completions; with 2 where the arguments are wrong.
        ProviderError: another package's command is ambiguous, or can't be loaded.
    """
    if "_ARGCOMPLETE" in os.environ:
        complete(lambda words: parser_for(words, main)[0])
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    parser, known = parser_for(arguments, main)
    command = _command_of(arguments)
    if command and command not in known:
        hint = did_you_mean(command, known)
        parser.error(
            f"unknown command {sanitize(command, 60)!r}.{hint} See "
            "trimtab --help, or install the package that offers it."
        )
    return parser.parse_args(arguments)


def parser_for(
    arguments: Sequence[str], main: Main
) -> tuple[argparse.ArgumentParser, Collection[str]]:
    """Return the parser of a command line, and the names of all commands."""
    command = _command_of(arguments)
    description = "Keeps LLM agents on course with small nudges from plugins."
    parser: argparse.ArgumentParser = Parser(prog="trimtab", description=description)
    version, what = f"trimtab {__version__}", "print the version"
    parser.add_argument("-V", "--version", action="version", version=version, help=what)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for name, (summary, place) in OWN_COMMANDS.items():
        own = commands.add_parser(name, help=summary, description=summary)
        if name == command:
            module, _, register = place.partition(":")
            getattr(import_module(f"trimtab._cli.{module}"), register)(own)
    for name, summary in HOST_COMMANDS.items():
        about_host = commands.add_parser(name, help=summary, description=summary)
        if name == command:
            from trimtab._plugins.discovery import discover

            _add_offers(about_host, command, arguments, discover(), main)
    if command not in OWN_COMMANDS and command not in HOST_COMMANDS:
        _add_installed(commands, command, described=[*arguments[:1]] != [command])
    return parser, commands.choices


def _command_of(arguments: Sequence[str]) -> str:
    return next((word for word in arguments if not word.startswith("-")), "")


def _add_installed(
    commands: argparse._SubParsersAction[Any], command: str, *, described: bool
) -> None:
    """Add the commands of packages; only `command` is described unless all are `described`."""
    from trimtab._cli.probe import command_summary
    from trimtab._plugins.discovery import discover
    from trimtab._plugins.resolution import matching, select

    registry, about_hosts = discover(), tuple(f"{name}-" for name in HOST_COMMANDS)
    entries = [
        entry
        for entry in registry.of("commands")
        if entry.name not in RESERVED_COMMANDS | _FOR_ALL and not entry.name.startswith(about_hosts)
    ]
    for name in dict.fromkeys(entry.name for entry in entries):
        if described or name == command:
            offers = matching(name, entries)
            summary = " or ".join(f"{command_summary(one)} ({one.package})" for one in offers)
            commands.add_parser(name, help=summary.replace("%", "%%"), description=summary)
        else:
            commands.add_parser(name)
    if matching(command, entries):
        entry = select("commands", command, registry)
        parser = commands.choices.get(command) or commands.add_parser(command)
        _register(entry, parser)


def _register(entry: PluginInfo, parser: argparse.ArgumentParser) -> None:
    """Let a package add its command's arguments, and name it if it fails."""
    register = _registrar(entry)

    def nothing(_: argparse.Namespace) -> NoReturn:
        raise ProviderInvalid(
            f"The command {entry.name!r} of {entry.package} has nothing to run: {entry.target} "
            "must call parser.set_defaults(run=…), with a function that takes the options."
        )

    parser.set_defaults(run=nothing)
    try:
        register(parser)
    except Exception as error:
        raise ProviderLoadError(
            f"The command {entry.name!r} of {entry.package} failed: {describe_error(error)}"
        ) from error


def _registrar(entry: PluginInfo) -> Registrar:
    from trimtab._plugins.loading import load
    from trimtab._plugins.resolution import check_compatible

    check_compatible(entry)
    register: Registrar = load(entry)
    if not callable(register):
        raise ProviderInvalid(
            f"The command {entry.name!r} of {entry.package} is not callable: {entry.target} must "
            f"be a function register(parser)."
        )
    return register


def _add_offers(
    parser: argparse.ArgumentParser,
    command: str,
    arguments: Sequence[str],
    registry: Registry,
    main: Main,
) -> None:
    """Add the hosts that offer `command`; only the one that `arguments` name is imported."""
    from trimtab._plugins.resolution import select

    offers = [e for e in registry.of("commands") if e.name.startswith(f"{command}-")]
    known = {entry.name.removeprefix(f"{command}-"): entry for entry in offers}
    hosts = parser.add_subparsers(required=command not in _FOR_ALL, metavar="HOST", title="hosts")
    for host, entry in known.items():
        below = hosts.add_parser(host, help=f"from {entry.package}".replace("%", "%%"))
        if host in arguments:
            _register(select("commands", entry.name, registry), below)
    if any(entry.name == command for entry in registry.of("commands")):
        _register(select("commands", command, registry), parser)
    elif command in _FOR_ALL:
        parser.add_argument("--all", action="store_true", help="include sessions that have ended")
        parser.add_argument("--json", action="store_true", help="write JSON, an object per host")
        parser.set_defaults(run=lambda options: _run_each(command, tuple(known), options, main))


def _run_each(command: str, hosts: Sequence[str], options: argparse.Namespace, main: Main) -> int:
    if not hosts:
        say(f"No installed package offers `trimtab {command}`.")
    flags = [f"--{flag}" for flag in ("all", "json") if getattr(options, flag)]
    return max((main([command, host, *flags]) for host in hosts), default=0)


_SECONDS = 30.0
"""Long enough for a plugin that loads a model when it is imported."""


def add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=_SECONDS,
        metavar="SECONDS",
        help="seconds that loading may take (30)",
    )


def _seconds(text: str) -> float:
    try:
        return read_seconds(text, "the timeout")
    except ValueError as error:
        what = f"{text!r} is not a number of seconds above 0"
        raise argparse.ArgumentTypeError(what) from error


SHELLS = ("bash", "zsh", "fish")


def register_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(
        run=lambda options: say(_argcomplete().shellcode(["trimtab"], shell=options.shell))
    )


def complete(build: Callable[[Sequence[str]], argparse.ArgumentParser]) -> NoReturn:
    """Write the completions of the line that the shell gives in the environment, and exit."""
    line, point = os.environ.get("COMP_LINE", ""), os.environ.get("COMP_POINT", "")
    words = line[: int(point) if point.isdecimal() else None].split()
    _argcomplete().autocomplete(build(words[1:]))
    raise SystemExit(1)  # argcomplete ends the process where the shell has asked


def _argcomplete() -> ModuleType:
    try:
        import argcomplete
    except ImportError:
        raise TrimtabError(
            "Completion needs the package argcomplete: install trimtab[completion]."
        ) from None
    return argcomplete
