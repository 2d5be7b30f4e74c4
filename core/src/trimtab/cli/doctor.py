"""``trimtab plugins doctor``: problems found from metadata; by name, also by loading."""

from __future__ import annotations

import argparse

from trimtab.cli.output import problem_json, say, say_json
from trimtab.plugins.discovery import discover
from trimtab.plugins.inventory import Entry, Problem
from trimtab.plugins.selection import WORDS

_SECONDS = 30.0


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab plugins doctor``."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="load these, each in a process of its own"
    )
    parser.add_argument(
        "--timeout", type=float, default=_SECONDS, help="seconds that loading may take (30)"
    )
    parser.add_argument("--config", metavar="FILE", help="the configuration to check")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    """Report problems; 1 where there is one that is not harmless."""
    from trimtab.cli.checks import from_loading, from_metadata, from_setup, to_load

    inventory = discover()
    problems = [*inventory.problems, *from_metadata(inventory), *from_setup(options.config)]
    loaded = to_load(options.names, inventory)
    problems += from_loading(loaded, options.timeout)
    if options.json:
        say_json({"problems": [problem_json(problem) for problem in problems]})
    else:
        _report(problems, loaded)
    return int(any(not problem.harmless for problem in problems))


def _report(problems: list[Problem], loaded: tuple[Entry, ...]) -> None:
    for problem in problems:
        say(f"{problem.distribution}: {'(harmless) ' * problem.harmless}{problem.what}")
        say(f"  where: {problem.where}")
        say(f"  do: {problem.remedy}")
    troubled = {problem.distribution for problem in problems if not problem.harmless}
    for entry in loaded:
        if entry.distribution not in troubled:
            say(f"{entry.full_name}: loads, and is a valid {WORDS[entry.group]}")
    if not problems and not loaded:
        say("No problem found, without importing anything.")
