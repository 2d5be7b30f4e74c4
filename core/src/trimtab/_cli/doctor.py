"""``trimtab plugins doctor``: problems found from metadata; by name, also by loading."""

from __future__ import annotations

import argparse

from trimtab._cli.output import problem_json, say, say_json
from trimtab._plugins.discovery import discover
from trimtab._plugins.hints import WORDS
from trimtab._plugins.registry import PluginInfo, Problem

_SECONDS = 30.0


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab plugins doctor``."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="load these, each in a process of its own"
    )
    parser.add_argument("--all", action="store_true", help="load everything installed")
    parser.add_argument(
        "--timeout", type=float, default=_SECONDS, help="seconds that loading may take (30)"
    )
    parser.add_argument("--config", metavar="FILE", help="the configuration to check")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    """Report problems; 1 where there is one that is not harmless."""
    from trimtab._cli.checks import from_metadata, from_setup, load_fault, to_load

    inventory = discover()
    problems = [
        *inventory.problems,
        *from_metadata(inventory),
        *from_setup(options.config, inventory),
    ]
    loaded = inventory.entries if options.all else to_load(options.names, inventory)
    verdicts = {entry: load_fault(entry, options.timeout) for entry in loaded}
    problems += filter(None, verdicts.values())
    valid = [entry for entry, fault in verdicts.items() if fault is None]
    if options.json:
        names = [entry.full_name for entry in valid]
        say_json({"problems": [problem_json(problem) for problem in problems], "valid": names})
    else:
        _report(problems, valid)
    return int(any(not problem.harmless for problem in problems))


def _report(problems: list[Problem], valid: list[PluginInfo]) -> None:
    for problem in problems:
        say(f"{problem.distribution}: {'(harmless) ' * problem.harmless}{problem.what}")
        say(f"  where: {problem.where}")
        say(f"  do: {problem.remedy}")
    for entry in valid:
        say(f"{entry.full_name}: loads, and is a valid {WORDS[entry.group]}")
    if not problems and not valid:
        say("No problem found, without importing anything.")
