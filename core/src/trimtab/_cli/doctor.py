"""``trimtab plugins doctor``: problems found from metadata; by name, also by loading."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from trimtab._cli.output import problem_json, say_json
from trimtab._plugins.discovery import discover
from trimtab._plugins.registry import WORDS, Problem
from trimtab._types.options import read_seconds
from trimtab._types.stdout import say

_SECONDS = 30.0
"""Long enough for a plugin that loads a model when it is imported."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trimtab plugins doctor``."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="load these, each in a process of its own"
    )
    parser.add_argument("--all", action="store_true", help="load everything installed")
    add_timeout(parser)
    parser.add_argument("--config", metavar="FILE", help="the configuration to check")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run_doctor)


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--timeout``."""
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=_SECONDS,
        metavar="SECONDS",
        help="seconds that loading may take (30)",
    )


def run_doctor(options: argparse.Namespace) -> int:
    """Report problems; return 1 if one of them is an error.

    With names, only the packages that offer them are looked at, and a configuration that is given.
    """
    from trimtab._cli.checks import from_metadata, from_setup, load_problem, to_load

    registry = discover()
    loaded = registry.entries if options.all else to_load(options.names, registry)
    problems = [*registry.problems, *from_metadata(registry)]
    if options.names and not options.all:
        asked = {entry.distribution for entry in loaded}
        problems = [problem for problem in problems if problem.distribution in asked]
    if options.config or not options.names:
        problems += from_setup(options.config, registry)
    verdicts = {entry: load_problem(entry, options.timeout) for entry in loaded}
    problems += filter(None, verdicts.values())
    valid = [entry for entry, problem in verdicts.items() if problem is None]
    if options.json:
        names = [entry.full_name for entry in valid]
        say_json({"problems": [problem_json(problem) for problem in problems], "valid": names})
    else:
        report(problems)
        for entry in valid:
            say(f"{entry.full_name}: loads, and is a valid {WORDS[entry.group]}")
        if not problems and not valid:
            say("No problem found, without importing anything.")
    return int(any(problem.is_error for problem in problems))


def _seconds(text: str) -> float:
    try:
        return read_seconds(text, "the timeout")
    except ValueError as error:
        what = f"{text!r} is not a number of seconds above 0"
        raise argparse.ArgumentTypeError(what) from error


def report(problems: Sequence[Problem]) -> None:
    """Print problems: what is wrong, where, and what to do."""
    for problem in problems:
        note = "" if problem.is_error else "note: "
        say(f"{problem.distribution}: {note}{problem.message}")
        say(f"  where: {problem.where}")
        say(f"  fix: {problem.fix}")
