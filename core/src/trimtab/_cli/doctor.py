"""``trimtab plugins doctor``: problems found from metadata, and by name also by loading."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trimtab._cli.output import problem_json, say_json
from trimtab._cli.probe import probe
from trimtab._cli.sources import static_problem
from trimtab._plugins.config_tables import Configuration
from trimtab._plugins.configuration import active_configuration, load_configuration
from trimtab._plugins.discovery import discover, installed_requirements, installed_version
from trimtab._plugins.registry import (
    WORDS,
    PluginInfo,
    Problem,
    Registry,
    Severity,
    normalise_name,
    pip_install,
)
from trimtab._plugins.requirements import admits, level_note, parse_requirement
from trimtab._plugins.resolution import DISABLE, read_environment
from trimtab._plugins.selection import check_required, matching, mismatch, named
from trimtab._types.errors import TrimtabError
from trimtab._types.options import read_seconds
from trimtab._types.stdout import say
from trimtab._types.text import sanitize

if TYPE_CHECKING:
    from packaging.markers import Marker

_ENVIRONMENT = "the environment"


def from_metadata(registry: Registry) -> Iterator[Problem]:
    """Yield the problems that metadata and source files show, importing nothing."""
    for entry in registry.entries:
        wrong = mismatch(entry)
        if wrong:
            yield _about(entry, wrong, "install versions that fit each other")
        problem = static_problem(entry)
        if problem:
            yield _about(entry, problem, "reinstall the package, or ask its authors")
        note = level_note(entry)
        if note:
            fix = f"nothing now; later {pip_install(entry.distribution, how='upgrade')}"
            yield _about(entry, note, fix, severity="note")
        if not entry.requires:
            what = f"{entry.full_name} declares no requirement on trimtab"
            yield _about(
                entry, what, "ask its authors to declare the versions it fits", severity="note"
            )
    places = {entry.distribution: entry.where for entry in registry.entries}
    for distribution, where in places.items():
        for problem in unmet_requirements(distribution):
            yield Problem(distribution, where, problem, "install what is missing")
    yield from _clashes(registry)


def unmet_requirements(distribution: str) -> Iterator[str]:
    """Yield a sentence for each requirement of a package that nothing installed meets.

    Requirements on trimtab are left to `mismatch`.

    Args:
        distribution: the package, from whose metadata they are read.
    """
    for text in installed_requirements(distribution):
        requirement = parse_requirement(text)
        if requirement is None or normalise_name(requirement.name) == "trimtab":
            continue
        if requirement.marker and not _holds(requirement.marker):
            continue
        version = installed_version(requirement.name)
        if version is None:
            found = "which is not installed"
        elif not admits(requirement, version):
            found = f"and version {version} is installed"
        else:
            continue
        wanted = sanitize(f"{requirement.name}{requirement.specifier}", 100)
        yield f"{distribution} needs {wanted}, {found}: {pip_install(wanted)}"


def _holds(marker: Marker) -> bool:
    try:
        return marker.evaluate({"extra": ""})
    except Exception:  # noqa: BLE001  # a marker of another package may name what is unknown
        return False


def _about(entry: PluginInfo, what: str, fix: str, *, severity: Severity = "error") -> Problem:
    return Problem(entry.distribution, entry.where, what, fix, severity)


def _clashes(registry: Registry) -> Iterator[Problem]:
    offers = Counter((entry.group, entry.name) for entry in registry.entries)
    for entry in registry.entries:
        if offers[entry.group, entry.name] > 1:
            what = f"another package offers a {WORDS[entry.group]} {entry.name!r} too"
            yield _about(
                entry, what, f"write {entry.full_name!r} where you mean this one", severity="note"
            )


def from_setup(config: str | None, registry: Registry) -> Iterator[Problem]:
    """Yield what is wrong with the configuration, its require-list and the switches."""
    configuration = Configuration()
    try:
        configuration = load_configuration(config) if config else active_configuration()
        check_required(configuration.require)
    except TrimtabError as error:
        yield _about_setup(str(configuration.path or config or os.curdir), str(error))
    try:
        disabled = read_environment().disabled
    except TrimtabError as error:
        yield _about_setup(_ENVIRONMENT, str(error))
        return
    for name in sorted(disabled):
        if not matching(name, registry.entries):
            what = f"{DISABLE} names {sanitize(name, 80)!r}, and nothing installed is called so"
            yield _about_setup(_ENVIRONMENT, what, severity="note")


def _about_setup(where: str, what: str, *, severity: Severity = "error") -> Problem:
    return Problem("configuration", where, what, "correct it", severity)


def to_load(names: Sequence[str], registry: Registry) -> tuple[PluginInfo, ...]:
    """Return the entries that are to be loaded, each once.

    Raises:
        UnknownProvider: a name that nothing has.
    """
    return tuple(dict.fromkeys(entry for name in names for entry in named(name, registry)))


def load_problem(entry: PluginInfo, timeout: float) -> Problem | None:
    """Load an entry in a process of its own and say what is wrong with it.

    Args:
        timeout: seconds that it may take.
    """
    what = probe(entry, timeout)
    fix = "repair or replace the package; what names it fails until then"
    return _about(entry, what, fix) if what else None


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
