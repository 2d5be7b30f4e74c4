"""``trimtab plugins``: list, show, doctor."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from trimtab._cli.output import entry_json, problem_json, say, say_json, say_table
from trimtab._plugins.discovery import discover
from trimtab._plugins.registry import GROUPS, WORDS, PluginInfo, Registry
from trimtab._plugins.selection import mismatch, named, shortest_names
from trimtab._types.text import sanitize


def register(parser: argparse.ArgumentParser) -> None:
    """Add the commands below ``trimtab plugins``."""
    from trimtab._cli.doctor import register as register_doctor

    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="what is installed; imports nothing of it")
    listing.add_argument("--kind", choices=GROUPS, help="only entries of this kind")
    listing.add_argument("--json", action="store_true", help="write JSON")
    listing.set_defaults(run=run_list)
    show = commands.add_parser("show", help="all that metadata tells about one name")
    show.add_argument("name", metavar="NAME", help="a name, or DISTRIBUTION:NAME")
    show.add_argument("--json", action="store_true", help="write JSON")
    show.set_defaults(run=run_show)
    register_doctor(commands.add_parser("doctor", help="what is wrong with what is installed"))


def run_list(options: argparse.Namespace) -> int:
    """List the entries, and say where something is wrong."""
    registry = discover()
    entries = registry.of(options.kind) if options.kind else registry.entries
    if options.json:
        problems = [problem_json(problem) for problem in registry.problems]
        say_json({"entries": [entry_json(entry) for entry in entries], "problems": problems})
        return 0
    if entries:
        say_table([("NAME", "KIND", "PACKAGE", "SUMMARY"), *_rows(entries)])
    else:
        say("Nothing is installed.")
    _mention_problems(registry)
    return 0


def _rows(entries: Sequence[PluginInfo]) -> Iterable[tuple[str, str, str, str]]:
    for group in GROUPS:
        found = [entry for entry in entries if entry.group == group]
        for name, entry in zip(shortest_names(found), found, strict=True):
            yield name, entry.group, entry.package, sanitize(entry.summary, 60)


def _mention_problems(registry: Registry) -> None:
    count = len({p.where for p in registry.problems if p.is_error})
    if count:
        what = "1 package has a problem" if count == 1 else f"{count} packages have problems"
        sys.stderr.write(f"{what}: see `trimtab plugins doctor`.\n")


def run_show(options: argparse.Namespace) -> int:
    """Show the entries of one name, of every kind."""
    entries = named(options.name, discover())
    if options.json:
        say_json({"entries": [entry_json(entry) for entry in entries]})
        return 0
    for index, entry in enumerate(entries):
        if index:
            say()
        _show(entry)
    return 0


def _show(entry: PluginInfo) -> None:
    say(f"{entry.full_name}: {WORDS[entry.group]}")
    facts = [
        ("package", entry.package),
        ("summary", entry.summary or "none"),
        ("target", entry.target),
        ("requires", ", ".join(entry.requires) or "declares nothing about trimtab"),
        ("found in", entry.where),
    ]
    wrong = mismatch(entry)
    say_table(facts + ([("problem", wrong)] if wrong else []), indent="  ")
