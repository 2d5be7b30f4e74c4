"""Verbs about one host: ``trimtab install HOST`` and its sisters.

A host's package offers them as commands named ``VERB-HOST`` (``install-acme`` in the group
``trimtab.commands``), each a function ``register(parser)`` as for any other verb. Where a verb
needs no host, it is carried out for every host that offers it, which takes ``--all`` and
``--json`` then.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from trimtab._plugins.registry import PluginInfo, Registry

Registrar = Callable[[argparse.ArgumentParser], None]

HOST_VERBS = {
    "install": "let a host's program call trimtab",
    "uninstall": "take out what install has put in",
    "status": "what was decided and said in the running sessions",
    "doctor": "prove that a host hears trimtab",
}
_FOR_ALL = frozenset({"status"})


def is_about_host(name: str) -> bool:
    """Tell whether a command's name is one of these verbs with a host's name behind it."""
    return name.startswith(tuple(f"{verb}-" for verb in HOST_VERBS))


def add_hosts(
    parser: argparse.ArgumentParser,
    verb: str,
    arguments: Sequence[str],
    inventory: Registry,
    registrar: Callable[[PluginInfo], Registrar],
) -> None:
    """Add the hosts that offer `verb`; only the one that `arguments` name is imported.

    Raises:
        AmbiguousProvider: two packages offer the verb for that host.
    """
    from trimtab._plugins.selection import select

    offers = [e for e in inventory.of("commands") if e.name.startswith(f"{verb}-")]
    known = {entry.name.removeprefix(f"{verb}-"): entry for entry in offers}
    hosts = parser.add_subparsers(required=verb not in _FOR_ALL, metavar="HOST", title="hosts")
    for host, entry in known.items():
        below = hosts.add_parser(host, help=f"from {entry.package}".replace("%", "%%"))
        if host in arguments:
            registrar(select("commands", entry.name, inventory))(below)
    if verb in _FOR_ALL:
        parser.add_argument("--all", action="store_true", help="also what has ended")
        parser.add_argument("--json", action="store_true", help="write JSON, an object per host")
        parser.set_defaults(run=lambda options: _run_each(verb, tuple(known), options))


def _run_each(verb: str, hosts: Sequence[str], options: argparse.Namespace) -> int:
    from trimtab._cli import main
    from trimtab._cli.output import say

    if not hosts:
        say(f"No installed package offers `trimtab {verb}`.")
    flags = [f"--{flag}" for flag in ("all", "json") if getattr(options, flag)]
    return max((main([verb, host, *flags]) for host in hosts), default=0)
