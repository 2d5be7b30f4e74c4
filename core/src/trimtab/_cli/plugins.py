"""``trimtab plugins``: the packages of plugins that are installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

import attrs

from trimtab._cli.parsing import add_timeout
from trimtab._plugins import GROUPS, WORDS, PluginInfo, Registry
from trimtab._plugins.discovery import discover
from trimtab._plugins.resolution import mismatch, named, shortest_names
from trimtab._types.stdout import say, say_json, say_table
from trimtab._types.text import sanitize

_WIDTH = 79
"""A terminal of 80 columns, whose last one may wrap."""
_WITH_OPTIONS = ("guidance", "feedback", "completion", "recorders")


def register(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = _command(commands, "list", "what is installed; imports nothing of it")
    listing.add_argument("--kind", choices=GROUPS, help="only entries of this kind")
    listing.add_argument("--json", action="store_true", help="write JSON")
    listing.set_defaults(run=run_list)
    show = _command(commands, "show", "metadata and options of one name")
    name = show.add_argument("name", metavar="NAME", help="a name, or DISTRIBUTION:NAME")
    vars(name)["completer"] = lambda **_: [entry.name for entry in discover().entries]
    add_timeout(show)
    show.add_argument("--json", action="store_true", help="write JSON")
    show.set_defaults(run=run_show)
    doctor = _command(commands, "doctor", "what is wrong with what is installed")
    doctor.add_argument(
        "names", nargs="*", metavar="NAME", help="load these, each in a process of its own"
    )
    doctor.add_argument("--all", action="store_true", help="load everything installed")
    add_timeout(doctor)
    doctor.add_argument("--config", metavar="FILE", help="the configuration to check")
    doctor.add_argument("--json", action="store_true", help="write JSON")
    doctor.set_defaults(run=_run_doctor)


def _run_doctor(options: argparse.Namespace) -> int:
    from trimtab._cli.doctor import run_doctor  # with what reads configurations

    return run_doctor(options)


def _command(commands: Any, name: str, what: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=what, description=what)
    return parser


def run_list(options: argparse.Namespace) -> int:
    registry = discover()
    entries = registry.of(options.kind) if options.kind else registry.entries
    if options.json:
        problems = [attrs.asdict(problem) for problem in registry.problems]
        say_json({"entries": [_entry_json(entry) for entry in entries], "problems": problems})
        return 0
    if entries:
        for line in _lines(entries):
            say(line)
    else:
        say("Nothing is installed.")
    _mention_problems(registry)
    return 0


_ENTRY = (
    *("name", "full_name", "distribution", "version", "target", "summary"),
    *("requires", "api_level", "where"),
)


def _entry_json(entry: PluginInfo) -> dict[str, Any]:
    return {"kind": entry.group, **{name: getattr(entry, name) for name in _ENTRY}}


def _lines(entries: Sequence[PluginInfo]) -> Iterator[str]:
    """Yield the packages with what they offer, each line short enough for any terminal."""
    names = {
        entry: name
        for group in GROUPS
        if (found := [entry for entry in entries if entry.group == group])
        for name, entry in zip(shortest_names(found), found, strict=True)
    }
    for package in sorted({(entry.package, entry.summary) for entry in entries}):
        offers = [entry for entry in entries if (entry.package, entry.summary) == package]
        summary = f": {package[1]}" if package[1] else ""
        yield sanitize(f"{package[0]}{summary}", _WIDTH)
        for group in GROUPS:
            offered = ", ".join(names[entry] for entry in offers if entry.group == group)
            if offered:
                indent = " " * (len(max(GROUPS, key=len)) + 4)
                yield from wrap(
                    offered, _WIDTH, initial_indent=f"  {group:{len(indent) - 2}}",
                    subsequent_indent=indent, break_on_hyphens=False,
                )  # fmt: skip


def _mention_problems(registry: Registry) -> None:
    count = len({p.where for p in registry.problems if p.is_error})
    if count:
        what = "1 package has a problem" if count == 1 else f"{count} packages have problems"
        sys.stderr.write(f"{what}: see `trimtab plugins doctor`.\n")


def run_show(options: argparse.Namespace) -> int:
    """Show the entries of one name, of every kind; 1 if one has a problem.

    Options are read in another process.
    """
    from trimtab._cli.probe import probe_options

    entries = named(options.name, discover())
    found = [
        probe_options(entry, options.timeout) if entry.group in _WITH_OPTIONS else ([], "")
        for entry in entries
    ]
    problems = [
        [problem for problem in (mismatch(entry), wrong) if problem]
        for entry, (_, wrong) in zip(entries, found, strict=True)
    ]
    each = list(zip(entries, (taken for taken, _ in found), problems, strict=True))
    if options.json:
        shown = [
            {**_entry_json(entry), "options": taken, "problems": wrong}
            for entry, taken, wrong in each
        ]
        say_json({"entries": shown})
    else:
        for index, one in enumerate(each):
            if index:
                say()
            _show(*one)
    return int(any(problems))


def _show(entry: PluginInfo, taken: Sequence[Mapping[str, Any]], problems: Sequence[str]) -> None:
    say(f"{entry.full_name}: {WORDS[entry.group]}")
    facts = [
        ("package", entry.package),
        ("summary", entry.summary or "none"),
        ("target", entry.target),
        ("requires", ", ".join(entry.requires) or "declares nothing about trimtab"),
        ("API level", str(entry.api_level or "not declared")),
        ("found in", entry.where),
    ]
    say_table([*facts, *(("problem", problem) for problem in problems)], indent="  ")
    for option in taken:
        default = "required" if option["required"] else f"default {option['default']}"
        say(sanitize(f"  option {option['name']}: {option['type'] or 'any'}, {default}", 300))
        if option["description"]:
            say(sanitize(f"      {option['description'].replace('``', '')}", 500))
