"""The verbs: trimtab's own, and those of installed packages (group ``trimtab.commands``).

A verb of another package is a function ``register(parser) -> None`` that adds its arguments and
sets the default ``run``, a function from the parsed arguments to an exit status. It is imported
when that verb is called, not for a listing. For verbs about one host see `trimtab.cli.hosts`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from trimtab._cli.hosts import HOST_VERBS, Registrar, add_hosts, is_about_host
from trimtab._plugins.registry import PluginInfo
from trimtab._types.errors import ProviderInvalid


def _plugins(parser: argparse.ArgumentParser) -> None:
    from trimtab._cli.plugins import register

    register(parser)


def _explain(parser: argparse.ArgumentParser) -> None:
    from trimtab._cli.explain import register

    register(parser)


OWN_VERBS: dict[str, tuple[str, Registrar]] = {
    "plugins": ("what is installed, and what is wrong with it", _plugins),
    "explain": ("which providers speak on a prompt, and why one does not", _explain),
}


class _Version(argparse.Action):
    """Print the version; looked up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from trimtab._plugins.discovery import installed_version

        sys.stdout.write(f"trimtab {installed_version('trimtab') or 'of unknown version'}\n")
        parser.exit()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line, importing what its verb needs and no more.

    Raises:
        SystemExit: after help or version; with 2 where the arguments are wrong.
        ProviderError: another package's verb is ambiguous, or can't be loaded.
    """
    verb = next((word for word in arguments if not word.startswith("-")), "")
    parser = argparse.ArgumentParser(
        prog="trimtab", description="Keeps LLM agents on course with small nudges from plugins."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    verbs = parser.add_subparsers(required=True, metavar="VERB", title="verbs")
    for name, (summary, register) in OWN_VERBS.items():
        own = verbs.add_parser(name, help=summary, description=summary)
        if name == verb:
            register(own)
    for name, summary in HOST_VERBS.items():
        about_host = verbs.add_parser(name, help=summary, description=summary)
        if name == verb:
            _add_hosts(about_host, verb, arguments)
    if verb not in OWN_VERBS and verb not in HOST_VERBS:
        _add_installed(verbs, verb)
    return parser.parse_args(arguments)


def _add_hosts(parser: argparse.ArgumentParser, verb: str, arguments: Sequence[str]) -> None:
    from trimtab._plugins.discovery import discover

    add_hosts(parser, verb, arguments, discover(), _registrar)


def _add_installed(verbs: argparse._SubParsersAction[argparse.ArgumentParser], verb: str) -> None:
    from trimtab._plugins.discovery import discover
    from trimtab._plugins.selection import matching, select

    inventory = discover()
    entries = [
        entry
        for entry in inventory.of("commands")
        if entry.name not in {*OWN_VERBS, *HOST_VERBS} and not is_about_host(entry.name)
    ]
    for name in dict.fromkeys(entry.name for entry in entries):
        offers = matching(name, entries)
        summary = " or ".join(f"{one.summary or 'a verb'} ({one.package})" for one in offers)
        verbs.add_parser(name, help=summary.replace("%", "%%"), description=summary)
    if matching(verb, entries):
        entry = select("commands", verb, inventory)
        parser = verbs.choices.get(verb) or verbs.add_parser(verb)
        _registrar(entry)(parser)


def _registrar(entry: PluginInfo) -> Registrar:
    from trimtab._plugins.loading import load
    from trimtab._plugins.selection import check_compatible

    check_compatible(entry)
    register: Registrar = load(entry)
    if not callable(register):
        raise ProviderInvalid(
            f"The command {entry.name!r} of {entry.package} is not callable: {entry.target} must "
            f"be a function register(parser)."
        )
    return register
